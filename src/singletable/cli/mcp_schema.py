"""The arguments of an access pattern as JSON: the schema that a tool declares, and values read by it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime
from decimal import Decimal
from enum import Enum
from typing import Any, Final, cast
from uuid import UUID

import click

from singletable.errors import InvalidValue
from singletable.foundation import Slot, Verbatim
from singletable.pattern_calls import RANGES, Pattern, argument_of

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
    properties = {name: _property(slot, pattern.takes_range(name)) for name, slot in pattern.slots.items()}
    required = list(pattern.required)
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def arguments_in(pattern: Pattern, given: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of its call. UsageError for one that is missing, unknown, or of another type."""
    if unknown := sorted(given.keys() - pattern.slots.keys()):
        raise click.UsageError(f"{pattern.shown} has no argument {unknown[0]!r}; it has {', '.join(pattern.slots)}.")
    if missing := [name for name in pattern.required if name not in given]:
        raise click.UsageError(f"{pattern.shown}: {missing[0]} is missing.")
    return {name: _argument(pattern.slots[name], value, pattern.takes_range(name)) for name, value in given.items()}


def _property(slot: Slot, takes_range: bool) -> dict[str, Any]:
    one = _one(slot)
    if not takes_range:
        return one
    hows = [how.replace("-", "_") for how in RANGES if how != "starting-with" or slot.type is str]
    pair = {"type": "array", "items": one, "minItems": 2, "maxItems": 2}
    ranges = {"type": "object", "properties": {**dict.fromkeys(hows, one), "between": pair}}
    return {"anyOf": [one, {**ranges, "minProperties": 1, "maxProperties": 1, "additionalProperties": False}]}


def _one(slot: Slot) -> dict[str, Any]:
    if issubclass(slot.type, Enum):
        return {"type": "string", "enum": [member.name for member in slot.type]}
    if issubclass(slot.type, Verbatim):
        return {"type": "string", "description": slot.type.wanted}
    return dict(_TYPES[slot.type])


def _argument(slot: Slot, given: Any, takes_range: bool) -> Any:
    how, values = "exactly", [given]
    if isinstance(given, dict):
        how, values = _range(slot, cast("dict[str, Any]", given), takes_range)
    if any(value is None or isinstance(value, (dict, list, bool)) for value in values):
        raise click.UsageError(f"{slot.name} takes texts and numbers.")
    try:
        return argument_of(slot, how, list(map(str, values)))
    except InvalidValue as error:
        raise click.UsageError(f"{slot.name}: {error.what}.") from None


def _range(slot: Slot, given: dict[str, Any], takes_range: bool) -> tuple[str, list[Any]]:
    """`{"at_least": 3}` as the range's name and its values."""
    if not takes_range or len(given) != 1:
        raise click.UsageError(f"{slot.name} takes {'one value, or one range' if takes_range else 'one value'}.")
    ((how, bound),) = given.items()
    how = how.replace("_", "-")
    if how not in (*RANGES, "between"):
        raise click.UsageError(f"{slot.name} has no range {how!r}; there are {', '.join(RANGES)} and between.")
    if how != "between":
        return how, [bound]
    if not isinstance(bound, list) or len(bound) != 2:  # pyright: ignore[reportUnknownArgumentType] of JSON
        raise click.UsageError(f"{slot.name}: between takes two values, as in [1, 9].")
    low, high = bound  # pyright: ignore[reportUnknownVariableType]
    return how, [low, high]
