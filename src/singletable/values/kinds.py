"""Kinds: the few physical forms of a value, of which every declared type has one.

The core names a type's kind. What lies above maps kinds, never types: a column's Arrow type, the JSON schema of a
tool's argument, a mask, a field of a form. So a new type needs no edit there, and the core knows nothing of Arrow or
MCP. A map is a `PerKind`, which can't be made without a value for each kind.
"""

from __future__ import annotations

from enum import Enum
from typing import Generic, TypeVar

from msgspec import Struct

T = TypeVar("T")


class Kind(Enum):
    """The kind of a value, apart from its Python type."""

    TEXT = "text"
    FLAG = "flag"
    INTEGER = "integer"
    DECIMAL = "decimal"
    FLOAT = "float"
    BYTES = "bytes"
    INSTANT = "instant"
    DAY = "day"
    UUID = "uuid"
    FORMATTED = "formatted"
    """A text of a fixed shape, as a time of day: the kind of a type that has no kind of its own."""
    REFERENCE = "reference"
    """The key of an item, or a part of one."""


class PerKind(Struct, Generic[T], frozen=True, kw_only=True):
    """One value for each kind, of a module above."""

    text: T
    flag: T
    integer: T
    decimal: T
    float: T
    bytes: T
    instant: T
    day: T
    uuid: T
    formatted: T
    reference: T

    def of(self, kind: Kind) -> T:
        """The value for one kind."""
        found: T = getattr(self, kind.value)
        return found
