"""Layouts: a table's key attributes and indexes, as adoption reads them of a live table or of a model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct

from singletable.errors import InvalidRequest
from singletable.foundation import Table
from singletable.tables import B, Index, KeyKind, N

Places = Iterator[tuple[str | None, str]]
_NAMES: Mapping[str, type[str]] = {"S": str, "N": N, "B": B}


class TableLayout(Struct, frozen=True):
    """A table as adoption declares it: its key, the indexes that can be declared, and the names of the others."""

    name: str
    key: tuple[str, str]
    """The second is empty without a sort key."""
    indexes: Mapping[str, Index] = {}
    kinds: Mapping[str, KeyKind] = {}
    """The type of each key attribute."""
    ttl: str | None = None
    ignored: Mapping[str, str] = {}
    """The indexes that a declaration can't have, each with the reason."""

    @property
    def places(self) -> tuple[tuple[str | None, tuple[str, str]], ...]:
        """The key attributes of the table, under None, and of each index."""
        pairs = ((name, (index.partition, index.sort)) for name, index in self.indexes.items())
        return ((None, self.key), *pairs)

    @property
    def attributes(self) -> frozenset[str]:
        """The names of all key attributes."""
        return frozenset(name for _, pair in self.places for name in pair if name)

    def named(self, attribute: str) -> str:
        """A key attribute's name, as a declaration of a table takes it."""
        return _NAMES[self.kinds.get(attribute, "S")](attribute)

    def table(self) -> Table:
        """The table without classes, for flows that take one."""
        key = tuple(self.named(name) for name in self.key if name)
        return Table(self.name, key=key if len(key) == 2 else key[0], foreign=True)


def layout_of(name: str, raw: Mapping[str, Any], ttl: str | None) -> TableLayout:
    """The layout of a table as DescribeTable has it. InvalidRequest for a key that no declaration has."""
    kinds = {one["AttributeName"]: one["AttributeType"] for one in raw.get("AttributeDefinitions", ())}
    key = _pair(raw["KeySchema"])
    if key is None:
        raise InvalidRequest(
            f"{name} has a key of {len(raw['KeySchema'])} attributes", table=name, hint="Name a table with one or two."
        )
    indexes: dict[str, Index] = {}
    ignored: dict[str, str] = {}
    local = raw.get("LocalSecondaryIndexes", ())
    for index in (*raw.get("GlobalSecondaryIndexes", ()), *local):
        pair = _pair(index["KeySchema"])
        if pair is None or pair[0] == pair[1]:
            ignored[index["IndexName"]] = "its key has several attributes"
        else:
            indexes[index["IndexName"]] = Index(*pair, _projection(index.get("Projection", {})), index in local)
    uses = {*key, *(name for declared in indexes.values() for name in (declared.partition, declared.sort))}
    return TableLayout(name, key, indexes, kinds, None if ttl in uses else ttl, ignored)


def _pair(schema: Any) -> tuple[str, str] | None:
    """The two attributes of a key; None for a key of several."""
    names = [part["AttributeName"] for part in sorted(schema, key=lambda part: str(part["KeyType"]))]
    return (names[0], names[1] if len(names) > 1 else "") if 1 <= len(names) <= 2 else None


def _projection(raw: Mapping[str, Any]) -> Any:
    if raw.get("ProjectionType") == "KEYS_ONLY":
        return "keys"
    return tuple(sorted(raw["NonKeyAttributes"])) if raw.get("ProjectionType") == "INCLUDE" else "all"
