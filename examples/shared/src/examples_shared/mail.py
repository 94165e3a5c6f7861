"""E-mail over SMTP. A server's time is for the whole conversation, and what it may say is bounded.

    server = MailServer("mail.example.org", 587, "user", "password", starttls=True)
    send(server, mail)

A mail that is tried again has the same Message-ID each time, which is how whoever receives it knows that it is one.
"""

from __future__ import annotations

import smtplib
import socket
from collections.abc import Generator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from email.message import EmailMessage
from typing import Any

from examples_shared.deadline import BoundedTls, Deadline, connected, tls_context
from examples_shared.errors import Invalid, Rejected, Unanswered, Undeliverable

SUBJECT_CHARACTERS = 120


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


def send(server: MailServer, mail: EmailMessage) -> None:
    """Hand a mail to a server. Undeliverable where a later try may succeed, Rejected where none will; Unanswered where
    it was handed over and no answer came within the server's time."""
    with _errors(Undeliverable):
        smtp = _Conversation(server, Deadline(server.timeout_seconds))
    with closing(smtp), _errors(Unanswered):
        smtp.send_message(mail)
        smtp.say_goodbye()


def new_mail(sender: str, to: str, text: str, key: str, subject: str | None = None) -> EmailMessage:
    """A mail of a program. Its Message-ID is made of `key`; its subject is the text's first line, if none is given."""
    mail = EmailMessage()
    mail["From"], mail["To"] = sender, to
    mail["Subject"] = subject_of(text if subject is None else subject)
    mail["Message-ID"] = f"<{key}@{sender.rpartition('@')[2].rstrip('>')}>"
    mail["Auto-Submitted"] = "auto-generated"
    mail.set_content(text)
    return mail


def subject_of(text: str) -> str:
    """The first line, without what would end a header, cut where it is long."""
    line = "".join(c if c.isprintable() else " " for c in (text.strip().splitlines() or [""])[0])
    return line if len(line) <= SUBJECT_CHARACTERS else f"{line[: SUBJECT_CHARACTERS - 1]}…"


def server_of(place: str, user: str, password: str, *, starttls: bool) -> MailServer:
    """The mail server of command-line options; `place` is HOST or HOST:PORT. Invalid for any other text."""
    host, _, port = place.partition(":")
    if not host or (port and not port.isdecimal()):
        raise Invalid(f"a mail server is HOST or HOST:PORT, not {place!r}")
    return MailServer(host, int(port or 25), user, password, starttls)


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
