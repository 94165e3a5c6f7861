"""`{email:lower}`, `{code:upper}`: a text in one case. Values that differ in case alone have one text."""

from __future__ import annotations

from typing import ClassVar

from singletable.values.key_forms.form import KeyForm
from singletable.values.key_forms.raw import RawText
from singletable.values.key_types import KeyPlace
from singletable.values.shapes import LOWER_CASE, UPPER_CASE


class LowerText(RawText, frozen=True):
    """A str in lower case."""

    word: ClassVar[str] = "lower"
    never: ClassVar[frozenset[str]] = frozenset(UPPER_CASE)
    alike: ClassVar[str] = "'Ada' and 'ADA'"
    takes_prefixes: ClassVar[bool] = False
    takes_ranges: ClassVar[bool] = False

    def text_of(self, value: str) -> str:
        return value.lower()

    def is_ordered(self, place: KeyPlace) -> bool:
        return False

    def why_unordered(self, place: KeyPlace) -> str:
        return f"a text in {self.word} case has no order: B is before a, and the texts of both are not"


class UpperText(LowerText, frozen=True):
    """A str in upper case."""

    word: ClassVar[str] = "upper"
    never: ClassVar[frozenset[str]] = frozenset(LOWER_CASE)

    def text_of(self, value: str) -> str:
        return value.upper()


LOWER = KeyForm("lower", (str,), lambda key_type, format: LowerText(str) if format == "lower" else None)
UPPER = KeyForm("upper", (str,), lambda key_type, format: UpperText(str) if format == "upper" else None)
