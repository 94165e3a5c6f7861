"""What the tests of the application share: a clock, a box for messages, and a worker that is run by hand."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from manhunt import Service
from manhunt.escalation import Escalation
from manhunt.links import Links
from manhunt.model import Contact, Kind, Search, SearchAttempt
from manhunt.notifiers import Message
from manhunt.worker import drain
from singletable import Database

DOMAIN, OTHER = "harbour", "elsewhere"
SECRET = "a secret of the tests, long enough to sign"
BASE = "http://127.0.0.1:8080"
LINKS = Links(BASE, [SECRET])
DESTINATIONS = {
    Kind.EMAIL: "ada@example.org",
    Kind.SMS: "+15551234567",
    Kind.VOICE: "+15551234567",
    Kind.WEBHOOK: "https://pager.example.org/ada",
}
USUAL = ((Kind.EMAIL, 0), (Kind.SMS, 0), (Kind.VOICE, 600))
"""Mail and text at once, a call ten minutes later."""


@dataclass
class Clock:
    """Stands still until it is told to go on; or goes by itself, once it is let go."""

    at: float = field(default_factory=time.time)
    since: float | None = None

    def __call__(self) -> float:
        return self.at if self.since is None else self.at + time.monotonic() - self.since

    def let_go(self) -> None:
        """A drain that was broken off leaves a lease, which ends by the clock alone."""
        self.since = time.monotonic()

    def forward(self, seconds: float) -> None:
        self.at += seconds


@dataclass
class Outbox:
    """A provider of all kinds: keeps what it takes. `before` runs before it takes something, and may raise."""

    sent: list[Message] = field(default_factory=list[Message])
    before: Callable[[Message], object] = lambda message: None

    def __call__(self, message: Message) -> str:
        self.before(message)
        self.sent.append(message)
        return f"reference-{len(self.sent)}"

    @property
    def steps(self) -> list[int]:
        return [message.step for message in self.sent]


@dataclass
class World:
    """The application, its worker, and the time."""

    app: Service
    escalation: Escalation
    clock: Clock
    outbox: Outbox

    @property
    def db(self) -> Database:
        return self.app.db

    def drain(self) -> None:
        """Do all that is due now."""
        drain(self.db, self.escalation)

    def later(self, seconds: float) -> None:
        """Some time goes by, in one leap, and then all that is due is done."""
        self.clock.forward(seconds)
        self.drain()

    def attempts(self, search: Search) -> list[SearchAttempt]:
        return self.app.search_with_attempts(DOMAIN, search.search_id).attempts

    def now(self, search: Search) -> Search:
        """The search as it is now."""
        return self.app.search_by_id(DOMAIN, search.search_id)

    def open(self, *methods: tuple[Kind, int], answer_seconds: int = 600) -> Search:
        """A search for a new contact with methods of these kinds and waits."""
        contact = contact_with(self.app, *methods)
        summary = {"summary": "the lighthouse is dark"}
        return self.app.open_search(DOMAIN, contact.contact_id, summary, answer_seconds=answer_seconds)


def make_world(app: Service, clock: Clock, outbox: Outbox) -> World:
    escalation = Escalation(app, LINKS, dict.fromkeys(Kind, outbox), "worker")
    return World(app, escalation, clock, outbox)


def contact_with(app: Service, *methods: tuple[Kind, int], name: str = "Ada") -> Contact:
    contact = app.create_contact(DOMAIN, name)
    for order, (kind, wait_seconds) in enumerate(methods):
        app.add_method(DOMAIN, contact.contact_id, kind, DESTINATIONS[kind], order=order, wait_seconds=wait_seconds)
    return contact
