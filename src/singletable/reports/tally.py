"""The tally of a table's shape: item by item, and of its parts together, in memory that does not grow with the table.

The same items make the same shape, in whatever order and parts they come, as long as nothing was forgotten that comes
again: see `_Collections`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Final, Generic, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from singletable.foundation import Table, entity_name, place_in, type_in
from singletable.operations import Item
from singletable.reports.shape import (
    LARGEST,
    ClassShape,
    HotKey,
    IndexShape,
    ItemCollection,
    LargeItem,
    SizeBar,
    TableShape,
)
from singletable.tables import Projected, projected_in, read_units
from singletable.values import item_size

MOST_COUNTED: Final = 100_000
"""Item collections that are counted at once, of the table and of each index. Above it the smaller half is forgotten."""
OTHER_TYPES: Final = "(others)"
"""The stored types that no class has and that a kept tally had no room for."""
_MOST_TYPE: Final = 255
L = TypeVar("L", LargeItem, ItemCollection)


class _Largest(Generic[L]):
    """The largest of what it is given: by bytes, then by key, so that their order of arrival does not matter."""

    def __init__(self) -> None:
        self._kept: list[L] = []
        self._last: tuple[int, Any] | None = None
        """The rank of the smallest one that is listed; None while there is room."""

    def takes(self, size: int, key: Any) -> bool:
        return self._last is None or (-size, key) < self._last

    def add(self, one: L) -> None:
        self._kept.append(one)
        if len(self._kept) >= 2 * LARGEST:
            self.listed()

    def listed(self, most: int = LARGEST) -> list[L]:
        """The largest first."""
        self._kept = sorted(self._kept, key=_rank)[:LARGEST]
        if len(self._kept) == LARGEST:
            self._last = _rank(self._kept[-1])
        return self._kept[:most]


def _rank(one: LargeItem | ItemCollection) -> tuple[int, Any]:
    return -one.bytes, one.key if isinstance(one, LargeItem) else one.partition


class _Sizes:
    """A histogram with a bar for each power of two, from 64 bytes."""

    def __init__(self, counts: Mapping[int, int] = {}) -> None:
        self.counts = Counter(counts)

    def add(self, size: int) -> None:
        self.counts[max(6, (max(size, 1) - 1).bit_length())] += 1

    def bars(self, share: float) -> tuple[SizeBar, ...]:
        if not self.counts:
            return ()
        low, high = min(self.counts), max(self.counts)
        return tuple(SizeBar(2**n, round(self.counts.get(n, 0) / share)) for n in range(low, high + 1))


class _Collection:
    __slots__ = ("bytes", "first", "items")

    def __init__(self, first: tuple[str, str], items: int = 0, bytes: int = 0) -> None:
        self.items, self.bytes, self.first = items, bytes, first


class KeptCollections(Struct, frozen=True, array_like=True):
    """The kept form of a tally of item collections."""

    open: list[tuple[str, str, str, int, int]]
    """Collections that may grow: partition, type and sort key of one item, items, bytes."""
    largest: list[ItemCollection]
    """The largest of the others."""
    sizes: dict[int, int]
    forgotten: int
    is_least: bool
    edge: str | None


class _Collections:
    """Item collections by their partition key, in bounded memory.

    DynamoDB scans an item collection in one go. So one that was forgotten as small does not come back, and the numbers
    of the table itself stay exact; those of an index, whose entries come in another order, become least numbers. The
    first collection of a part of a table may have begun in the part before it, so it is not forgotten.
    """

    def __init__(self, *, in_order: bool, most: int) -> None:
        self._in_order, self._most = in_order, most
        self._open: dict[str, _Collection] = {}
        self._edge: str | None = None
        self._largest, self._sizes = _Largest[ItemCollection](), _Sizes()
        self.forgotten, self.is_least = 0, False

    def add(self, partition: str, size: int, first: tuple[str, str], items: int = 1) -> None:
        collection = self._open.get(partition)
        if collection is None:
            if len(self._open) >= self._most:
                self.forget(self._most // 2)
            collection = self._open[partition] = _Collection(first)
            if self._edge is None and self._in_order:
                self._edge = partition
        elif first < collection.first:
            collection.first = first
        collection.items += items
        collection.bytes += size

    def count(self) -> int:
        return self.forgotten + len(self._open)

    def largest(self) -> tuple[ItemCollection, ...]:
        for partition, each in self._open.items():
            self._close(partition, each)
        self.forgotten, self._open = self.count(), {}
        return tuple(self._largest.listed())

    def bars(self, share: float) -> tuple[SizeBar, ...]:
        return self._sizes.bars(share)

    def forget(self, most: int) -> None:
        """Forget all but `most`: the older ones, which are complete, if the table is read in order; else the smaller
        ones."""
        by_age = list(self._open.items())
        if not self._in_order:
            by_age.sort(key=lambda pair: (pair[1].bytes, pair[0]))
        for partition, one in by_age[: max(0, len(by_age) - most)]:
            if partition == self._edge:
                continue
            self.is_least = self.is_least or not self._in_order
            self._close(partition, one)
            del self._open[partition]
            self.forgotten += 1

    def kept(self, listed: int) -> KeptCollections:
        rows = [(key, *one.first, one.items, one.bytes) for key, one in self._open.items()]
        sizes = dict(self._sizes.counts)
        return KeptCollections(rows, self._largest.listed(listed), sizes, self.forgotten, self.is_least, self._edge)

    def add_kept(self, kept: KeptCollections) -> None:
        """Add those of another part of the table."""
        for one in kept.largest:
            self._list(one)
        self._sizes.counts.update(kept.sizes)
        self.forgotten += kept.forgotten
        self.is_least = self.is_least or kept.is_least
        self._edge = kept.edge if self._edge is None else self._edge
        for partition, type, sort, items, size in kept.open:
            self.add(partition, size, (type, sort), items)

    def _close(self, partition: str, collection: _Collection) -> None:
        self._sizes.add(collection.bytes)
        if self._largest.takes(collection.bytes, partition):
            type, sort = collection.first
            size = collection.bytes
            self._list(ItemCollection(partition, type, sort, collection.items, size, read_units(size)))

    def _list(self, one: ItemCollection) -> None:
        if self._largest.takes(one.bytes, one.partition):
            self._largest.add(one)


class KeptIndex(Struct, frozen=True, array_like=True):
    """The kept form of the tally of one index."""

    items: int
    bytes: int
    collections: KeptCollections


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

    def add_kept(self, kept: KeptIndex) -> None:
        self.items += kept.items
        self.bytes += kept.bytes
        self.collections.add_kept(kept.collections)

    def shape(self, share: float) -> IndexShape:
        whole, size = _scaled(self.items, share), _scaled(self.bytes, share)
        largest, partitions = self.collections.largest(), _scaled(self.collections.count(), share)
        return IndexShape(
            self.projected.name, whole, size, read_units(size), partitions, largest, self.collections.is_least
        )


class KeptTally(Struct, frozen=True, array_like=True):
    """The kept form of a tally."""

    seen: int
    bytes: int
    classes: list[ClassShape]
    indexes: dict[str, KeptIndex]
    collections: KeptCollections
    largest: list[LargeItem]
    sizes: dict[int, int]
    cut: list[str]


class Tally:
    """Adds up the items of a table, in whatever order they come, and the tallies of its parts."""

    def __init__(self, table: Table, most: int = MOST_COUNTED) -> None:
        self.table, self.seen, self.bytes = table, 0, 0
        self.cut = set[str]()
        """The reasons why something is missing: its kept form had no room for it."""
        self._classes: dict[str, ClassShape] = {}
        self._indexes = [_Index(projected, most) for projected in projected_in(table.definition)]
        self._collections = _Collections(in_order=True, most=most)
        self._largest, self._sizes = _Largest[LargeItem](), _Sizes()

    def add(self, items: Iterable[Item]) -> None:
        for item in items:
            self._add(item)

    def _add(self, item: Item) -> None:
        size, type, place = item_size(item), _short(type_in(self.table, item)), place_in(self.table, item)
        self.seen += 1
        self.bytes += size
        self._count(type, 1, size, size)
        self._sizes.add(size)
        if self._largest.takes(size, place):
            self._largest.add(LargeItem(place, type, size, read_units(size)))
        first = (type, place[1])
        self._collections.add(place[0], size, first)
        for index in self._indexes:
            index.add(item, first)

    def kept(self, listed: int = LARGEST) -> KeptTally:
        """All that was added, as a value, with `listed` of the largest. `forget` and `fold_types` bound its size."""
        indexes = {i.projected.name: KeptIndex(i.items, i.bytes, i.collections.kept(listed)) for i in self._indexes}
        classes, sizes, largest = list(self._classes.values()), dict(self._sizes.counts), self._largest.listed(listed)
        collections, cut = self._collections.kept(listed), sorted(self.cut)
        return KeptTally(self.seen, self.bytes, classes, indexes, collections, largest, sizes, cut)

    def forget(self, most: int, most_in_index: int) -> None:
        """Forget all but `most` item collections of the table, and of each index."""
        self._collections.forget(most)
        for index in self._indexes:
            index.collections.forget(most_in_index)

    def fold_types(self, most: int) -> bool:
        """Count the types that no class has together, but for the `most` largest. False if there are no more."""
        unknown = [one for one in self._classes.values() if not one.name and one.type != OTHER_TYPES]
        folded = sorted(unknown, key=lambda one: (-one.bytes, one.type))[most:]
        for one in folded:
            del self._classes[one.type]
            self._count(OTHER_TYPES, one.items, one.bytes, one.largest)
        return bool(folded)

    def add_kept(self, kept: KeptTally) -> None:
        """Add the tally of another part of the table."""
        self.seen += kept.seen
        self.bytes += kept.bytes
        self.cut.update(kept.cut)
        for one in kept.classes:
            self._count(one.type, one.items, one.bytes, one.largest)
        for index in self._indexes:
            index.add_kept(kept.indexes[index.projected.name])
        self._collections.add_kept(kept.collections)
        for large in kept.largest:
            if self._largest.takes(large.bytes, large.key):
                self._largest.add(large)
        self._sizes.counts.update(kept.sizes)

    def _count(self, type: str, items: int, size: int, largest: int) -> None:
        known = self._classes.get(type) or ClassShape(self._name(type), type, 0, 0, 0, 0.0)
        self._classes[type] = replace(
            known, items=known.items + items, bytes=known.bytes + size, largest=max(known.largest, largest)
        )

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
            tuple(self._largest.listed()),
            tuple(hot),
            changes,
            self._sizes.bars(share),
            self._collections.bars(share),
            self._collections.is_least,
            (*left_out, *sorted(self.cut)),
            as_of,
        )

    def _by_class(self, share: float) -> Iterator[ClassShape]:
        """Largest first."""
        for each in sorted(self._classes.values(), key=lambda each: (-each.bytes, each.type)):
            size = _scaled(each.bytes, share)
            yield replace(each, items=_scaled(each.items, share), bytes=size, read_units=read_units(size))


def _short(type: str) -> str:
    """A stored type, cut to a bounded length: one that no program declares may be of any length."""
    return type if len(type) <= _MOST_TYPE else f"{type[: _MOST_TYPE - 1]}…"


def _scaled(number: int, share: float) -> int:
    return round(number / share)
