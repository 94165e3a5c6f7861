"""A real mail server and a real HTTP receiver on loopback."""

from __future__ import annotations

from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from email import message_from_bytes, policy
from email.message import EmailMessage
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from aiosmtpd.controller import UnthreadedController
from aiosmtpd.smtp import SMTP


@dataclass
class Mailbox:
    """What the mail server took. `answer` is what it says to each message."""

    port: int = 0
    mails: list[EmailMessage] = field(default_factory=list[EmailMessage])
    recipients: list[str] = field(default_factory=list[str])
    answer: str = "250 taken"
    recipient_answer: str = "250 known"


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
def mail_server() -> Generator[Mailbox, None, None]:
    """aiosmtpd in a thread of its own, on a free port."""
    import asyncio  # noqa: TID251 the mail server's own

    box = Mailbox()

    class Handler:
        async def handle_RCPT(self, server: SMTP, session: Any, envelope: Any, address: str, options: Any) -> str:
            if box.recipient_answer.startswith("250"):
                envelope.rcpt_tos.append(address)
            return box.recipient_answer

        async def handle_DATA(self, server: SMTP, session: Any, envelope: Any) -> str:
            if box.answer.startswith("250"):
                found = message_from_bytes(envelope.content, policy=policy.default)
                assert isinstance(found, EmailMessage)
                box.mails.append(found)
                box.recipients += envelope.rcpt_tos
            return box.answer

    loop = asyncio.new_event_loop()
    controller: Any = UnthreadedController(Handler(), hostname="127.0.0.1", port=0, loop=loop)
    controller.begin()
    server = controller.server
    box.port = server.sockets[0].getsockname()[1]
    with ThreadPoolExecutor(1) as beside:
        beside.submit(loop.run_forever)
        try:
            yield box
        finally:
            loop.call_soon_threadsafe(server.close)
            loop.call_soon_threadsafe(loop.stop)
    loop.run_until_complete(server.wait_closed())
    loop.run_until_complete(loop.shutdown_asyncgens())
    loop.close()


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
