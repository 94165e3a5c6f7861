"""Attributes: the declared type of a stored attribute, from the values that items have: the narrowest that writes each
value again unchanged."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Annotated, Any
from uuid import UUID

from msgspec import Struct

from singletable.adopt.key_texts import TIMELY
from singletable.operations import Item, encode, read_item
from singletable.values import (
    AttributeValue,
    EpochMilliseconds,
    EpochSeconds,
    IsoMilliseconds,
    PynamoIso,
    PythonIso,
    TrueText,
    ZeroOne,
    json_text,
    plan_for,
    writer_of,
)

TYPES: Mapping[str, Any] = {
    "str": str,
    "int": int,
    "Decimal": Decimal,
    "bool": bool,
    "bytes": bytes,
    "UUID": UUID,
    "date": date,
    "datetime": datetime,
    "EpochSeconds": EpochSeconds,
    "EpochMilliseconds": EpochMilliseconds,
    "IsoMilliseconds": IsoMilliseconds,
    "TrueText": TrueText,
    "ZeroOne": ZeroOne,
    "PynamoIso": PynamoIso,
    "PythonIso": PythonIso,
    "Annotated[dict[str, Any], json_text]": Annotated[dict[str, Any], json_text],
    "Annotated[list[Any], json_text]": Annotated[list[Any], json_text],
    "Annotated[Any, json_text]": Annotated[Any, json_text],
    "list[str]": list[str],
    "list[int]": list[int],
    "list[Any]": list[Any],
    "dict[str, Any]": dict[str, Any],
    "set[str]": set[str],
    "set[int]": set[int],
    "set[Decimal]": set[Decimal],
    "set[bytes]": set[bytes],
    "Any": Any,
}
"""The annotations that adoption writes, by their texts."""
_NARROW = ("UUID", "IsoMilliseconds", "datetime", "PynamoIso", "PythonIso", "date", "TrueText")
_CHOICES: Mapping[str, tuple[str, ...]] = {
    "S": (
        *_NARROW,
        *(
            "Annotated[dict[str, Any], json_text]",
            "Annotated[list[Any], json_text]",
            "Annotated[Any, json_text]",
            "str",
        ),
    ),
    "N": ("ZeroOne", "EpochSeconds", "EpochMilliseconds", "int", "Decimal"),
    "B": ("bytes",),
    "BOOL": ("bool",),
    "L": ("list[str]", "list[int]", "list[Any]"),
    "M": ("dict[str, Any]",),
    "SS": ("set[str]",),
    "NS": ("set[int]", "set[Decimal]"),
    "BS": ("set[bytes]",),
}
_LEAST_SEEN = 3
"""Fewer values say too little for a type that is narrower than the stored one."""
_FLAG = re.compile(r"^(?:is|has|can|was|should)(?:_|[A-Z])|active|enabled|deleted|disabled|verified|paid|flag", re.I)
_SINCE_2001, _UNTIL_2100 = 978_307_200, 4_102_444_800


class AttributeColumn(Struct, frozen=True):
    """An attribute of a class: its stored name, its annotation, and whether items may lack it."""

    stored: str
    annotation: str
    optional: bool = False
    role: str = ""
    """`in_key` for a value that is stored in keys only, `expires` for the table's time of expiry."""


def column_of(name: str, items: Sequence[Item], *, wanted: str = "") -> AttributeColumn | None:
    """The declaration of an attribute; None if no type writes every value unchanged: it stays undeclared.

    `wanted` is the annotation that a form in a key needs.
    """
    values = [item[name] for item in items if name in item]
    tags = {next(iter(value)) for value in values}
    optional = len(values) < len(items)
    if len(tags) > 1 or "NULL" in tags:
        return None if optional else AttributeColumn(name, "Any")
    choices = (wanted,) if wanted else tuple(_choices(tags.pop(), name, values))
    annotation = next((choice for choice in choices if _keeps(choice, values)), None)
    return None if annotation is None else AttributeColumn(name, annotation, optional)


def _choices(tag: str, name: str, values: Sequence[AttributeValue]) -> Iterator[str]:
    for choice in _CHOICES.get(tag, ()):
        if choice in _NARROW and len(values) < _LEAST_SEEN:
            continue
        likely = _LIKELY.get(choice)
        if likely is None or likely(name, values):
            yield choice


def _are_flags(name: str, values: Sequence[AttributeValue]) -> bool:
    return bool(_FLAG.search(name)) and {value["N"] for value in values} == {"0", "1"}


def _are_seconds(name: str, values: Sequence[AttributeValue], unit: int = 1) -> bool:
    """Whether numbers are times: their name says so, and all are in this century."""
    if not TIMELY.search(name):
        return False
    low, high = _SINCE_2001 * unit, _UNTIL_2100 * unit
    return all(value["N"].isdecimal() and low <= int(value["N"]) <= high for value in values)


def _are_milliseconds(name: str, values: Sequence[AttributeValue]) -> bool:
    return _are_seconds(name, values, 1000)


def _begin_with(marks: str) -> Callable[[str, Sequence[AttributeValue]], bool]:
    """Whether texts are of JSON: each begins with one of the marks."""

    def begin(name: str, values: Sequence[AttributeValue]) -> bool:
        return len(values) >= _LEAST_SEEN and all(value["S"][:1] in {*marks} for value in values)

    return begin


_LIKELY = {
    "ZeroOne": _are_flags,
    "EpochSeconds": _are_seconds,
    "EpochMilliseconds": _are_milliseconds,
    "Annotated[dict[str, Any], json_text]": _begin_with("{"),
    "Annotated[list[Any], json_text]": _begin_with("["),
    "Annotated[Any, json_text]": _begin_with("{["),
}


def _keeps(annotation: str, values: Sequence[AttributeValue]) -> bool:
    """Whether a type reads each value, and writes it unchanged."""
    plan = plan_for(TYPES[annotation])
    write = writer_of(plan)
    for value in values:
        try:
            written = read_item(encode({"value": write(plan.load(value))}))
        except (ValueError, LookupError, TypeError, ArithmeticError):
            return False
        if comparable(written["value"]) != comparable(value):
            return False
    return True


def comparable(value: Mapping[str, Any]) -> Any:
    """A stored value as it compares: numbers as numbers, sets in no order."""
    (tag, inner), *_ = value.items()
    if tag == "N":
        return tag, Decimal(inner)
    if tag == "NS":
        return tag, frozenset(map(Decimal, inner))
    if tag in ("SS", "BS"):
        return tag, frozenset(inner)
    if tag == "L":
        return tag, tuple(map(comparable, inner))
    if tag == "M":
        return tag, tuple(sorted((name, comparable(each)) for name, each in inner.items()))
    return tag, inner
