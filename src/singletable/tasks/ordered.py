"""Writes of tasks that have an order: the turn that runs, the lane that says so, and the task's name.

A turn is claimed together with its lane, which only one turn can hold at a time, and with its name, which a cancel
takes away. What ends a turn gives the lane back in the same transaction.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from typing import Any, ClassVar

from singletable.errors import NotFound
from singletable.expressions import AttributeChange, Condition
from singletable.foundation import (
    GuardedWrite,
    KeyOf,
    Model,
    Moment,
    Part,
    Write,
    check_if,
    delete_if,
    is_absent,
    is_type,
    model_for,
    model_of,
    put_if,
    update_if,
)
from singletable.operations import Action
from singletable.tasks.items import Lane, PlainTask, State, TaskEntities, Turn, shard_of
from singletable.tasks.states import Event, Phase, stored_after
from singletable.tasks.writes import (
    Advance,
    Finish,
    NewItem,
    Plan,
    Replace,
    Schedule,
    at_most,
    claim_lost,
    equal,
    is_held,
    waking,
)

_ANY_TIME = datetime(1, 1, 1, tzinfo=timezone.utc)


class ScheduleName(Schedule):
    """The name of a task that has an order; AlreadyExists where there is a task of its key."""

    def item(self, now: float) -> PlainTask:
        plan = self.plan
        assert plan.order is not None
        turn = place_of(self.tasks, plan.order, plan.due_at(now), plan.id).low
        return replace(super().item(now), state=State.ORDERED, shard=None, arguments={}, order=plan.order, turn=turn)


@dataclass(eq=False)
class ScheduleTurn(NewItem):
    """A turn, over what a cancelled task of the same key and time may have left."""

    tasks: TaskEntities
    plan: Plan
    key: KeyOf[Any] = field(init=False)

    def __post_init__(self) -> None:
        due = self.plan.due if isinstance(self.plan.due, datetime) else _ANY_TIME
        self.key = place_of(self.tasks, self.plan.order or "", due, self.plan.id)

    def main(self, current: Any, moment: Moment) -> Part:
        action = put_if(self.key, self.model.item(self.item(moment.now)), None)
        return Part(action, lambda stored: claim_lost(self.key, self.verb), refusal_needs_item=False)

    def item(self, now: float) -> Turn:
        plan, due = self.plan, self.plan.due_at(now)
        assert plan.order is not None
        return self.tasks.turn(
            id=plan.id,
            function=plan.call.task.name,
            arguments=dict(plan.call.arguments),
            state=stored_after(Phase.NEW, Event.SCHEDULE),
            shard=shard_of(plan.order),
            wake=due,
            due=due,
            fence=plan.fence,
            order=plan.order,
            ready=due,
        )


def claiming(key: KeyOf[Any], action: Action) -> GuardedWrite:
    """A write or a check of one item, whose refusal says that another worker was faster."""
    return GuardedWrite(key, action, "claim", claim_lost)


class TaskGone(NotFound):
    """The task of a turn was cancelled."""

    code = "conflict.task-gone"


@dataclass(eq=False)
class FinishName(Write):
    """The end of the name of a turn's task. Refused where the task was cancelled."""

    verb: ClassVar[str] = "done"
    tasks: TaskEntities
    turn: Turn
    key: KeyOf[Any] = field(init=False)

    def __post_init__(self) -> None:
        self.key = self.tasks.by_id(self.turn.id)

    def main(self, current: Any, moment: Moment) -> Part:
        action = delete_if(self.key, is_name_of(self.tasks, self.turn))
        return Part(action, lambda stored: claim_lost(self.key, self.verb), refusal_needs_item=False)

    def joined_with(self, other: Write) -> Write | None:
        """The next task of the same key, scheduled where this one ends."""
        if not isinstance(other, Schedule):
            return None
        return Replace(self.key, other.item, is_name_of(self.tasks, self.turn))


def check_name(tasks: TaskEntities, turn: Turn, *, gone: bool = False) -> GuardedWrite:
    """Check that the task of a turn was not cancelled; with `gone`, that it was."""
    key, there = tasks.by_id(turn.id), is_name_of(tasks, turn)
    return GuardedWrite(key, check_if(key, is_absent(key.model) | ~there if gone else there), "check", _task_gone)


def _task_gone(key: KeyOf[Any], verb: str) -> TaskGone:
    return TaskGone("the task was cancelled", key=key, table=key.model.table.name)


def claim_turn(tasks: TaskEntities, turn: Turn, now: datetime, until: datetime) -> tuple[Turn, list[Write]]:
    """The turn as it is then, and the writes that make it so: its item, its lane, and a look at its name."""
    model = model_for(turn)
    claimed = replace(turn, fence=turn.fence + 1, tries=turn.tries + 1, wake=until, sent=True)
    changes = [
        AttributeChange("fence", {"N": str(claimed.fence)}),
        AttributeChange("tries", {"N": str(claimed.tries)}),
        AttributeChange("sent", {"BOOL": True}),
        *waking(model, tasks.index, until),
    ]
    held = is_held(model, turn) & at_most("ready", now)
    lane = LaneOf(tasks, claimed)
    free = is_absent(lane.model) | at_most("until", now)
    return claimed, [move(model.key_of(turn), held, changes), lane.put(until, free), check_name(tasks, turn)]


def extend_turn(tasks: TaskEntities, turn: Turn, until: datetime) -> list[Write]:
    """A longer lease, of the turn and of its lane."""
    model, lane = model_for(turn), LaneOf(tasks, turn)
    wake = list(waking(model, tasks.index, until))
    return [move(model.key_of(turn), is_held(model, turn), wake), lane.put(until, lane.is_ours)]


