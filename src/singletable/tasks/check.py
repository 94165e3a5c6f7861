"""Check: the invariants of tasks, a page of items at a time, and of the rows of their index. It reads only.

* each task has a state, a shard and a time that its writes can produce
* each task that waits, runs or is dead has one row in the index, and each row has such a task
* a task with an order has its ordered item, and a lane that is held is held for such an item
* a task's arguments fit the function of its name, and a task that was returned for lack of a function has one here
* no task is dead, and none could have been claimed for over an hour

An ordered item without its task is not a finding: the task was cancelled, and the item is deleted when it comes first.
A finding that may be a lag of the index is checked again after the lag.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from singletable.errors import SingletableError
from singletable.flow import Port, pause_for_index
from singletable.foundation import (
    Finding,
    ItemCheck,
    LayerChecks,
    Model,
    PageRead,
    Pass,
    ScanSegment,
    finding_in,
    flows,
    items_at,
    model_for,
    model_of,
    place_in,
    row_query,
    type_in,
)
from singletable.operations import Item
from singletable.tasks.calls import TaskFunction
from singletable.tasks.due import rows_query
from singletable.tasks.items import (
    SHARDS,
    Lane as OrderLane,
    OrderedTask,
    PlainTask,
    TaskEntities,
    TaskItem,
    TaskState,
    shard_of,
)

OVERDUE_SECONDS = 3600.0
"""The time that a worker may be busy with other tasks. A task that waits longer waits for a worker that doesn't run."""
_PAGE = 100
_LISTED = (TaskState.DUE, TaskState.DEAD)
_Place = tuple[str, str]
Functions = Mapping[str, TaskFunction[...]]


def task_checks(tasks: TaskEntities, functions: Functions) -> LayerChecks:
    """The checks of a table with tasks, beyond those of records."""
    return LayerChecks(tasks.table, (TaskCheck(tasks, functions),), (TaskRows(tasks),))


async def check(port: Port, tasks: TaskEntities, functions: Functions) -> list[Finding]:
    """Return the findings; empty for sound tasks."""
    return await flows.check_layers(port, [task_checks(tasks, functions)])


class TaskCheck(ItemCheck):
    """The check of tasks. One request for each task that the index must list."""

    beside = "tasks in their index, ordered tasks and their lanes"

    def __init__(self, tasks: TaskEntities, functions: Functions) -> None:
        self.tasks, self.functions = tasks, functions

    async def findings(self, port: Port, items: Sequence[Item]) -> list[Finding]:
        stored = [(item, entity) for item in items if (entity := entity_in(self.tasks, item)) is not None]
        wanted = [place for _, entity in stored if (place := _partner(self.tasks, entity)) is not None]
        there = {
            p for p, item in (await items_at(port, self.tasks.table, wanted)).items() if entity_in(self.tasks, item)
        }
        findings: list[Finding] = []
        for _, entity in stored:
            if isinstance(entity, OrderLane):
                findings += _of_lane(self.tasks, entity, there)
            elif isinstance(entity, PlainTask):
                findings += _of_task(self.tasks, entity, there)
        findings += self._of_entities((entity for _, entity in stored), port.now())
        listed = [item for item, entity in stored if isinstance(entity, TaskItem) and entity.shard is not None]
        return findings + [self._unlisted(item) for item in await self._without_row(port, listed)]

    def alone(self, items: Sequence[Item], now: float) -> list[Finding]:
        entities = (entity_in(self.tasks, item) for item in items)
        return self._of_entities((entity for entity in entities if entity is not None), now)

    def _of_entities(self, entities: Iterable[Any], now: float) -> list[Finding]:
        return [
            finding
            for entity in entities
            if not isinstance(entity, OrderLane)
            for finding in (*_of_item(entity, now), *_of_call(self.functions, entity))
        ]

    def _unlisted(self, item: Item) -> Finding:
        return finding_in(entity_in(self.tasks, item), "task.unlisted", f"{self.tasks.index} has no row of it")

    async def _without_row(self, port: Port, items: Sequence[Item]) -> list[Item]:
        missing = await _missing_rows(port, self.tasks, items)
        if missing and port.traits.index_lag_seconds:
            await pause_for_index(port, self.tasks.table.name)
            missing = await _missing_rows(port, self.tasks, missing)
        return missing


