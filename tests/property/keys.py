"""Strategies for key templates and the values in them, with texts that are likely to collide."""

from __future__ import annotations

from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from enum import Enum
from typing import Any
from uuid import UUID

from hypothesis import strategies as st

from singletable.schema.key_text import KeyPart, Slot, Template
from singletable.values.key_enums import enum_text
from singletable.values.key_types import SEPARATORS, TOP, PaddedNumber


class Role(Enum):
    LEAD = "LEAD"
    CONTRIBUTOR = "CONTRIBUTOR"
    TEAM = "TEAM"

    def key_text(self) -> str:
        return {"LEAD": "500.LEAD", "CONTRIBUTOR": "400.CONTRIBUTOR", "TEAM": "300.TEAM"}[self.value]


class Status(Enum):
    ON = "on"
    OFF = "off"
    YEAR = "2026"


class Rank(Enum):
    LOW = 1
    HIGH = 20


UUID_TEXT = "cb421e73-43bb-4c68-bea3-be8f1f6140e8"
NASTY = [
    "",
    "2026",
    "11",
    "2026-11-20",
    UUID_TEXT,
    "cb421e73",
    "a5",
    "b12",
    "500.LEAD",
    "on",
    "%",
    "%23",
    "%2D",
    "5",
    "000005",
]
PRINTABLE = "".join(map(chr, range(0x20, 0x7F)))
CORNERS = ["\0", "\t", "\n", "\x1f", "\x7f", "\x80", "é", "e\u0301", "\u2028", "\ud7ff", "\ue000", "\ufdd0", "\uffff"]
CORNERS += ["\U00010000", "😀", "\U0010fffe"]
"""Where Unicode's ranges begin and end, what is written in two ways, and what no letter shows."""
plain = st.characters(codec="utf-8", exclude_characters=TOP)
around = st.sampled_from("$%&+,-./0")
mixed = st.lists(around | st.sampled_from([*PRINTABLE, *CORNERS]), max_size=4).map("".join)
text = (
    st.text("%23D#/-a$ !\"&'.+b01", max_size=5) | mixed | st.sampled_from(NASTY) | st.text(plain, max_size=4)
)  # an index text: anything that UTF-8 can say


@st.composite
def near(draw: st.DrawFn, value: str) -> str:
    """A text that begins as another does: only such a pair shows how the characters behind are ordered."""
    return value[: draw(st.integers(0, len(value)))] + draw(around | mixed)


def has_order(part: KeyPart, separator: str, last: bool) -> bool:
    """Whether the part's values may be asked for in a range: all but a str before others, with another separator."""
    return separator == "#" or last or part.slot is None or part.slot.type is not str


instants = st.datetimes(
    min_value=datetime(1, 1, 3),
    max_value=datetime(9999, 12, 28),
    timezones=st.sampled_from([timezone.utc, timezone(timedelta(hours=2)), timezone(-timedelta(hours=9))]),
)
whole = st.integers(-(10**26) + 1, 10**26 - 1) | st.integers(-120, 120)
exact = st.sampled_from([Decimal(x) for x in ("1", "1.10", "1.1", "-1.1", "0", "-0.5", "1E+3", "1000", "0.05")])
exact |= st.decimals(-120, 120, places=3, allow_nan=False)
ENDS = [timedelta.min, timedelta.max, timedelta(0), timedelta.resolution, -timedelta.resolution]
VALUES: dict[type[Any], st.SearchStrategy[Any]] = {
    str: text,
    int: whole,
    Decimal: exact,
    datetime: instants,
    date: st.dates(),
    time: st.times(),
    timedelta: st.timedeltas() | st.timedeltas(timedelta(-1), timedelta(1)) | st.sampled_from(ENDS),
    UUID: st.uuids() | st.just(UUID(UUID_TEXT)),
    Role: st.sampled_from(Role),
    Status: st.sampled_from(Status),
    Rank: st.sampled_from(Rank),
}
kinds: st.SearchStrategy[type[Any]] = st.sampled_from([*VALUES, *[str, int]])
separators = st.sampled_from(SEPARATORS)
literals = st.sampled_from(["", "", "a", "ab", "user", "20", "2026", "11", "500.", "x", "pv_"])


@st.composite
def templates(draw: st.DrawFn, separator: str, *, rest: bool = False) -> Template:
    """What a key function may declare: parts of a literal, a value, or both; sometimes a rest after literals."""
    parts: list[KeyPart] = []
    for number in range(draw(st.integers(1, 4))):
        literal = draw(literals)
        if draw(st.booleans()):
            kind = draw(kinds)
            form = draw(st.sampled_from(["", "", "02", "04", "06"])) if kind is int else ""
            parts.append(KeyPart(literal, Slot.of(f"v{number}", kind, form)))
        else:
            parts.append(KeyPart(literal or "lit"))
    if rest and not any(part.slot for part in parts) and draw(st.booleans()):
        parts.append(KeyPart(draw(literals), Slot.of("rest", str, "rest")))
    return Template(tuple(parts), separator)


def of_slot(slot: Slot) -> st.SearchStrategy[Any]:
    padded = slot.key_type if isinstance(slot.key_type, PaddedNumber) else None
    return st.integers(0, 10**padded.width - 1) if padded else VALUES[slot.type]


@st.composite
def values(draw: st.DrawFn, template: Template) -> dict[str, Any]:
    """A value for each slot."""
    return {part.slot.name: draw(of_slot(part.slot)) for part in template.parts if part.slot}


def rank(value: Any) -> Any:
    """What a value is ordered by: an enum by its text, a str by its UTF-8, others by themselves."""
    if isinstance(value, Enum):
        return enum_text(value).encode()
    return value.encode() if isinstance(value, str) else value
