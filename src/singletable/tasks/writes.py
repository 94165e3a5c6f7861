"""The writes of a task's item, each of one event of `states`.

    schedule   if no task has its key
    claim      due by the claimer's clock, with the fence that was seen: raises the fence; `wake` is the lease's end.
               What another worker has claimed: also with the end that was seen, and has not changed for its length
    advance    under the claim's fence: a longer lease, a later try, its end as a dead letter
    finish     under the claim's fence: the item goes, or the next task of the same key takes its place

All but a schedule and a cancel are conditional on the fence, so a worker that lost its claim can't change anything.

A claim is a lease by beats (`flow.leases`), and each beat is a new end, the stored `wake`. The index of due tasks is
in its order. So one query of that index finds a new task, a later try and the task of a dead worker alike. The time
says where to look; who lives is seen by the beats (`lease_watch`), so a clock that is ahead takes over nothing.
"""

from __future__ import annotations

import secrets
from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cache
from typing import Any, ClassVar, cast

from msgspec.structs import replace

from singletable.errors import AlreadyExists, Conflict, InvalidValue, SingletableError
from singletable.expressions import AttributeChange, Condition, Given, Stored, encoded
from singletable.flow import instant
from singletable.foundation import (
    UNREAD,
    CreateWrite,
    DeleteWrite,
    KeyOf,
    Model,
    Moment,
    Write,
    WritePart,
    carries,
    delete_if,
    is_absent,
    is_schema,
    is_type,
    model_for,
    put_if,
    update_if,
)
from singletable.operations import Item
from singletable.tasks.calls import Call
from singletable.tasks.items import PlainTask, TaskEntities, TaskItem, shard_of
from singletable.tasks.states import STORED, TaskEvent, TaskPhase, stored_after
from singletable.values import INSTANT

_FENCE_BYTES = 5
_COUNTED = (
    AttributeChange("fence", {"N": "0"}, plus={"N": "1"}),
    AttributeChange("tries", {"N": "0"}, plus={"N": "1"}),
    AttributeChange("sent", {"BOOL": True}),
)
"""The changes of every claim."""


class ClaimLost(Conflict):
    """The claim is no longer valid: another worker has the task, or it was cancelled, or it has ended."""

    code = "conflict.claim-lost"


def first_fence() -> int:
    """A random number, which no earlier task of the same key had."""
    return int.from_bytes(secrets.token_bytes(_FENCE_BYTES))


@dataclass(frozen=True)
class PlannedTask:
    """A task to schedule. A duration counts from the database's clock when the task is written."""

    call: Call
    due: datetime | timedelta
    id: str
    order: str | None = None
    fence: int = field(default_factory=first_fence)

    def __post_init__(self) -> None:
        if isinstance(self.due, datetime) and self.due.tzinfo is None:
            raise InvalidValue("a task's time has no time zone", hint="Give a datetime with tzinfo=timezone.utc.")

    def due_at(self, now: float) -> datetime:
        return self.due if isinstance(self.due, datetime) else instant(now) + self.due


class NewItem(Write):
    """A write of a new item of a task.

    A duration needs the service's time: where no answer has shown it yet, the item is read first.
    """

    verb: ClassVar[str] = "schedule"
    plan: PlannedTask

    def trace(self, moment: Moment) -> str | None:
        """The context of the trace in which it is scheduled, if a listener gives one: the same in all tries."""
        asked = vars(self)
        if moment.events is not None and "_trace" not in asked:
            asked["_trace"] = moment.events.context_text("task", self.plan.call.task.name, self.model.table.name)
        return cast("str | None", asked.get("_trace"))

    def lacks_time(self, current: Any, moment: Moment) -> bool:
        return current is UNREAD and not moment.is_known and isinstance(self.plan.due, timedelta)

    @abstractmethod
    def item(self, moment: Moment) -> TaskItem: ...


