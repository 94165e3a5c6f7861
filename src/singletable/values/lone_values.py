"""Lone values: a key attribute that holds one value as an attribute does: a text unchanged, a number, bytes.

Other programs have such keys: `user_id` is the partition key and an attribute, `at` a sort key of numbers. The text
of such a key is what stands inside of the stored value: of a number its digits, of bytes their base64.
"""

from __future__ import annotations

import re
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any, ClassVar

import msgspec

from singletable.errors import InvalidRequest, InvalidValue
from singletable.values.key_types import TOP, UNENCODABLE, KeyPlace, KeyType
from singletable.values.plans import Scalar
from singletable.values.shapes import ANYTHING, Steps, exactly, of_shape
from singletable.values.source import Source

_PLAIN = re.compile("[ -~]*").fullmatch


class LoneValue(KeyType, frozen=True):
    """A value that is a whole key attribute, in the stored form of its type."""

    word: ClassVar[str] = "stored"
    plan: Scalar

    @property
    def kind(self) -> str:
        """The type of the key attribute: S, N or B."""
        return self.plan.tag

    @property
    def form(self) -> str:
        return f"{self.word} {msgspec.json.encode(self.plan.form, order='sorted').decode()}"

    @property
    def takes_prefixes(self) -> bool:  # type: ignore[override]  # pyright: ignore[reportIncompatibleVariableOverride]
        """Whether a range may be of the values that begin with a text."""
        return self.type is str

    def paths(self, place: KeyPlace) -> Iterator[Steps]:
        if self.kind == "S" and self.plan.shape:
            yield of_shape(self.plan.shape)
        elif self.kind == "S" and self.plan.choices:
            yield from (exactly(choice) for choice in self.plan.choices)
        else:
            yield (ANYTHING,)

    def writer(self, name: str, place: KeyPlace) -> Callable[[Any], str]:
        check = self.plan.check

        def write(value: Any) -> str:
            try:
                inner = check(value)
            except InvalidValue as error:
                error.attribute = name
                raise
            text = inner if self.plan.inner is int else lone_text(self.kind, inner)
            if re.search(UNENCODABLE, text):
                hint = "No program stored it: remove the character."
                raise InvalidValue("a lone surrogate or U+10FFFF can't stand in a key", attribute=name, hint=hint)
            return text

        return write

    def source(self, place: KeyPlace, writer: Callable[[Any], str], source: Source, value: str) -> str:
        """In place for a text of usual characters."""
        write = f"{source.bind(writer, 'write')}({value})"
        if self.type is not str:
            return write
        return f"{value} if {value}.__class__ is str and {source.bind(_PLAIN, 'is_plain')}({value}) else {write}"

    def read(self, text: str) -> Any:
        return self.plan.parse(text)

    def in_form(self, form: str) -> KeyType | None:
        return None if form else self

    def bounds(self, name: str, how: str, low: Any, high: Any) -> tuple[str, str]:
        """The bounds of a range of numbers or bytes, both inclusive; an open one is empty, or TOP."""
        if how == "starting_with":
            raise InvalidRequest(f"{name} is no text, which alone has a beginning", hint="Use between().")
        write = self.writer(name, KeyPlace("#", is_last=True))
        least, most = "" if low is None else write(low), TOP if high is None else write(high)
        if how in ("after", "before"):
            return (self._beside(least, 1), most) if how == "after" else (least, self._beside(most, -1))
        return least, most

    def _beside(self, text: str, step: int) -> str:
        """The next whole number: a request's bounds are inclusive."""
        if self.plan.inner is not int:
            raise InvalidRequest(
                "after() and before() of a key need whole numbers", hint="Use at_least(), at_most() or between()."
            )
        return str(int(text) + step)

    def comparable(self, text: str) -> Any:
        """The value that the service compares of a key's text."""
        return Decimal(text) if self.kind == "N" else b64decode(text)


def lone_text(kind: str, inner: Any) -> str:
    """The text of a stored value as a key: one text for each value. A number has one as the service answers it: all of
    its digits, and no zeros at the end of its decimals."""
    if isinstance(inner, bytes):
        return b64encode(inner).decode()
    if kind != "N":
        return str(inner)
    number = f"{Decimal(inner):f}"
    number = number.rstrip("0").rstrip(".") if "." in number else number
    return "0" if number == "-0" else number
