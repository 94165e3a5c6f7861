"""Writes of tasks that have an order: the ordered task that runs, its lane, and the task's name.

A task is claimed together with its lane, which only one task can hold at a time, and with its name, which a
cancellation deletes. The end of an ordered task releases the lane in the same transaction.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Any, ClassVar

from singletable.errors import NotFound
from singletable.expressions import AttributeChange, Condition
from singletable.foundation import (
    GuardedWrite,
    KeyOf,
    Model,
    Moment,
    Write,
    WritePart,
    check_if,
    delete_if,
    is_absent,
    is_type,
    model_for,
    model_of,
    put_if,
    update_if,
)
from singletable.operations import TransactAction
from singletable.tasks.items import Lane, OrderedTask, PlainTask, TaskEntities, TaskState, shard_of
from singletable.tasks.states import TaskEvent, TaskPhase, stored_after
from singletable.tasks.writes import (
    Advance,
    Finish,
    NewItem,
    PlannedTask,
    Replace,
    Schedule,
    at_most,
    claim_lost,
    equal,
    is_held,
    waking,
)
from singletable.values import changed

_ANY_TIME = datetime(1, 1, 1, tzinfo=timezone.utc)


class ScheduleName(Schedule):
    """The name of a task that has an order; raises AlreadyExists if a task has its key."""

    def trace(self, moment: Moment) -> str | None:
        """The ordered task itself has it."""
        return None

    def item(self, moment: Moment) -> PlainTask:
        plan = self.plan
        assert plan.order is not None
        place = self.tasks.by_place(plan.order, plan.due_at(moment.now), plan.id).low
        return changed(
            super().item(moment), state=TaskState.ORDERED, shard=None, arguments={}, order=plan.order, turn=place
        )


@dataclass(eq=False)
class ScheduleOrdered(NewItem):
    """An ordered task. It overwrites what a cancelled task of the same key and time may have left."""

    tasks: TaskEntities
    plan: PlannedTask
    key: KeyOf[Any] = field(init=False)

    def __post_init__(self) -> None:
        due = self.plan.due if isinstance(self.plan.due, datetime) else _ANY_TIME
        self.key = self.tasks.by_place(self.plan.order or "", due, self.plan.id)

    def main(self, current: Any, moment: Moment) -> WritePart | None:
        if self.lacks_time(current, moment):
            return None
        action = put_if(self.key, self.model.item(self.item(moment)), None)
        return WritePart(action, lambda stored: claim_lost(self.key, self.verb), refusal_needs_item=False)

    def item(self, moment: Moment) -> OrderedTask:
        plan, due = self.plan, self.plan.due_at(moment.now)
        assert plan.order is not None
        return self.tasks.ordered(
            id=plan.id,
            function=plan.call.task.name,
            arguments=dict(plan.call.arguments),
            state=stored_after(TaskPhase.NEW, TaskEvent.SCHEDULE),
            shard=shard_of(plan.order),
            wake=due,
            due=due,
            fence=plan.fence,
            order=plan.order,
            ready=due,
            trace=self.trace(moment),
        )


def claiming(key: KeyOf[Any], action: TransactAction) -> GuardedWrite:
    """A write or a check of one item, whose refusal means that another worker was faster."""
    return GuardedWrite(key, action, "claim", claim_lost)


class TaskGone(NotFound):
    """The task was cancelled."""

    code = "conflict.task-gone"


@dataclass(eq=False)
class FinishName(Write):
    """Delete the name of an ordered task. Refused if the task was cancelled."""

    verb: ClassVar[str] = "done"
    tasks: TaskEntities
    task: OrderedTask
    key: KeyOf[Any] = field(init=False)

    def __post_init__(self) -> None:
        self.key = self.tasks.by_id(self.task.id)

    def main(self, current: Any, moment: Moment) -> WritePart:
        action = delete_if(self.key, is_name_of(self.tasks, self.task))
        return WritePart(action, lambda stored: claim_lost(self.key, self.verb), refusal_needs_item=False)

    def joined_with(self, other: Write) -> Write | None:
        """The next task of the same key, scheduled where this one ends."""
        if not isinstance(other, Schedule):
            return None
        return Replace(self.key, other, is_name_of(self.tasks, self.task))


def check_name(tasks: TaskEntities, task: OrderedTask, *, gone: bool = False) -> GuardedWrite:
    """Check that an ordered task was not cancelled; with `gone`, that it was."""
    key, there = tasks.by_id(task.id), is_name_of(tasks, task)
    return GuardedWrite(key, check_if(key, is_absent(key.model) | ~there if gone else there), "check", _task_gone)


def _task_gone(key: KeyOf[Any], verb: str) -> TaskGone:
    return TaskGone("the task was cancelled", key=key)


def claim_ordered(
    tasks: TaskEntities, task: OrderedTask, now: datetime, until: datetime, dead: Lane | None, process: str
) -> tuple[OrderedTask, list[Write]]:
    """The claimed task, and the writes of the claim: its item, its lane, and a check of its name. `dead` is the lane of
    a task whose worker is seen to be dead, `process` the one that claims."""
    model, lease = model_for(task), (until - now).total_seconds()
    claimed = changed(
        task, fence=task.fence + 1, tries=task.tries + 1, wake=until, sent=True, lease=lease, process=process
    )
    changes = [
        AttributeChange("fence", {"N": str(claimed.fence)}),
        AttributeChange("tries", {"N": str(claimed.tries)}),
        AttributeChange("sent", {"BOOL": True}),
        AttributeChange("lease", model.item(claimed)["lease"]),
        AttributeChange("process", {"S": process}),
        *waking(model, tasks.index, until),
    ]
    held = is_held(model, task) & at_most("ready", now)
    lane = LaneOf(tasks, claimed)
    free = is_absent(lane.model) if dead is None else is_lane_as(lane.model, dead)
    return claimed, [move(model.key_of(task), held, changes), lane.put(until, free), check_name(tasks, task)]


def extend_ordered(tasks: TaskEntities, task: OrderedTask, until: datetime) -> list[Write]:
    """A longer lease, of the task and of its lane."""
    model, lane = model_for(task), LaneOf(tasks, task)
    wake = list(waking(model, tasks.index, until))
    return [move(model.key_of(task), is_held(model, task), wake), lane.put(until, lane.is_ours)]


def retry_ordered(tasks: TaskEntities, task: OrderedTask, ready: datetime, error: str) -> list[Write]:
    """Release the lane. The task stays first, and is ready later."""
    model = model_for(task)
    changes = [
        AttributeChange("error", {"S": error}),
        AttributeChange("sent", {"BOOL": False}),
        AttributeChange("lease", {"N": "0"}),
        AttributeChange("process", None),
        *waking(model, tasks.index, ready),
    ]
    changes.append(AttributeChange("ready", next(change.value for change in changes if change.name == "wake")))
    changes.append(AttributeChange("tries", {"N": str(task.tries)}))
    return [move(model.key_of(task), is_held(model, task), changes), LaneOf(tasks, task).drop()]


def finish_ordered(tasks: TaskEntities, task: OrderedTask) -> list[Write]:
    """Delete the task and its name, and release the lane. Refused if it was cancelled."""
    return [Finish(task), LaneOf(tasks, task).drop(), FinishName(tasks, task)]


def dead_letter_ordered(tasks: TaskEntities, task: OrderedTask, died: datetime, error: str) -> list[Write]:
    """The lane goes on without it; its name becomes the dead letter."""
    name = model_of(tasks.task)
    dead = tasks.task(
        id=task.id,
        function=task.function,
        arguments=task.arguments,
        state=stored_after(TaskPhase.CLAIMED, TaskEvent.DEAD_LETTER),
        shard=shard_of(task.id),
        wake=died,
        due=task.due,
        fence=task.fence,
        tries=task.tries,
        error=error,
        order=task.order,
        trace=task.trace,
        process=task.process,
    )
    key, item = tasks.by_id(task.id), name.item(dead)
    becomes = claiming(key, put_if(key, item, is_name_of(tasks, task)))
    return [Finish(task), LaneOf(tasks, task).drop(), becomes]


def revive_ordered(tasks: TaskEntities, dead: PlainTask, now: datetime) -> list[Write]:
    """Put a dead task back into its lane, at the place of its due time; its item is its name again."""
    assert dead.order is not None
    task = tasks.ordered(
        id=dead.id,
        function=dead.function,
        arguments=dead.arguments,
        state=stored_after(TaskPhase.DEAD, TaskEvent.REVIVE),
        shard=shard_of(dead.order),
        wake=now,
        due=dead.due,
        fence=dead.fence + 1,
        error=dead.error,
        order=dead.order,
        ready=now,
        trace=dead.trace,
    )
    model = model_for(task)
    key, item = model.key_of(task), model.item(task)
    name = changed(
        dead,
        state=TaskState.ORDERED,
        shard=None,
        arguments={},
        turn=key.low,
        fence=task.fence,
        tries=0,
        trace=None,
        process=None,
    )
    return [
        Advance(dead, name, TaskEvent.REVIVE.value),
        claiming(key, put_if(key, item, is_absent(model))),
    ]


def delete_cancelled(tasks: TaskEntities, task: OrderedTask, *, holds_lane: bool) -> list[Write]:
    """Delete an ordered task that was cancelled, and release the lane if it holds it."""
    lane = [LaneOf(tasks, task).drop()] if holds_lane else []
    return [Finish(task), *lane, check_name(tasks, task, gone=True)]


def postpone_ordered(
    tasks: TaskEntities, key: KeyOf[OrderedTask], wake: datetime, now: datetime, before: Lane | OrderedTask
) -> list[Write]:
    """Set `wake` later, as long as the task before it is unchanged: the end of that task wakes the next."""
    model = model_of(tasks.ordered)
    held = is_type(model) & at_most("wake", now)
    stays = _check_lane(tasks, before) if isinstance(before, Lane) else _check_ordered(before)
    return [move(key, held, list(waking(model, tasks.index, wake))), stays]


def wake_ordered(tasks: TaskEntities, task: OrderedTask, now: datetime) -> GuardedWrite:
    """Set `wake` to now."""
    model = model_for(task)
    return move(model.key_of(task), is_held(model, task), list(waking(model, tasks.index, now)))


def move(key: KeyOf[Any], held: Condition, changes: Sequence[AttributeChange]) -> GuardedWrite:
    """Change an item under a condition."""
    return claiming(key, update_if(key, changes, held))


def _check_ordered(task: OrderedTask) -> GuardedWrite:
    model = model_for(task)
    key = model.key_of(task)
    return claiming(key, check_if(key, is_held(model, task)))


def _check_lane(tasks: TaskEntities, lane: Lane) -> GuardedWrite:
    model = model_of(tasks.lane)
    held, key = is_lane_of(model, lane.turn, lane.fence), model.key_of(lane)
    return claiming(key, check_if(key, held))


class LaneOf:
    """The writes of the lane of an ordered task."""

    def __init__(self, tasks: TaskEntities, task: OrderedTask) -> None:
        self.tasks, self.task = tasks, task
        self.model = model_of(tasks.lane)
        self.key = tasks.by_order(task.order)
        self.place = model_for(task).key_of(task).low
        self.is_ours = is_lane_of(self.model, self.place, task.fence)

    def put(self, until: datetime, held: Condition) -> GuardedWrite:
        task = self.task
        lane = self.tasks.lane(order=task.order, turn=self.place, fence=task.fence, until=until, lease=task.lease)
        return claiming(self.key, put_if(self.key, self.model.item(lane), held))

    def drop(self) -> GuardedWrite:
        return claiming(self.key, delete_if(self.key, self.is_ours))


def is_lane_of(model: Model[Any], place: str, fence: int) -> Condition:
    return is_type(model) & equal("turn", {"S": place}) & equal("fence", {"N": str(fence)})


def is_lane_as(model: Model[Any], lane: Lane) -> Condition:
    """The lane is as it was read: its worker has not extended its lease since."""
    return is_lane_of(model, lane.turn, lane.fence) & equal("until", model.item(lane)["until"])


def is_name_of(tasks: TaskEntities, task: OrderedTask) -> Condition:
    place = model_for(task).key_of(task).low
    return is_type(model_of(tasks.task)) & equal("state", {"S": TaskState.ORDERED.value}) & equal("turn", {"S": place})
