"""A real mail server on loopback, which keeps what it takes."""

from __future__ import annotations

from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from email import message_from_bytes, policy
from email.message import EmailMessage
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
