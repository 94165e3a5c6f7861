"""An access pattern by its name, and its arguments as the texts that a person types: for commands and for forms."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal, InvalidOperation
from enum import Enum
from typing import Any
from uuid import UUID

from singletable.errors import InvalidValue
from singletable.foundation import (
    ANY,
    Bound,
    Captured,
    Entity,
    Query,
    Slot,
    Table,
    Verbatim,
    after,
    captured_of,
    collections_of,
    entity_name,
    enum_text,
    models_of,
)
from singletable.schema import Whole, at_least, at_most, before, between, starting_with

_STARTING = "starting-with"
RANGES: Mapping[str, Callable[[Any], Any]] = {
    "before": before,
    "after": after,
    "at-least": at_least,
    "at-most": at_most,
    _STARTING: starting_with,
}
"""The ranges of one value; `between` takes two."""


@dataclass(frozen=True)
class Pattern:
    """The name of an access pattern."""

    entity: str
    captured: Captured
    call: Callable[..., Query[Any] | Whole[Any]]
    """Returns the query for its arguments."""
    name: str

    @property
    def shown(self) -> str:
        return f"{self.entity}.{self.name}"

    @property
    def slots(self) -> Mapping[str, Slot]:
        """By parameter, its place in a key."""
        partition, sort = self.captured.templates
        found = {p.slot.name: p.slot for template in (sort, partition) for p in template.parts if p.slot}
        return {name: found[name] for name in self.captured.parameters}

    @property
    def required(self) -> tuple[str, ...]:
        """The parameters that take no `ANY`."""
        return tuple(name for name, parameter in self.captured.parameters.items() if parameter.default is not ANY)

    def ranges(self, name: str) -> tuple[str, ...]:
        """The ranges that a parameter takes, of those in RANGES and `between`: those of the sort key alone, whose
        values have an order there. None of another parameter."""
        slot = self.slots[name]
        if name in self.captured.templates[0].names or issubclass(slot.type, Verbatim):
            return ()
        if not self.captured.templates[1].orders(slot):
            return (_STARTING,)
        return (*(how for how in RANGES if how != _STARTING or slot.type is str), "between")


def patterns_of(table: Table) -> Iterator[Pattern]:
    """Every access pattern of a table: of its classes, then of its collections."""
    for model in models_of(table):
        for captured in captured_of(model):
            yield Pattern(entity_name(model.kind), captured, _call_of(model.kind, captured), captured.name)
    for kind, name, bound in collections_of(table):
        yield Pattern(entity_name(kind), bound.pattern.captured, bound, name)


def argument_of(slot: Slot, how: str, texts: Sequence[str]) -> Any:
    """An argument from its texts: `exactly` one value, `between` two, or another range. InvalidValue says what is
    wanted, and holds no value."""
    if how == "exactly":
        return value_of(slot, texts[0])
    if issubclass(slot.type, Verbatim):
        raise InvalidValue(f"ranges are not allowed: it is {slot.type.wanted}")
    if how == "between":
        return between(value_of(slot, texts[0]), value_of(slot, texts[1]))
    if how == "starting-with" and slot.type is not str:
        raise InvalidValue("starting-with is for text")
    return RANGES[how](value_of(slot, texts[0]))


def value_of(slot: Slot, text: str) -> Any:
    """A value from its text, by the type that the key declares. InvalidValue says what is wanted."""
    if issubclass(slot.type, Enum):
        return _member(slot.type, text)
    if issubclass(slot.type, Verbatim):
        return _verbatim(slot.type, text)
    try:
        value = READERS[slot.type](text)
    except (ValueError, InvalidOperation):
        raise InvalidValue(f"it is {WANTED[slot.type]}") from None
    if isinstance(value, datetime) and value.tzinfo is None:
        raise InvalidValue(f"it is {WANTED[datetime]}, with Z or an offset")
    return value


def _member(kind: type[Enum], text: str) -> Enum:
    found = next((m for m in kind if text in (m.name, str(m.value), enum_text(m))), None)
    if found is None:
        raise InvalidValue(f"it is one of {', '.join(member.name for member in kind)}")
    return found


def _verbatim(kind: type[Verbatim], text: str) -> Any:
    """A value whose type has a key text of its own: the type parses it."""
    try:
        return kind.from_words(text)
    except InvalidValue:
        raise
    except ValueError:
        raise InvalidValue(f"it is {kind.wanted}") from None


def _call_of(kind: type[Entity], captured: Captured) -> Callable[..., Query[Any]]:
    """The pattern of that name on the class, called with keyword arguments."""
    pattern = getattr(kind, captured.name)
    if isinstance(pattern, Bound):
        result = pattern.result

        def ask(**arguments: Any) -> Query[Any]:
            asked: Query[Any] = captured.query(result, (), arguments)
            return asked

        return ask
    call: Callable[..., Query[Any]] = pattern
    return call


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
