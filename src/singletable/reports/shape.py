"""The shape of a table: items, bytes and read units by class, index and item collection, as values; and their tally.

Bytes are counted as DynamoDB counts an item's size. Read units are those of reading all of it by queries, eventually
consistent: half a unit for each 4 KB.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from singletable.foundation import Table, entity_name, place_in, type_in
from singletable.operations import Item
from singletable.tables import Projected, projected_in, read_units
from singletable.values import item_size

LARGEST: Final = 20
"""The number of largest ones that are listed."""
MOST_COUNTED: Final = 100_000
"""Item collections that are counted at once, of the table and of each index. Above it the smaller half is forgotten."""


class ClassShape(Struct, frozen=True):
    """The items of one class. `name` is empty for a stored type that no class of the program has."""

    name: str
    type: str
    items: int
    bytes: int
    largest: int
    read_units: float

    @property
    def mean(self) -> float:
        """Bytes of an item, on average."""
        return self.bytes / self.items if self.items else 0.0


class ItemCollection(Struct, frozen=True):
    """All items under one partition key of the table, or of an index."""

    partition: str
    type: str
    """The stored type of one of its items."""
    sort: str
    """The sort key of that item in the table itself."""
    items: int
    bytes: int
    read_units: float


class LargeItem(Struct, frozen=True):
    """One item."""

    key: tuple[str, str]
    type: str
    bytes: int
    read_units: float
    """The units of an eventually consistent get."""


class HotKey(Struct, frozen=True):
    """A partition key, with the number of its items' changes among those read from the stream."""

    key: tuple[str, str]
    """With the sort key of one of these items."""
    type: str
    changes: int
    share: float


class IndexShape(Struct, frozen=True):
    """The part of the items read that an index holds."""

    name: str
    items: int
    bytes: int
    read_units: float
    partitions: int
    largest: tuple[ItemCollection, ...]
    is_least: bool = False
    """It has more partitions than are counted at once, so that these are least numbers."""


class SizeBar(Struct, frozen=True):
    """The number of items with a size up to the bar's bytes, and above those of the bar before."""

    up_to: int
    count: int


class Prediction(Struct, frozen=True):
    """The cost of reading the shape, by the size that the service reports, which is up to six hours old."""

    items: int
    bytes: int
    read_units: float


class TableShape(Struct, frozen=True):
    """The shape of a table. Of a sample the numbers are scaled to the whole table; the lists are what was met."""

    table: str
    sample: float | None
    seen: int
    """Items that were read."""
    items: int
    bytes: int
    read_units: float
    partitions: int
    classes: tuple[ClassShape, ...]
    indexes: tuple[IndexShape, ...]
    collections: tuple[ItemCollection, ...]
    """The largest, of the table itself."""
    large_items: tuple[LargeItem, ...]
    hot_keys: tuple[HotKey, ...]
    changes: int
    """Changes that were read from the stream, of at most a day."""
    item_sizes: tuple[SizeBar, ...]
    collection_sizes: tuple[SizeBar, ...]
    is_least: bool
    left_out: tuple[str, ...] = ()
    as_of: datetime | None = None
    """The moment that an export shows; None for what was read of the table itself."""


class _Heap:
    """The largest of what it is given, by bytes."""

    def __init__(self, most: int) -> None:
        self._most, self._count = most, 0
        self._heap: list[tuple[int, int, Any]] = []

    def add(self, size: int, what: Any) -> None:
        self._count += 1
        if len(self._heap) < self._most:
            heapq.heappush(self._heap, (size, -self._count, what))
        elif size > self._heap[0][0]:
            heapq.heapreplace(self._heap, (size, -self._count, what))

    def takes(self, size: int) -> bool:
        return len(self._heap) < self._most or size > self._heap[0][0]

    def largest_first(self) -> list[Any]:
        return [what for _, _, what in sorted(self._heap, reverse=True)]


class _Sizes:
    """A histogram with a bar for each power of two, from 64 bytes."""

    def __init__(self) -> None:
        self._counts: dict[int, int] = {}

    def add(self, size: int) -> None:
        bar = max(6, (max(size, 1) - 1).bit_length())
        self._counts[bar] = self._counts.get(bar, 0) + 1

    def bars(self, share: float) -> tuple[SizeBar, ...]:
        if not self._counts:
            return ()
        low, high = min(self._counts), max(self._counts)
        return tuple(SizeBar(2**n, round(self._counts.get(n, 0) / share)) for n in range(low, high + 1))


class _Collection:
    __slots__ = ("bytes", "first", "items")

    def __init__(self, first: tuple[str, str]) -> None:
        self.items, self.bytes, self.first = 0, 0, first


