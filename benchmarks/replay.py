"""A server that answers with bytes that the engine once answered with, so that what is left is the client's own work.

In a process of its own: `python -m benchmarks.replay <engine's port>` says its port, then takes one order a line.
`record <case>` passes requests on to the engine and keeps each answer, head and all; `replay <case>` gives the kept
one for the request's X-Amz-Target, without looking at anything else. A case is an operation of one library, as each
asks in its own words. It ends when its standard input does.
"""

from __future__ import annotations

import asyncio  # noqa: TID251 a server of many connections
import re
import socket
import sys
from typing import cast

from benchmarks.child import Child

_HEAD_END = b"\r\n\r\n"
_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
_TARGET = re.compile(rb"\r\nx-amz-target: *([\w.]+)", re.IGNORECASE)
_PIECE_BYTES = 1 << 20


class ReplayServer:
    """The server, seen from the process that measures."""

    def __init__(self, child: Child) -> None:
        self._child = child
        self.url = f"http://127.0.0.1:{int(child.hear())}"

    def record(self, case: str) -> None:
        """From now on requests go to the engine, and its answers are kept under the case."""
        self._child.ask(f"record {case}")

    def replay(self, case: str) -> None:
        """From now on requests get the case's answers."""
        self._child.ask(f"replay {case}")


class Recorder:
    """What is kept, and which of it is asked for now."""

    def __init__(self, engine_port: int) -> None:
        self._engine_port = engine_port
        self._kept: dict[str, dict[bytes, bytes]] = {}
        self._current: dict[bytes, bytes] = {}
        self._records = False

    def obey(self, line: str) -> None:
        verb, case = line.split()
        self._records = verb == "record"
        self._current = self._kept.setdefault(case, {}) if self._records else self._kept[case]

    def answer(self, request: bytes) -> bytes:
        found = _TARGET.search(request)
        target = found[1] if found else b""
        if self._records:
            if target in self._current:
                raise RuntimeError(f"a second {target.decode()} in one operation: it is no single round trip")
            self._current[target] = self._ask_engine(request)
        return self._current[target]

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
        if len(self._pending) >= length_of(self._pending):
            request, self._pending = self._pending, b""
            self._transport.write(self._recorder.answer(request))


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


async def serve(engine_port: int) -> None:
    loop, ended = asyncio.get_running_loop(), asyncio.Event()
    recorder = Recorder(engine_port)
    server = await loop.create_server(lambda: Conversation(recorder), "127.0.0.1", 0)
    await loop.connect_read_pipe(lambda: Orders(recorder, ended), sys.stdin)
    print(server.sockets[0].getsockname()[1], flush=True)
    await ended.wait()
    server.close()


if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[1])))
