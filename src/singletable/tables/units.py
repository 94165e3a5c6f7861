"""The capacity units of a read and of a write, as DynamoDB bills them.

A read: one unit for each 4 KB that a request reads, all its items together; half of it if eventually consistent.

A write: from the item before and after it, a unit for each KB of the larger of the two, at least one; twice that in a
transaction. Each index of the item costs more: one write for an entry that comes, goes or changes, two if its key
changes, nothing if nothing that it holds changes; never doubled.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import ceil
from typing import Any, Final

from msgspec import Struct

from singletable.tables.definition import TableDefinition
from singletable.values import item_size

READ_BYTES: Final = 4096
"""Bytes that one unit pays for, in a consistent read."""
WRITE_BYTES: Final = 1024
Item = Mapping[str, Mapping[str, Any]]


def read_units(size: float, *, consistent: bool = False) -> float:
    """The units of one request that reads `size` bytes."""
    units = ceil(size / READ_BYTES)
    return float(units) if consistent else units / 2


class Projected(Struct, frozen=True):
    """The facts of an index that decide the cost of a write."""

    name: str
    keys: tuple[str, ...]
    held: frozenset[str] | None
    """The attributes that it holds, keys included; None for all."""

    def entry(self, item: Item | None) -> Item | None:
        """The item's entry in the index; None if the item is not in it."""
        if item is None or any(name and name not in item for name in self.keys):
            return None
        return item if self.held is None else {name: value for name, value in item.items() if name in self.held}


def projected_in(definition: TableDefinition) -> list[Projected]:
    """The declared indexes."""
    return [Projected(name, definition.index_keys(name), definition.held_by(name)) for name in definition.indexes]


def projected(
    name: str, keys: tuple[str, ...], table_keys: tuple[str, str], projection: Mapping[str, Any]
) -> Projected:
    """An index, from its projection as a request or a description has it."""
    if projection.get("ProjectionType", "ALL") == "ALL":
        return Projected(name, keys, None)
    return Projected(name, keys, frozenset((*keys, *table_keys, *(projection.get("NonKeyAttributes") or ()))))


def write_units(
    indexes: Iterable[Projected], before: Item | None, after: Item | None, *, transaction: bool = False
) -> float:
    """The units of a put, update or delete, of the table and its indexes."""
    units = max(size_units(before), size_units(after)) * (2.0 if transaction else 1.0)
    return units + sum(index_units(index, before, after) for index in indexes)


def index_units(index: Projected, before: Item | None, after: Item | None) -> float:
    """The units of one index."""
    old, new = index.entry(before), index.entry(after)
    if old == new:
        return 0.0
    if old is None or new is None:
        return size_units(old or new)
    if any(name and old[name] != new[name] for name in index.keys):
        return size_units(old) + size_units(new)
    return max(size_units(old), size_units(new))


def size_units(item: Item | None) -> float:
    """The units of an item's size; of none, as of the smallest."""
    return float(max(1, ceil(item_size(item) / WRITE_BYTES))) if item is not None else 1.0
