"""The events of workers, tasks, streams and applies: what begins, what ends, and what needs a person.

An application's own error is on the event as `error`, for a traceback in the log: it is the application's, and may hold
what the application put into it. A key is a keyed hash (`Listeners.hash_of`): equal keys have equal hashes.
"""

from __future__ import annotations

from collections.abc import Hashable
from datetime import datetime
from typing import ClassVar, Literal

from singletable.events.event import Event, described

_DEBUG, _INFO, _WARNING, _ERROR = 10, 20, 30, 40
_LATE_SECONDS = 60.0
_LONG_MILLISECONDS = 10_000.0
_GAPS = {
    "trimmed": ": a stream keeps changes for a day, and these were not read by then",
    "replaced": ": the table has another stream, as one that was made again",
}
_ENDS = {
    "retried": "failed",
    "dead": "failed for the last time",
    "returned": "returned, which counts as no try,",
    "open": "left open",
}
"""The outcomes of tasks whose names are not what the log says."""
_THEN = {
    "dead": "It is a dead task now: `singletable work retry` runs it again, `drop` deletes it",
    "lost": "Its end was refused: it was cancelled, or another worker has taken it over, and it has run twice",
    "open": "Its end is not written: it is begun again once its lease is over",
}
"""The consequence of an outcome."""


TaskOutcome = Literal["done", "needless", "retried", "returned", "dead", "lost", "open"]
"""`done`; `needless` for NothingToDo; `retried` later; `returned`, as this program does not know it; `dead`: it is a
dead letter, and needs a person; `lost`: cancelled, or claimed by another worker; `open`: its end could not be written,
or its worker was interrupted, and it is begun again once its lease has expired."""


class WorkerStarted(Event, frozen=True, kw_only=True):
    """A worker began to run. A drain has no event of its own."""

    logger: ClassVar[str] = "singletable.workers"
    levels: ClassVar[tuple[str, ...]] = ("INFO",)

    worker: str
    """Its name: what it works on, as `tasks of orders`."""
    slots: int
    """Steps at a time."""
    process: str = ""
    """The host and the id of its process."""

    @property
    def text(self) -> str:
        return f"{self.worker}: started, {self.slots} at a time" + (f", on {self.process}" if self.process else "")


class WorkerStopped(Event, frozen=True, kw_only=True):
    """A worker ended: on request, or with the error that `run` raises."""

    logger: ClassVar[str] = "singletable.workers"
    levels: ClassVar[tuple[str, ...]] = ("INFO", "ERROR")

    worker: str
    seconds: float
    """Since it started."""
    error: Exception | None = None

    @property
    def level(self) -> int:
        return _INFO if self.error is None else _ERROR

    @property
    def text(self) -> str:
        end = "stopped" if self.error is None else f"failed with {described(self.error)}"
        return f"{self.worker}: {end} after {self.seconds:.1f} s"


class WorkerPaused(Event, frozen=True, kw_only=True):
    """A step of a worker, or the renewal of a lease, met an error that it outlives, as a throttled request.

    It is at INFO: a request that gave up has a record of its own.
    """

    logger: ClassVar[str] = "singletable.workers"
    levels: ClassVar[tuple[str, ...]] = ("INFO",)

    worker: str
    outcome: str
    """The code of the error."""
    why: str
    """The error in words."""
    then: str
    """The next step: `going on in 0.2 s`."""
    seconds: float
    """Until the step is repeated; 0 where something else decides when."""

    @property
    def text(self) -> str:
        return f"{self.worker}: {self.why}; {self.then}"

    @property
    def cause(self) -> Hashable:
        return self.worker, self.outcome


