"""Which provider sends what, as the command line says it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from manhunt.errors import Rejected
from manhunt.model import Kind
from manhunt.notifiers import (
    CallNotifier,
    MailServer,
    Message,
    Notifiers,
    SmtpNotifier,
    Telephone,
    TextNotifier,
    WebhookNotifier,
)


@dataclass(frozen=True)
class Providers:
    """Settings of all of them; one without its settings sends nothing, and its messages say so."""

    mail: MailServer | None = None
    sender: str = "manhunt@localhost"
    telephone: Telephone | None = None
    webhook_secret: str = field(default="", repr=False)
    private_webhooks: bool = False

    def notifiers(self) -> Notifiers:
        telephone = self.telephone
        return {
            Kind.EMAIL: SmtpNotifier(self.mail, self.sender) if self.mail else Unset("mail server"),
            Kind.SMS: TextNotifier(telephone) if telephone else Unset("telephone provider"),
            Kind.VOICE: CallNotifier(telephone) if telephone else Unset("telephone provider"),
            Kind.WEBHOOK: WebhookNotifier(self.webhook_secret, private=self.private_webhooks),
        }


@dataclass(frozen=True)
class Unset:
    """No provider of a kind."""

    missing: str

    def __call__(self, message: Message) -> str:
        raise Rejected(f"this worker has no {self.missing}")


@dataclass(frozen=True)
class Echo:
    """Shows messages on a terminal instead of sending them: for trying things out."""

    kind: Kind
    show: Callable[[str], None]

    def __call__(self, message: Message) -> str:
        self.show(f"{self.kind.value} to {message.destination}: {message.text}\n  answer: {message.answer_url}")
        return "shown"


def echoing(show: Callable[[str], None]) -> Notifiers:
    return {kind: Echo(kind, show) for kind in Kind}
