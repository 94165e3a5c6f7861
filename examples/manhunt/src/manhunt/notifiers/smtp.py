"""E-mail, by `examples_shared.mail`."""

from __future__ import annotations

from dataclasses import dataclass

from examples_shared.mail import MailServer, new_mail, send
from manhunt.notifiers.message import Message

__all__ = ["MailServer", "SmtpNotifier"]


@dataclass(frozen=True)
class SmtpNotifier:
    """A mail with a link to the page that answers. Its Message-ID is the same for every try."""

    server: MailServer
    sender: str

    def __call__(self, message: Message) -> str:
        text = f"{message.text}\n\nTo answer, open this page:\n{message.answer_url}\n"
        mail = new_mail(self.sender, message.destination, text, message.idempotency_key, subject=message.text)
        send(self.server, mail)
        return str(mail["Message-ID"])
