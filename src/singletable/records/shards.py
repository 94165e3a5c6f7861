"""Reads over all shards of a partition: a query of each, side by side, and their items merged by the sort key.

Of items with equal sort keys, that of the lower shard is first. So where a page ends is one position, however many
shards there are: what stands before it in this order was given. The query of its own shard goes on behind it; that of
a lower shard beyond its sort key, and that of a higher one at its sort key. Items come and go in between, as between
the pages of one partition: what is there throughout is given once.

A shard is known up to the end of its last answer. What is given ends with the first of these ends. The rest is kept
for the next page of the same read, which asks the shards of which little is left.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import cache
from itertools import takewhile
from typing import Any, TypedDict

from msgspec import Raw, Struct
from msgspec.structs import replace

from singletable.flow import Port
from singletable.operations import AnswerPage, Item, ItemReader, Key, read_one
from singletable.records.query_request import PreparedQuery, look, prepare_query, shard_limit
from singletable.records.unreadable import OnUnreadable, readable
from singletable.schema import Query, below
from singletable.values import TOP, json_decoder

Place = tuple[Any, int]
"""The sort key of an item, as the service compares it, and its shard."""


class _ShardRow(Struct, frozen=True, gc=False):
    """An item that was read, and not given yet."""

    place: Place
    key: Key
    item: Raw


class _RawReader:
    """Items as they came."""

    wire: Any = Raw

    def build(self, wire: Raw) -> Raw:
        return wire

    def load(self, item: Item) -> Any:
        raise NotImplementedError("an item as it came is not loaded")


_RAW = _RawReader()


class _ShardRead:
    """One shard: where its last answer ended, whether more may lie behind, and the items of that answer."""

    def __init__(self, number: int, prepared: PreparedQuery, after: Key | None) -> None:
        self.number, self.prepared, self.after = number, prepared, after
        self.is_open, self.size = True, 0

    def operation(self, limit: int | None, shards: int) -> Any:
        """The next request, for `limit` items of all shards. One that had more than its share is asked for all."""
        least = limit if limit is None or self.size else shard_limit(limit, shards)
        wanted = None if least is None else look(self.prepared, least)
        return replace(self.prepared.operation(self.after, wanted), reader=_RAW)


class ShardMerge:
    """One read over all shards, page after page."""

    def __init__(self, reader: ItemReader[Any] | None = None) -> None:
        """`reader` takes the place of that of the query's classes."""
        self._reader = reader
        self._ended: Key | None = None
        self._shards: list[_ShardRead] = []
        self._rows: list[_ShardRow] = []

    async def __call__(
        self, port: Port, query: Query[Any], after: Key | None, limit: int | None, unreadable: OnUnreadable = None
    ) -> AnswerPage[Any]:
        """Up to `limit` items after a position; without it, what is known after a page of up to 1 MB of each shard.

        One request for each shard of which little is left, 16 of them a round trip. Fewer items than asked for where
        one shard has many of the first ones, or a filter leaves out most.
        """
        if after is None or after is not self._ended:
            self._begin(query, after, port.now(), unreadable)
        looked_at = await self._read(port, limit)
        rows = self._taken(limit)
        whole = self._whole
        items = [read_one(row.item, self._reader or whole.reader, whole.shown) for row in rows]
        told = readable([item for item in items if item is not None], unreadable, whole.shown)
        return AnswerPage([*told], self._ended, looked_at, b"")

    def _begin(self, query: Query[Any], after: Key | None, now: float, unreadable: OnUnreadable) -> None:
        self._whole = prepare_query(query, now, unreadable)
        partition, self._sort = self._whole.table.definition.index_keys(query.index)
        texts = [part.partition for part in query.parts]
        self._given = None if after is None else self._place(after, texts.index(after[partition]["S"]))
        self._rows, self._shards = [], []
        for number, part in enumerate(query.parts):
            own = self._given is not None and self._given[1] == number
            rest = part if after is None or own else self._rest(part, number, after)
            if rest is not None:
                self._shards.append(_ShardRead(number, prepare_query(rest, now), after if own else None))

    def _rest(self, query: Query[Any], number: int, after: Key) -> Query[Any] | None:
        """The rest of a shard behind a position in another one; None if nothing is left."""
        assert self._given is not None
        is_lower = number < self._given[1]  # its items with the same sort key were given
        if not self._sort:
            return None if is_lower else query
        (tag, text), *_ = after[self._sort].items()
        low, high = (query.low, text) if query.descending else (text, query.high)
        if is_lower and tag == "S":
            low, high = (low, below(text)) if query.descending else (f"{text}\0", high)
        compared = query.captured.templates[1].comparable
        is_empty = not high or (low and high != TOP and compared(low) > compared(high))
        return None if is_empty else replace(query, low=low, high=high)

    async def _read(self, port: Port, limit: int | None) -> int:
        """Ask the shards of which nothing is left, or for all items less than half of an answer. Returns the number of
        items looked at."""
        left = Counter(row.place[1] for row in self._rows)
        few = 0 if limit else 0.5
        asked = [shard for shard in self._shards if shard.is_open and left[shard.number] <= few * shard.size]
        operations = [shard.operation(limit, len(self._shards)) for shard in asked]
        answers: list[AnswerPage[Raw]] = await port.send_all(operations) if operations else []
        for shard, answer in zip(asked, answers, strict=True):
            shard.after, shard.is_open, shard.size = answer.after, answer.after is not None, len(answer.items)
            keys = map(_key_reader(self._whole.key_names()), answer.items)
            rows = [_ShardRow(self._place(k, shard.number), k, i) for k, i in zip(keys, answer.items, strict=True)]
            self._rows += [row for row in rows if self._given is None or not self._is_behind(self._given, row.place)]
        self._rows.sort(key=_shard_of)
        self._rows.sort(key=_sort_of, reverse=self._whole.query.descending)
        return sum(answer.looked_at for answer in answers)

    def _taken(self, limit: int | None) -> list[_ShardRow]:
        """Take the first rows, up to the first end of an answer that is not its shard's; and set the position there."""
        ends = [(self._place(s.after, s.number), s.after) for s in self._shards if s.is_open and s.after is not None]
        ends.sort(key=lambda end: end[0][0], reverse=self._whole.query.descending)
        rows = self._rows[:limit]
        if ends:
            rows = [*takewhile(lambda row: not self._is_behind(row.place, ends[0][0]), rows)]
        self._rows = self._rows[len(rows) :]
        if len(rows) == limit:
            self._ended = rows[-1].key if ends or self._rows else None
        else:
            self._ended = ends[0][1] if ends else None
        return rows

    def _place(self, key: Key, shard: int) -> Place:
        text = next(iter(key[self._sort].values())) if self._sort else ""
        return self._whole.query.captured.templates[1].comparable(text), shard

    def _is_behind(self, one: Place, other: Place) -> bool:
        """Whether a place comes after another one in the order of the query."""
        if one[0] == other[0]:
            return one[1] > other[1]
        return (one[0] < other[0]) is self._whole.query.descending


@cache
def _key_reader(names: tuple[str, ...]) -> Callable[[Raw], Key]:
    """The function that reads the position of an item, and nothing else of it."""
    position: Any = TypedDict("Position", dict.fromkeys(names, dict[str, Any]))  # type: ignore[misc]
    read: Callable[[Raw], Key] = json_decoder(position).decode
    return read


def _shard_of(row: _ShardRow) -> int:
    return row.place[1]


def _sort_of(row: _ShardRow) -> Any:
    return row.place[0]
