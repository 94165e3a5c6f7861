"""`{t:s}`, `{t:ms}`: a datetime as its seconds or milliseconds since 1970, without a fraction.

They have 10 and 13 digits from 2001-09-09 to 2286-11-20, and sort as the times do. Times before and after are refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta, timezone
from typing import Any, ClassVar

from singletable.errors import InvalidValue
from singletable.values.checks import instant_text
from singletable.values.key_forms.form import KeyForm
from singletable.values.key_types import KeyPlace, KeyType
from singletable.values.shapes import DIGIT, ShapeStep, Steps

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_UNITS = {"s": (timedelta(seconds=1), 10, "second"), "ms": (timedelta(milliseconds=1), 13, "millisecond")}


class EpochTime(KeyType, frozen=True):
    """A datetime as a count since 1970."""

    word: ClassVar[str] = "epoch"
    is_prefix_free: ClassVar[bool] = True
    unit: str

    def paths(self, place: KeyPlace) -> Iterator[Steps]:
        _, digits, _ = _UNITS[self.unit]
        yield (ShapeStep(DIGIT - {"0"}), *(ShapeStep(DIGIT),) * (digits - 1))

    def writer(self, name: str, place: KeyPlace) -> Callable[[Any], str]:
        unit, digits, word = _UNITS[self.unit]

        def write(value: Any) -> str:
            try:
                instant_text(value)  # which has a zone
            except InvalidValue as error:
                error.attribute = name
                raise
            count, rest = divmod(value - _EPOCH, unit)
            if rest:
                raise InvalidValue(
                    f"a time with a part of a {word} has no such count",
                    attribute=name,
                    hint="Cut it off where the value is made; or take %Y-%m-%dT%H:%M:%S, which leaves it out.",
                )
            if len(text := str(count)) != digits or count < 0:
                raise InvalidValue(
                    f"the {word}s since 1970 have {digits} digits, from 2001-09-09 to 2286-11-20",
                    attribute=name,
                    hint="For other times, take a format as %Y-%m-%d, or no form.",
                )
            return text

        return write

    def read(self, text: str) -> datetime:
        return _EPOCH + int(text) * _UNITS[self.unit][0]


def _form(unit: str) -> KeyForm:
    return KeyForm(unit, (datetime,), lambda key_type, format: EpochTime(datetime, unit) if format == unit else None)


SECONDS, MILLISECONDS = _form("s"), _form("ms")