class TaskRows(Pass):
    """The rows of the index: the eight partitions of each state in which tasks are listed."""

    sampling = "none"

    def __init__(self, tasks: TaskEntities) -> None:
        self.tasks, self.table, self.name = tasks, tasks.table, f"tasks in {tasks.index}"
        self.not_sampled = f"whether each row of {tasks.index} has its task"

    def segments(self, at_once: int) -> int:
        return len(_LISTED) * SHARDS

    async def read(self, port: Port, segments: Sequence[ScanSegment]) -> list[PageRead]:
        queries = [
            rows_query(self.tasks, _LISTED[part.number // SHARDS], part.number % SHARDS, _PAGE, part.after(self.table))
            for part in segments
        ]
        return [PageRead(page.items, page.after) for page in await port.send_all(queries)]

    async def findings(self, port: Port, items: Sequence[Item]) -> list[Finding]:
        """Rows without a task when both are read again, after the usual lag of an index."""
        alone = await self._alone(port, items)
        if alone and port.traits.index_lag_seconds:
            await pause_for_index(port, self.tasks.table.name)
        gone = {place_in(self.table, row) for row in await _missing_rows(port, self.tasks, alone)}
        still = await self._alone(port, [row for row in alone if place_in(self.table, row) not in gone])
        what = f"{self.tasks.index} has a row of a missing task"
        return [Finding("task.ghost", what, "", place_in(self.table, row)) for row in still]

    async def _alone(self, port: Port, rows: Sequence[Item]) -> list[Item]:
        own = [row for row in rows if self.tasks.model_of_type(type_in(self.table, row)) is not None]
        items = await items_at(port, self.table, [place_in(self.table, row) for row in own])
        there = {place for place, item in items.items() if entity_in(self.tasks, item) is not None}
        return [row for row in own if place_in(self.table, row) not in there]


def entity_in(tasks: TaskEntities, item: Item) -> Any:
    """The task in an item; None for other items, and for an unreadable one, which the records' own check reports."""
    models: list[Model[Any]] = [model_of(kind) for kind in (tasks.task, tasks.ordered, tasks.lane)]
    try:
        return next((entity for model in models if (entity := model.load(item)) is not None), None)
    except SingletableError:
        return None


async def _missing_rows(port: Port, tasks: TaskEntities, items: Sequence[Item]) -> list[Item]:
    """The items, or rows, that the index doesn't list where workers look: one request each."""
    partition, sort = tasks.table.definition.index_keys(tasks.index)
    seen = {tasks.by_wake(state, shard).partition for state in _LISTED for shard in range(SHARDS)}
    listed = [item for item in items if sort in item and item.get(partition, {}).get("S") in seen]
    pages = await port.send_all([row_query(tasks.table, tasks.index, item) for item in listed])
    there = {place_in(tasks.table, row) for page in pages for row in page.items}
    return [item for item in items if place_in(tasks.table, item) not in there]


def _partner(tasks: TaskEntities, entity: TaskItem | OrderLane) -> _Place | None:
    """The place of the ordered item that a task or a lane must have."""
    if isinstance(entity, OrderLane):
        return model_for(entity).place_of(entity)[0], entity.turn
    if isinstance(entity, PlainTask) and entity.state is TaskState.ORDERED:
        return tasks.by_order(entity.order or "").partition, entity.turn or ""
    return None


def _of_item(item: TaskItem, now: float) -> Iterator[Finding]:
    shard = None
    if isinstance(item, OrderedTask):
        shard = shard_of(item.order)
    elif item.state is not TaskState.ORDERED:
        shard = shard_of(item.id)
    if item.shard != shard:
        yield finding_in(item, "task.shard", "it is in another shard than its key or order says")
    if item.wake < (item.ready if isinstance(item, OrderedTask) else item.due):
        yield finding_in(item, "task.early", "it wakes before it is due")
    elif item.state is TaskState.DUE and now - item.wake.timestamp() > OVERDUE_SECONDS:
        yield finding_in(item, "task.overdue", "no worker has claimed it for over an hour since it could: run one")
    if item.state is TaskState.DEAD and item.error is None:
        yield finding_in(item, "task.no-error", "it is dead and does not say why")
    elif item.state is TaskState.DEAD:
        what = f"{item.function} failed {item.tries} times: see TaskWorker.dead_letters(), then retry() or drop() it"
        yield finding_in(item, "task.dead-letter", what)
    elif isinstance(item, PlainTask) and item.failed is not None:
        what = f"{item.function} failed for good {item.failures} times in a row, last the run of {item.failed}: "
        yield finding_in(item, "task.dead-letter", what + "see TaskWorker.dead_letters(), then retry() or drop() it")


def _of_call(functions: Mapping[str, TaskFunction[...]], item: TaskItem) -> Iterator[Finding]:
    function = functions.get(item.function)
    if item.state is not TaskState.DUE or (function is None and item.error is None):
        return
    if function is None:
        yield finding_in(item, "task.unknown", f"it waits for a program that has the task {item.function!r}")
        return
    if newer := function.unknown_in(item.arguments):
        yield finding_in(item, "task.unknown", f"it waits for a program whose {item.function!r} has {newer!r}")
    try:
        function.bind(item.arguments)
    except SingletableError as error:
        yield finding_in(item, "task.arguments", error.what)


def _of_task(tasks: TaskEntities, item: PlainTask, places: set[_Place]) -> Iterator[Finding]:
    if item.state is TaskState.ORDERED and _partner(tasks, item) not in places:
        yield finding_in(item, "task.no-turn", "it has an order, and no ordered task")


def _of_lane(tasks: TaskEntities, lane: OrderLane, places: set[_Place]) -> Iterator[Finding]:
    if _partner(tasks, lane) not in places:
        yield finding_in(lane, "task.lane", "it is held for an ordered task that is missing")
