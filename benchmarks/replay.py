"""A server that answers with bytes that the engine once answered with, so that what is left is the client's own work.

In a process of its own: `python -m benchmarks.replay <engine's port> [certificate chain with its key]` says its ports,
of HTTP and of HTTPS, then takes one order a line. It ends when its standard input does.

    record <case>      passes requests on to the engine and keeps each answer, head and all
    replay <case>      gives the kept one for the request's X-Amz-Target, without looking at anything else, with the
                       current Date: clients compare it with their clock
    drop <n>           closes the connection in place of every n-th answer from now on; 0 for none
    delay <ms>         answers so much later from now on, as from behind a network

A case is an operation of one library, as each asks in its own words.
"""

from __future__ import annotations

import asyncio  # noqa: TID251 a server of many connections
import json
import re
import socket
import ssl
import sys
from email.utils import formatdate
from typing import Any, cast

from benchmarks.child import Child

_HEAD_END = b"\r\n\r\n"
_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
_TARGET = re.compile(rb"\r\nx-amz-target: *([\w.]+)", re.IGNORECASE)
_DATE = re.compile(rb"(?<=\r\ndate: )[^\r]*", re.IGNORECASE)
_PIECE_BYTES = 1 << 20


class ReplayServer:
    """The server, seen from the process that measures."""

    def __init__(self, child: Child) -> None:
        self._child = child
        plain, encrypted = child.hear().split()
        self.url = f"http://127.0.0.1:{plain}"
        self.tls_url = f"https://127.0.0.1:{encrypted}"

    @property
    def pid(self) -> int:
        return self._child.pid

    def record(self, case: str) -> None:
        """From now on requests go to the engine, and its answers are kept under the case."""
        self._child.ask(f"record {case}")

    def replay(self, case: str) -> None:
        """From now on requests get the case's answers."""
        self._child.ask(f"replay {case}")

    def drop(self, every: int) -> None:
        """From now on every so many answers are a closed connection; 0 for none."""
        self._child.ask(f"drop {every}")

    def delay(self, milliseconds: int) -> None:
        """From now on every answer is so much later."""
        self._child.ask(f"delay {milliseconds}")


class Recorder:
    """What is kept, and which of it is asked for now."""

    def __init__(self, engine_port: int) -> None:
        self._engine_port = engine_port
        self._kept: dict[str, dict[bytes, bytes]] = {}
        self._current: dict[bytes, bytes] = {}
        self._asked: dict[bytes, Any] = {}
        """The requests of the case that is recorded: an operation may send the same one several times."""
        self._records = False
        self._drops_every = 0
        self._answered = 0
        self.delay_seconds = 0.0

    def obey(self, line: str) -> None:
        verb, given = line.split()
        if verb == "drop":
            self._drops_every = int(given)
            return
        if verb == "delay":
            self.delay_seconds = int(given) / 1000
            return
        self._records, self._asked = verb == "record", {}
        self._current = self._kept.setdefault(given, {}) if self._records else self._kept[given]

    def answer(self, request: bytes) -> bytes | None:
        """None for a connection that is to be closed."""
        self._answered += 1
        if self._drops_every and self._answered % self._drops_every == 0:
            return None
        found = _TARGET.search(request)
        target = found[1] if found else b""
        if self._records:
            if self._asked.setdefault(target, _body_of(request)) != _body_of(request):
                raise RuntimeError(f"another {target.decode()} in one operation: it is not a single round trip")
            self._current[target] = self._ask_engine(request)
        return _DATE.sub(formatdate(usegmt=True).encode(), self._current[target], count=1)

    def _ask_engine(self, request: bytes) -> bytes:
        with socket.create_connection(("127.0.0.1", self._engine_port)) as engine:
            engine.sendall(request)
            answer = b""
            while not (answer and len(answer) >= length_of(answer)):
                answer += engine.recv(_PIECE_BYTES)
        return answer


class Conversation(asyncio.Protocol):
    """One connection of a client."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._pending = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def data_received(self, data: bytes) -> None:
        self._pending += data
        if len(self._pending) < length_of(self._pending):
            return
        request, self._pending = self._pending, b""
        answer = self._recorder.answer(request)
        if answer is None:
            self._transport.abort()
        elif self._recorder.delay_seconds:
            asyncio.get_running_loop().call_later(self._recorder.delay_seconds, self._transport.write, answer)
        else:
            self._transport.write(answer)


class Orders(asyncio.Protocol):
    """Standard input."""

    def __init__(self, recorder: Recorder, ended: asyncio.Event) -> None:
        self._recorder = recorder
        self._ended = ended

    def data_received(self, data: bytes) -> None:
        line = data.decode().strip()
        self._recorder.obey(line)
        print(line, flush=True)

    def connection_lost(self, exc: Exception | None) -> None:
        self._ended.set()


def length_of(message: bytes) -> int:
    """How many bytes a whole message has, head and body; more than there are while the head is not whole."""
    end = message.find(_HEAD_END)
    if end < 0:
        return len(message) + 1
    found = _LENGTH.search(message, 0, end)
    return end + len(_HEAD_END) + (int(found[1]) if found else 0)


def _body_of(message: bytes) -> Any:
    """As a value: some clients write the same request in another order each time."""
    return json.loads(message[message.find(_HEAD_END) :])


async def serve(engine_port: int, certificate: str | None) -> None:
    loop, ended = asyncio.get_running_loop(), asyncio.Event()
    recorder = Recorder(engine_port)
    plain = await loop.create_server(lambda: Conversation(recorder), "127.0.0.1", 0)
    encrypted = await loop.create_server(lambda: Conversation(recorder), "127.0.0.1", 0, ssl=_tls(certificate))
    await loop.connect_read_pipe(lambda: Orders(recorder, ended), sys.stdin)
    print(*(server.sockets[0].getsockname()[1] for server in (plain, encrypted)), flush=True)
    await ended.wait()
    for server in (plain, encrypted):
        server.close()


def _tls(certificate: str | None) -> ssl.SSLContext | None:
    if certificate is None:
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    return context


if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else None))
