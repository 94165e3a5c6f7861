"""`{id:ulid}`, `{id:ksuid}`: identifiers of a fixed length that sort by time, as they are. A ULID is in upper case.

All digits and letters are taken, also the few that a ULID leaves out, so that a masked identifier is one too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

from singletable.errors import InvalidValue
from singletable.values.key_forms.form import KeyForm
from singletable.values.key_types import KeyPlace, KeyType
from singletable.values.shapes import DIGITS, LOWER_CASE, UPPER_CASE, ShapeStep, Steps

_UPPER = DIGITS + UPPER_CASE
_SHAPES = {
    "ulid": (26, _UPPER, "digits and upper-case letters"),
    "ksuid": (27, _UPPER + LOWER_CASE, "digits and letters"),
}


class IdText(KeyType, frozen=True):
    """A str of a length, of digits and letters."""

    word: ClassVar[str] = "id"
    is_prefix_free: ClassVar[bool] = True
    name: str

    def paths(self, place: KeyPlace) -> Iterator[Steps]:
        length, characters, _ = _SHAPES[self.name]
        yield (ShapeStep(frozenset(characters)),) * length

    def writer(self, name: str, place: KeyPlace) -> Callable[[Any], str]:
        length, characters, words = _SHAPES[self.name]
        is_one = re.compile(f"[{characters}]{{{length}}}").fullmatch

        def write(value: Any) -> str:
            text = str.__str__(self.checked(name, value))
            if not is_one(text):
                raise InvalidValue(
                    f"a {self.name} has {length} {words}", attribute=name, hint="For other texts, take the form raw."
                )
            return text

        return write

    def read(self, text: str) -> str:
        return text


def _form(name: str) -> KeyForm:
    return KeyForm(name, (str,), lambda key_type, format: IdText(str, name) if format == name else None)


ULID, KSUID = _form("ulid"), _form("ksuid")
