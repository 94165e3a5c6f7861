"""The type of a column from Arrow's text of it, as a manifest has it: `list<item: string>`, `decimal128(38, 18)`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Final, cast

import pyarrow as pa
from msgspec import Meta, Struct

from singletable.errors import Corrupt

_MOST_LEVELS: Final = 32
"""The levels that an attribute of DynamoDB has."""
_PLAIN: Final[Mapping[str, pa.DataType]] = {
    str(each): each
    for each in (pa.string(), pa.bool_(), pa.int32(), pa.int64(), pa.float64(), pa.binary(), pa.date32())
}
_TIMESTAMP: Final = re.compile(r"timestamp\[us(?:, tz=(\w+))?\]").fullmatch
_DECIMAL: Final = re.compile(r"decimal128\((\d+), (\d+)\)").fullmatch
_DICTIONARY: Final = re.compile(r"dictionary<values=(\w+), indices=int32, ordered=0>").fullmatch
_NESTED: Final = re.compile(r"(list|map|struct)<(.*)>", re.DOTALL).fullmatch


class ColumnFacts(Struct, frozen=True):
    """A column, for people and for engines without Arrow."""

    name: str
    type: Annotated[str, Meta(max_length=20_000)]
    """The type in Arrow's notation: `decimal128(38, 18)`, `list<item: string>`."""
    description: str = ""
    is_json: bool = False
    attribute: str = ""
    """The name under which it is stored, where that is another one."""


def schema_of(columns: Iterable[ColumnFacts]) -> pa.Schema:
    """The columns of a dataset as its manifest has them."""
    return pa.schema([pa.field(column.name, type_of(column.type)) for column in columns])


def type_of(text: str, level: int = 0) -> pa.DataType:
    """The type that Arrow writes so. Corrupt for a text that no export of this library has."""
    if level > _MOST_LEVELS:
        raise Corrupt(f"no column of an export has more than {_MOST_LEVELS} types in each other", hint="Export again.")
    if text in _PLAIN:
        return _PLAIN[text]
    if match := _TIMESTAMP(text):
        return pa.timestamp("us", tz=match[1])
    if match := _DECIMAL(text):
        return pa.decimal128(int(match[1]), int(match[2]))
    if match := _DICTIONARY(text):
        values: Any = type_of(match[1])
        return cast(pa.DataType, pa.dictionary(pa.int32(), values))
    if match := _NESTED(text):
        return _nested(match[1], _parts(match[2]), level + 1)
    raise Corrupt(f"no column of an export has the type {text!r}", hint="Export again.")


def _nested(kind: str, parts: list[str], level: int) -> pa.DataType:
    if kind == "map" and len(parts) == 2:
        return pa.map_(type_of(parts[0], level), type_of(parts[1], level))
    named = [(name, type_of(text, level)) for name, _, text in (part.partition(": ") for part in parts)]
    if kind == "list" and len(named) == 1:
        return pa.list_(named[0][1])
    if kind == "struct":
        return pa.struct([pa.field(name, type) for name, type in named])
    raise Corrupt(f"no column of an export has the type {kind}<{', '.join(parts)}>", hint="Export again.")


def _parts(text: str) -> list[str]:
    """The parts between commas that stand in no bracket."""
    parts, depth = [""], 0
    for character in text:
        depth += (character in "<([") - (character in ">)]")
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return [part.strip() for part in parts]
