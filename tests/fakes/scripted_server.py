"""An HTTP server on loopback that does what a test tells it to, request by request, and remembers what it was asked."""

from __future__ import annotations

import json
import socket
import ssl
import threading  # noqa: TID251
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Any
from zlib import crc32


@dataclass(frozen=True)
class Received:
    """One request as it came: `connection` counts from 1."""

    operation: str
    body: bytes
    headers: dict[str, str]
    connection: int
    line: str = ""
    """The request line."""


Action = Callable[["ScriptedServer", socket.socket], bool]
"""Answers one request, or doesn't. True: the connection stays open."""


def raw(data: bytes, *, stay: bool = True) -> Action:
    def act(_: ScriptedServer, connection: socket.socket) -> bool:
        connection.sendall(data)
        return stay

    return act


def sends(sent: threading.Event, *pieces: bytes) -> Action:
    """These bytes, one write each; then sets `sent`."""

    def act(_: ScriptedServer, connection: socket.socket) -> bool:
        for piece in pieces:
            connection.sendall(piece)
        sent.set()
        return True

    return act


def half_closes(done: threading.Event) -> Action:
    """Answers, and then says that it will send no more, on a connection that it keeps open; then sets `done`."""

    def act(_: ScriptedServer, connection: socket.socket) -> bool:
        connection.sendall(http())
        connection.shutdown(socket.SHUT_WR)
        done.set()
        return True

    return act


def http(body: bytes = b"{}", *, status: int = 200, checksum: int | None = None, extra: str = "") -> bytes:
    checksum = crc32(body) if checksum is None else checksum
    head = (
        f"HTTP/1.1 {status} Some\r\nContent-Type: application/x-amz-json-1.0\r\nX-Amz-Crc32: {checksum}\r\n"
        f"x-amzn-RequestId: REQUEST-ID\r\n{extra}Content-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


def answers(body: bytes = b"{}", *, status: int = 200) -> Action:
    return raw(http(body, status=status))


def fails(code: str, *, status: int = 400, **fields: Any) -> Action:
    fault = {"__type": f"com.amazonaws.dynamodb.v20120810#{code}", **fields}
    return answers(json.dumps(fault).encode(), status=status)


def chunked(*pieces: bytes) -> Action:
    body = b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces)
    return raw(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + body + b"0\r\n\r\n")


def damaged() -> Action:
    return raw(http(b'{"a":1}', checksum=12345))


def truncated() -> Action:
    return raw(http(b'{"a":"' + b"x" * 1000 + b'"}')[:-500], stay=False)


def cut(_: ScriptedServer, connection: socket.socket) -> bool:
    """Reads the request, perhaps applies it, and closes."""
    return False


def hang(server: ScriptedServer, connection: socket.socket) -> bool:
    server.ended.wait(30)
    return False


def answers_then_closes(server: ScriptedServer, connection: socket.socket) -> bool:
    """Promises to keep the connection, and closes it once it is idle."""
    connection.sendall(http())
    return False


def echoes(server: ScriptedServer, connection: socket.socket) -> bool:
    """Answers with the request's own body."""
    connection.sendall(http(server.last_on(connection).body))
    return True


def first_time(action: Action, *bodies: bytes) -> Action:
    """Another action the first time that each of these bodies comes, whatever order they come in; then `{}`."""
    waiting = set(bodies)

    def act(server: ScriptedServer, connection: socket.socket) -> bool:
        body = server.last_on(connection).body
        if body not in waiting:
            return answers()(server, connection)
        waiting.discard(body)
        return action(server, connection)

    return act


class ScriptedServer:
    """Takes an action of the script for each request, then `{}` for ever."""

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        self.received: list[Received] = []
        self.ended = threading.Event()
        self.connections = 0
        self.closed_connections = threading.Semaphore(0)
        self._tls = tls
        self._script: deque[Action] = deque()
        self._otherwise: Action = answers()
        self._threads: list[threading.Thread] = []
        self._open: dict[socket.socket, int] = {}
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._accepting = threading.Thread(target=self._accept)

    @property
    def url(self) -> str:
        return f"{'https' if self._tls else 'http'}://127.0.0.1:{self.port}"

    @property
    def operations(self) -> list[str]:
        return [request.operation for request in self.received]

    def plan(self, *actions: Action) -> None:
        self._script.extend(actions)

    def always(self, action: Action) -> None:
        self._otherwise = action

    def last_on(self, connection: socket.socket) -> Received:
        """The latest request of a connection."""
        number = self._open[connection]
        return next(request for request in reversed(self.received) if request.connection == number)

    def wait_for_close(self) -> None:
        """Until the server has closed one more connection."""
        assert self.closed_connections.acquire(timeout=10)

    def __enter__(self) -> ScriptedServer:
        self._accepting.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.ended.set()
        self._listener.shutdown(socket.SHUT_RDWR)
        self._accepting.join(10)
        self._listener.close()
        for connection in tuple(self._open):
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                continue
        for thread in self._threads:
            thread.join(10)

    def _accept(self) -> None:
        while not self.ended.is_set():
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            thread = threading.Thread(target=self._serve, args=(connection, self.connections))
            self._threads.append(thread)
            thread.start()

    def _serve(self, connection: socket.socket, number: int) -> None:
        try:
            if self._tls is not None:
                connection = self._tls.wrap_socket(connection, server_side=True)
            self._open[connection] = number
            while request := self._read(connection, number):
                self.received.append(request)
                action = self._script.popleft() if self._script else self._otherwise
                if not action(self, connection):
                    break
        except OSError:
            return
        finally:
            connection.close()
            self.closed_connections.release()

    @staticmethod
    def _read(connection: socket.socket, number: int) -> Received | None:
        data = b""
        while b"\r\n\r\n" not in data:
            piece = connection.recv(65536)
            if not piece:
                return None
            data += piece
        head, _, body = data.partition(b"\r\n\r\n")
        line, *lines = head.decode("latin-1").split("\r\n")
        headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
        while len(body) < int(headers["content-length"]):
            body += connection.recv(65536)
        return Received(headers["x-amz-target"].partition(".")[2], body, headers, number, line)
