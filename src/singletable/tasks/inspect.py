"""The tasks of a table: what is due by time, what is dead, and the lane of an order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from msgspec import Struct

from singletable.errors import NotFound, SingletableError
from singletable.flow import Port, instant
from singletable.foundation import ANY, CursorSeal, Query, get, page, place_in, ready, type_in
from singletable.operations import Item, Key
from singletable.shown_values import ShownValue, covered, shown
from singletable.tasks.due import rows_query, wake_text
from singletable.tasks.items import SHARDS, OrderedTask, PlainTask, TaskEntities, TaskItem, TaskState
from singletable.tasks.tasks import Tasks, tasks_of as tasks_of

MOST_TASKS = 25
MOST_IN_ORDER = 50


class TaskLine(Struct, frozen=True):
    """A task in a list."""

    key: str
    function: str
    is_declared: bool
    """Whether this program has the function."""
    state: str
    """`waits`, `due`, `sent`, `runs`, `again` (it failed and is tried again), `lost` (its worker's lease has expired),
    `dead`, `unreadable`."""
    wake: str
    due: str
    tries: int
    fence: int
    order: str
    arguments: ShownValue
    error: ShownValue
    recurs: str = ""
    """The times of a recurring task."""


class TaskList(Struct, frozen=True):
    """Some tasks of a state, by time."""

    tasks: tuple[TaskLine, ...]
    cursor: str | None
    counted: int
    """The number found, up to 25 in each of the eight parts of the index."""
    is_all: bool
    """True if these are all from here on."""
    overdue: int
    """The number whose time has passed."""


class TasksInfo(Struct, frozen=True):
    """The tasks of a table."""

    table: str
    functions: tuple[str, ...]
    due: TaskList
    dead: TaskList


class OrderInfo(Struct, frozen=True):
    """The tasks of one order, which run one after the other."""

    table: str
    order: str
    runs: str
    """The place of the one that runs: its due time and key; empty for none."""
    until: str
    """The time when the lease of the running task expires."""
    tasks: tuple[TaskLine, ...]
    cursor: str | None


class TaskInfo(Struct, frozen=True):
    """One task by its key, as the table has it now."""

    table: str
    task: TaskLine


async def inspect_tasks(
    port: Port,
    seal: CursorSeal,
    tasks: Tasks,
    *,
    after: str | None = None,
    dead_after: str | None = None,
    personal: bool = False,
) -> TasksInfo:
    """Up to 25 tasks by their times and up to 25 dead ones, each from a cursor on, as the index shows them.

    One round trip of 16 requests, one for each state and part of the index; half a unit for each 4 KB, 0.5 at least.
    InvalidCursor.
    """
    entities = tasks.entities
    await ready(port, entities.table)
    lists = ((TaskState.DUE, after), (TaskState.DEAD, dead_after))
    starts = {state: _opened(port, seal, entities, state, cursor) for state, cursor in lists}
    queries = [
        rows_query(entities, state, shard, MOST_TASKS, starts[state].get(str(shard)))
        for state in starts
        for shard in range(SHARDS)
        if starts[state].get(str(shard)) != _ENDED
    ]
    pages = iter(await port.send_all(queries))
    read = {
        state: {shard: next(pages) for shard in range(SHARDS) if starts[state].get(str(shard)) != _ENDED}
        for state in starts
    }
    reader = _Reader(port, seal, tasks, personal)
    return TasksInfo(
        entities.table.name,
        tuple(tasks.functions),
        reader.list_of(TaskState.DUE, starts[TaskState.DUE], read[TaskState.DUE]),
        reader.list_of(TaskState.DEAD, starts[TaskState.DEAD], read[TaskState.DEAD]),
    )


async def inspect_order(
    port: Port,
    seal: CursorSeal,
    tasks: Tasks,
    order: str,
    *,
    after: str | None = None,
    personal: bool = False,
) -> OrderInfo:
    """The lane of an order, and up to 50 of its tasks by their due times, from a cursor on.

    Two requests, a unit for each 4 KB. InvalidCursor.
    """
    entities = tasks.entities
    key: Any = entities.by_order(order)
    lane = await get(port, key.consistent())
    query: Query[OrderedTask] = entities.by_place(order, ANY, ANY)
    items = await page(port, query.consistent(), MOST_IN_ORDER, after, seal)
    reader = _Reader(port, seal, tasks, personal)
    return OrderInfo(
        entities.table.name,
        order,
        "" if lane is None else lane.turn,
        "" if lane is None else lane.until.isoformat(),
        tuple(reader.line(item) for item in items.items),
        items.cursor,
    )


async def inspect_task(port: Port, tasks: Tasks, key: str, *, personal: bool = False) -> TaskInfo:
    """One task by its key. One request, a unit for each 4 KB; one more for a task that has an order. NotFound."""
    entities = tasks.entities
    item: TaskItem | None = await get(port, entities.by_id(key).consistent())
    if isinstance(item, PlainTask) and item.state is TaskState.ORDERED and item.order and item.turn:
        due = _due_in(item.turn, entities)
        ordered = None if due is None else await get(port, entities.by_place(item.order, due, item.id).consistent())
        item = ordered or item
    if item is None:
        raise NotFound(
            "no task has this key",
            table=entities.table.name,
            operation="read",
            hint="It has ended, or was cancelled: neither leaves an item.",
        )
    return TaskInfo(entities.table.name, _Reader(port, None, tasks, personal).line(item))


def _due_in(turn: str, entities: TaskEntities) -> datetime | None:
    """The due time in an ordered task's place."""
    read = entities.by_place("-", ANY, ANY).captured.templates[1].read(turn)
    due: datetime | None = None if read is None else read.get("due")
    return due


# --- lists over the eight parts of the index --------------------------------------------------------------------------
_ENDED: Key = {"ended": {"S": "1"}}
"""In a cursor: a part that has no more tasks."""


def _binding(tasks: TaskEntities, state: TaskState) -> tuple[str, ...]:
    return (tasks.table.name, tasks.index, "studio tasks", state.value)


def _opened(
    port: Port, seal: CursorSeal, tasks: TaskEntities, state: TaskState, cursor: str | None
) -> Mapping[str, Key]:
    """The position of each part."""
    if cursor is None:
        return {}
    places: Mapping[str, Mapping[str, str]] = seal.open(cursor, _binding(tasks, state), port.now())
    return {shard: {name: {"S": text} for name, text in place.items()} for shard, place in places.items()}


class _Reader:
    """Makes lines of tasks."""

    def __init__(self, port: Port, seal: CursorSeal | None, tasks: Tasks, personal: bool) -> None:
        self.port, self.seal, self.tasks, self.personal = port, seal, tasks, personal
        self.entities = tasks.entities
        self.now = instant(port.now())

    def list_of(self, state: TaskState, starts: Mapping[str, Key], pages: Mapping[int, Any]) -> TaskList:
        """The first tasks of all parts, merged by time, and the places where the parts go on."""
        wake = self.entities.table.definition.index_keys(self.entities.index)[1]
        every = sorted(self._items(pages), key=lambda each: (each[1][wake]["S"], each[0]))
        first = every[:MOST_TASKS]
        lines = [self._line_of(item) for _, item in first]
        ends = [shard for shard, page_ in pages.items() if page_.after is None]
        is_all = len(every) <= len(first) and len(ends) == len(pages)
        overdue = sum(item[wake]["S"] <= wake_text(self.entities, self.now) for _, item in every)
        cursor = None if is_all else self._cursor(state, starts, pages, every, len(first))
        return TaskList(tuple(lines), cursor, len(every), len(ends) == len(pages), overdue)

    def _items(self, found: Mapping[int, Any]) -> Iterator[tuple[int, Item]]:
        for shard, page_ in found.items():
            for item in page_.items:
                yield shard, item

    def _cursor(
        self,
        state: TaskState,
        starts: Mapping[str, Key],
        pages: Mapping[int, Any],
        every: Sequence[tuple[int, Item]],
        given: int,
    ) -> str:
        """After the last task that was given of each part; a part without any goes on where it was."""
        places: dict[str, Key] = dict(starts)
        for shard, item in every[:given]:
            places[str(shard)] = self._place(item)
        waiting = {shard for shard, _ in every[given:]}
        for shard, page_ in pages.items():
            if page_.after is None and shard not in waiting:
                places[str(shard)] = _ENDED
        texts = {shard: {name: value["S"] for name, value in place.items()} for shard, place in places.items()}
        assert self.seal is not None
        return self.seal.seal(texts, _binding(self.entities, state), self.port.now())

    def _place(self, item: Item) -> Key:
        definition = self.entities.table.definition
        return {name: item[name] for name in (*definition.key, *definition.index_keys(self.entities.index))}

    def _line_of(self, item: Item) -> TaskLine:
        model = self.entities.model_of_type(type_in(self.entities.table, item))
        try:
            task = None if model is None else model.load(item)
        except SingletableError:
            task = None
        if task is not None:
            return self.line(task)
        hidden = covered("error")
        text = place_in(self.entities.table, item)[0]
        return TaskLine(text, "", False, "unreadable", "", "", 0, 0, "", hidden, hidden)

    def line(self, task: TaskItem) -> TaskLine:
        open_ = self.personal
        order: str | None = getattr(task, "order", None)
        return TaskLine(
            task.id,
            task.function,
            task.function in self.tasks.functions,
            self._state(task),
            task.wake.isoformat(),
            task.due.isoformat(),
            task.tries,
            task.fence,
            order or "",
            shown("arguments", task.arguments) if open_ else covered("arguments"),
            shown("error", task.error) if open_ or not task.error else covered("error"),
            getattr(task, "recurs", None) or "",
        )

    def _state(self, task: TaskItem) -> str:
        if task.state is TaskState.DEAD:
            return "dead"
        is_due = task.wake <= self.now
        if task.sent and task.tries:
            return "lost" if is_due else "runs"
        if task.tries:
            return "again"
        return "sent" if task.sent else "due" if is_due else "waits"
