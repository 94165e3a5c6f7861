"""Values as pages show them: text, cut where it is long, covered where it is personal."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any, cast

import msgspec
from msgspec import Struct

from singletable.expressions import stored_or_absent
from singletable.foundation import COVERED, KeyOf, Model, covered_place, model_for, personal_names
from singletable.operations import Item
from singletable.values import from_attribute_value, is_shown_as_stored, plain_of

MOST_CHARACTERS = 2_000
"""The most characters of a value. The item's own page shows the rest."""

_sorting = msgspec.json.Encoder(decimal_format="number", order="deterministic")
_unsorted = msgspec.json.Encoder(decimal_format="number")


class ShownValue(Struct, frozen=True):
    """One attribute's value."""

    name: str
    text: str
    kind: str
    """The name of its Python type."""
    characters: int
    """The length of the whole value, also if the text is cut."""
    is_covered: bool = False

    @property
    def is_cut(self) -> bool:
        return not self.is_covered and self.characters > len(self.text)


def shown(name: str, value: Any, *, most: int = MOST_CHARACTERS) -> ShownValue:
    """A value, cut at `most` characters."""
    text = text_of(value)
    return ShownValue(name, text[:most], _kind_of(value), len(text))


def covered(name: str) -> ShownValue:
    """The mark that stands for a personal value."""
    return ShownValue(name, COVERED, "", 0, is_covered=True)


def attributes_of(entity: Any, *, personal: bool, without: Iterable[str] = ()) -> tuple[ShownValue, ...]:
    """An entity's declared attributes, in their order."""
    kind: Any = entity.__class__
    hidden = frozenset[str]() if personal else personal_names(kind)
    left_out = frozenset(without)
    names = [each.name for each in dataclasses.fields(entity) if each.name not in left_out]
    return tuple(covered(name) if name in hidden else shown(name, _value(entity, name, personal)) for name in names)


def _value(entity: Any, name: str, personal: bool) -> Any:
    value = value_of(entity, name)
    return value if personal else without_personal(value)


def value_of(entity: Any, name: str) -> Any:
    """An attribute's value as people see it. None where it was not loaded."""
    return as_shown(model_for(entity), name, getattr(entity, name, None))


def as_shown(model: Model[Any], name: str, value: Any) -> Any:
    """A value of an attribute as people see it: of `Any`, and of what is stored as another type, the stored form, with
    what says bytes and sets in `Any`, so that it can be given back."""
    field = model.codec.by_name.get(name)
    if value is None or field is None or not is_shown_as_stored(field.plan):
        return value
    return plain_of(field.plan, stored_or_absent(field.plan, value))


def without_personal(value: Any, *, personal: bool = False) -> Any:
    """A value; of the end of an edge the key of its node, without its personal parts unless they are asked for."""
    if not isinstance(value, KeyOf):
        return value
    key: KeyOf[Any] = cast("Any", value)
    place = key.partition, key.low
    return (place if personal else covered_place(key.model.table, key.model.type, place))[0]


def stored_attributes(item: Item, *, is_covered: bool) -> tuple[ShownValue, ...]:
    """The stored attributes of an item that its class can't read. All of them are covered, or none, because it is
    unknown which are personal."""
    names = sorted(item)
    return tuple(covered(n) if is_covered else shown(n, from_attribute_value(item[n])) for n in names)


def text_of(value: Any) -> str:
    """A value as text, as in JSON; a text is unchanged."""
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    if isinstance(value, KeyOf):
        return str(value.partition)
    if isinstance(value, (set, frozenset)):
        members = cast("Iterable[Any]", value)
        return ", ".join(sorted(text_of(member) for member in members))
    text = encoded(value).decode()
    return text[1:-1] if text.startswith('"') else text


def encoded(value: Any) -> bytes:
    """A value as JSON, with exact numbers and in one order, if it has one."""
    try:
        return _sorting.encode(value)
    except TypeError:  # a dict with other keys than text can't be sorted
        return _unsorted.encode(value)


def json_lines(data: Mapping[str, Any] | Any) -> str:
    """JSON to read: indented."""
    return msgspec.json.format(encoded(data), indent=2).decode()


def _kind_of(value: Any) -> str:
    if value is None:
        return "none"
    return "key" if isinstance(value, KeyOf) else type(value).__name__
