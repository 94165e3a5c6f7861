"""The library's own items in an application's table: entities whose keys are declared as parts, for any separator.

    class Lease(LeaseItem, table=table, type="_lease"):
        @system_key(table)
        @staticmethod
        def by_shard(consumer: str, stream: str, shard: str = ANY) -> KeyParts:
            return ("_lease", f"{consumer}", f"{stream}"), (f"{shard}",)

A type that begins with an underscore, or `Special.is_system`, makes a class the library's own: `singletable patterns
--system` lists it, `db.check` knows its items, and it stays out of an application's catalogue.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec

from singletable.schema.bound_patterns import Declared, DeclaredKey
from singletable.schema.patterns import Key
from singletable.schema.table import Table, plain

P = ParamSpec("P")

KeyParts = tuple[tuple[str, ...], tuple[str, ...]]
"""The parts of a partition key and of a sort key, without the separator between them."""


class SystemKey:
    """The decorator that `system_key` returns."""

    def __init__(self, table: Table) -> None:
        self._table = table

    def __call__(self, function: Callable[P, KeyParts]) -> DeclaredKey[P]:
        return self._table.key(_joined(function, self._table.separator))


class SystemIndex:
    """The decorator that `system_index` returns."""

    def __init__(self, table: Table, index: str) -> None:
        self._declare, self._separator = table.index(index), table.separator

    def __call__(self, function: Callable[P, KeyParts]) -> Declared[P]:
        return self._declare(_joined(function, self._separator))


def system_key(table: Table) -> SystemKey:
    """The primary key of one of the library's own entities: above `@staticmethod`."""
    return SystemKey(table)


def system_index(table: Table, index: str) -> SystemIndex:
    """The key of one of the library's own entities in one of the table's indexes."""
    return SystemIndex(table, index)


def _joined(function: Callable[P, KeyParts], separator: str) -> Callable[P, Key]:
    """A key function that joins the parts that a function returns."""
    parts_of: Callable[..., KeyParts] = plain(function)

    @wraps(parts_of)
    def texts(*args: P.args, **kwargs: P.kwargs) -> Key:
        partition, sort = parts_of(*args, **kwargs)
        return separator.join(partition), separator.join(sort)

    return texts