class _Collections:
    """Item collections by their partition key, in bounded memory.

    DynamoDB scans an item collection in one go. So one that was forgotten as small does not come back, and the numbers
    of the table itself stay exact; those of an index, whose entries come in another order, become least numbers.
    """

    def __init__(self, *, in_order: bool, most: int) -> None:
        self._in_order, self._most = in_order, most
        self._open: dict[str, _Collection] = {}
        self._largest, self._sizes = _Heap(LARGEST), _Sizes()
        self.forgotten, self.is_least = 0, False

    def add(self, partition: str, size: int, first: tuple[str, str]) -> None:
        collection = self._open.get(partition)
        if collection is None:
            if len(self._open) >= self._most:
                self._forget()
            collection = self._open[partition] = _Collection(first)
        collection.items += 1
        collection.bytes += size

    def count(self) -> int:
        return self.forgotten + len(self._open)

    def largest(self) -> tuple[ItemCollection, ...]:
        for partition, each in self._open.items():
            self._close(partition, each)
        self.forgotten, self._open = self.count(), {}
        return tuple(self._largest.largest_first())

    def bars(self, share: float) -> tuple[SizeBar, ...]:
        return self._sizes.bars(share)

    def _forget(self) -> None:
        """Forget the older half, which is complete, if the table is read in order; else the smaller half."""
        self.is_least = not self._in_order
        by_size = list(self._open.items())
        if not self._in_order:
            by_size.sort(key=lambda pair: pair[1].bytes)
        for partition, one in by_size[: len(by_size) // 2]:
            self._close(partition, one)
            del self._open[partition]
            self.forgotten += 1

    def _close(self, partition: str, collection: _Collection) -> None:
        self._sizes.add(collection.bytes)
        if self._largest.takes(collection.bytes):
            type, sort = collection.first
            self._largest.add(
                collection.bytes,
                ItemCollection(partition, type, sort, collection.items, collection.bytes, read_units(collection.bytes)),
            )


class _Index:
    """The tally of one index."""

    def __init__(self, projected: Projected, most: int) -> None:
        self.projected = projected
        self.items, self.bytes = 0, 0
        self.collections = _Collections(in_order=False, most=most)

    def add(self, item: Item, first: tuple[str, str]) -> None:
        entry = self.projected.entry(item)
        if entry is not None:
            size = item_size(entry)
            self.items += 1
            self.bytes += size
            self.collections.add(next(iter(item[self.projected.keys[0]].values())), size, first)

    def shape(self, share: float) -> IndexShape:
        whole, size = _scaled(self.items, share), _scaled(self.bytes, share)
        largest, partitions = self.collections.largest(), _scaled(self.collections.count(), share)
        return IndexShape(
            self.projected.name, whole, size, read_units(size), partitions, largest, self.collections.is_least
        )


class Tally:
    """Adds up the items of a table, in whatever order they come."""

    def __init__(self, table: Table, most: int = MOST_COUNTED) -> None:
        self.table, self.seen, self.bytes = table, 0, 0
        self._classes: dict[str, ClassShape] = {}
        self._indexes = [_Index(projected, most) for projected in projected_in(table.definition)]
        self._collections = _Collections(in_order=True, most=most)
        self._largest, self._sizes = _Heap(LARGEST), _Sizes()

    def add(self, items: Iterable[Item]) -> None:
        for item in items:
            self._add(item)

    def _add(self, item: Item) -> None:
        size, type, place = item_size(item), type_in(self.table, item), place_in(self.table, item)
        self.seen += 1
        self.bytes += size
        known = self._classes.get(type) or ClassShape(self._name(type), type, 0, 0, 0, 0.0)
        self._classes[type] = replace(
            known, items=known.items + 1, bytes=known.bytes + size, largest=max(known.largest, size)
        )
        self._sizes.add(size)
        if self._largest.takes(size):
            self._largest.add(size, LargeItem(place, type, size, read_units(size)))
        first = (type, place[1])
        self._collections.add(place[0], size, first)
        for index in self._indexes:
            index.add(item, first)

    def _name(self, type: str) -> str:
        model = self.table.model_of_type(type)
        return "" if model is None else entity_name(model.kind)

    def shape(
        self,
        sample: float | None,
        share: float,
        hot: Sequence[HotKey] = (),
        changes: int = 0,
        left_out: Sequence[str] = (),
        as_of: datetime | None = None,
    ) -> TableShape:
        """All that was added, where it is this share of the table."""
        largest = self._collections.largest()
        size = _scaled(self.bytes, share)
        return TableShape(
            self.table.name,
            sample,
            self.seen,
            _scaled(self.seen, share),
            size,
            read_units(size),
            _scaled(self._collections.count(), share),
            tuple(self._by_class(share)),
            tuple(index.shape(share) for index in self._indexes),
            largest,
            tuple(self._largest.largest_first()),
            tuple(hot),
            changes,
            self._sizes.bars(share),
            self._collections.bars(share),
            self._collections.is_least,
            tuple(left_out),
            as_of,
        )

    def _by_class(self, share: float) -> Iterator[ClassShape]:
        """Largest first."""
        for each in sorted(self._classes.values(), key=lambda each: (-each.bytes, each.type)):
            size = _scaled(each.bytes, share)
            yield replace(each, items=_scaled(each.items, share), bytes=size, read_units=read_units(size))


def hottest(changed: Mapping[str, tuple[int, str, str]]) -> list[HotKey]:
    """The partition keys with most changes, from their number, and the type and sort key of one of the items."""
    total = sum(count for count, _, _ in changed.values())
    most = heapq.nsmallest(LARGEST, changed.items(), key=lambda pair: (-pair[1][0], pair[0]))
    return [HotKey((partition, sort), type, count, count / total) for partition, (count, type, sort) in most]


def _scaled(number: int, share: float) -> int:
    return round(number / share)
