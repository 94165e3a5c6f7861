"""Mirrored attributes: the text form of an edge's values in a member of its source's edge set.

An enum is mirrored by its value, any other type by its key text. Every form has a fixed number of "-", so that a member
can be parsed from its end. A type whose key texts have no fixed number of "-" is refused.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from enum import Enum
from functools import cache
from typing import Any

import msgspec

from singletable.errors import DeclarationError
from singletable.foundation import KeyPart, Slot, Template, model_of, type_in_key
from singletable.values import VALUE_TYPES, KeyPlace, KeyType, value_type_of

_MEMBER = KeyPlace("-", is_last=False)
"""Where a mirrored value stands: the separator in it is escaped."""


class Mirror:
    """Formats and parses one mirrored attribute."""

    def __init__(self, edge: type[Any], name: str) -> None:
        kind: Any = type_in_key(model_of(edge).types[name])
        enum = _as_enum(kind)
        value_type = value_type_of(kind)
        if value_type is None or (enum is None and not _has_fixed_dashes(value_type.key)):
            mirrored = (one.type.__name__ for one in VALUE_TYPES.values() if _has_fixed_dashes(one.key))
            choices = ", ".join(mirrored)
            raise DeclarationError(f"{edge.__name__}.{name} can't be mirrored", hint=f"Mirror an Enum, {choices}.")
        self.members: dict[str, Any] = {} if enum is None else {str(m.value): m for m in enum}
        if enum is not None:
            if any("-" in word or not word for word in self.members) or len(self.members) < len(enum):
                raise DeclarationError(
                    f"{edge.__name__}.{name}: a mirrored enum's values are texts of their own, without '-'"
                )
            self.regex = "|".join(re.escape(word) for word in self.members)
            self.form = f"values {msgspec.json.encode({m.name: str(m.value) for m in enum}, order='sorted').decode()}"
            return
        slot = Slot.of(name, kind)
        # Two parts, so that a str has its '-' escaped as %2D and ends with its part.
        self._template = Template((KeyPart("", slot), KeyPart("")), "-")
        self.regex, self.form = slot.key_type.regex(_MEMBER), slot.key_type.form
        self._name = name

    def write(self, value: Any) -> str:
        if self.members:
            return str(value.value)
        return self._template.write({self._name: value})[:-1]

    def read(self, text: str) -> Any:
        if self.members:
            return self.members[text]
        values = self._template.read(f"{text}-")
        if values is None:
            raise ValueError("the stored member has another form than its class declares")
        return values[self._name]


@cache
def mirrors_of(edge: type[Any]) -> Mapping[str, Mirror]:
    """An edge type's mirrored attributes, in declaration order. DeclarationError for one that can't be mirrored."""
    model = model_of(edge)
    names: tuple[str, ...] = edge.__mirrors__ or ()
    for name in names:
        if name not in model.types or model.by_name[name].optional:
            raise DeclarationError(
                f"{edge.__name__} mirrors {name!r}, which is not an attribute of it that always has a value",
                hint='As in mirrors=("role",), each declared without None.',
            )
    return {name: Mirror(edge, name) for name in names}


def _has_fixed_dashes(key_type: KeyType | None) -> bool:
    """Whether every text of a type has the same number of "-"."""
    paths = list(key_type.paths(_MEMBER)) if key_type else []
    counts = {sum(step.takes("-") for step in path) for path in paths}
    return len(counts) == 1 and not any(step.many and step.takes("-") for path in paths for step in path)


def _as_enum(kind: Any) -> type[Enum] | None:
    return kind if inspect.isclass(kind) and issubclass(kind, Enum) else None
