"""A TCP proxy between library and engine that loses answers: the engine has applied the request, nobody hears of it.

with LossyProxy("127.0.0.1", engine_port) as proxy:
    proxy.lose_next("PutItem")          # the next PutItem reaches the engine; its answer doesn't come back
    ...
    assert proxy.seen["PutItem"] == 2   # and the library asked again
"""

from __future__ import annotations

import contextlib
import re
import socket
import threading  # noqa: TID251
from collections import Counter
from dataclasses import dataclass, field
from types import TracebackType
from typing import Literal

Loss = Literal["answer", "request"]
"""What gets lost: the answer to a request that was carried out, or the request before it was."""
_TARGET = re.compile(rb"^x-amz-target: *[^.\r\n]+\.([A-Za-z]+)", re.IGNORECASE | re.MULTILINE)
_LENGTH = re.compile(rb"^content-length: *(\d+)", re.IGNORECASE | re.MULTILINE)
_PATIENCE_SECONDS = 30.0


@dataclass
class Seen:
    """One request that passed, and its body."""

    operation: str
    body: bytes


@dataclass
class LossyProxy:
    """Passes HTTP requests on one by one. Connections are kept open until a loss cuts one."""

    host: str
    port: int
    requests: list[Seen] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._losses: list[tuple[str, Loss]] = []
        self._guard = threading.Lock()
        self._open: set[socket.socket] = set()
        self._server = socket.create_server(("127.0.0.1", 0))
        self._threads = [threading.Thread(target=self._accept, daemon=True)]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.getsockname()[1]}"

    @property
    def seen(self) -> Counter[str]:
        """How many requests of each operation came, lost ones included."""
        with self._guard:
            return Counter(request.operation for request in self.requests)

    def bodies(self, operation: str) -> list[bytes]:
        with self._guard:
            return [request.body for request in self.requests if request.operation == operation]

    def lose_next(self, operation: str, what: Loss = "answer") -> None:
        """Cut the connection of the next request of that operation; call it several times for several losses."""
        with self._guard:
            self._losses.append((operation, what))

    def __enter__(self) -> LossyProxy:
        self._threads[0].start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
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
        with client, socket.create_connection((self.host, self.port), _PATIENCE_SECONDS) as engine:
            with self._guard:
                self._open |= {client, engine}
            try:
                with contextlib.suppress(OSError):  # the other side has gone: so does this connection
                    while self._pass_on(client, engine):
                        continue
            finally:
                with self._guard:
                    self._open -= {client, engine}

    def _pass_on(self, client: socket.socket, engine: socket.socket) -> bool:
        """One request and its answer; False when the connection is to end."""
        request = _message(client)
        if request is None:
            return False
        loss = self._note(request)
        if loss == "request":
            return False
        engine.sendall(request)
        answer = _message(engine)
        if answer is None or loss == "answer":
            return False
        client.sendall(answer)
        return True

    def _note(self, request: bytes) -> Loss | None:
        head, _, body = request.partition(b"\r\n\r\n")
        target = _TARGET.search(head)
        operation = target[1].decode() if target else ""
        with self._guard:
            self.requests.append(Seen(operation, body))
            for i, (wanted, loss) in enumerate(self._losses):
                if wanted == operation:
                    del self._losses[i]
                    return loss
        return None


def _message(connection: socket.socket) -> bytes | None:
    """A whole HTTP message with a Content-Length; None when the other side has closed."""
    data = b""
    while b"\r\n\r\n" not in data:
        part = connection.recv(65536)
        if not part:
            return None
        data += part
    head, _, body = data.partition(b"\r\n\r\n")
    said = _LENGTH.search(head)
    missing = (int(said[1]) if said else 0) - len(body)
    parts = [data]
    while missing > 0:
        part = connection.recv(min(missing, 1 << 20))
        if not part:
            return None
        parts.append(part)
        missing -= len(part)
    return b"".join(parts)
