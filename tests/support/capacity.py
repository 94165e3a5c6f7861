"""Capacity arithmetic: what an operation costs, from the items before and after it, as AWS bills it.

Reads (AWS, "DynamoDB read and write operations"): half a unit for each 4 KB, a whole one when consistent, two in a
transaction; an item that is not there counts as the smallest. A page sums the bytes of all items looked at and rounds
once. Writes are those of `singletable.tables.units`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import ceil
from typing import Any

from singletable.tables.definition import TableDefinition
from singletable.tables.units import WRITE_BYTES, index_units, projected_in, size_units
from singletable.values import item_size

READ_BYTES = 4096

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
    units = max(size_units(before), size_units(after))
    indexes = {index.name: index_units(index, before, after) for index in projected_in(definition)}
    return Cost(
        table_write_units=units * (2.0 if transaction else 1.0),
        index_write_units={name: units for name, units in indexes.items() if units},
    )


def check_cost(item: Item | None) -> Cost:
    """A condition on an item in a transaction, which is not changed by it."""
    return Cost(table_write_units=2.0 * max(1, ceil(_size(item) / WRITE_BYTES)))


def _size(item: Item | None) -> int:
    return 0 if item is None else item_size(item)
