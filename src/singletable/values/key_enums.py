"""The texts of enums in keys."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import Enum
from typing import Any, ClassVar

import msgspec

from singletable.values.key_numbers import write_integer
from singletable.values.key_types import KeyPlace, KeyType
from singletable.values.shapes import Steps, exactly


class EnumText(KeyType, frozen=True):
    """An Enum by its `key_text()`, else its value."""

    word: ClassVar[str] = "enum"
    type: type[Enum]

    def paths(self, place: KeyPlace) -> Iterator[Steps]:
        yield from map(exactly, self.texts)

    def writer(self, name: str, place: KeyPlace) -> Callable[[Any], str]:
        texts = {member: enum_text(member) for member in self.type}
        return lambda value: texts[self.checked(name, value)]

    def read(self, text: str) -> Enum:
        return next(member for member in self.type if enum_text(member) == text)

    def patterns(self) -> tuple[tuple[str, str], ...]:
        return tuple((text, "") for text in self.texts)

    @property
    def form(self) -> str:
        texts = {member.name: enum_text(member) for member in self.type}
        return f"{self.word} {msgspec.json.encode(texts, order='sorted').decode()}"

    @property
    def texts(self) -> tuple[str, ...]:
        """The key texts of the members, in their order."""
        return tuple(map(enum_text, self.type))


def enum_text(member: Enum) -> str:
    """An enum's own `key_text()`, or its value's text."""
    own_text: Callable[[], str] | None = getattr(member, "key_text", None)
    if own_text is not None:
        return own_text()
    return member.value if isinstance(member.value, str) else write_integer(member.value)
