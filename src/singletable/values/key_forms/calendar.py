"""`{t:%Y-%m-%d}`: the parts of a datetime in UTC, or of a date, largest first.

Each part has its width, years four digits, so texts sort as the times do. A format that leaves out the smaller parts
writes one text for all times of a period, as a day; a range over it reads whole periods, and filters.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import date, datetime
from typing import Any, ClassVar

from singletable.errors import DeclarationError
from singletable.values.key_forms.form import KeyForm
from singletable.values.key_types import KeyPlace, KeyType
from singletable.values.shapes import DIGIT, ShapeStep, Steps, exactly

_PARTS = {"Y": (0, 4), "m": (5, 7), "d": (8, 10), "H": (11, 13), "M": (14, 16), "S": (17, 19), "f": (20, 26)}
"""Where each directive's digits are in a type's own text, largest first."""
_FIRST = {datetime: "0001-01-01T00:00:00.000000Z", date: "0001-01-01"}
_PIECE = re.compile("%(.)|([^%]+)", re.DOTALL)


class CalendarText(KeyType, frozen=True):
    """A time or a date by a format that holds all of it."""

    word: ClassVar[str] = "calendar"
    is_prefix_free: ClassVar[bool] = True
    plain: KeyType
    format: str

    def paths(self, place: KeyPlace) -> Iterator[Steps]:
        steps: Steps = ()
        for directive, literal in _PIECE.findall(self.format):
            low, high = _PARTS.get(directive, (0, 0))
            steps += (ShapeStep(DIGIT),) * (high - low) or exactly(literal)
        yield steps

    def writer(self, name: str, place: KeyPlace) -> Callable[[Any], str]:
        write = self.plain.writer(name, place)
        pieces = [(literal, *_PARTS.get(directive, (0, 0))) for directive, literal in _PIECE.findall(self.format)]

        def write_parts(value: Any) -> str:
            text = write(value)
            return "".join([literal or text[low:high] for literal, low, high in pieces])

        return write_parts

    def read(self, text: str) -> Any:
        """The first time of the period."""
        whole, at = _FIRST[self.type], 0
        for directive, literal in _PIECE.findall(self.format):
            low, high = _PARTS.get(directive, (0, len(literal)))
            if directive:
                whole = whole[:low] + text[at : at + high - low] + whole[high:]
            at += high - low
        return self.plain.read(whole)

    @property
    def form(self) -> str:
        return f"{self.word} {self.format}"


class PeriodText(CalendarText, frozen=True):
    """A time or a date by a format that leaves out its smaller parts."""

    alike: ClassVar[str] = "two times of one period"
    is_truncated: ClassVar[bool] = True


def _make(key_type: KeyType, format: str) -> KeyType | None:
    if "%" not in format:
        return None
    directives = "".join(directive for directive, _ in _PIECE.findall(format))
    every = "".join(_PARTS) if key_type.type is datetime else "Ymd"
    if not directives or not every.startswith(directives) or "%" in _PIECE.sub("", format) or {*format} & {*'{}"\\'}:
        raise DeclarationError(
            f"{format!r} is not a format of a key",
            hint=f"Write %{' %'.join(every)} in this order, largest first; the last ones may be left out, and texts "
            "may stand between them.",
        )
    kind = CalendarText if directives == every else PeriodText
    return kind(key_type.type, key_type, format)


CALENDAR = KeyForm("%Y-%m", (datetime, date), _make)
