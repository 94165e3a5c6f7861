"""The tasks that an erasure deletes: tasks whose arguments name the subject, waiting, running or dead.

    @tasks.task(belongs_to={"email": User.email})
    def remind(email: str) -> None: ...

A task that runs goes on, and its end is refused, as after a cancellation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from singletable.errors import InvalidValue, TransactionCancelled
from singletable.expressions import first_name, owner_of
from singletable.flow import Port
from singletable.foundation import (
    Belonging,
    LayerBelongings,
    OnUnreadable,
    Remaining,
    Subject,
    Write,
    commit,
    get,
    mentions,
    model_for,
    model_of,
    target_of,
)
from singletable.tables import projected_in, write_units
from singletable.tasks.calls import TaskFunction
from singletable.tasks.due import all_of
from singletable.tasks.items import OrderedTask, PlainTask, TaskEntities, TaskItem, TaskState
from singletable.tasks.ordered import FinishName, LaneOf, check_name
from singletable.tasks.writes import Finish


class TaskBelongings(LayerBelongings):
    """The tasks of a table."""

    def __init__(self, tasks: TaskEntities, functions: Mapping[str, TaskFunction[...]]) -> None:
        self.tasks, self.functions = tasks, functions
        self.identity = ("tasks",)
        self.indexes = projected_in(tasks.table.definition)
        self.named: dict[Any, str] = {}
        """The functions of tasks that have a text of a subject among their arguments, and are nobody's."""

    async def of(self, port: Port, subjects: Sequence[Subject], unreadable: OnUnreadable = None) -> list[Belonging]:
        """Sixteen queries of the index, two round trips, and a read of each task that it shows."""
        wanted, texts = self._wanted(subjects), _identifying(subjects)
        items: dict[tuple[str, str], TaskItem] = {}
        for state in (TaskState.DUE, TaskState.DEAD):
            for item in await all_of(port, self.tasks, state, unreadable):
                items[model_for(item).place_of(item)] = item
        for place, item in items.items():
            if not _is_of(item, wanted) and any(mentions(item.arguments, text) for text in texts):
                self.named[place] = item.function
        return [self._task(item) for item in items.values() if _is_of(item, wanted)]

    def remains(self) -> Sequence[Remaining]:
        if not self.named:
            return ()
        functions = ", ".join(sorted({*self.named.values()}))
        what = f"{len(self.named)} of {functions} name the subject, and no belongs_to= says so: cancel them."
        return (Remaining("tasks", what),)

    def _wanted(self, subjects: Sequence[Subject]) -> dict[str, list[tuple[str, Any]]]:
        """The parameters that name a subject, by function, each with its stored value."""
        wanted: dict[str, list[tuple[str, Any]]] = {}
        for function in self.functions.values():
            for name, said in function.belongs_to.items():
                handle = target_of(f"{function.name}.{name}", "belongs_to", said)
                for subject in subjects:
                    value = subject.values.get(first_name(handle))
                    if value is None or not issubclass(subject.kind, owner_of(handle)):
                        continue
                    try:
                        wanted.setdefault(function.name, []).append((name, function.stored_value(name, value)))
                    except InvalidValue:
                        continue  # no task has an argument of that value
        return wanted

    def _task(self, item: TaskItem) -> Belonging:
        model = model_for(item)
        units = write_units(self.indexes, model.item(item), None, transaction=isinstance(item, OrderedTask))
        return Belonging(
            "task",
            model.place_of(item),
            partial(delete_task, self.tasks, item),
            write_units=units + (2.0 if isinstance(item, OrderedTask) else 0.0),
            what=f"{item.function}, {'dead' if item.state is TaskState.DEAD else 'due'}",
        )


def _identifying(subjects: Sequence[Subject]) -> set[str]:
    """The texts of the keys of subjects."""
    values = (subject.values.get(name) for subject in subjects for name in model_of(subject.kind).identity)
    return {value for value in values if isinstance(value, str) and value}


def _is_of(item: TaskItem, wanted: Mapping[str, Sequence[tuple[str, Any]]]) -> bool:
    return any(item.arguments.get(name) == value for name, value in wanted.get(item.function, ()))


async def delete_task(tasks: TaskEntities, item: TaskItem, port: Port) -> bool:
    """Delete a task; False if a worker has claimed it since, or it has ended."""
    writes: list[Write] = [Finish(item)]
    if isinstance(item, OrderedTask):
        writes += await _with_order(port, tasks, item)
    try:
        await commit(port, writes)
    except TransactionCancelled:
        return False
    return True


async def _with_order(port: Port, tasks: TaskEntities, item: OrderedTask) -> list[Write]:
    """Its name, which a cancellation has deleted already, and its lane, if it holds that."""
    place = model_for(item).key_of(item).low
    name: PlainTask | None = await get(port, tasks.by_id(item.id).consistent())
    lane = await get(port, tasks.by_order(item.order).consistent())
    is_named = name is not None and name.state is TaskState.ORDERED and name.turn == place
    writes: list[Write] = [FinishName(tasks, item) if is_named else check_name(tasks, item, gone=True)]
    if lane is not None and (lane.turn, lane.fence) == (place, item.fence):
        writes.append(LaneOf(tasks, item).drop())
    return writes
