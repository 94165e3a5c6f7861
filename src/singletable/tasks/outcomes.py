"""The writes of each event of a claimed task: of one item, or of an ordered task with its lane and name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from singletable.errors import TransactionCancelled
from singletable.flow import Port
from singletable.foundation import Write, commit, model_for, send_alone
from singletable.tasks.items import UNCLAIMED, OrderedTask, PlainTask, TaskEntities, TaskItem, lease_of
from singletable.tasks.ordered import dead_letter_ordered, extend_ordered, finish_ordered, retry_ordered, revive_ordered
from singletable.tasks.states import TRANSITIONS, TaskEvent, TaskPhase, stored_after
from singletable.tasks.writes import Advance, Finish, NextRun, claim_lost
from singletable.values import changed


def finish_writes(tasks: TaskEntities, item: TaskItem) -> list[Write]:
    """FINISH: it is done."""
    return finish_ordered(tasks, item) if isinstance(item, OrderedTask) else [Finish(item)]


@dataclass(frozen=True)
class RunPlan:
    """The next run of a recurring task."""

    due: datetime
    recurs: str
    at: datetime
    """The start of the worker that plans it."""


def next_run_writes(item: PlainTask, planned: RunPlan, died: datetime | None = None, error: str = "") -> list[Write]:
    """RECUR: a run has ended, well or with an error for good; the next one is due at its time."""
    is_dead = died is not None
    becomes = changed(
        item,
        state=stored_after(TaskPhase.CLAIMED, TaskEvent.RECUR),
        fence=item.fence + 1,
        wake=planned.due,
        due=planned.due,
        recurs=planned.recurs,
        planned=planned.at,
        tries=0,
        **UNCLAIMED,
        error=error if is_dead else None,
        failed=item.due if is_dead else None,
        died=died,
        failures=item.failures + 1 if is_dead else 0,
    )
    return [NextRun(item, after=becomes)]


def extend_writes(tasks: TaskEntities, item: TaskItem, until: datetime) -> list[Write]:
    """EXTEND: it still runs; its lease ends later."""
    if isinstance(item, OrderedTask):
        return extend_ordered(tasks, item, until)
    return [_advance(item, TaskEvent.EXTEND, wake=until)]


def retry_writes(tasks: TaskEntities, item: TaskItem, ready: datetime, error: str) -> list[Write]:
    """RETRY: it failed, and is tried again."""
    if isinstance(item, OrderedTask):
        return retry_ordered(tasks, item, ready, error)
    return [_advance(item, TaskEvent.RETRY, wake=ready, error=error, **UNCLAIMED)]


def return_writes(tasks: TaskEntities, item: TaskItem, ready: datetime, error: str) -> list[Write]:
    """RETURN: this program can't run it. Another worker may; the try is not counted."""
    if isinstance(item, OrderedTask):
        return retry_ordered(tasks, changed(item, tries=item.tries - 1), ready, error)
    return [_advance(item, TaskEvent.RETURN, wake=ready, error=error, **UNCLAIMED, tries=item.tries - 1)]


def dead_letter_writes(tasks: TaskEntities, item: TaskItem, died: datetime, error: str) -> list[Write]:
    """DEAD_LETTER: it failed for the last time."""
    if isinstance(item, OrderedTask):
        return dead_letter_ordered(tasks, item, died, error)
    return [_advance(item, TaskEvent.DEAD_LETTER, wake=died, error=error, lease=None)]


def revive_writes(tasks: TaskEntities, dead: PlainTask, now: datetime) -> list[Write]:
    """REVIVE: a dead task is due now, with all its tries before it. A recurring one's run is a failed one until then,
    so that it is not left out as late."""
    if dead.order is not None:
        return revive_ordered(tasks, dead, now)
    state = stored_after(TaskPhase.DEAD, TaskEvent.REVIVE)
    again = changed(dead, state=state, wake=now, fence=dead.fence + 1, tries=0, **{**UNCLAIMED, "lease": None})
    if dead.recurs is not None:
        again = changed(again, failed=dead.due, died=dead.wake, failures=dead.failures + 1)
    return [Advance(dead, again, TaskEvent.REVIVE.value)]


def drop_writes(dead: PlainTask) -> list[Write]:
    """CANCEL: give up a dead task, if it is unchanged since it was read."""
    TRANSITIONS.after(TaskPhase.DEAD, TaskEvent.CANCEL)
    return [Finish(dead)]


def rerun_writes(item: PlainTask, now: datetime) -> list[Write]:
    """REVIVE of a recurring task: the run that failed is due now, with all its tries. ClaimLost while one runs."""
    assert item.failed is not None
    if lease_of(item.lease, sent=item.sent, tries=item.tries) != 0.0:
        raise claim_lost(model_for(item).key_of(item), TaskEvent.REVIVE.value)
    again = changed(item, wake=now, due=item.failed, fence=item.fence + 1, tries=0, sent=False)
    return [Advance(item, again, TaskEvent.REVIVE.value)]


def forget_run_writes(item: PlainTask) -> list[Write]:
    """CANCEL of a recurring task's failed run: it is given up, and the next one comes at its time."""
    return [Advance(item, changed(item, error=None, failed=None, died=None, failures=0), TaskEvent.CANCEL.value)]


def _advance(item: TaskItem, event: TaskEvent, **changes: Any) -> Advance:
    """The write of an event of a claimed task; what is stored as its state is the table's."""
    becomes = changed(item, state=stored_after(TaskPhase.CLAIMED, event), **changes)
    return Advance(item, becomes, event.value)


async def apply(port: Port, writes: Sequence[Write]) -> Any:
    """One write alone, several as a transaction; ClaimLost if one is refused."""
    if len(writes) == 1:
        return await send_alone(port, writes[0])
    try:
        return await commit(port, writes)
    except TransactionCancelled as cancelled:
        raise cancelled.failures[0].error from None
