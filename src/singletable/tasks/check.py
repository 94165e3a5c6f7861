"""Check: the invariants of tasks, as a flow over the whole table. It reads everything and changes nothing.

* each task has a state, a shard and a time that its writes can produce
* each task that waits, runs or is dead has one row in the index, and each row has such a task
* a task with an order has its ordered item, and a lane that is held is held for such an item
* a task's arguments fit the function of its name, and a task that was returned for lack of a function has one here

An ordered item without its task is no finding: the task was cancelled, and the item is deleted when it is first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from singletable.errors import SingletableError
from singletable.flow.port import Port
from singletable.foundation import Finding, Model, model_for, model_of, ready
from singletable.operations import Item, Key, Scan, Selection
from singletable.operations.answers import RAW
from singletable.tasks.calls import TaskFunction
from singletable.tasks.due import keys_of
from singletable.tasks.items import Lane, OrderedTask, PlainTask, State, TaskEntities, TaskItem, shard_of

_PAGE = 100
_Place = tuple[str, str]


async def check(port: Port, tasks: TaskEntities, functions: Mapping[str, TaskFunction[...]]) -> list[Finding]:
    """What is not as it should be; empty for sound tasks. An index that lags may cause a finding."""
    await ready(port, tasks.table)
    stored = await _stored(port, tasks)
    places = {model_for(entity).place_of(entity) for entity in stored}
    found: list[Finding] = []
    for entity in stored:
        if isinstance(entity, Lane):
            found += _of_lane(entity, places)
        else:
            found += [*_of_item(entity), *_of_call(functions, entity)]
        if isinstance(entity, PlainTask):
            found += _of_task(tasks, entity, places)
    rows = [row for state in (State.DUE, State.DEAD) for row in await keys_of(port, tasks, state)]
    listed = [entity for entity in stored if isinstance(entity, TaskItem) and entity.shard is not None]
    return found + list(_of_index(tasks, listed, [(row.key.partition, row.key.low) for row in rows]))


async def _stored(port: Port, tasks: TaskEntities) -> list[TaskItem | Lane]:
    models: list[Model[Any]] = [model_of(kind) for kind in (tasks.task, tasks.ordered, tasks.lane)]
    found: list[TaskItem | Lane] = []
    after: Key | None = None
    while True:
        selection = Selection(limit=_PAGE, after=after, consistent=True)
        page = await port.send(Scan(tasks.table.name, selection, RAW))
        found += [entity for item in page.items if (entity := _load(models, item)) is not None]
        after = page.after
        if after is None:
            return found


def _load(models: list[Model[Any]], item: Item) -> Any:
    """None for other items, and for an item that can't be read, which the records' own check reports."""
    try:
        return next((entity for model in models if (entity := model.load(item)) is not None), None)
    except SingletableError:
        return None


def _of_item(item: TaskItem) -> Iterator[Finding]:
    shard = None
    if isinstance(item, OrderedTask):
        shard = shard_of(item.order)
    elif item.state is not State.ORDERED:
        shard = shard_of(item.id)
    if item.shard != shard:
        yield _finding(item, "task.shard", "it is in another shard than its key or order says")
    if item.wake < (item.ready if isinstance(item, OrderedTask) else item.due):
        yield _finding(item, "task.early", "it wakes before it is due")
    if item.state is State.DEAD and item.error is None:
        yield _finding(item, "task.no-error", "it is dead and does not say why")


def _of_call(functions: Mapping[str, TaskFunction[...]], item: TaskItem) -> Iterator[Finding]:
    function = functions.get(item.function)
    if item.state is not State.DUE or (function is None and item.error is None):
        return
    if function is None:
        yield _finding(item, "task.unknown", f"it waits for a program that has the task {item.function!r}")
        return
    if newer := function.unknown_in(item.arguments):
        yield _finding(item, "task.unknown", f"it waits for a program whose {item.function!r} has {newer!r}")
    try:
        function.bind(item.arguments)
    except SingletableError as error:
        yield _finding(item, "task.arguments", error.what)


def _of_task(tasks: TaskEntities, item: PlainTask, places: set[_Place]) -> Iterator[Finding]:
    if item.state is State.ORDERED and (tasks.by_order(item.order or "").partition, item.turn) not in places:
        yield _finding(item, "task.no-turn", "it has an order, and no ordered task")


def _of_lane(lane: Lane, places: set[_Place]) -> Iterator[Finding]:
    if (model_for(lane).place_of(lane)[0], lane.turn) not in places:
        yield _finding(lane, "task.lane", "it is held for an ordered task that is missing")


def _of_index(tasks: TaskEntities, items: list[TaskItem], rows: list[_Place]) -> Iterator[Finding]:
    listed = set(rows)
    there = {model_for(item).place_of(item) for item in items}
    for item in items:
        if model_for(item).place_of(item) not in listed:
            yield _finding(item, "task.unlisted", f"{tasks.index} has no row of it")
    for place in rows:
        if place not in there:
            yield Finding("task.ghost", f"{tasks.index} has a row, and there is no such task", "", place)


def _finding(entity: TaskItem | Lane, code: str, what: str) -> Finding:
    model = model_for(entity)
    return Finding(code, what, model.type, model.place_of(entity))
