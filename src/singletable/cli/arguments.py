"""Parsing the words of a command as the arguments of an access pattern, by the types that its keys declare.

ada@example.org   name=value   created_at=before:2026-01-01T00:00:00Z   number=between:1,9   name=starting-with:A
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal, InvalidOperation
from enum import Enum
from typing import Any, NoReturn
from uuid import UUID

import click

from singletable.cli.lookup import Pattern
from singletable.errors import InvalidValue
from singletable.foundation import ANY, Slot, Verbatim, after, enum_text
from singletable.schema import at_least, at_most, before, between, starting_with

RANGES: Mapping[str, Callable[[Any], Any]] = {
    "before": before,
    "after": after,
    "at-least": at_least,
    "at-most": at_most,
    "starting-with": starting_with,
}
_NAMED = re.compile(r"([a-z_][a-z0-9_]*)=(.*)", re.DOTALL | re.IGNORECASE)
_HOW = re.compile(r"([a-z]+(?:[-_][a-z]+)?):(.*)", re.DOTALL)


def arguments_of(pattern: Pattern, words: Sequence[str]) -> dict[str, Any]:
    """The arguments by name. A UsageError says which word is wrong, and how to write it."""
    texts = _by_name(pattern, words)
    partition, sort = pattern.captured.templates
    slots = {p.slot.name: p.slot for template in (sort, partition) for p in template.parts if p.slot}
    arguments = {name: _argument(slots[name], text, name not in partition.names) for name, text in texts.items()}
    for name, parameter in pattern.captured.parameters.items():
        if name not in arguments and parameter.default is not ANY:
            raise click.UsageError(f"{usage(pattern)}: {name} is missing.")
    return arguments


def usage(pattern: Pattern) -> str:
    """`User.by_phone PHONE [AGE]`."""
    parameters = pattern.captured.parameters.items()
    shown = (n.upper() if p.default is not ANY else f"[{n.upper()}]" for n, p in parameters)
    return " ".join([pattern.shown, *shown])


def _by_name(pattern: Pattern, words: Sequence[str]) -> dict[str, str]:
    """Words without a name fill the parameters in their order."""
    names = list(pattern.captured.parameters)
    given: dict[str, str] = {}
    unnamed: list[str] = []
    for word in words:
        found = _NAMED.fullmatch(word)
        if found is None:
            unnamed.append(word)
        elif found[1] not in names:
            raise click.UsageError(
                f"{usage(pattern)}: no parameter is named {found[1]!r}. "
                f"For a value that contains '=', name its parameter: {names[0]}={word}"
            )
        elif found[1] in given:
            raise click.UsageError(f"{usage(pattern)}: {found[1]} is given twice.")
        else:
            given[found[1]] = found[2]
    left = [name for name in names if name not in given]
    if len(unnamed) > len(left):
        raise click.UsageError(f"{usage(pattern)}: {unnamed[len(left)]!r} is an unexpected argument.")
    return given | dict(zip(left, unnamed, strict=False))


def _argument(slot: Slot, text: str, in_sort_key: bool) -> Any:
    found = _HOW.fullmatch(text)
    how = found[1].replace("_", "-") if found else ""
    if found is None or not in_sort_key or how not in (*RANGES, "between", "exactly"):
        return _value(slot, text)
    if how != "exactly" and issubclass(slot.type, Verbatim):
        _wrong(slot, text, f"ranges are not allowed: it is {slot.type.wanted}")
    if how == "exactly":
        return _value(slot, found[2])
    if how == "between":
        low, comma, high = found[2].partition(",")
        if not comma or "," in high:
            _wrong(slot, text, "between takes two values, as in between:A,B")
        return between(_value(slot, low), _value(slot, high))
    if how == "starting-with" and slot.type is not str:
        _wrong(slot, text, "starting-with is for text")
    return RANGES[how](_value(slot, found[2]))


def _value(slot: Slot, text: str) -> Any:
    if issubclass(slot.type, Enum):
        return _member(slot, slot.type, text)
    if issubclass(slot.type, Verbatim):
        return _verbatim(slot, slot.type, text)
    try:
        value = READERS[slot.type](text)
    except (ValueError, InvalidOperation):
        _wrong(slot, text, f"it is {WANTED[slot.type]}")
    if isinstance(value, datetime) and value.tzinfo is None:
        _wrong(slot, text, f"it is {WANTED[datetime]}, with Z or an offset")
    return value


def _member(slot: Slot, kind: type[Enum], text: str) -> Enum:
    found = next((m for m in kind if text in (m.name, str(m.value), enum_text(m))), None)
    if found is None:
        _wrong(slot, text, f"it is one of {', '.join(member.name for member in kind)}")
    return found


def _verbatim(slot: Slot, kind: Any, text: str) -> Any:
    """A value whose type has a key text of its own: the type parses it."""
    try:
        return kind.from_words(text)
    except InvalidValue as error:
        _wrong(slot, text, error.what)
    except ValueError:
        _wrong(slot, text, f"it is {kind.wanted}")


def _wrong(slot: Slot, text: str, wanted: str) -> NoReturn:
    raise click.UsageError(f"{slot.name}={text!r}: {wanted}.")


READERS: Mapping[type[Any], Callable[[str], Any]] = {
    str: str,
    int: int,
    Decimal: Decimal,
    datetime: datetime.fromisoformat,
    date: date.fromisoformat,
    UUID: UUID,
}
WANTED: Mapping[type[Any], str] = {
    int: "a whole number",
    Decimal: "a number, as in 12.5",
    datetime: "an instant, as in 2026-01-31T09:30:00Z",
    date: "a date, as in 2026-01-31",
    UUID: "a UUID, as in 123e4567-e89b-12d3-a456-426614174000",
}
