"""`{name:raw}`, `{n:raw}`: a text as it is, an int as its digits, as most other programs write keys.

A text that more follows can't hold what separates them, and is not empty. It is not escaped, so a range over it is
right at the end of a key alone. Digits without a width have no order: 10 is before 9.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, ClassVar

from singletable.errors import InvalidValue
from singletable.values.key_forms.form import KeyForm
from singletable.values.key_types import KeyPlace, KeyType, check_key_text
from singletable.values.shapes import DIGIT, ShapeStep, Steps, exactly

_DIGITS = (ShapeStep(DIGIT - {"0"}), ShapeStep(DIGIT, many=True))


class RawText(KeyType, frozen=True):
    """A str that is not escaped."""

    word: ClassVar[str] = "raw"
    takes_prefixes: ClassVar[bool] = True
    is_by_rule: ClassVar[bool] = False
    never: ClassVar[frozenset[str]] = frozenset()
    """Characters that its texts don't hold, wherever they stand."""

    def paths(self, place: KeyPlace) -> Iterator[Steps]:
        separator = "" if place.is_last else place.separator
        if len(separator) > 1:
            yield (ShapeStep(self.never, other=True, many=True, without=separator),)
        else:
            never = self.never.union(separator)
            yield (ShapeStep(never, other=True), ShapeStep(never, other=True, many=True))

    def writer(self, name: str, place: KeyPlace) -> Callable[[Any], str]:
        separator = "" if place.is_last else place.separator

        def write(value: Any) -> str:
            text = self.text_of(str.__str__(self.checked(name, value)))
            check_key_text(name, text)
            if not text or (separator and separator in text):
                what = f"it holds {separator!r}, which follows it in the key" if text else "it is empty"
                raise InvalidValue(
                    f"a text that is not escaped can't stand there: {what}",
                    attribute=name,
                    hint="Without a form, a text in a key is escaped, and may be any.",
                )
            return text

        return write

    def text_of(self, value: str) -> str:
        """A value's text."""
        return value

    def read(self, text: str) -> str:
        return text

    def is_ordered(self, place: KeyPlace) -> bool:
        return place.is_last

    def takes_beginnings(self, place: KeyPlace) -> bool:
        """Not before several signs, of which a value may hold the first ones: `a_` begins the key of `a`, `a__b`."""
        return self.takes_prefixes and (place.is_last or len(place.separator) == 1)

    def why_unordered(self, place: KeyPlace) -> str:
        return "a text that is not escaped has no order before another part"

    def in_form(self, form: str) -> KeyType | None:
        return None


class RawNumber(KeyType, frozen=True):
    """An int as its digits, with a minus below zero."""

    word: ClassVar[str] = "raw"
    is_by_rule: ClassVar[bool] = False

    def paths(self, place: KeyPlace) -> Iterator[Steps]:
        yield exactly("0")
        yield _DIGITS
        yield (*exactly("-"), *_DIGITS)

    def writer(self, name: str, place: KeyPlace) -> Callable[[Any], str]:
        return lambda value: str(int(self.checked(name, value)))

    def read(self, text: str) -> int:
        return int(text)

    def is_ordered(self, place: KeyPlace) -> bool:
        return False

    def why_unordered(self, place: KeyPlace) -> str:
        return "digits without a width have no order: 10 is before 9"


RAW_TEXT = KeyForm("raw", (str,), lambda key_type, format: RawText(str) if format == "raw" else None)
RAW_NUMBER = KeyForm("raw", (int,), lambda key_type, format: RawNumber(int) if format == "raw" else None)
