"""A key form: what a format in a key's f-string may ask for, and the key type that it makes of a type."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from singletable.values.key_types import KeyType


class KeyForm(Struct, frozen=True):
    """One form: `make(key_type, format)` is the key type of values in that form; None for a format of another form, and
    for a type without it. DeclarationError for a format that is nearly one."""

    example: str
    """A format, for errors, documentation, and the test that takes every form through every user of keys."""
    types: tuple[type, ...]
    make: Callable[[KeyType, str], KeyType | None]
