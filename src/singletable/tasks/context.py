"""The task that runs in this context, for its function and for the write that ends it."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from singletable.errors import InvalidRequest
from singletable.failure_text import Caught
from singletable.flow import Port, refuse_awaitable
from singletable.foundation import Write
from singletable.tasks.items import TaskEntities, TaskItem
from singletable.tasks.outcomes import finish_writes
from singletable.tasks.writes import Finish


@dataclass(frozen=True)
class Running:
    """The task that runs, as its function sees it."""

    key: str
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
    """When its last extension began, by the monotonic clock."""
    is_extending: bool = False
    """The write of a longer lease is on its way."""
    is_lost: bool = False
    """True if it can't be extended any more: it has expired, or another worker holds it."""
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


class RunningTaskEnd:
    """The end of the running task, for `tx.add`: its effect and its end are one commit."""

    def __init__(self, claimed: Claimed) -> None:
        self._claimed = claimed

    def writes(self) -> Sequence[Write]:
        writes = finish_writes(self._claimed.tasks, self._claimed.item)
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
