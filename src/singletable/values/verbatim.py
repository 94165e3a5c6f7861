"""Types whose values define their own key text, as the end of an edge does."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import msgspec

from singletable.errors import InvalidValue
from singletable.values.key_types import KeyPlace, KeyType
from singletable.values.shapes import ANYTHING, Steps, exactly


class Verbatim:
    """A type whose values define their own key text. It is the last part of its key and is not escaped."""

    @classmethod
    def to_text(cls, value: Any) -> str:
        """The text of a value; InvalidValue if the value is of another type."""
        raise InvalidValue(f"a {cls.__name__} is expected, not {type(value).__name__}")

    @classmethod
    def from_text(cls, text: str) -> Any:
        """The value of a text; ValueError for a text that no value has."""
        raise ValueError(f"no text of a {cls.__name__}: it has {len(text)} characters")

    @classmethod
    def from_words(cls, text: str) -> Any:
        """The value of command-line input. Raises ValueError if there is none."""
        return cls.from_text(text)

    @classmethod
    def prefixes(cls) -> tuple[str, ...]:
        """The prefixes of its texts; anything may follow."""
        return ("",)

    wanted: ClassVar[str] = "a text of its type"
    """A description of the command-line input."""


class VerbatimText(KeyType, frozen=True):
    """A `Verbatim` by its own text."""

    word: ClassVar[str] = "verbatim"
    type: type[Verbatim]
    takes_ranges: ClassVar[bool] = False

    def paths(self, place: KeyPlace) -> Iterator[Steps]:
        yield from ((*exactly(prefix), ANYTHING) for prefix in self.type.prefixes())

    def writer(self, name: str, place: KeyPlace) -> Callable[[Any], str]:
        return self.type.to_text

    def read(self, text: str) -> Any:
        return self.type.from_text(text)

    @property
    def form(self) -> str:
        return f"{self.word} {msgspec.json.encode(dict.fromkeys(self.type.prefixes(), ''), order='sorted').decode()}"

    def patterns(self) -> tuple[tuple[str, str], ...]:
        return tuple((prefix, "*") for prefix in self.type.prefixes())
