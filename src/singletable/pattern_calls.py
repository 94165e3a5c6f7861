"""An access pattern by its name, and its arguments as the texts that a person types: for commands and for forms."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from singletable.errors import InvalidValue
from singletable.foundation import (
    ANY,
    Bound,
    Captured,
    Entity,
    Query,
    Slot,
    Table,
    after,
    captured_of,
    collections_of,
    entity_name,
    models_of,
    slots_of,
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
        return slots_of(self.captured)

    @property
    def required(self) -> tuple[str, ...]:
        """The parameters that take no `ANY`."""
        return tuple(name for name, parameter in self.captured.parameters.items() if parameter.default is not ANY)

    def ranges(self, name: str) -> tuple[str, ...]:
        """The ranges that a parameter takes, of those in RANGES and `between`: those of the sort key alone, whose
        values have an order there. None of another parameter."""
        slot = self.slots[name]
        if name in self.captured.fixed or not slot.key_type.takes_ranges:
            return ()
        sort = self.captured.templates[1]
        begins = slot.key_type.takes_beginnings(sort.place_of(slot))
        if not sort.orders(slot):
            return (_STARTING,) if begins else ()
        return (*(how for how in RANGES if how != _STARTING or begins), "between")


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
    value_type = slot.value_type
    if how == "exactly":
        return value_type.typed(texts[0])
    if not slot.key_type.takes_ranges:
        raise InvalidValue(f"ranges are not allowed: it is {value_type.wanted}")
    if how == "between":
        return between(value_type.typed(texts[0]), value_type.typed(texts[1]))
    if how == _STARTING and not slot.key_type.takes_prefixes:
        raise InvalidValue("starting-with is for text")
    return RANGES[how](value_type.typed(texts[0]))


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
