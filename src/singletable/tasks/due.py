"""Finding tasks through the index: eight queries, one round trip. The index may lag; the claim decides."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any

from singletable.flow import Port, pages_side_by_side
from singletable.foundation import KeyOf, OnUnreadable, Template, get_many, model_of, place_in, ready
from singletable.operations import RAW, Item, Key, Query, Selection
from singletable.tasks.items import SHARDS, TaskEntities, TaskItem, TaskState, lease_of

_PAGE_READ_ON = 100
_MOST_READ_ON = 10


@dataclass(frozen=True)
class Candidate:
    """A task as the index shows it, which may lag."""

    key: KeyOf[Any]
    shard: int
    wake: str
    """The text of its time in the index; it sorts as the time does."""
    fence: int | None
    is_ordered: bool
    sent: bool
    lease: float | None
    """The length of the lease that it is under, as `items.lease_of`; 0 where the index does not show it."""
    task: str = ""
    """The name of its function; empty where the index does not show it."""
    process: str = ""
    """The process that has claimed it, where that is known."""

    @property
    def place(self) -> tuple[str, str]:
        """Its primary key."""
        return self.key.partition, self.key.low


async def find(
    port: Port,
    tasks: TaskEntities,
    state: TaskState,
    limit: int,
    until: datetime | None = None,
    passes: Callable[[Candidate], bool] | None = None,
) -> list[Candidate]:
    """Up to `limit` tasks of each shard, those with the earliest times, all sorted by time; with `until`, only tasks
    that wake by then. A shard whose tasks `passes` is true of is read on, as they may hide others.

    One round trip of eight requests, half a read unit for each 4 KB; up to ten more of pages that are read on.
    """
    await ready(port, tasks.table)
    candidates: list[Candidate] = []
    asks = {shard: rows_query(tasks, state, shard, limit, until=until) for shard in range(SHARDS)}
    for _ in range(1 + _MOST_READ_ON):
        pages = dict(zip(asks, await port.send_all(list(asks.values())), strict=True))
        asks.clear()
        for shard, page in pages.items():
            there = candidates_in(tasks, shard, page.items)
            candidates += there
            if page.after is not None and passes is not None and all(map(passes, there)):
                asks[shard] = rows_query(tasks, state, shard, _PAGE_READ_ON, page.after, until)
        if not asks:
            break
    return sorted(candidates, key=lambda c: c.wake)


async def keys_of(port: Port, tasks: TaskEntities, state: TaskState, until: datetime | None = None) -> list[Candidate]:
    """Every task of a state, from the index; with `until`, only tasks that wake by then."""
    await ready(port, tasks.table)
    candidates: list[Candidate] = []
    asks = {shard: partial(rows_query, tasks, state, shard, None, until=until) for shard in range(SHARDS)}
    async for shard, page in pages_side_by_side(port, asks):
        candidates += candidates_in(tasks, shard, page.items)
    return candidates


def candidates_in(tasks: TaskEntities, shard: int, items: Iterable[Item]) -> list[Candidate]:
    """The tasks on a page of the index."""
    return [each for item in items if (each := _candidate(tasks, shard, item)) is not None]


async def all_of(port: Port, tasks: TaskEntities, state: TaskState, unreadable: OnUnreadable = None) -> list[TaskItem]:
    """The tasks that the index shows in a state, read from the table: some may have left the state."""
    candidates = await keys_of(port, tasks, state)
    return await get_many(port, [c.key for c in candidates], consistent=True, unreadable=unreadable)


def wake_text(tasks: TaskEntities, wake: datetime) -> str:
    """A time as the index stores it."""
    return _sort(tasks).write({"wake": wake})


def time_of(tasks: TaskEntities, wake: str) -> datetime:
    """The time that the index stores as a text."""
    read = _sort(tasks).read(wake) or {}
    found: datetime = read["wake"]
    return found


def rows_query(
    tasks: TaskEntities,
    state: TaskState,
    shard: int,
    limit: int | None,
    after: Key | None = None,
    until: datetime | None = None,
) -> Query[Item]:
    partition, sort = tasks.table.definition.index_keys(tasks.index)
    condition, names = "#0 = :0", {"#0": partition}
    values = {":0": {"S": tasks.by_wake(state, shard).partition}}
    if until is not None:
        condition += " AND #1 <= :1"
        names["#1"], values[":1"] = sort, {"S": wake_text(tasks, until)}
    selection = Selection(tasks.index, names=names, values=values, limit=limit, after=after)
    return Query(tasks.table.name, condition, selection, RAW)


def _sort(tasks: TaskEntities) -> Template:
    return model_of(tasks.task).indexes[tasks.index].templates[1]


def _candidate(tasks: TaskEntities, shard: int, item: Item) -> Candidate | None:
    definition = tasks.table.definition
    model = tasks.model_of_type(item.get(definition.type_attribute, {}).get("S", ""))
    if model is None:
        return None
    key: KeyOf[Any] = model.key_at(place_in(tasks.table, item))
    wake = item[definition.index_keys(tasks.index)[1]]["S"]
    fence = int(item["fence"]["N"]) if "fence" in item else None
    sent, tries = item.get("sent") == {"BOOL": True}, int(item.get("tries", {}).get("N", "0"))
    stored = float(item["lease"]["N"]) if "N" in item.get("lease", {}) else None
    lease = lease_of(stored, sent=sent, tries=tries)
    task, process = (item.get(name, {}).get("S", "") for name in ("function", "process"))
    return Candidate(key, shard, wake, fence, model.kind is tasks.ordered, sent, lease, task, process)
