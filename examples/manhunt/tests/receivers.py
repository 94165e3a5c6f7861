"""A real HTTP receiver on loopback."""

from __future__ import annotations

from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass(frozen=True)
class Posted:
    path: str
    headers: dict[str, str]
    body: bytes


@dataclass
class HttpBox:
    """What the receiver took; `answer` gives the status and body of each answer."""

    port: int = 0
    posts: list[Posted] = field(default_factory=list[Posted])
    answer: Callable[[Posted], tuple[int, bytes]] = lambda posted: (201, b'{"sid": "SM1"}')

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"


@contextmanager
def http_server() -> Generator[HttpBox, None, None]:
    box = HttpBox()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            posted = Posted(self.path, dict(self.headers.items()), body)
            box.posts.append(posted)
            status, answer = box.answer(posted)
            self.send_response(status)
            self.send_header("Content-Length", str(len(answer)))
            self.send_header("X-Request-Id", "request-1")
            if 300 <= status < 400:
                self.send_header("Location", f"{box.url}/elsewhere")
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, format: str, *args: object) -> None:
            """What came in is in the box."""

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, request: object, client_address: object) -> None:
            """A client that went away in the middle is one of the tests."""

    with Server(("127.0.0.1", 0), Handler) as server, ThreadPoolExecutor(1) as beside:
        box.port = server.server_address[1]
        beside.submit(server.serve_forever, 0.02)
        try:
            yield box
        finally:
            server.shutdown()
