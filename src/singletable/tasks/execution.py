"""Runs the function of one claimed task within its context, and writes the outcome.

The context is for the function, which may ask what runs (`running`), and put its end into a transaction (`done`). The
transitions are those of `states`: FINISH, RETRY, RETURN or DEAD_LETTER end a claim, EXTEND prolongs it. Each raises
ClaimLost if the task was cancelled, or if another worker claimed it after the lease had expired.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from singletable.errors import InvalidRequest, SingletableError
from singletable.events import TaskBegun, TaskEnded, TaskOutcome, TraceContext, WorkOverran
from singletable.failure_text import Caught, error_text
from singletable.flow import Port, instant, refuse_awaitable
from singletable.foundation import Write, model_for
from singletable.tasks.calls import DEFAULT_TRIES, Backoff, TaskFunction
from singletable.tasks.items import OrderedTask, PlainTask, TaskEntities, TaskItem
from singletable.tasks.ordered_claim import drop_cancelled, wake_next
from singletable.tasks.outcomes import (
    RunPlan,
    apply,
    dead_letter_writes,
    extend_writes,
    finish_writes,
    next_run_writes,
    retry_writes,
    return_writes,
)
from singletable.tasks.recurrence import Recurrence
from singletable.tasks.states import TaskEvent
from singletable.tasks.worker_options import Counts
from singletable.tasks.writes import ClaimLost, Finish, claim_lost


@dataclass(frozen=True)
class Running:
    """The task that runs, as its function sees it."""

    key: str = field(repr=False)
    """Its key. It is the same in every try: an idempotency key for other services."""
    task: str
    """The name of its function."""
    due: datetime
    tries: int
    """The number of tries, including this one."""
    fence: int
    """Greater with each claim."""


@dataclass(frozen=True)
class ClaimTime:
    """When a claim was requested, by the wall clock and by the monotonic clock."""

    wall: float
    monotonic: float

    @classmethod
    def now(cls, port: Port) -> ClaimTime:
        return cls(port.now(), port.monotonic())

    def wall_at(self, monotonic: float) -> float:
        """The wall time of a monotonic time, unaffected by later settings of the wall clock."""
        return self.wall + monotonic - self.monotonic


@dataclass(eq=False)
class Claimed:
    """A claim that this process holds."""

    tasks: TaskEntities
    item: TaskItem
    claim_time: ClaimTime
    renewed_at: float = field(init=False)
    """When its last extension that succeeded began, by the monotonic clock."""
    is_extending: bool = False
    """The write of a longer lease is on its way."""
    is_lost: bool = False
    """True if it can't be extended any more: it has expired, or another worker holds it."""
    next_run: RunPlan | None = None
    """The plan that the end of a recurring task's run writes."""
    ends: list[Finish] = field(default_factory=list[Finish])

    def __post_init__(self) -> None:
        self.renewed_at = self.claim_time.monotonic

    @property
    def ended(self) -> bool:
        """Whether one of the function's own transactions ended the task."""
        return any(finish.ended for finish in self.ends)

    @property
    def running(self) -> Running:
        item = self.item
        return Running(item.id, item.function, item.due, item.tries, item.fence)


_current: ContextVar[Claimed | None] = ContextVar("the task that runs", default=None)


@contextmanager
def _in(claimed: Claimed) -> Generator[None, None, None]:
    token = _current.set(claimed)
    try:
        yield
    finally:
        _current.reset(token)


def claimed_now() -> Claimed:
    """The claim of the task that runs in this context; InvalidRequest outside of one."""
    claimed = _current.get()
    if claimed is None:
        raise InvalidRequest("no task is running here", hint="Call it within a task's function, in its own context.")
    return claimed


class NothingToDo(Exception):
    """Raised by a task's function: what it was scheduled for is done, or not needed any more. The task ends as done.

    It is neither tried again nor a dead letter. An exception of your own may be a subclass of it.
    """


