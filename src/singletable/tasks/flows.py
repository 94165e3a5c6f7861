"""The flows of tasks by their verbs: what the two shells run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from singletable.errors import NotFound
from singletable.flow import (
    TASKS_DEAD,
    TASKS_OVERDUE,
    Gate,
    Port,
    Stop,
    dimensions_of,
    instant,
    print_metrics,
    stopping,
)
from singletable.foundation import get
from singletable.holds import TableGate
from singletable.queues import Queue
from singletable.tasks.calls import TaskFunction
from singletable.tasks.check import check as check
from singletable.tasks.dispatch import send_due
from singletable.tasks.due import all_of, find, time_of
from singletable.tasks.items import DeadLetter, PlainTask, TaskEntities, TaskItem, TaskState
from singletable.tasks.lag import release_task as release_task, task_lag as task_lag
from singletable.tasks.outcomes import apply, drop_writes, forget_run_writes, rerun_writes, revive_writes
from singletable.tasks.queue_worker import QueueWorker, handle_event as handle_event
from singletable.tasks.recurring_items import plan_recurring, recurring_in, recurring_items
from singletable.tasks.worker import WorkerSlots
from singletable.tasks.worker_options import Counts, TaskWorkerOptions
from singletable.tasks.writes import ClaimLost

_MOST_DEAD = 100
"""Dead tasks of each of the eight parts of the index that are counted."""
Functions = Mapping[str, TaskFunction[...]]


async def run(
    port: Port,
    tasks: TaskEntities,
    functions: Functions,
    options: TaskWorkerOptions,
    queue: Queue[Any] | None,
    stop: Stop | None,
    signals: bool,
) -> Counts:
    """A worker, until it is to stop."""
    with stopping(stop, signals) as is_over:
        worker = WorkerSlots(port, TableGate(port, tasks.table), tasks, functions, options, is_over)
        return await (worker.run() if queue is None else QueueWorker(worker, queue).run())


async def drain(
    port: Port, tasks: TaskEntities, functions: Functions, options: TaskWorkerOptions, stop: Stop | None
) -> Counts:
    """A worker, until nothing is due."""
    with stopping(stop, signals=False) as is_over:
        return await WorkerSlots(port, TableGate(port, tasks.table), tasks, functions, options, is_over).drain()


async def plan_and_send(
    port: Port, gate: Gate, tasks: TaskEntities, functions: Functions, queue: Queue[Any], within_seconds: float
) -> int:
    """See to the items of recurring tasks, then send what is due: for a schedule in place of a worker."""
    if recurring_in(functions) and not await gate.is_held():
        await plan_recurring(port, tasks, functions, instant(port.now()))
    return await send_due(port, gate, tasks, queue, within_seconds)


async def print_task_metrics(port: Port, tasks: TaskEntities, functions: Functions) -> dict[str, float]:
    """Print how long the oldest task is overdue, and how many tasks and runs are dead. Sixteen queries, half a unit for
    each 4 KB, and a read of each recurring task's item."""
    waiting = await find(port, tasks, TaskState.DUE, 1)
    dead = await find(port, tasks, TaskState.DEAD, _MOST_DEAD)
    runs = [item for item in (await recurring_items(port, tasks, functions)).values() if _has_failed_run(item)]
    now = port.now()
    overdue = now - time_of(tasks, waiting[0].wake).timestamp() if waiting else 0.0
    metrics = {TASKS_OVERDUE: max(0.0, overdue), TASKS_DEAD: float(len(dead) + len(runs))}
    print_metrics(dimensions_of(port.names[tasks.table.name]), metrics, now)
    return metrics


async def dead_letters(port: Port, tasks: TaskEntities, functions: Functions) -> list[DeadLetter]:
    """Every dead task and failed run, the longest dead first: eight queries, then a read of each item, and of that of
    each recurring task."""
    dead = [item for item in await all_of(port, tasks, TaskState.DEAD) if item.state is TaskState.DEAD]
    recurring = await recurring_items(port, tasks, functions)
    runs = [_failed_run(item) for item in recurring.values() if _has_failed_run(item)]
    return sorted([*map(_letter, dead), *runs], key=lambda letter: letter.died)


async def retry(port: Port, tasks: TaskEntities, key: str) -> None:
    """A read and a write."""
    item = await _dead(port, tasks, key, "retry")
    now = instant(port.now())
    try:
        await apply(port, rerun_writes(item, now) if _has_failed_run(item) else revive_writes(tasks, item, now))
    except ClaimLost:
        raise _not_dead(tasks, key, "retry") from None


async def drop(port: Port, tasks: TaskEntities, key: str) -> None:
    """A read and a write."""
    item = await _dead(port, tasks, key, "drop")
    try:
        await apply(port, forget_run_writes(item) if _has_failed_run(item) else drop_writes(item))
    except ClaimLost:
        raise _not_dead(tasks, key, "drop") from None


async def _dead(port: Port, tasks: TaskEntities, key: str, verb: str) -> PlainTask:
    """Read a dead task, or a recurring one whose last run failed for good."""
    item = await get(port, tasks.by_id(key).consistent())
    if item is None or (item.state is not TaskState.DEAD and item.failed is None):
        raise _not_dead(tasks, key, verb)
    return item


def _has_failed_run(item: PlainTask) -> bool:
    """Whether a recurring task goes on, and its last run failed. A dead one is a dead task, whatever failed before."""
    return item.failed is not None and item.state is not TaskState.DEAD


def _failed_run(item: PlainTask) -> DeadLetter:
    assert item.failed is not None
    assert item.died is not None
    return DeadLetter(item.id, item.function, item.arguments, item.failed, item.failures, item.died, item.error or "")


def _letter(item: TaskItem) -> DeadLetter:
    return DeadLetter(
        item.id, item.function, item.arguments, item.due, item.tries, item.wake, item.error or "", item.process or ""
    )


def _not_dead(tasks: TaskEntities, key: str, verb: str) -> NotFound:
    return NotFound(
        "no dead task has this key",
        key=tasks.by_id(key),
        operation=verb,
        hint="`singletable work show`, or TaskWorker(db, tasks).dead_letters(), has the dead ones.",
    )
