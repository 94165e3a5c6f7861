"""Tasks through SQS: a pointer to a task is sent shortly before it is due, and the worker that receives it runs it.

A message is a key and a fence. The task itself is read from the table, and the claim decides. So an early, late,
duplicate or forged message can do nothing that an honest one can't. A message that is lost is sent again when its task
is overdue; `wake` is set to that time, so a task of a long backlog is sent every two minutes, not with every poll.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from math import ceil
from typing import Any

from msgspec import Struct

from singletable.errors import NotConfigured
from singletable.expressions import AttributeChange, Condition
from singletable.flow import Gate, Port, instant
from singletable.foundation import get, is_type, model_of, send_alone
from singletable.operations import MAX_DELAY_SECONDS
from singletable.queues import Outgoing, Queue, send
from singletable.tasks.due import Candidate, keys_of, time_of, wake_text
from singletable.tasks.execution import ClaimTime
from singletable.tasks.items import OrderedTask, TaskEntities, TaskItem, TaskState, lease_of
from singletable.tasks.lease_watch import tell_takeover
from singletable.tasks.ordered import move
from singletable.tasks.ordered_claim import claim_first
from singletable.tasks.worker import WorkerSlots
from singletable.tasks.worker_options import Counts
from singletable.tasks.writes import ClaimLost, TaskClaim, at_most, equal, waking

RESEND_SECONDS = 120.0
"""A task that is overdue for this long has lost its message, or its worker."""
_MARKS_AT_ONCE = 16
_MOST_ORDERED = 25


class TaskPointer(Struct, frozen=True, omit_defaults=True):
    """The content of a message."""

    key: str
    fence: int
    wake: str = ""
    """The end of a claimed task's lease, as the index's text: its length after the message was sent. Until then the
    message is held back, so where the end is still the same then, the worker that claimed it is dead. A standard queue
    delays it for up to 15 minutes; for the rest, and in a fifo queue, it is returned (`NotDue`)."""


async def send_due(port: Port, gate: Gate, tasks: TaskEntities, queue: Queue[Any], within_seconds: float) -> int:
    """Send the tasks that are due soon and were not sent yet; returns their number.

    To a standard queue they are sent up to 15 minutes before, with a delay; to a fifo queue when they are due, with
    their order as the group. None while the table is held. A read of the hold, and eight queries over what is due in
    that time; for each task a tenth of a request, and an update of two units.
    """
    _check_projection(tasks)
    if await gate.is_held():
        return 0
    now = port.now()
    ahead = 0.0 if queue.is_fifo else min(within_seconds, MAX_DELAY_SECONDS)
    due = await keys_of(port, tasks, TaskState.DUE, instant(now + ahead))
    overdue = wake_text(tasks, instant(now - RESEND_SECONDS))
    sent = 0
    for part in _parts([task for task in due if not task.sent]):
        await _send(port, tasks, queue, part, now)
        # After the message: a crash between the two sends it twice.
        await _mark(port, tasks, part, [AttributeChange("sent", {"BOOL": True})])
        sent += len(part)
    lost = [task for task in due if task.sent and task.wake <= overdue]
    for claimed in (False, True):
        for part in _parts([task for task in lost if bool(task.lease) is claimed]):
            # Before the message: of several senders one sends, and a message that is lost again is sent again later.
            sent += await _resend(port, tasks, queue, part, now)
    return sent


def _parts(tasks: list[Candidate]) -> Iterator[list[Candidate]]:
    for first in range(0, len(tasks), _MARKS_AT_ONCE):
        yield tasks[first : first + _MARKS_AT_ONCE]


async def _send(port: Port, tasks: TaskEntities, queue: Queue[Any], part: Sequence[Candidate], now: float) -> None:
    pointers: Queue[TaskPointer] = Queue(queue.url, TaskPointer)
    await send(port, pointers, [_message(tasks, queue, task, now) for task in part])


async def _resend(port: Port, tasks: TaskEntities, queue: Queue[Any], part: list[Candidate], now: float) -> int:
    model, woken = model_of(tasks.task), instant(now + max(task.lease or 0.0 for task in part))
    unmoved = equal("state", {"S": TaskState.DUE.value}) & at_most("wake", instant(now - RESEND_SECONDS))
    ours = await _mark(port, tasks, part, list(waking(model, tasks.index, woken)), unmoved)
    lost = [replace(task, wake=wake_text(tasks, woken)) for task, is_ours in zip(part, ours, strict=True) if is_ours]
    await _send(port, tasks, queue, lost, now)
    return len(lost)


def _message(tasks: TaskEntities, queue: Queue[Any], task: Candidate, now: float) -> Outgoing[TaskPointer]:
    values = task.key.model.key_values(task.key)
    pointer = TaskPointer(values["id"], task.fence or 0, task.wake if task.lease else "")
    if not queue.is_fifo:
        # As instants: a float of today's time is a quarter of a microsecond off, which would be rounded up to a second.
        wait = ceil((time_of(tasks, task.wake) - instant(now)).total_seconds())
        return Outgoing(pointer, delay_seconds=min(MAX_DELAY_SECONDS, max(0, wait)))
    group = values.get("order", values["id"])
    return Outgoing(pointer, group=group, deduplication=f"{pointer.key}#{pointer.fence}#{task.wake}")


async def _mark(
    port: Port,
    tasks: TaskEntities,
    part: Sequence[Candidate],
    changes: Sequence[AttributeChange],
    held: Condition | None = None,
) -> list[bool]:
    """Change the items of tasks; returns for each whether it was as the index shows it."""
    marks: list[Callable[[], Any]] = [partial(_mark_one, port, task, changes, held) for task in part]
    return await port.call_all(marks)


async def _mark_one(port: Port, task: Candidate, changes: Sequence[AttributeChange], held: Condition | None) -> bool:
    model = task.key.model
    condition = is_type(model) & equal("fence", {"N": str(task.fence)})
    try:
        await send_alone(port, move(task.key, condition if held is None else condition & held, changes))
    except ClaimLost:
        return False  # it was claimed, cancelled or has ended since it was read
    return True


@dataclass(frozen=True)
class NotDue:
    """The message came too early."""

    seconds: float


async def run_pointer(worker: WorkerSlots, pointer: TaskPointer, counts: Counts) -> NotDue | None:
    """Run the task that a message points to, if it is due and was not claimed since.

    A read and a claim. Returns NotDue if the message must be received again.
    """
    port, tasks = worker.port, worker.tasks
    item = await get(port, tasks.by_id(pointer.key).consistent())
    if item is None or item.state is TaskState.DEAD:
        return None
    if item.state is TaskState.ORDERED:
        return await _run_ordered(worker, pointer, item.order or "", item.due, counts)
    now = ClaimTime.now(port)
    if item.fence != pointer.fence:
        return None
    if item.wake > instant(now.wall):
        return NotDue((item.wake - instant(now.wall)).total_seconds())
    if model_of(tasks.task).place_of(item) in worker.execution.running_keys():
        return NotDue(worker.options.lease_seconds)
    lease, end = lease_of(item.lease, sent=item.sent, tries=item.tries), wake_text(tasks, item.wake)
    if lease and pointer.wake not in ("", end):
        return None  # its worker lives
    left = worker.watch.left(tasks.by_id(item.id).partition, end, lease, now.monotonic) if lease else 0.0
    if left and not pointer.wake:
        return NotDue(left)
    over = None if lease == 0.0 else end
    claim = TaskClaim(tasks, tasks.by_id(item.id), instant(now.wall), _until(worker, now), item.fence, over)
    try:
        claimed: TaskItem = await send_alone(port, claim)
    except ClaimLost:
        return None
    if over is not None:
        tell_takeover(port, tasks.worker, claimed, lease, item.process)
    await worker.execution.run(claimed, now, counts)
    return None


async def _run_ordered(
    worker: WorkerSlots, pointer: TaskPointer, order: str, due: datetime, counts: Counts
) -> NotDue | None:
    """Run the tasks before it first. Returns NotDue if the lane has to wait."""
    port, tasks = worker.port, worker.tasks
    key = tasks.by_place(order, due, pointer.key)
    for _ in range(_MOST_ORDERED):
        if await worker.gate.is_held():
            return NotDue(worker.options.poll_seconds)
        task = await get(port, key.consistent())
        now = ClaimTime.now(port)
        if task is None or task.fence != pointer.fence:
            return None
        if task.ready > instant(now.wall):
            return NotDue((task.ready - instant(now.wall)).total_seconds())
        until, running = _until(worker, now), worker.execution.running_keys()
        claimed: OrderedTask | None = await claim_first(port, tasks, key, until, worker.watch, running)
        if claimed is None:
            return NotDue(worker.options.poll_seconds)
        await worker.execution.run(claimed, now, counts)
    return NotDue(0.0)


def _until(worker: WorkerSlots, now: ClaimTime) -> datetime:
    return instant(now.wall + worker.options.lease_seconds)


def _check_projection(tasks: TaskEntities) -> None:
    if tasks.table.definition.indexes[tasks.index].projection != "all":
        raise NotConfigured(
            f"index {tasks.index} does not project the order and the fence, which messages need",
            table=tasks.table.name,
            hint="Let the index of the tasks project all.",
        )