@dataclass(eq=False)
class Schedule(NewItem):
    """A new task; raises AlreadyExists if a task has its key."""

    tasks: TaskEntities
    plan: PlannedTask
    key: KeyOf[Any] = field(init=False)

    def __post_init__(self) -> None:
        self.key = self.tasks.by_id(self.plan.id)

    def main(self, current: Any, moment: Moment) -> WritePart | None:
        if self.lacks_time(current, moment):
            return None
        part = CreateWrite(self.item(moment)).main(UNREAD, moment)
        return replace(part, refusal=self._refusal, refusal_needs_item=False)

    def item(self, moment: Moment) -> PlainTask:
        plan, due = self.plan, self.plan.due_at(moment.now)
        return self.tasks.task(
            id=plan.id,
            function=plan.call.task.name,
            arguments=dict(plan.call.arguments),
            state=stored_after(TaskPhase.NEW, TaskEvent.SCHEDULE),
            shard=shard_of(plan.id),
            wake=due,
            due=due,
            fence=plan.fence,
            trace=self.trace(moment),
        )

    def _refusal(self, stored: Item | None) -> SingletableError:
        return AlreadyExists(
            "a task has this key already",
            key=self.key,
            operation=self.verb,
            hint="Cancel it first, or give this one another key.",
        )


@dataclass(eq=False)
class Replace(Write):
    """A new task that replaces one that ends in the same transaction."""

    verb: ClassVar[str] = "schedule"
    key: KeyOf[Any]
    new: NewItem
    held: Condition
    ends: Finish | None = None

    def main(self, current: Any, moment: Moment) -> WritePart | None:
        if self.new.lacks_time(current, moment):
            return None
        item = self.model.item(self.new.item(moment))
        action = put_if(self.key, item, self.held)
        return WritePart(action, lambda stored: claim_lost(self.key, self.verb), refusal_needs_item=False)

    def done(self) -> None:
        if self.ends is not None:
            self.ends.done()


class Cancel(DeleteWrite):
    """A cancellation of a task that waits, runs or is dead."""

    verb: ClassVar[str] = "cancel"

    def joined_with(self, other: Write) -> Write | None:
        """A task that replaces it."""
        if not isinstance(other, Schedule):
            return None
        return Replace(self.key, other, is_absent(self.model) | is_type(self.model))


@dataclass(eq=False)
class TaskClaim(Write):
    """Claim a task that is due. Returns the claimed task; ClaimLost if it is not due, claimed, or missing."""

    verb: ClassVar[str] = "claim"
    tasks: TaskEntities
    key: KeyOf[Any]
    now: datetime
    until: datetime
    seen: int | None
    """The fence that was read; None if the index does not project it."""
    over: str | None = None
    """The index's text of the lease's end, of a task whose owner is seen to be dead; None for one that nobody has
    claimed."""

    def main(self, current: Any, moment: Moment) -> WritePart:
        changes = list(self._changes(moment))
        return WritePart(
            update_if(self.key, changes, self._condition(), reader=self.model),
            lambda stored: claim_lost(self.key, self.verb),
            lambda stored: carries(self.model, stored, moment.write_id),
            refusal_needs_item=False,
        )

    def _changes(self, moment: Moment) -> Iterator[AttributeChange]:
        yield from _COUNTED
        yield AttributeChange("lease", {"N": str((self.until - self.now).total_seconds())})
        yield AttributeChange("process", {"S": moment.events.process} if moment.events is not None else None)
        yield AttributeChange(self.model.table.definition.write_id_attribute, {"S": moment.write_id})
        yield from waking(self.model, self.tasks.index, self.until)

    def _condition(self) -> Condition:
        condition = _is_waiting(self.model, self.over is None) & at_most("wake", self.now)
        if self.over is not None:
            condition = condition & equal(self.model.table.definition.index_keys(self.tasks.index)[1], {"S": self.over})
        return condition if self.seen is None else condition & equal("fence", {"N": str(self.seen)})


@dataclass(eq=False)
class Advance(Write):
    """A change of a claimed task, under its fence."""

    before: TaskItem
    after: TaskItem
    verb: str = "advance"  # type: ignore[misc]
    key: KeyOf[Any] = field(init=False)

    def __post_init__(self) -> None:
        self.key = model_for(self.before).key_of(self.before)

    def main(self, current: Any, moment: Moment) -> WritePart:
        changes = advance_changes(self.model, self.before, self.after)
        action = update_if(self.key, changes, is_held(self.model, self.before), reader=self.model)
        return WritePart(action, lambda stored: claim_lost(self.key, self.verb), refusal_needs_item=False)


