"""The lag of a table's tasks: what waits for a worker, since when, and what workers have claimed."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from msgspec import Struct

from singletable.errors import NotFound, NotSupported
from singletable.flow import Port, instant
from singletable.foundation import get, send_alone
from singletable.hidden_fields import repr_without
from singletable.tasks.due import Candidate, find, time_of
from singletable.tasks.items import UNCLAIMED, TaskEntities, TaskState, lease_of
from singletable.tasks.states import TaskEvent, TaskPhase, stored_after
from singletable.tasks.writes import Advance, ClaimLost
from singletable.values import changed

_LOOKED_AT: Final = 100
"""Tasks of each of the eight parts of the index."""
_LONGEST_LEASE: Final = timedelta(hours=1)


class TaskLease(Struct, frozen=True):
    """A task that a worker has claimed."""

    key: str
    task: str
    """The name of its function; empty where the index does not show it."""
    process: str
    """The host and the id of the process that has it; empty where the program of that process does not store it, or the
    index does not show it."""
    beat_at: datetime | None
    """When its worker claimed or beat it last, by its clock; None if a program that stores no length has it."""
    beat_seconds: float | None
    until: datetime
    """When the lease ends without another beat."""
    is_over: bool
    """Whether that has come: another worker takes it over once it has looked on for the length of the lease."""

    __repr__ = repr_without("key")


class TaskLag(Struct, frozen=True):
    """The lag of the tasks of one table."""

    seconds: float
    """The time since the oldest task that waits for a worker could be claimed, or since a lease is over that no worker
    has taken; 0 for none."""
    oldest: datetime | None
    due: int
    """The number that waits for a worker."""
    is_all: bool
    """Whether that, and `leases`, are all: of each eighth of the tasks 100 are looked at, the earliest."""
    leases: tuple[TaskLease, ...]


async def task_lag(port: Port, tasks: TaskEntities) -> TaskLag:
    """Read what is due, and what is claimed. Eight requests, half a read unit for each 4 KB; the index may lag."""
    now = instant(port.now())
    rows = await find(port, tasks, TaskState.DUE, _LOOKED_AT, now + _LONGEST_LEASE)
    times = [(row, time_of(tasks, row.wake)) for row in rows]
    waiting = [wake for row, wake in times if row.lease == 0.0 and wake <= now]
    oldest = min((wake for _, wake in times if wake <= now), default=None)
    return TaskLag(
        0.0 if oldest is None else (now - oldest).total_seconds(),
        oldest,
        len(waiting),
        _is_all(rows),
        tuple(_lease(row, wake, now) for row, wake in times if row.lease != 0.0),
    )


def _is_all(rows: Sequence[Candidate]) -> bool:
    counts: dict[int, int] = {}
    for row in rows:
        counts[row.shard] = counts.get(row.shard, 0) + 1
    return all(count < _LOOKED_AT for count in counts.values())


def _lease(row: Candidate, until: datetime, now: datetime) -> TaskLease:
    key = row.key.model.key_values(row.key)["id"]
    beat_at = None if row.lease is None else until - timedelta(seconds=row.lease)
    ago = None if beat_at is None else max(0.0, (now - beat_at).total_seconds())
    return TaskLease(key, row.task, row.process, beat_at, ago, until, until <= now)


async def release_task(port: Port, tasks: TaskEntities, key: str) -> None:
    """Take a task from the worker that has claimed it: it is due now. A read and a write.

    The try that it takes is not counted, so the task's last one is not lost. That of a recurring task is: its run has
    begun in time, which the next worker knows by the count.

    NotFound for a task that nobody has claimed, NotSupported for one that has an order.
    """
    item = await get(port, tasks.by_id(key).consistent())
    if item is not None and item.state is TaskState.ORDERED:
        raise NotSupported(
            "a task that has an order is not released by itself: its order is under one lease",
            key=tasks.by_id(key),
            operation="release",
            hint="It is taken over when its lease is over.",
        )
    is_claimed = item is not None and item.state is TaskState.DUE
    if item is None or not is_claimed or lease_of(item.lease, sent=item.sent, tries=item.tries) == 0.0:
        raise _not_claimed(tasks, key)
    state, now = stored_after(TaskPhase.CLAIMED, TaskEvent.RELEASE), instant(port.now())
    tries = item.tries if item.recurs is not None else item.tries - 1
    wake = max(item.due, now)
    becomes = changed(item, state=state, wake=wake, fence=item.fence + 1, tries=tries, **UNCLAIMED)
    try:
        await send_alone(port, Advance(item, becomes, TaskEvent.RELEASE.value))
    except ClaimLost:
        raise _not_claimed(tasks, key) from None


def _not_claimed(tasks: TaskEntities, key: str) -> NotFound:
    return NotFound(
        "no worker has claimed a task of this key",
        key=tasks.by_id(key),
        operation="release",
        hint="TaskWorker(db, tasks).lag() has the claimed ones.",
    )
