"""The shape of a table: items, bytes and read units by class, index and item collection, as values.

Bytes are counted as DynamoDB counts an item's size. Read units are those of reading all of it by queries, eventually
consistent: half a unit for each 4 KB.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping
from datetime import datetime
from typing import Final

from msgspec import Struct

from singletable.hidden_fields import repr_without

LARGEST: Final = 20
"""The number of largest ones that are listed."""


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
    """The stored type of one of its items: the lowest of those that were met at once."""
    sort: str
    """The sort key of that item in the table itself."""
    items: int
    bytes: int
    read_units: float

    __repr__ = repr_without("partition", "sort")


class LargeItem(Struct, frozen=True):
    """One item."""

    key: tuple[str, str]
    type: str
    bytes: int
    read_units: float
    """The units of an eventually consistent get."""

    __repr__ = repr_without("key")


class HotKey(Struct, frozen=True):
    """A partition key, with the number of its items' changes among those read from the stream."""

    key: tuple[str, str]
    """With the sort key of one of these items."""
    type: str
    changes: int
    share: float

    __repr__ = repr_without("key")


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


def hottest(changed: Mapping[str, tuple[int, str, str]]) -> list[HotKey]:
    """The partition keys with most changes, from their number, and the type and sort key of one of the items."""
    total = sum(count for count, _, _ in changed.values())
    most = heapq.nsmallest(LARGEST, changed.items(), key=lambda pair: (-pair[1][0], pair[0]))
    return [HotKey((partition, sort), type, count, count / total) for partition, (count, type, sort) in most]