class LeaseTaken(Event, frozen=True, kw_only=True):
    """A worker took a lease: of work that nobody had, or of a worker that showed no life for the lease's length."""

    logger: ClassVar[str] = "singletable.workers"
    levels: ClassVar[tuple[str, ...]] = ("DEBUG", "WARNING")

    worker: str
    lease: str
    """The work that it is of, without a key: a shard's id, a task's name."""
    fence: int
    is_takeover: bool
    """Another worker had it, and gave no sign of life."""
    key_hash: str = ""
    """The hash of a task's key, as its other events have it."""
    seconds: float = 0.0
    """The length of the lease."""
    holder: str = ""
    """The host and the id of the process that had it, where they are known."""

    @property
    def level(self) -> int:
        return _WARNING if self.is_takeover else _DEBUG

    @property
    def text(self) -> str:
        if not self.is_takeover:
            return f"{self.worker}: took the lease of {self.lease}"
        named = f"{self.lease} ({self.key_hash})" if self.key_hash else self.lease
        length = f"{self.seconds:.0f} s, the lease's length" if self.seconds else "the lease's length"
        return (
            f"{self.worker}: took over the lease of {named} from {self.holder or 'a worker'}, which has given no sign "
            f"of life for {length}: that process was killed, stands still, or can't reach the table; what it had begun "
            "is done again"
        )

    @property
    def cause(self) -> Hashable:
        return self.worker, self.lease, self.key_hash


class LeaseLost(Event, frozen=True, kw_only=True):
    """A worker found that it no longer has a lease: it was late, or the work was cancelled."""

    logger: ClassVar[str] = "singletable.workers"
    levels: ClassVar[tuple[str, ...]] = ("WARNING",)

    worker: str
    lease: str

    @property
    def text(self) -> str:
        return f"{self.worker}: lost the lease of {self.lease}: it was cancelled, or another worker has it"

    @property
    def cause(self) -> Hashable:
        return self.worker, self.lease


class WorkOverran(Event, frozen=True, kw_only=True):
    """A task, or a handler of a change, runs for longer than the length of its lease, which its worker renews."""

    logger: ClassVar[str] = "singletable.workers"
    levels: ClassVar[tuple[str, ...]] = ("WARNING",)

    worker: str
    work: str
    """The task's name, or the event that is handled, as `order#INSERT`."""
    key_hash: str
    seconds: float
    """Since it began."""
    process: str = ""
    """The host and the id of its process."""

    @property
    def text(self) -> str:
        place = f" on {self.process}" if self.process else ""
        return (
            f"{self.worker}: {self.work} ({self.key_hash}) has run for {self.seconds:.0f} s{place} and has not ended; "
            "its worker lives and renews the lease, so nobody takes it over: look where that process waits"
        )

    @property
    def cause(self) -> Hashable:
        return self.worker, self.work, self.key_hash


class TaskBegun(Event, frozen=True, kw_only=True):
    """A worker claimed a task, and begins its function. It is a WARNING where the first try is over a minute late."""

    logger: ClassVar[str] = "singletable.tasks"
    levels: ClassVar[tuple[str, ...]] = ("DEBUG", "WARNING")

    table: str
    task: str
    """The name of its function."""
    key_hash: str
    attempt: int
    """From 1."""
    late_seconds: float
    """Since it was due."""

    @property
    def level(self) -> int:
        return _WARNING if self.attempt == 1 and self.late_seconds >= _LATE_SECONDS else _DEBUG

    @property
    def text(self) -> str:
        text = f"task {self.task} ({self.key_hash}): try {self.attempt} began, {self.late_seconds:.1f} s after its time"
        return text if self.level == _DEBUG else f"{text}: more is due than the workers end, or they were down"

    @property
    def cause(self) -> Hashable:
        return self.table, self.task


class TaskEnded(Event, frozen=True, kw_only=True):
    """A try of a task ended."""

    logger: ClassVar[str] = "singletable.tasks"
    levels: ClassVar[tuple[str, ...]] = ("DEBUG", "INFO", "WARNING", "ERROR")

    table: str
    task: str
    key_hash: str
    attempt: int
    tries: int
    """The most that it has."""
    outcome: TaskOutcome
    milliseconds: float
    retry_in: float | None = None
    error: BaseException | None = None

    @property
    def level(self) -> int:
        if self.outcome == "dead":
            return _ERROR
        if self.outcome in ("needless", "retried"):
            return _INFO
        if self.outcome == "done" and self.error is None:
            return _INFO if self.is_slow else _DEBUG
        return _WARNING

    @property
    def is_slow(self) -> bool:
        """Whether the try took over ten seconds."""
        return self.milliseconds >= _LONG_MILLISECONDS

    @property
    def text(self) -> str:
        slow = " (slow)" if self.is_slow else ""
        end = f"{_ENDS.get(self.outcome, self.outcome)} after {self.milliseconds:.0f} ms{slow}"
        if self.error is not None:
            end = f"{end} with {described(self.error)}"
        if self.retry_in is not None:
            end = f"{end}; next try in {self.retry_in:.1f} s"
        if self.outcome in _THEN:
            end = f"{end}. {_THEN[self.outcome]}"
        return f"task {self.task} ({self.key_hash}): try {self.attempt} of {self.tries}, {end}"

    @property
    def cause(self) -> Hashable:
        """A dead task is its own cause."""
        dead = self.key_hash if self.outcome == "dead" else ""
        return self.table, self.task, self.outcome, type(self.error), dead, self.is_slow


