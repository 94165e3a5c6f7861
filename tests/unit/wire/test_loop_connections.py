"""One connection of an event loop: when it counts as quiet."""

from __future__ import annotations

import asyncio  # noqa: TID251
import socket
import ssl
import struct
from collections.abc import Callable
from typing import Any

import pytest

from singletable.wire.asyncio_connections import LoopConnection
from singletable.wire.tls import Tls
from tests.fakes.scripted_server import http

RESET = struct.pack("ii", 1, 0)


def closes(end: socket.socket) -> None:
    end.close()


def resets(end: socket.socket) -> None:
    end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
    end.close()


def answer_one(listener: socket.socket, served: ssl.SSLContext | None) -> socket.socket:
    end, _ = listener.accept()
    if served is not None:
        end = served.wrap_socket(end, server_side=True)
    end.recv(100)
    end.sendall(http())
    return end


@pytest.mark.parametrize("is_encrypted", [False, True], ids=["plain", "tls"])
@pytest.mark.parametrize("happens", [closes, resets], ids=lambda happens: happens.__name__)
async def test_a_connection_that_the_server_ends_is_never_quiet_again(
    happens: Callable[[socket.socket], None], is_encrypted: bool, tls: tuple[Tls, ssl.SSLContext]
) -> None:
    client, served = tls
    loop = asyncio.get_running_loop()
    encrypted: dict[str, Any] = {"ssl": client.context, "server_hostname": "127.0.0.1"} if is_encrypted else {}
    with socket.create_server(("127.0.0.1", 0)) as listener:
        answering = loop.run_in_executor(None, answer_one, listener, served if is_encrypted else None)
        _, connection = await loop.create_connection(
            lambda: LoopConnection(loop, memoryview(bytearray(65536))), *listener.getsockname(), **encrypted
        )
        assert (await connection.ask(b"a request", 10.0)).body == b"{}"
        end = await answering
    assert connection.is_quiet()
    happens(end)
    turns = 0
    while connection.reusable or turns < 5:  # under TLS the loop closes the socket, and tells it a turn later
        assert not connection.is_quiet()
        turns += 1
        await asyncio.sleep(0)
