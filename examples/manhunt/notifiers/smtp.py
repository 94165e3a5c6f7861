"""E-mail over SMTP."""

from __future__ import annotations

import smtplib
import ssl
from dataclasses import dataclass, field
from email.message import EmailMessage

from examples.manhunt.errors import Rejected, Undeliverable
from examples.manhunt.messages import subject_of
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


@dataclass(frozen=True)
class SmtpNotifier:
    """A mail with a link to the page that answers. Its Message-ID is the same for every try."""

    server: MailServer
    sender: str

    def __call__(self, message: Message) -> str:
        mail = self._mail(message)
        try:
            with smtplib.SMTP(self.server.host, self.server.port, timeout=self.server.timeout_seconds) as smtp:
                if self.server.starttls:
                    smtp.starttls(context=ssl.create_default_context())
                if self.server.user:
                    smtp.login(self.server.user, self.server.password)
                smtp.send_message(mail)
        except smtplib.SMTPRecipientsRefused as error:
            code, _ = next(iter(error.recipients.values()))
            raise _refusal(code) from error
        except smtplib.SMTPResponseException as error:
            raise _refusal(error.smtp_code) from error
        except (OSError, smtplib.SMTPException) as error:
            raise Undeliverable(f"no answer from the mail server: {type(error).__name__}") from error
        return str(mail["Message-ID"])

    def _mail(self, message: Message) -> EmailMessage:
        mail = EmailMessage()
        mail["From"], mail["To"] = self.sender, message.destination
        mail["Subject"] = subject_of(message.text)
        mail["Message-ID"] = f"<{message.idempotency_key}@{self.sender.rpartition('@')[2].rstrip('>')}>"
        mail["Auto-Submitted"] = "auto-generated"
        mail.set_content(f"{message.text}\n\nTo answer, open this page:\n{message.answer_url}\n")
        return mail


def _refusal(code: int) -> Undeliverable:
    """5xx is a mail server's last word, but for those on who may speak to it, which an operator can put right."""
    said = f"the mail server answered with code {code}"
    return Rejected(said) if 550 <= code <= 559 else Undeliverable(said)