class ShardOpened(Event, frozen=True, kw_only=True):
    """A consumer begins to read a shard of a stream."""

    logger: ClassVar[str] = "singletable.streams"

    consumer: str
    shard: str

    @property
    def text(self) -> str:
        return f"{self.consumer}: reads the shard {self.shard}"


class ShardGap(Event, frozen=True, kw_only=True):
    """Changes of a shard were lost before the consumer read them."""

    logger: ClassVar[str] = "singletable.streams"
    levels: ClassVar[tuple[str, ...]] = ("ERROR",)

    consumer: str
    shard: str
    reason: str
    """Why they are gone: `trimmed`, or `replaced`."""
    table: str = ""
    before: datetime | None = None
    """All of them were made before."""

    @property
    def text(self) -> str:
        place = f"the shard {self.shard}" if self.shard else "its stream"
        table = f" of table {self.table}" if self.table else ""
        why = _GAPS.get(self.reason, "")
        return (
            f"{self.consumer}: changes of {place}{table} are lost ({self.reason}{why}){self._window}. Read the table "
            "for what their handlers should have done, as a handler of `on_gap` does"
        )

    @property
    def _window(self) -> str:
        if self.before is None:
            return ""
        return f", made after the last one that was handled and before {self.before:%Y-%m-%d %H:%M:%S} UTC"

    @property
    def cause(self) -> Hashable:
        return self.consumer, self.shard


class ChangeRetried(Event, frozen=True, kw_only=True):
    """A handler of a change failed, and is called again."""

    logger: ClassVar[str] = "singletable.streams"
    levels: ClassVar[tuple[str, ...]] = ("INFO",)

    consumer: str
    handler: str
    """The event that was to be handled, as `order#INSERT`."""
    key_hash: str
    attempt: int
    tries: int
    retry_in: float
    error: BaseException | None = None

    @property
    def text(self) -> str:
        return (
            f"{self.consumer}: {self.handler} ({self.key_hash}): try {self.attempt} of {self.tries} failed with "
            f"{described(self.error)}; next try in {self.retry_in:.1f} s"
        )

    @property
    def cause(self) -> Hashable:
        return self.consumer, self.handler, type(self.error)


class LetterAdded(Event, frozen=True, kw_only=True):
    """A change failed for the last time: it is a dead letter, and needs a person."""

    logger: ClassVar[str] = "singletable.streams"
    levels: ClassVar[tuple[str, ...]] = ("ERROR",)

    consumer: str
    handler: str
    """The event that was to be handled, as `order#INSERT`."""
    key_hash: str
    attempt: int
    error: BaseException | None = None

    @property
    def text(self) -> str:
        return (
            f"{self.consumer}: {self.handler} ({self.key_hash}): try {self.attempt}, the last one, failed with "
            f"{described(self.error)}. The change is a dead letter now, and those after it go on: "
            f"`singletable work retry --consumer {self.consumer}` handles it again, `drop` deletes it"
        )

    @property
    def cause(self) -> Hashable:
        return self.consumer, self.handler, self.key_hash


class StepApplied(Event, frozen=True, kw_only=True):
    """A step of a plan was applied to a table, or failed, or was interrupted."""

    logger: ClassVar[str] = "singletable.migrations"
    levels: ClassVar[tuple[str, ...]] = ("INFO", "ERROR")

    table: str
    step: str
    """The step, as the plan says it."""
    seconds: float
    error: BaseException | None = None

    @property
    def level(self) -> int:
        return _ERROR if isinstance(self.error, Exception) else _INFO

    @property
    def text(self) -> str:
        end = "applied" if self.error is None else f"ended by {described(self.error)}"
        return f"{self.table}: {self.step}: {end} after {self.seconds:.1f} s"
