"""The arguments of an access pattern as JSON: the schema that a tool declares, and values read by it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from enum import Enum
from typing import Any, Final, cast
from uuid import UUID

import click

from singletable.errors import InvalidValue
from singletable.foundation import Slot, Verbatim
from singletable.pattern_calls import Pattern, argument_of

_BETWEEN: Final = "between"
_TYPES: Final[Mapping[type[Any], Mapping[str, Any]]] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    Decimal: {"type": "string", "description": "a number, as in 12.5"},
    datetime: {"type": "string", "format": "date-time"},
    date: {"type": "string", "format": "date"},
    UUID: {"type": "string", "format": "uuid"},
}


def schema_of(pattern: Pattern) -> dict[str, Any]:
    """The JSON Schema of its arguments, with a property for each."""
    properties = {name: _property(slot, pattern.ranges(name)) for name, slot in pattern.slots.items()}
    required = list(pattern.required)
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def arguments_in(pattern: Pattern, given: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of its call. UsageError for one that is missing, unknown, or of another type."""
    if unknown := sorted(given.keys() - pattern.slots.keys()):
        raise click.UsageError(f"{pattern.shown} has no argument {unknown[0]!r}; it has {', '.join(pattern.slots)}.")
    if missing := [name for name in pattern.required if name not in given]:
        raise click.UsageError(f"{pattern.shown}: {missing[0]} is missing.")
    return {name: _argument(pattern.slots[name], value, pattern.ranges(name)) for name, value in given.items()}


def _property(slot: Slot, ranges: Sequence[str]) -> dict[str, Any]:
    one = _one(slot)
    if not ranges:
        return one
    pair = {"type": "array", "items": one, "minItems": 2, "maxItems": 2}
    properties = {how.replace("-", "_"): pair if how == _BETWEEN else one for how in ranges}
    limits = {"minProperties": 1, "maxProperties": 1, "additionalProperties": False}
    return {"anyOf": [one, {"type": "object", "properties": properties, **limits}]}


def _one(slot: Slot) -> dict[str, Any]:
    if issubclass(slot.type, Enum):
        return {"type": "string", "enum": [member.name for member in slot.type]}
    if issubclass(slot.type, Verbatim):
        return {"type": "string", "description": slot.type.wanted}
    return dict(_TYPES[slot.type])


def _argument(slot: Slot, given: Any, ranges: Sequence[str]) -> Any:
    how, values = "exactly", [given]
    if isinstance(given, dict):
        how, values = _range(slot, cast("dict[str, Any]", given), ranges)
    if any(value is None or isinstance(value, (dict, list, bool)) for value in values):
        raise click.UsageError(f"{slot.name} takes texts and numbers.")
    try:
        return argument_of(slot, how, list(map(str, values)))
    except InvalidValue as error:
        raise click.UsageError(f"{slot.name}: {error.what}.") from None


def _range(slot: Slot, given: dict[str, Any], ranges: Sequence[str]) -> tuple[str, list[Any]]:
    """`{"at_least": 3}` as the range's name and its values."""
    if not ranges or len(given) != 1:
        raise click.UsageError(f"{slot.name} takes {'one value, or one range' if ranges else 'one value'}.")
    ((how, bound),) = given.items()
    how = how.replace("_", "-")
    if how not in ranges:
        raise click.UsageError(f"{slot.name} has no range {how!r}; it has {', '.join(ranges)}.")
    if how != _BETWEEN:
        return how, [bound]
    if not isinstance(bound, list) or len(bound) != 2:  # pyright: ignore[reportUnknownArgumentType] of JSON
        raise click.UsageError(f"{slot.name}: between takes two values, as in [1, 9].")
    low, high = bound  # pyright: ignore[reportUnknownVariableType]
    return how, [low, high]
