"""The arguments of tools as JSON: the schema that a tool declares, and values read by it.

One rule for every argument: null counts as left out, and a value is read from its text, so that 1, 1.0 and "1" are the
same number, and true is none. A bound argument is not in a schema, and nobody can give another value for it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

import click

from singletable.errors import InvalidValue
from singletable.foundation import Slot
from singletable.pattern_calls import Pattern, argument_of
from singletable.values import Kind, keeps_digits

_BETWEEN: Final = "between"


def schema_of(pattern: Pattern, bound: Mapping[str, str]) -> dict[str, Any]:
    """The JSON Schema of its arguments, with a property for each."""
    slots = {name: slot for name, slot in pattern.slots.items() if name not in bound}
    properties = {name: _property(slot, pattern.ranges(name)) for name, slot in slots.items()}
    required = [name for name in pattern.required if name in slots]
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def arguments_in(pattern: Pattern, given: Mapping[str, Any], bound: Mapping[str, str]) -> dict[str, Any]:
    """The arguments of its call. UsageError for one that is missing, unknown, or of another type."""
    offered = [name for name in pattern.slots if name not in bound]
    if unknown := sorted(given.keys() - {*offered}):
        raise click.UsageError(
            f"{pattern.shown} has no argument {unknown[0]!r}; it has {', '.join(offered) or 'none'}."
        )
    arguments = without_nulls(given) | {name: text for name, text in bound.items() if name in pattern.slots}
    if missing := [name for name in pattern.required if name not in arguments]:
        raise click.UsageError(f"{pattern.shown}: {missing[0]} is missing.")
    return {name: _argument(pattern.slots[name], value, pattern.ranges(name)) for name, value in arguments.items()}


def without_nulls(given: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in given.items() if value is not None}


def text_of(name: str, value: Any, *, is_float: bool = False) -> str:
    """The text that a value is read from: what is a whole number has no point. UsageError for an object or a list, and
    for a number whose digits JSON's reader may have rounded."""
    if isinstance(value, (dict, list)) or value is None:
        raise click.UsageError(f"{name} takes one value: a text or a number.")
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and not is_float and not keeps_digits(value):
        raise click.UsageError(f'{name}: give a number of more than 15 digits as a text, as in "0.1".')
    return str(int(value) if isinstance(value, float) and value.is_integer() else value)


def whole_number(name: str, value: Any, least: int, most: int | None = None) -> int:
    """A whole number. UsageError for another value, and for one that is out of bounds."""
    try:
        number = int(text_of(name, value))
    except ValueError:
        number = least - 1
    if number < least or (most is not None and number > most):
        raise click.UsageError(f"{name} is a whole number from {least}{'' if most is None else f' to {most}'}.")
    return number


def truth(name: str, value: Any) -> bool:
    """UsageError for anything but true and false."""
    text = text_of(name, value)
    if text not in ("true", "false"):
        raise click.UsageError(f"{name} is true or false.")
    return text == "true"


def _property(slot: Slot, ranges: Sequence[str]) -> dict[str, Any]:
    one = _one(slot)
    if not ranges:
        return one
    pair = {"type": "array", "items": one, "minItems": 2, "maxItems": 2}
    properties = {how.replace("-", "_"): pair if how == _BETWEEN else one for how in ranges}
    limits = {"minProperties": 1, "maxProperties": 1, "additionalProperties": False}
    return {"anyOf": [one, {"type": "object", "properties": properties, **limits}]}


def _one(slot: Slot) -> dict[str, Any]:
    value_type = slot.value_type
    if value_type.choices:
        return {"type": "string", "enum": list(value_type.choices)}
    if value_type.kind is Kind.INTEGER:
        return {"type": "integer"}
    if value_type.format:
        return {"type": "string", "format": value_type.format}
    return {"type": "string"} | ({"description": value_type.wanted} if value_type.wanted else {})


def _argument(slot: Slot, given: Any, ranges: Sequence[str]) -> Any:
    how, values = "exactly", [given]
    if isinstance(given, dict):
        how, values = _range(slot, cast("dict[str, Any]", given), ranges)
    also = f' A range is an object, as {{"{ranges[0].replace("-", "_")}": ...}}.' if ranges and how == "exactly" else ""
    return value_in(slot, *(text_of(slot.name, value) for value in values), how=how, also=also)


def value_in(slot: Slot, *texts: str, how: str = "exactly", also: str = "") -> Any:
    """An argument from its texts. UsageError says what is wanted."""
    try:
        return argument_of(slot, how, texts)
    except InvalidValue as error:
        raise click.UsageError(f"{slot.name}: {error.what}.{also}") from None


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
