"""Claiming an ordered task: the first of its lane, if it is ready and no other of the lane runs.

A lane that another worker holds is taken over once its lease is seen to be over (`lease_watch`).

The first is read from the table consistently, and the claim's transaction is conditional on it. The `wake` of a task
that has to wait is set to that of the one before it, so that the index shows workers what they can claim. The end of a
task wakes the next.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta

from singletable.errors import TransactionCancelled
from singletable.flow import Port, instant
from singletable.foundation import KeyOf, commit, get, model_of, partition_query, send_alone
from singletable.tasks.due import wake_text
from singletable.tasks.items import Lane, OrderedTask, TaskEntities
from singletable.tasks.lease_watch import LeaseWatch, tell_takeover
from singletable.tasks.ordered import TaskGone, claim_ordered, delete_cancelled, postpone_ordered, wake_ordered
from singletable.tasks.writes import ClaimLost

_LONGEST_WAIT = timedelta(seconds=60)
"""A task whose predecessor is cancelled wakes no later than this."""
_MOST_DROPPED = 25
"""Cancelled tasks that one claim deletes."""


@dataclass(frozen=True)
class LaneNow:
    """The state of a lane when read: the task that runs, if one does, and the first one."""

    runs: Lane | None
    head: OrderedTask | None


async def claim_first(
    port: Port,
    tasks: TaskEntities,
    key: KeyOf[OrderedTask],
    until: datetime,
    watch: LeaseWatch,
    runs_here: Collection[tuple[str, str]] = (),
) -> OrderedTask | None:
    """Claim the first of a task's lane, which may be another task; None if the lane has to wait.

    `watch` has the leases that this worker has seen. `runs_here` are the primary keys of what it runs, which it never
    claims again, whatever its clock says.

    A request, and a transaction of three items; of two where it is postponed.
    """
    order = model_of(tasks.ordered).key_values(key)["order"]
    for _ in range(_MOST_DROPPED):
        now = instant(port.now())
        lane = await read_lane(port, tasks, order)
        head = lane.head
        if head is None or model_of(tasks.ordered).place_of(head) in runs_here:
            return None
        if lane.runs is not None and (wake := _lease_end(port, tasks, lane.runs, watch, now)) > now:
            if lane.runs.turn != key.low:
                await _postpone(port, tasks, key, wake, now, lane.runs)
            return None
        if head.ready <= now:
            claimed, writes = claim_ordered(tasks, head, now, until, lane.runs, port.events.process)
            try:
                await commit(port, writes)
            except TransactionCancelled as cancelled:
                if not any(isinstance(failure.error, TaskGone) for failure in cancelled.failures):
                    return None
            else:
                if lane.runs is not None:
                    tell_takeover(port, tasks.worker, claimed, lane.runs.lease, head.process)
                return claimed
        if not await dropped(port, tasks, head, lane.runs):
            if head.ready > now and model_of(tasks.ordered).key_of(head).low != key.low:
                await _postpone(port, tasks, key, head.ready, now, head)
            return None
    return None


def _lease_end(port: Port, tasks: TaskEntities, runs: Lane, watch: LeaseWatch, now: datetime) -> datetime:
    """The time when the lease of a lane is over for this worker; not after now if it is."""
    left = watch.left(tasks.by_order(runs.order).partition, wake_text(tasks, runs.until), runs.lease, port.monotonic())
    return max(runs.until, now + timedelta(seconds=left))


async def wake_next(port: Port, tasks: TaskEntities, order: str) -> None:
    """Wake the first of a lane, where it was postponed. A request, and a write where it was."""
    now = instant(port.now())
    lane = await read_lane(port, tasks, order)
    head = lane.head
    if head is None or lane.runs is not None or not head.ready <= now < head.wake:
        return
    try:
        await send_alone(port, wake_ordered(tasks, head, now))
    except ClaimLost:
        return  # another worker claimed it, or it was cancelled


async def drop_cancelled(port: Port, tasks: TaskEntities, task: OrderedTask) -> None:
    """After a refused end: where the task was cancelled while it ran, delete it, and let the lane go on."""
    lane = await read_lane(port, tasks, task.order)
    if lane.runs is not None and lane.runs.fence == task.fence:
        await dropped(port, tasks, task, lane.runs)


async def read_lane(port: Port, tasks: TaskEntities, order: str) -> LaneNow:
    """One consistent request of two items."""
    answer = await port.send(partition_query(tasks.table, tasks.by_order(order).partition, limit=2))
    runs: Lane | None = None
    heads: list[OrderedTask] = []
    for item in answer.items:
        runs = model_of(tasks.lane).load(item) or runs
        task = model_of(tasks.ordered).load(item)
        heads += [] if task is None else [task]
    return LaneNow(runs, heads[0] if heads else None)


async def _postpone(
    port: Port, tasks: TaskEntities, key: KeyOf[OrderedTask], wake: datetime, now: datetime, before: Lane | OrderedTask
) -> None:
    try:
        await commit(port, postpone_ordered(tasks, key, min(wake, now + _LONGEST_WAIT), now, before))
    except TransactionCancelled:
        return  # one of the two has changed: the next poll reads it again


async def dropped(port: Port, tasks: TaskEntities, task: OrderedTask, runs: Lane | None) -> bool:
    """Delete an ordered task that was cancelled, and wake the next; False if it was not cancelled."""
    place = model_of(tasks.ordered).key_of(task).low
    name = await get(port, tasks.by_id(task.id).consistent())
    if name is not None and name.turn == place:
        return False
    holds_lane = runs is not None and runs.turn == place and runs.fence == task.fence
    try:
        await commit(port, delete_cancelled(tasks, task, holds_lane=holds_lane))
    except TransactionCancelled:
        return False
    await wake_next(port, tasks, task.order)
    return True
