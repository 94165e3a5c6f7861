"""Searches, their attempts, and which attempt a reply from a number answers."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import Enum

from manhunt.records.contacts import Contact, Kind, QuietHours
from manhunt.records.table import manhunt
from singletable import ANY, Collection, Entity, Key, collect, field


class Status(Enum):
    """Of a search. It leaves ACTIVE once, for good."""

    ACTIVE = "active"
    ANSWERED = "answered"
    CANCELLED = "cancelled"
    FAILED = "failed"


class Delivery(Enum):
    """Of an attempt's message."""

    WAITING = "waiting"
    CLAIMED = "claimed"
    """A worker holds it, and may have sent it."""
    SENT = "sent"
    REFUSED = "refused"
    """The provider will not have it: no further try."""
    WITHHELD = "withheld"
    """The search had ended before a worker took it."""
    UNKNOWN = "unknown"
    """It may have left: who had it ended, or was not answered, and it is not sent again."""


@dataclass(frozen=True)
class Planned:
    """A contact method as it was when the search was opened."""

    method_id: str
    kind: Kind
    destination: str
    wait_seconds: int


@dataclass(frozen=True)
class Resolution:
    """How a search ended: by whom, by what means, and what they said."""

    by: str
    how: str
    reason: str = ""


class Search(Entity, table=manhunt, type="search"):
    """The hunt for one contact. Its plan is a copy: what becomes of the contact later doesn't change it."""

    search_id: str
    domain_id: str
    contact_id: str = field(belongs_to=Contact.contact_id)
    contact_name: str = field(personal=True)
    started_at: datetime
    status: Status = Status.ACTIVE
    message: str
    """A template: `$name` stands for what the metadata say."""
    metadata: dict[str, str] = field(default_factory=dict[str, str])
    plan: list[Planned] = field(personal=True)
    answer_seconds: int
    """After the last method: the time that is left for an answer."""
    quiet: QuietHours | None = None
    """No step is taken in them; none for an urgent search."""
    incident_id: str | None = None
    """The incident that it is for, if any: it goes on while that one is hunting."""
    hunt: int = 0
    """Which hunt of the incident."""
    step: int = 0
    """How many methods of the plan were tried."""
    begun_at: datetime | None = None
    wake_at: datetime | None = None
    """When the next step is due; none before the escalation began and after the end."""
    ended_at: datetime | None = None
    ended_step: int | None = None
    """`step` as whoever ended the search knew it: no attempt of a later one is there."""
    resolution: Resolution | None = field(default=None, personal=True)

    @manhunt.key
    @staticmethod
    def by_id(search_id: str) -> Key:
        """A search by its id."""
        return f"{search_id}", "search"

    @manhunt.index("GSI1")
    @staticmethod
    def by_contact(contact_id: str, started_at: datetime = ANY) -> Key:
        """The searches of a contact by time; with a range, before or after a date."""
        return f"{contact_id}", f"{started_at}"

    @manhunt.index("GSI2")
    @staticmethod
    def by_status(status: Status, contact_id: str, started_at: datetime = ANY) -> Key:
        """The searches of a contact with a status by time; with a range, before or after a date."""
        return f"{status}#{contact_id}", f"{started_at}"


class SearchAttempt(Entity, table=manhunt, type="searchAttempt"):
    """One method of the plan, tried."""

    search_id: str = field(belongs_to=Search.search_id)
    step: int
    """Its place in the plan, from 0."""
    method: Planned = field(personal=True)
    due_at: datetime
    attempted_at: datetime
    """When a worker took the step, by its own clock: never before `due_at`."""
    worker: str
    delivery: Delivery = Delivery.WAITING
    tries: int = 0
    claimed_at: datetime | None = None
    """When a worker last took the message."""
    sent_at: datetime | None = None
    reference: str = ""
    """What the provider calls the message."""
    problem: str = ""
    """Of the last try that failed."""
    in_doubt: bool = False
    """One of the tries may have sent it: its worker ended before it could say so, or the provider did not answer."""
    answered_at: datetime | None = None
    answer: str = field(default="", personal=True)
    """By what means, and what was said."""

    @manhunt.key
    @staticmethod
    def of_search(search_id: str, step: int = ANY) -> Key:
        """The attempts of a search in order, or one of them."""
        return f"{search_id}", f"{step:04}"


class Conversation(Entity, table=manhunt, type="conversation"):
    """The last attempt whose text went to a number: what a reply from there answers."""

    number: str = field(personal=True)
    search_id: str = field(belongs_to=Search.search_id)
    step: int

    @manhunt.key
    @staticmethod
    def with_number(number: str) -> Key:
        """The attempt that a reply from a telephone number answers."""
        return f"{number}", "conversation"


class SearchDetails(Collection):
    """A search by its id, with its attempts."""

    search: Search
    attempts: list[SearchAttempt]

    by_id = collect(Search.by_id)
