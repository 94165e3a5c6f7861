"""The records of the application in one table of two overloaded indexes, and the two partitions that are read whole."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import Enum

from singletable import ANY, Collection, Entity, Key, Table, collect, field
from singletable.tasks import Tasks

manhunt = Table(
    "manhunt",
    key=("PK", "SK"),
    indexes={"GSI1": ("GSI1PK", "GSI1SK"), "GSI2": ("GSI2PK", "GSI2SK")},
    type_attribute="entityType",
    overlap="guard",
    stream="new_and_old",
)
tasks = Tasks(manhunt, index="GSI2")
"""What is put off: the steps of searches and their messages. A search's index keys begin with its status, a task's with
`Due` or `Dead`: they share GSI2 and never a partition."""


class Kind(Enum):
    """The ways to reach somebody."""

    EMAIL = "email"
    SMS = "sms"
    VOICE = "voice"
    WEBHOOK = "webhook"


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


class Contact(Entity, table=manhunt, type="contact"):
    """Somebody who may be needed."""

    contact_id: str
    domain_id: str
    name: str
    created_at: datetime
    edits: int = 0
    """Raised by each change of the methods: a search that is being opened knows whether its plan is still theirs."""
    method_count: int = 0

    @manhunt.key
    @staticmethod
    def by_id(contact_id: str) -> Key:
        """A contact by its id."""
        return f"{contact_id}", "contact"

    @manhunt.index("GSI1")
    @staticmethod
    def by_domain(domain_id: str, name: str = ANY) -> Key:
        """The contacts of a domain, by name."""
        return f"{domain_id}", f"{name}"


class ContactMethod(Entity, table=manhunt, type="contactMethod"):
    """One way to reach a contact."""

    contact_id: str
    method_id: str
    kind: Kind
    destination: str
    order: int
    """Methods are tried from the lowest; of equals, by id."""
    wait_seconds: int = 0
    """After the method before; 0 is together with it."""
    enabled: bool = True

    @manhunt.key
    @staticmethod
    def of_contact(contact_id: str, method_id: str = ANY) -> Key:
        """The methods of a contact, or one of them."""
        return f"{contact_id}", f"{method_id}"


class Search(Entity, table=manhunt, type="search"):
    """The hunt for one contact. Its plan is a copy: what becomes of the contact later doesn't change it."""

    search_id: str
    domain_id: str
    contact_id: str
    contact_name: str
    started_at: datetime
    status: Status = Status.ACTIVE
    message: str
    """A template: `$name` stands for what the metadata say."""
    metadata: dict[str, str] = field(default_factory=dict[str, str])
    plan: list[Planned]
    answer_seconds: int
    """After the last method: the time that is left for an answer."""
    step: int = 0
    """How many methods of the plan were tried."""
    begun_at: datetime | None = None
    wake_at: datetime | None = None
    """When the next step is due; none before the escalation began and after the end."""
    ended_at: datetime | None = None
    ended_step: int | None = None
    """`step` as whoever ended the search knew it: no attempt of a later one is there."""
    resolution: Resolution | None = None

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

    search_id: str
    step: int
    """Its place in the plan, from 0."""
    method: Planned
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
    answer: str = ""
    """By what means, and what was said."""

    @manhunt.key
    @staticmethod
    def of_search(search_id: str, step: int = ANY) -> Key:
        """The attempts of a search in order, or one of them."""
        return f"{search_id}", f"{step:04}"


class Conversation(Entity, table=manhunt, type="conversation"):
    """The last attempt whose text went to a number: what a reply from there answers."""

    number: str
    search_id: str
    step: int

    @manhunt.key
    @staticmethod
    def with_number(number: str) -> Key:
        """The attempt that a reply from a telephone number answers."""
        return f"{number}", "conversation"


class ContactDetails(Collection):
    """A contact by its id, with its methods."""

    contact: Contact
    methods: list[ContactMethod]

    by_id = collect(Contact.by_id)


class SearchDetails(Collection):
    """A search by its id, with its attempts."""

    search: Search
    attempts: list[SearchAttempt]

    by_id = collect(Search.by_id)
