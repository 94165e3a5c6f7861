"""E-mail over SMTP. A server's time is for the whole conversation, and what it may say is bounded."""

from __future__ import annotations

import smtplib
import socket
from collections.abc import Generator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from email.message import EmailMessage
from typing import Any

from examples.manhunt.errors import Rejected, Unanswered, Undeliverable
from examples.manhunt.messages import subject_of
from examples.manhunt.notifiers.deadline import BoundedTls, Deadline, connected, tls_context
from examples.manhunt.notifiers.message import Message


@dataclass(frozen=True)
class MailServer:
    """Where mail is handed in."""

    host: str
    port: int = 25
    user: str = ""
    password: str = field(default="", repr=False)
    starttls: bool = False
    timeout_seconds: float = 10.0
    """Of a whole conversation."""


@dataclass(frozen=True)
class SmtpNotifier:
    """A mail with a link to the page that answers. Its Message-ID is the same for every try."""

    server: MailServer
    sender: str

    def __call__(self, message: Message) -> str:
        mail = self._mail(message)
        with _errors(Undeliverable):
            smtp = _Conversation(self.server, Deadline(self.server.timeout_seconds))
        with closing(smtp), _errors(Unanswered):
            smtp.send_message(mail)
            smtp.say_goodbye()
        return str(mail["Message-ID"])

    def _mail(self, message: Message) -> EmailMessage:
        mail = EmailMessage()
        mail["From"], mail["To"] = self.sender, message.destination
        mail["Subject"] = subject_of(message.text)
        mail["Message-ID"] = f"<{message.idempotency_key}@{self.sender.rpartition('@')[2].rstrip('>')}>"
        mail["Auto-Submitted"] = "auto-generated"
        mail.set_content(f"{message.text}\n\nTo answer, open this page:\n{message.answer_url}\n")
        return mail


class _Conversation(smtplib.SMTP):
    """With a mail server that has let us in, until a deadline."""

    def __init__(self, server: MailServer, deadline: Deadline) -> None:
        self._deadline = deadline
        super().__init__(server.host, server.port)
        try:
            if server.starttls:
                self._encrypt()
            if server.user:
                self.login(server.user, server.password)
        except BaseException:
            self.close()
            raise

    def say_goodbye(self) -> None:
        """The mail is taken, whatever the server says now."""
        with suppress(OSError, smtplib.SMTPException):
            self.quit()

    def _get_socket(self, host: str, port: int, timeout: Any) -> socket.socket:
        return connected(host, port, self._deadline, check=lambda address: None)

    def _encrypt(self) -> None:
        if self.sock is not None:
            self.sock.settimeout(self._deadline.left())
        self.starttls(context=tls_context())
        assert isinstance(self.sock, BoundedTls)
        self.sock.deadline = self._deadline


@contextmanager
def _errors(otherwise: type[Undeliverable]) -> Generator[None, None, None]:
    """What a mail server's answers mean, and what it means that there is none."""
    try:
        yield
    except smtplib.SMTPRecipientsRefused as error:
        code, _ = next(iter(error.recipients.values()))
        raise _refusal(code) from error
    except smtplib.SMTPResponseException as error:
        raise _refusal(error.smtp_code) from error
    except (OSError, smtplib.SMTPException) as error:
        raise otherwise(f"no answer from the mail server: {type(error).__name__}") from error


def _refusal(code: int) -> Undeliverable:
    """5xx is a mail server's last word, but for those on who may speak to it, which an operator can put right."""
    said = f"the mail server answered with code {code}"
    return Rejected(said) if 550 <= code <= 559 else Undeliverable(said)
