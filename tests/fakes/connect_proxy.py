"""An HTTP proxy on loopback: it opens tunnels by CONNECT, to one server whatever name it is asked for."""

from __future__ import annotations

import contextlib
import socket
import threading  # noqa: TID251
from types import TracebackType

_AGREED = b"HTTP/1.1 200 Connection established\r\nProxy-Agent: test\r\n\r\n"


class ConnectProxy:
    """`asked` are the heads that came; `answer` is what it says; with `piece` it is said so many bytes at a time."""

    def __init__(self, port: int, *, authorization: str | None = None) -> None:
        self.asked: list[dict[str, str]] = []
        self.answer = _AGREED
        self.piece = 0
        self.silent = False
        self._port = port
        self._authorization = authorization
        self._ended = threading.Event()
        self._open: list[socket.socket] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._threads = [threading.Thread(target=self._accept)]

    @property
    def port(self) -> int:
        return int(self._listener.getsockname()[1])

    @property
    def places(self) -> list[str]:
        """What tunnels were asked to."""
        return [head[""].split(" ")[1] for head in self.asked]

    def __enter__(self) -> ConnectProxy:
        self._threads[0].start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._ended.set()
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for each in self._open:
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join(10)

    def _accept(self) -> None:
        while not self._ended.is_set():
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            self._start(self._serve, client)

    def _start(self, target: object, *args: socket.socket) -> threading.Thread:
        thread = threading.Thread(target=target, args=args)  # type: ignore[arg-type]
        self._threads.append(thread)
        thread.start()
        return thread

    def _serve(self, client: socket.socket) -> None:
        self._open.append(client)
        with client, contextlib.suppress(OSError):
            head = b""
            while b"\r\n\r\n" not in head:
                data = client.recv(4096)
                if not data:
                    return
                head += data
            line, *lines = head.decode().removesuffix("\r\n\r\n").split("\r\n")
            fields = {name.lower(): value for name, _, value in (each.partition(": ") for each in lines)}
            self.asked.append({"": line, **fields})
            if self.silent:
                self._ended.wait(30)
            elif self._authorization is not None and fields.get("proxy-authorization") != self._authorization:
                client.sendall(b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n")
            else:
                self._agree(client)

    def _agree(self, client: socket.socket) -> None:
        step = self.piece or len(self.answer) or 1
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for at in range(0, len(self.answer), step):
            client.sendall(self.answer[at : at + step])
        if b" 200 " in self.answer:
            with socket.create_connection(("127.0.0.1", self._port), 10) as server:
                self._open.append(server)
                back = self._start(self._pump, server, client)
                self._pump(client, server)
                back.join(10)

    def _pump(self, source: socket.socket, sink: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                sink.sendall(data)
        with contextlib.suppress(OSError):
            sink.shutdown(socket.SHUT_RDWR)
