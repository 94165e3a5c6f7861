"""The events of what went wrong, or was left out, of requests, records, graphs, queues, streams and backups."""

from __future__ import annotations

from collections.abc import Hashable
from datetime import datetime
from typing import ClassVar

from singletable.events.event import Problem, described


class ClockCorrected(Problem, frozen=True, kw_only=True):
    """This machine's clock differs from the service's, which is followed."""

    logger: ClassVar[str] = "singletable.wire"

    endpoint: str
    ahead_seconds: int
    """Negative for a clock that is behind."""
    then: str
    """The use of the service's time."""

    @property
    def text(self) -> str:
        off = _rough(abs(self.ahead_seconds))
        where = "ahead of" if self.ahead_seconds > 0 else "behind"
        return f"this machine's clock is {off} {where} that of {self.endpoint}: {self.then}"


def _rough(seconds: int) -> str:
    """A duration as a person says it."""
    for unit, length in (("days", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:.0f} {unit}"
    return f"{seconds} s"


class CredentialsKept(Problem, frozen=True, kw_only=True):
    """Credentials could not be renewed; the cached ones are still valid, and are used."""

    logger: ClassVar[str] = "singletable.wire"

    error: Exception
    """Foreign: its words may hold a secret, and are in no record."""

    @property
    def text(self) -> str:
        kind = type(self.error).__name__
        return f"the credentials could not be renewed ({kind}); the cached ones are still valid and are used"


class IndexUnfilled(Problem, frozen=True, kw_only=True):
    """A table with items got an index: a query of it returns what is written from now on, until it is filled."""

    logger: ClassVar[str] = "singletable.records"

    table: str
    indexes: tuple[str, ...]

    @property
    def text(self) -> str:
        return (
            f"table {self.table} has a new index, {', '.join(self.indexes)}: queries of it find what is written from "
            "now on. Fill it with what is there: singletable apply MODULE"
        )


class GuardKept(Problem, frozen=True, kw_only=True):
    """A node was deleted whose unique value can't be read: the value stays taken."""

    logger: ClassVar[str] = "singletable.graph"

    table: str
    entity: str
    attribute: str

    @property
    def text(self) -> str:
        return (
            f"{self.table}: a node of {self.entity} is deleted whose {self.attribute} can't be read: the guard of its "
            "value stays, as check() reports"
        )


class MessageFailed(Problem, frozen=True, kw_only=True):
    """A handler of a queue's message failed: the message is received again, or goes where the queue puts dead ones."""

    logger: ClassVar[str] = "singletable.queues"
    shows_traceback: ClassVar[bool] = True

    queue: str
    error: BaseException
    message: str
    """Its id, which the queue gave it."""
    attempt: int
    """How often it was received, this time among them."""

    @property
    def text(self) -> str:
        return (
            f"message {self.message} of queue {self.queue}: try {self.attempt} failed with {described(self.error)}. It "
            "is received again, until the queue's redrive policy moves it to its dead-letter queue"
        )

    @property
    def cause(self) -> Hashable:
        return self.queue, type(self.error)


class MessageDropped(Problem, frozen=True, kw_only=True):
    """A message that points to nothing was deleted from its queue."""

    logger: ClassVar[str] = "singletable.queues"
    levels: ClassVar[tuple[str, ...]] = ("INFO", "WARNING")

    why: str
    is_expected: bool = False
    """Its document was deleted before it came."""

    @property
    def level(self) -> int:
        return 20 if self.is_expected else 30

    @property
    def text(self) -> str:
        return f"a message was dropped: {self.why}"


class ChangeReturned(Problem, frozen=True, kw_only=True):
    """A handler of a change failed in AWS Lambda, which calls it again, as often as its event source mapping says."""

    logger: ClassVar[str] = "singletable.streams"
    levels: ClassVar[tuple[str, ...]] = ("ERROR",)

    consumer: str
    handler: str
    """The event that was to be handled, as `order#INSERT`."""
    key_hash: str
    error: BaseException

    @property
    def text(self) -> str:
        return f"{self.consumer}: {self.handler} ({self.key_hash}) failed with {described(self.error)}"


class ChangesPassedOver(Problem, frozen=True, kw_only=True):
    """Changes were made while their table was held: nobody handles them."""

    logger: ClassVar[str] = "singletable.streams"

    table: str
    count: int

    @property
    def text(self) -> str:
        return f"{self.count} changes of {self.table} were made while it was held: they are handled by nobody"


class TableHeld(Problem, frozen=True, kw_only=True):
    """A worker found that its table is held: it begins nothing until the release."""

    logger: ClassVar[str] = "singletable.holds"

    table: str
    since: datetime
    why: str
    """The source that the table was copied or restored from."""

    @property
    def text(self) -> str:
        return (
            f"table {self.table} is held since {self.since}, {self.why}: nothing is run, and its changes are passed "
            "over, until `singletable release MODULE`"
        )


class ContentsLeftOut(Problem, frozen=True, kw_only=True):
    """A backup does not keep contents of documents, as their store is not known to the program that makes it."""

    logger: ClassVar[str] = "singletable.migrations"

    table: str
    contents: str

    @property
    def text(self) -> str:
        return f"the {self.contents} are not kept for the backup: no blob store is known here; give blobs=, or --blobs"