def retry_turn(tasks: TaskEntities, turn: Turn, ready: datetime, error: str) -> list[Write]:
    """The lane is free; the turn stays at its head, and is ready later."""
    model = model_for(turn)
    changes = [
        AttributeChange("error", {"S": error}),
        AttributeChange("sent", {"BOOL": False}),
        *waking(model, tasks.index, ready),
    ]
    changes.append(AttributeChange("ready", next(change.value for change in changes if change.name == "wake")))
    changes.append(AttributeChange("tries", {"N": str(turn.tries)}))
    return [move(model.key_of(turn), is_held(model, turn), changes), LaneOf(tasks, turn).drop()]


def finish_turn(tasks: TaskEntities, turn: Turn) -> list[Write]:
    """The turn, its hold of the lane and its name go. Refused where it was cancelled."""
    return [Finish(turn), LaneOf(tasks, turn).drop(), FinishName(tasks, turn)]


def bury_turn(tasks: TaskEntities, turn: Turn, died: datetime, error: str) -> list[Write]:
    """The lane goes on without it; its name becomes the dead task."""
    name = model_of(tasks.task)
    dead = tasks.task(
        id=turn.id,
        function=turn.function,
        arguments=turn.arguments,
        state=stored_after(Phase.CLAIMED, Event.BURY),
        shard=shard_of(turn.id),
        wake=died,
        due=turn.due,
        fence=turn.fence,
        tries=turn.tries,
        error=error,
        order=turn.order,
    )
    key, item = tasks.by_id(turn.id), name.item(dead)
    becomes = claiming(key, put_if(key, item, is_name_of(tasks, turn)))
    return [Finish(turn), LaneOf(tasks, turn).drop(), becomes]


def revive_turn(tasks: TaskEntities, dead: PlainTask, now: datetime) -> list[Write]:
    """A dead task's turn is in its lane again, at its due time's place; the task is its name."""
    assert dead.order is not None
    turn = tasks.turn(
        id=dead.id,
        function=dead.function,
        arguments=dead.arguments,
        state=stored_after(Phase.DEAD, Event.REVIVE),
        shard=shard_of(dead.order),
        wake=now,
        due=dead.due,
        fence=dead.fence + 1,
        error=dead.error,
        order=dead.order,
        ready=now,
    )
    model = model_for(turn)
    key, item = model.key_of(turn), model.item(turn)
    name = replace(dead, state=State.ORDERED, shard=None, arguments={}, turn=key.low, fence=turn.fence, tries=0)
    return [
        Advance(dead, name, Event.REVIVE.value),
        claiming(key, put_if(key, item, is_absent(model))),
    ]


def sweep_turn(tasks: TaskEntities, turn: Turn, *, holds_lane: bool) -> list[Write]:
    """A turn whose task was cancelled goes, with its hold of the lane."""
    lane = [LaneOf(tasks, turn).drop()] if holds_lane else []
    return [Finish(turn), *lane, check_name(tasks, turn, gone=True)]


def postpone_turn(
    tasks: TaskEntities, key: KeyOf[Turn], wake: datetime, now: datetime, before: Lane | Turn
) -> list[Write]:
    """Look at a turn later, as long as the one before it is as it was read: what ends that one looks at the next."""
    model = model_of(tasks.turn)
    held = is_type(model) & at_most("wake", now)
    stays = _check_lane(tasks, before) if isinstance(before, Lane) else _check_turn(before)
    return [move(key, held, list(waking(model, tasks.index, wake))), stays]


def nudge_turn(tasks: TaskEntities, turn: Turn, now: datetime) -> GuardedWrite:
    """Look at a turn now."""
    model = model_for(turn)
    return move(model.key_of(turn), is_held(model, turn), list(waking(model, tasks.index, now)))


def move(key: KeyOf[Any], held: Condition, changes: Sequence[AttributeChange]) -> GuardedWrite:
    """Change a turn's item under a condition."""
    return claiming(key, update_if(key, changes, held))


def _check_turn(turn: Turn) -> GuardedWrite:
    model = model_for(turn)
    key = model.key_of(turn)
    return claiming(key, check_if(key, is_held(model, turn)))


def _check_lane(tasks: TaskEntities, lane: Lane) -> GuardedWrite:
    model = model_of(tasks.lane)
    held, key = is_lane_of(model, lane.turn, lane.fence), model.key_of(lane)
    return claiming(key, check_if(key, held))


class LaneOf:
    """The writes of the lane of a turn."""

    def __init__(self, tasks: TaskEntities, turn: Turn) -> None:
        self.tasks, self.turn = tasks, turn
        self.model = model_of(tasks.lane)
        self.key = tasks.by_order(turn.order)
        self.place = model_for(turn).key_of(turn).low
        self.is_ours = is_lane_of(self.model, self.place, turn.fence)

    def put(self, until: datetime, held: Condition) -> GuardedWrite:
        lane = self.tasks.lane(order=self.turn.order, turn=self.place, fence=self.turn.fence, until=until)
        return claiming(self.key, put_if(self.key, self.model.item(lane), held))

    def drop(self) -> GuardedWrite:
        return claiming(self.key, delete_if(self.key, self.is_ours))


def place_of(tasks: TaskEntities, order: str, due: datetime, id: str) -> KeyOf[Turn]:
    return tasks.by_place(order, due, id)


def is_lane_of(model: Model[Any], turn: str, fence: int) -> Condition:
    return is_type(model) & equal("turn", {"S": turn}) & equal("fence", {"N": str(fence)})


def is_name_of(tasks: TaskEntities, turn: Turn) -> Condition:
    place = model_for(turn).key_of(turn).low
    return is_type(model_of(tasks.task)) & equal("state", {"S": State.ORDERED.value}) & equal("turn", {"S": place})