class MissedRun(NothingToDo):
    """A run of a recurring task that could not begin in time, and is left out: `missed="skip"`."""


def end_writes(claimed: Claimed) -> list[Write]:
    """The end of a task that has done what it was scheduled for."""
    item, planned = claimed.item, claimed.next_run
    if isinstance(item, PlainTask) and planned is not None:
        return next_run_writes(item, planned)
    return finish_writes(claimed.tasks, item)


class RunningTaskEnd:
    """The end of the running task, for `tx.add`: its effect and its end are one commit."""

    def __init__(self, claimed: Claimed) -> None:
        self._claimed = claimed

    def writes(self) -> Sequence[Write]:
        writes = end_writes(self._claimed)
        self._claimed.ends += [write for write in writes if isinstance(write, Finish)]
        return writes


@dataclass(frozen=True)
class FunctionEnd:
    """The end of a task's function: with an error, or without."""

    error: BaseException | None = None


Attempt = Callable[[], Any]
"""A call of a task's function within its context. Returns a FunctionEnd."""


def attempt(claimed: Claimed, call: Callable[[], Any], *, is_async: bool) -> Attempt:
    def run() -> FunctionEnd:
        with _in(claimed), Caught() as caught:
            refuse_awaitable(call(), f"the task {claimed.item.function}")
        return FunctionEnd(caught.error)

    async def run_awaiting() -> FunctionEnd:
        with _in(claimed), Caught() as caught:
            await call()
        return FunctionEnd(caught.error)

    return run_awaiting if is_async else run


UNKNOWN_SECONDS = 3600.0
"""After its due time a task waits this long for a worker that has its function; then it is dead."""
_FIRST_RETURN_SECONDS = 1.0
_LONGEST_RETURN_SECONDS = 60.0
_LOOKING_SECONDS = 0.01


class UnknownTask(SingletableError):
    """A stored task whose function, or a parameter of it, this program does not have. Another version may have it."""

    code = "task.unknown"


class Unfinished(SingletableError):
    """A task whose worker ended each time before the task did."""

    code = "task.unfinished"


