"""Capacity arithmetic: what an operation costs, from the items before and after it, as AWS bills it.

Reads (AWS, "DynamoDB read and write operations"): half a unit for each 4 KB, a whole one when consistent, two in a
transaction; an item that is not there counts as the smallest. A page sums the bytes of all items looked at and rounds
once. Writes: a unit for each KB of the larger of the item before and after, at least one, twice that in a
transaction. Each index of the item costs besides: one write for an entry that comes, goes or changes, two where its
key changes, none where nothing that it holds changes; never doubled.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import ceil
from typing import Any

from singletable.tables.definition import TableDefinition
from singletable.values import item_size

READ_BYTES = 4096
WRITE_BYTES = 1024

Item = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True)
class Cost:
    """Capacity units, of the table and of each index that an operation touches."""

    read_units: float = 0.0
    table_write_units: float = 0.0
    index_write_units: Mapping[str, float] = field(default_factory=dict[str, float])

    @property
    def write_units(self) -> float:
        return self.table_write_units + sum(self.index_write_units.values())

    def __add__(self, other: Cost) -> Cost:
        names = self.index_write_units.keys() | other.index_write_units.keys()
        indexes = {n: self.index_write_units.get(n, 0.0) + other.index_write_units.get(n, 0.0) for n in sorted(names)}
        return Cost(self.read_units + other.read_units, self.table_write_units + other.table_write_units, indexes)


def get_cost(item: Item | None, *, consistent: bool = False, transaction: bool = False) -> Cost:
    """One item by its key; None for one that is not there."""
    units = max(1, ceil(_size(item) / READ_BYTES))
    return Cost(read_units=units * (2.0 if transaction else 1.0 if consistent else 0.5))


def batch_get_cost(items: Iterable[Item | None], *, consistent: bool = False) -> Cost:
    """Each item by itself."""
    return sum((get_cost(item, consistent=consistent) for item in items), Cost())


def page_cost(items: Iterable[Item], *, consistent: bool = False) -> Cost:
    """One page of a query or a scan: all items that were looked at, before any filter, as their index holds them."""
    units = max(1, ceil(sum(map(item_size, items)) / READ_BYTES))
    return Cost(read_units=units * (1.0 if consistent else 0.5))


def write_cost(
    definition: TableDefinition, before: Item | None, after: Item | None, *, transaction: bool = False
) -> Cost:
    """A put, update or delete: the item before and after it, None for no item."""
    units = max(1, ceil(max(_size(before), _size(after)) / WRITE_BYTES))
    indexes = {name: _index_units(definition, name, before, after) for name in definition.indexes}
    return Cost(
        table_write_units=units * (2.0 if transaction else 1.0),
        index_write_units={name: units for name, units in indexes.items() if units},
    )


def check_cost(item: Item | None) -> Cost:
    """A condition on an item in a transaction, which is not changed by it."""
    return Cost(table_write_units=2.0 * max(1, ceil(_size(item) / WRITE_BYTES)))


def entry_of(definition: TableDefinition, index: str, item: Item | None) -> Item | None:
    """What an index holds of an item; None where the item is not in it."""
    keys = definition.index_keys(index)
    if item is None or any(name not in item for name in keys):
        return None
    declared = definition.projection(definition.indexes[index])
    if declared["ProjectionType"] == "ALL":
        return item
    held = {*keys, *definition.key, *declared.get("NonKeyAttributes", ())}
    return {name: value for name, value in item.items() if name in held}


def _index_units(definition: TableDefinition, index: str, before: Item | None, after: Item | None) -> float:
    old, new = entry_of(definition, index, before), entry_of(definition, index, after)
    if old == new:
        return 0.0
    if old is None or new is None:
        return _write_units(old or new)
    if any(old[name] != new[name] for name in definition.index_keys(index)):
        return _write_units(old) + _write_units(new)
    return max(_write_units(old), _write_units(new))


def _write_units(item: Item | None) -> float:
    return float(max(1, ceil(_size(item) / WRITE_BYTES)))


def _size(item: Item | None) -> int:
    return 0 if item is None else item_size(item)