@dataclass(eq=False)
class Finish(Write):
    """The end of a claimed task: its item is deleted."""

    verb: ClassVar[str] = "done"
    item: TaskItem
    key: KeyOf[Any] = field(init=False)
    ended: bool = False
    was_gone: bool = False
    """The item was missing: an earlier try of this request deleted it, it was cancelled, or another worker ended it."""

    def __post_init__(self) -> None:
        self.key = model_for(self.item).key_of(self.item)

    def main(self, current: Any, moment: Moment) -> WritePart:
        action = delete_if(self.key, is_held(self.model, self.item))
        return WritePart(action, lambda stored: claim_lost(self.key, self.verb), self._settles)

    def _settles(self, stored: Item | None) -> bool:
        """Nothing is left to do for a missing item."""
        self.was_gone = stored is None
        return self.was_gone

    def joined_with(self, other: Write) -> Write | None:
        """The next task of the same key, scheduled where this one ends."""
        if not isinstance(other, NewItem):
            return None
        return Replace(self.key, other, is_held(self.model, self.item), self)

    def done(self) -> None:
        self.ended = True


@dataclass(eq=False)
class NextRun(Finish):
    """The end of a run of a recurring task: its item waits for the next one, under a fence that no late beat has."""

    after: PlainTask = field(kw_only=True)

    def main(self, current: Any, moment: Moment) -> WritePart:
        written = AttributeChange(self.model.table.definition.write_id_attribute, {"S": moment.write_id})
        changes = [*advance_changes(self.model, self.item, self.after), written]
        return WritePart(
            update_if(self.key, changes, is_held(self.model, self.item), reader=self.model),
            lambda stored: claim_lost(self.key, self.verb),
            lambda stored: carries(self.model, stored, moment.write_id),
            refusal_needs_item=False,
        )

    def joined_with(self, other: Write) -> Write | None:
        return None


def is_held(model: Model[Any], item: TaskItem) -> Condition:
    """The claim is valid: no other worker has claimed the task since, and it has not ended."""
    return is_type(model) & equal("fence", {"N": str(item.fence)}) & equal("state", {"S": item.state.value})


def advance_changes(model: Model[Any], before: TaskItem, after: TaskItem) -> list[AttributeChange]:
    """The attributes that differ."""
    was, becomes = model.item(before), model.item(after)
    names = sorted(name for name in {**was, **becomes} if was.get(name) != becomes.get(name))
    return [AttributeChange(name, becomes.get(name)) for name in names]


def waking(model: Model[Any], index: str, wake: datetime) -> Iterator[AttributeChange]:
    """The changes that set `wake`, and with it the sort key in the index."""
    sort = model.indexes[index].templates[1]
    yield AttributeChange("wake", encoded(INSTANT, wake))
    yield AttributeChange(model.table.definition.index_keys(index)[1], {"S": sort.write({"wake": wake})})


def claim_lost(key: KeyOf[Any], verb: str) -> ClaimLost:
    return ClaimLost(
        "another worker has claimed the task, or it was cancelled, or it has ended",
        key=key,
        operation=verb,
        hint="Leave the task to the worker that has it. Nothing in this transaction was applied.",
    )


@cache
def _is_waiting(model: Model[Any], unclaimed: bool) -> Condition:
    """The condition of every claim of a class, whatever the task; `unclaimed`: of a task that is under no lease."""
    condition = is_type(model) & is_schema(model) & equal("state", {"S": STORED[TaskPhase.WAITING].value})
    return condition & _unclaimed() if unclaimed else condition


def _unclaimed() -> Condition:
    """No worker has claimed the task since its last try ended. A program that stores no lease is known by `sent` and
    `tries`, which its claim sets: see `items.lease_of`."""
    claimed = equal("sent", {"BOOL": True}) & Condition(">", (Stored("tries"), Given({"N": "0"})))
    return equal("lease", {"N": "0"}) | (Condition("attribute_not_exists", (Stored("lease"),)) & ~claimed)


def equal(name: str, value: dict[str, Any]) -> Condition:
    return Condition("=", (Stored(name), Given(value)))


def at_most(name: str, time: datetime) -> Condition:
    return Condition("<=", (Stored(name), Given(encoded(INSTANT, time))))
