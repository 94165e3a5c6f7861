"""The texts that a stored value may have in a key, in each of the library's key forms; and values that are only there.

{"S": "Ada"}          raw Ada, lower ada, upper ADA
{"N": "42"}           raw 42, 04 0042, ...
{"N": "1700000000"}   raw, s, %Y-%m-%d 2023-11-14
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import datetime, timedelta, timezone
from typing import Any

from msgspec import Struct

from singletable.errors import InvalidValue
from singletable.foundation import Slot
from singletable.values import KeyPlace

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_WIDEST = 20
_INTEGER = re.compile(r"-?(?:0|[1-9]\d*)", re.ASCII)
_CALENDAR = ("%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M", "%Y-%m-%dT%H", "%Y-%m-%d", "%Y-%m", "%Y", "%Y%m%d", "%Y/%m/%d")
_DAYS = ("%Y-%m", "%Y", "%Y%m%d", "%Y/%m/%d")
_COST = {"": 0.3, "raw": 0.0, "s": 0.1, "ms": 0.1, "lower": 0.2, "upper": 0.2}
TIMELY = re.compile(r"(?:_at|At|_on|time|date|stamp|created|updated|expires|expiry|ttl|^ts|_ts|Ts)$|^ttl|^exp", re.I)
"""The names of attributes that may be times."""
_OWN = Slot.of("n", int).key_type.writer("n", KeyPlace("#", is_last=True))


class ValueForm(Struct, frozen=True, order=True):
    """A form of a value in a key: its format, the type of the parameter, and the annotation that it needs."""

    format: str
    type: str = "str"
    annotation: str = ""
    """The attribute's annotation, where the form takes another one than the stored type's."""

    @property
    def cost(self) -> float:
        """The form's unlikelihood."""
        return _COST.get(self.format, 0.5 if "%" in self.format else 0.4)


class SlotValue(Struct, frozen=True, order=True):
    """A value in a key: an attribute in a form; without a name, a value that is in keys alone, by its class."""

    name: str
    form: ValueForm
    kind: str = ""
    """The class of a value that is in keys alone."""


def texts_of(value: Mapping[str, Any]) -> Iterator[tuple[ValueForm, str]]:
    """Each form of a stored value, with its text."""
    (tag, inner), *_ = value.items()
    if tag == "S" and inner:
        yield ValueForm("raw"), inner
        yield ValueForm("lower"), inner.lower()
        yield ValueForm("upper"), inner.upper()
        yield from _texts_of_time(inner)
    elif tag == "N" and _INTEGER.fullmatch(inner):
        yield from _texts_of_number(inner)


def _texts_of_time(text: str) -> Iterator[tuple[ValueForm, str]]:
    annotation = next((name for name, shape in _SHAPES.items() if shape.fullmatch(text)), "")
    if annotation and (at := _moment(text[:19])) is not None:
        is_day = annotation == "date"
        yield from _calendar(at, "date" if is_day else "datetime", annotation, _DAYS if is_day else _CALENDAR)


def _texts_of_number(text: str) -> Iterator[tuple[ValueForm, str]]:
    yield ValueForm("raw", "int"), text
    with suppress(InvalidValue):  # a key's numbers have fewer digits than stored ones
        yield ValueForm("", "int"), _OWN(int(text))
    if text.startswith("-"):
        return
    for width in range(max(2, len(text)), _WIDEST + 1):
        yield ValueForm(f"0{width}", "int"), text.zfill(width)
    for digits, format, annotation, unit in _SINCE:
        if len(text) == digits and not text.startswith("0"):
            yield ValueForm(format, "datetime", annotation), text
            yield from _calendar(_EPOCH + int(text) * unit, "datetime", annotation, _CALENDAR)


def _moment(text: str) -> datetime | None:
    """The time of a text; None for one that looks like a time, as `2023-13-45`."""
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return None


def _calendar(at: datetime, type: str, annotation: str, formats: tuple[str, ...]) -> Iterator[tuple[ValueForm, str]]:
    for format in formats:
        yield ValueForm(format, type, annotation), at.strftime(format)


_SHAPES = {
    "IsoMilliseconds": re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", re.ASCII),
    "datetime": re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", re.ASCII),
    "PynamoIso": re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}\+0000", re.ASCII),
    "PythonIso": re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{6})?\+00:00", re.ASCII),
    "date": re.compile(r"\d{4}-\d\d-\d\d", re.ASCII),
}
_SINCE = (
    (10, "s", "EpochSeconds", timedelta(seconds=1)),
    (13, "ms", "EpochMilliseconds", timedelta(milliseconds=1)),
)

# --- values that are only in keys -------------------------------------------------------------------------------------
UUID_TEXT = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
TIME_TEXT = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:?\d\d)?"
CLASSES: Mapping[str, tuple[re.Pattern[str], ValueForm]] = {
    "ulid": (re.compile(r"[0-9A-Z]{26}(?![0-9A-Za-z])"), ValueForm("ulid")),
    "number": (re.compile(r"(?:0|[1-9]\d{0,17})(?![0-9A-Za-z])", re.ASCII), ValueForm("raw", "int")),
    **{
        f"digits{width}": (re.compile(rf"\d{{{width}}}(?![0-9A-Za-z])", re.ASCII), ValueForm(f"0{width}", "int"))
        for width in range(2, 19)
    },
    "time": (re.compile(TIME_TEXT, re.ASCII), ValueForm("raw")),
    "word": (re.compile(r"[^\W_]+"), ValueForm("raw")),
    "part": (re.compile(r"[^#|/:]+"), ValueForm("raw")),
    "rest": (re.compile(r".+", re.DOTALL), ValueForm("raw")),
}
"""The classes of values that are only in keys, the narrowest first: what is matched, and the form."""
ATOM = re.compile(rf"{UUID_TEXT}|{TIME_TEXT}|[^\W_]+")
"""Such a value: an identifier, a time, a word."""