@dataclass(eq=False)
class Execution:
    """Runs claimed tasks for one worker. `held` are the claims whose functions run, the oldest first."""

    port: Port
    tasks: TaskEntities
    functions: Mapping[str, TaskFunction[...]]
    lease_seconds: float
    began: datetime
    """When the worker started."""
    held: dict[Claimed, None] = field(default_factory=dict[Claimed, None])

    def running_keys(self) -> set[tuple[str, str]]:
        """The primary keys of what runs here. Where the wall clock was set on, their leases seem to be over."""
        return {model_for(claimed.item).place_of(claimed.item) for claimed in self.held.copy()}

    async def run(self, item: TaskItem, claim_time: ClaimTime, counts: Counts) -> None:
        """Run a task that was claimed, and write what became of it."""
        claimed = Claimed(self.tasks, item, claim_time, next_run=self._next_run(item, claim_time))
        context = TraceContext.of_text(item.trace)
        with self.port.events.handling(
            "task",
            item.function,
            self.tasks.table.name,
            contexts=() if context is None else (context,),
            key_hash=self.port.events.hash_of(item.id),
            attempt=item.tries,
            expected=(NothingToDo,),
        ) as work:
            work.error = await self._run(claimed, counts)

    async def _run(self, claimed: Claimed, counts: Counts) -> BaseException | None:
        """Run it; returns the error that its function ended with."""
        item = claimed.item
        self._tell_begin(claimed)
        error: BaseException | None = None
        try:
            error = await self._held(claimed)
            await self._settle(claimed, error, counts)
        except ClaimLost:
            counts.lost += 1
            self._tell_end(claimed, "lost", error)
            if isinstance(item, OrderedTask):
                await drop_cancelled(self.port, self.tasks, item)
        except BaseException as reason:
            self._tell_end(claimed, "open", reason)
            raise
        if isinstance(item, OrderedTask):
            await wake_next(self.port, self.tasks, item.order)
        return error

    async def _held(self, claimed: Claimed) -> BaseException | None:
        """Run the function while the heartbeat prolongs the lease; returns the error that it ended with."""
        self.held[claimed] = None
        try:
            return await self._error_of(claimed)
        finally:
            del self.held[claimed]

    async def extend(self, claimed: Claimed) -> None:
        """Prolong a lease; for the heartbeat."""
        claimed.is_extending = True
        try:
            if claimed in self.held:  # checked after the mark is set, as the slot reads the mark after it let go
                now = self.port.monotonic()
                until = instant(claimed.claim_time.wall_at(now) + self.lease_seconds)
                await apply(self.port, extend_writes(self.tasks, claimed.item, until))
                claimed.renewed_at = now
                self._tell_overrun(claimed, now)
        except ClaimLost:
            claimed.is_lost = True  # whether that matters shows when the task ends
        finally:
            claimed.is_extending = False

    def _next_run(self, item: TaskItem, claim_time: ClaimTime) -> RunPlan | None:
        recurs = self._recurrence_of(item)
        if recurs is None:
            return None
        due = recurs.next(item.due, instant(claim_time.wall))
        return RunPlan(due, recurs.text, self.began)

    def _recurrence_of(self, item: TaskItem) -> Recurrence | None:
        """The declared times of a recurring task; None for a task that is not one, or is declared so no longer."""
        function = self.functions.get(item.function)
        is_recurring = isinstance(item, PlainTask) and item.recurs is not None
        return function.recurs if is_recurring and function is not None else None

    def _is_left_out(self, claimed: Claimed) -> bool:
        """Whether a run is too late to be begun. One that a person retries is not."""
        item, recurs = claimed.item, self._recurrence_of(claimed.item)
        if recurs is None or item.tries > 1 or (isinstance(item, PlainTask) and item.due == item.failed):
            return False
        return recurs.is_left_out(item.due, instant(claimed.claim_time.wall))

    # --- running ------------------------------------------------------------------------------------------------------
    async def _error_of(self, claimed: Claimed) -> BaseException | None:
        """Run the function; returns the error that it ended with."""
        item = claimed.item
        function = self.functions.get(item.function)
        if function is None:
            return UnknownTask(f"this program has no task {item.function!r}", hint="Deploy the program that has it.")
        if newer := function.unknown_in(item.arguments):
            return UnknownTask(
                f"the task {item.function!r} of this program has no parameter {newer!r}",
                hint="Deploy the program that has it. Keep a parameter that is no longer used, with a default.",
            )
        if item.tries > function.tries:
            return Unfinished(f"it was begun {function.tries} times, and its worker ended each time before it did")
        if self._is_left_out(claimed):
            return MissedRun()
        try:
            call = function.bind(item.arguments)
        except Exception as error:
            return error
        ended: list[FunctionEnd] = await self.port.call_all([attempt(claimed, call, is_async=function.is_async)])
        return ended[0].error

    # --- what became of it --------------------------------------------------------------------------------------------
    async def _settle(self, claimed: Claimed, error: BaseException | None, counts: Counts) -> None:
        is_needless = isinstance(error, NothingToDo)
        if claimed.ended:
            counts.done += 1
            self._tell_end(claimed, "done", None if is_needless else error)
        elif error is None or is_needless:
            await self._end(claimed)
            counts.done += 1
            self._tell_end(claimed, "needless" if is_needless else "done", error)
        else:
            await self._until_extended(claimed)
            await self._after_failure(claimed, error, counts)

    async def _end(self, claimed: Claimed) -> None:
        """End the task. ClaimLost where it is gone and the lease is over: another worker has run it too."""
        writes = end_writes(claimed)
        await apply(self.port, writes)
        is_gone = any(isinstance(write, Finish) and write.was_gone for write in writes)
        if is_gone and (claimed.is_lost or self.port.monotonic() - claimed.renewed_at >= self.lease_seconds):
            raise claim_lost(writes[0].key, TaskEvent.FINISH.value)

    async def _until_extended(self, claimed: Claimed) -> None:
        """Wait for an extension that is on its way: it would overwrite the retry time."""
        while claimed.is_extending:
            await self.port.sleep(_LOOKING_SECONDS)

    async def _after_failure(self, claimed: Claimed, error: BaseException, counts: Counts) -> None:
        item = claimed.item
        now, unknown = self.port.now(), isinstance(error, UnknownTask)
        if unknown and now - item.due.timestamp() < UNKNOWN_SECONDS:
            await self._return(claimed, error, counts)
            return
        function = self.functions.get(item.function)
        tries = DEFAULT_TRIES if function is None else function.tries
        backoff = Backoff() if function is None else function.backoff
        is_last = unknown or item.tries >= tries
        if is_last:
            await apply(self.port, self._last_writes(claimed, instant(now), error_text(error)))
            counts.dead += 1
            self._tell_end(claimed, "dead", error)
        else:
            wait = backoff.seconds(item.tries, self.port.random())
            await apply(self.port, retry_writes(self.tasks, item, instant(now + wait), error_text(error)))
            counts.failed += 1
            self._tell_end(claimed, "retried", error, wait)

    def _last_writes(self, claimed: Claimed, now: datetime, error: str) -> list[Write]:
        """A task that has failed for good is a dead letter; a recurring one goes on with its next run, and says so."""
        item, planned = claimed.item, claimed.next_run
        if isinstance(item, PlainTask) and planned is not None:
            return next_run_writes(item, planned, now, error)
        return dead_letter_writes(self.tasks, item, now, error)

    async def _return(self, claimed: Claimed, error: BaseException, counts: Counts) -> None:
        """Leave it to a worker of another version of the program; this one's try is not counted."""
        item = claimed.item
        now = self.port.now()
        late = now - item.due.timestamp()
        wait = min(_LONGEST_RETURN_SECONDS, max(_FIRST_RETURN_SECONDS, late / 2)) * (0.5 + self.port.random() / 2)
        await apply(self.port, return_writes(self.tasks, item, instant(now + wait), error_text(error)))
        counts.failed += 1
        self._tell_end(claimed, "returned", error, wait)

    # --- events -------------------------------------------------------------------------------------------------------
    def _tell_begin(self, claimed: Claimed) -> None:
        events, item = self.port.events, claimed.item
        begun = TaskBegun(
            table=self.tasks.table.name,
            task=item.function,
            key_hash=events.hash_of(item.id),
            attempt=item.tries,
            late_seconds=claimed.claim_time.wall - item.due.timestamp(),
        )
        events.emit(begun)

    def _tell_overrun(self, claimed: Claimed, now: float) -> None:
        events, item, seconds = self.port.events, claimed.item, now - claimed.claim_time.monotonic
        if seconds >= self.lease_seconds:
            names = {"worker": self.tasks.worker, "work": item.function, "key_hash": events.hash_of(item.id)}
            events.emit(WorkOverran(**names, seconds=seconds, process=events.process))

    def _tell_end(
        self, claimed: Claimed, outcome: TaskOutcome, error: BaseException | None, retry_in: float | None = None
    ) -> None:
        events, item = self.port.events, claimed.item
        function = self.functions.get(item.function)
        ended = TaskEnded(
            table=self.tasks.table.name,
            task=item.function,
            key_hash=events.hash_of(item.id),
            attempt=item.tries,
            tries=DEFAULT_TRIES if function is None else function.tries,
            outcome=outcome,
            milliseconds=1000 * (self.port.monotonic() - claimed.claim_time.monotonic),
            retry_in=retry_in,
            error=error,
        )
        events.emit(ended)
