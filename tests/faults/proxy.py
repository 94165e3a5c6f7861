"""The fault proxy: HTTP on loopback, before an engine, with the rules of `rules`.

    with FaultProxy(engine_url, faults) as proxy:
        db = connect(proxy.url, ...)

A thread for each connection; everything ends with the block.
"""

from __future__ import annotations

import contextlib
import re
import socket
import threading  # noqa: TID251
from collections.abc import Callable
from types import TracebackType
from urllib.parse import urlsplit

from singletable.flow import drive
from singletable.wire.unix_sockets import open_unix
from singletable_local import UnixEndpoint
from tests.faults.carrying import Carrier
from tests.faults.messages import Call, Cut, Hang, Outcome, Reply
from tests.faults.rules import Faults

_CLOSES = re.compile(rb"^connection: *close", re.IGNORECASE | re.MULTILINE)
_LENGTH = re.compile(rb"^content-length: *(\d+)", re.IGNORECASE | re.MULTILINE)
_PATIENCE_SECONDS = 30.0
_CHUNK = 1 << 16


class FaultProxy:
    """One engine behind one address."""

    def __init__(self, engine_url: str, faults: Faults) -> None:
        self._engine = engine_url
        self.carrier = Carrier(faults)
        self.faults = faults
        self._one_at_a_time = threading.Lock()
        self._ended = threading.Event()
        self._guard = threading.Lock()
        self._open: set[socket.socket] = set()
        self._server = socket.create_server(("127.0.0.1", 0))
        self._threads = [threading.Thread(target=self._accept, daemon=True)]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.getsockname()[1]}"

    @property
    def connections(self) -> int:
        """How many were opened until now."""
        return len(self._threads) - 1

    def __enter__(self) -> FaultProxy:
        self._threads[0].start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._ended.set()
        with contextlib.suppress(OSError):
            self._server.shutdown(socket.SHUT_RDWR)
        self._server.close()
        with self._guard:
            left = list(self._open)
        for connection in left:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join(_PATIENCE_SECONDS)

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._server.accept()
            except OSError:
                return
            thread = threading.Thread(target=self._serve, args=(client,), daemon=True)
            self._threads.append(thread)
            thread.start()

    def _serve(self, client: socket.socket) -> None:
        with client, contextlib.closing(_Engine(self._engine, self._hold, self._let_go)) as engine:
            self._hold(client)

            async def ask(call: Call) -> Reply:
                return Reply.read(engine.answer(call.message))

            try:
                with contextlib.suppress(OSError):  # the other side has gone: so does this connection
                    while (request := _message(client)) is not None:
                        with self._one_at_a_time:
                            outcome = drive(self.carrier.carry(request, ask))
                        if not self._answer(client, outcome):
                            break
            finally:
                self._let_go(client)

    def _hold(self, connection: socket.socket) -> None:
        """The end of the proxy ends this connection too."""
        with self._guard:
            self._open.add(connection)

    def _let_go(self, connection: socket.socket) -> None:
        with self._guard:
            self._open.discard(connection)

    def _answer(self, client: socket.socket, outcome: Outcome) -> bool:
        """Give the caller what is left of an answer; False when the connection is to end."""
        if isinstance(outcome, Hang):
            client.recv(1)  # until the caller gives up, or the proxy ends
            return False
        if isinstance(outcome, Cut):
            client.sendall(outcome.sent)
            return False
        self._ended.wait(outcome.delay_seconds)
        client.sendall(outcome.message)
        return True


class _Engine:
    """A caller's way to the engine: one connection, or another after each answer that ends the one before."""

    def __init__(self, url: str, opened: Callable[[socket.socket], None], closed: Callable[[socket.socket], None]):
        self._url, self._opened, self._closed = url, opened, closed
        self._connection: socket.socket | None = None

    def answer(self, message: bytes) -> bytes:
        """Send a whole message, and wait for the answer. Raises OSError where the engine is gone."""
        if self._connection is None:
            self._connection = connection_to(self._url)
            self._opened(self._connection)
        self._connection.sendall(message)
        answer = _message(self._connection)
        if answer is None:
            raise ConnectionResetError("the engine is gone")
        if _CLOSES.search(answer.partition(b"\r\n\r\n")[0]):
            self.close()
        return answer

    def close(self) -> None:
        if self._connection is not None:
            self._closed(self._connection)
            self._connection.close()
            self._connection = None


def connection_to(url: str) -> socket.socket:
    """A connection to an engine, over its Unix socket or at an address."""
    if url.startswith("unix://"):
        connected, _ = open_unix(UnixEndpoint.at(url), _PATIENCE_SECONDS)
        connected.settimeout(_PATIENCE_SECONDS)
        return connected
    at = urlsplit(url)
    return socket.create_connection((at.hostname or "127.0.0.1", at.port or 80), _PATIENCE_SECONDS)


def _message(connection: socket.socket) -> bytes | None:
    """A whole HTTP message with a Content-Length; None when the other side has closed."""
    data = b""
    while b"\r\n\r\n" not in data:
        part = connection.recv(_CHUNK)
        if not part:
            return None
        data += part
    head, _, body = data.partition(b"\r\n\r\n")
    said = _LENGTH.search(head)
    missing = (int(said[1]) if said else 0) - len(body)
    parts = [data]
    while missing > 0:
        part = connection.recv(min(missing, _CHUNK))
        if not part:
            return None
        parts.append(part)
        missing -= len(part)
    return b"".join(parts)
