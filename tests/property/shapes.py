"""Entities of every supported type, and strategies for them."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from enum import Enum
from typing import Any, Literal, NewType
from uuid import UUID

from hypothesis import strategies as st

import singletable
from singletable import Entity, Key, Table

shapes = Table("shapes")
UserId = NewType("UserId", str)


class Colour(Enum):
    RED = "red"
    BLUE = "blü"


class Level(Enum):
    LOW = 1
    HIGH = 20


@dataclass(frozen=True)
class Point:
    x: int
    y: Decimal = Decimal(0)


@dataclass(frozen=True, slots=True)
class Slotted:
    name: str
    tags: frozenset[str] = frozenset()


@dataclass
class Line:
    start: Point
    ends: list[Point]
    note: str | None = None
    marks: set[str] = field(default_factory=set)
    next: Line | None = None


class Shape(Entity, table=shapes, type="shape"):
    id: str
    text: str
    flag: bool
    whole: int
    exact: Decimal
    approx: float
    data: bytes
    at: datetime
    day: date
    ref: UUID
    colour: Colour
    level: Level
    kind: Literal["a", "b"]
    size: Literal[1, 2]
    owner: UserId
    point: Point
    slotted: Slotted
    lines: list[Line]
    pair: tuple[int, ...]
    prices: dict[str, Decimal]
    deep: dict[str, list[dict[str, float]]]
    maybes: list[int | None]
    free: Any
    maybe: str | None = None
    maybe_point: Point | None = None
    odd_name: int = singletable.field(name="a.b-c#[0]", default=7)

    @shapes.key
    @staticmethod
    def by_id(id: str) -> Key:
        return f"shape#{id}", "shape"


class Sets(Entity, table=shapes, type="sets"):
    id: str
    texts: set[str]
    frozen: frozenset[str]
    wholes: set[int]
    exacts: set[Decimal]
    approx: set[float]
    blobs: set[bytes]
    colours: set[Colour]
    levels: frozenset[Level]
    refs: set[UUID]
    days: set[date]
    instants: set[datetime]
    kinds: set[Literal["a", "b"]]

    @shapes.key
    @staticmethod
    def by_id(id: str) -> Key:
        return f"sets#{id}", "sets"


texts = st.text(max_size=8) | st.sampled_from(["", "\x00", "𝄞 clef", "ünï", "a#b%", '"\\', "\u2028", "0" * 40])
names = texts.filter(bool)
"""Keys of maps, which are never empty."""
wholes = st.integers(-(10**38) + 1, 10**38 - 1) | st.integers(-3, 3) | st.sampled_from([2**63, -(2**64), 10**120])
approximates = st.floats(min_value=1e-125, max_value=1e120) | st.sampled_from(
    [0.0, -0.0, 0.1, 1e-100, 1e100, 5e-130 * 10, 123456789.12345679, 1e22, 1e16, 2.0**53 + 2, -1.5e-9, 1 / 3]
)
instants = st.datetimes(
    min_value=datetime(1, 1, 3),
    max_value=datetime(9999, 12, 28),
    timezones=st.sampled_from([timezone.utc, timezone(timedelta(hours=5, minutes=30)), timezone(-timedelta(hours=11))]),
)


@st.composite
def exacts(draw: st.DrawFn) -> Decimal:
    """Up to 38 digits, over the whole of DynamoDB's range."""
    digits = draw(st.integers(0, 10**38 - 1) | st.integers(0, 1000))
    size = len(str(digits))
    exponent = draw(st.integers(-130 - size + 1, 125 - size + 1) | st.integers(-4, 4))
    exponent = max(-130 - size + 1, min(exponent, 125 - size + 1))
    return Decimal(f"{draw(st.sampled_from(['', '-']))}{digits}E{exponent}")


points = st.builds(Point, x=wholes, y=exacts())
lines = st.builds(Line, start=points, ends=st.lists(points, max_size=2), note=st.none() | texts, marks=st.sets(texts))
lines = st.builds(
    Line, start=points, ends=st.lists(points, max_size=2), marks=st.sets(texts, max_size=2), next=st.none() | lines
)
free_scalars = st.none() | st.booleans() | wholes | exacts() | texts | st.binary(max_size=5)
free_sets = st.sets(texts, min_size=1, max_size=3) | st.sets(wholes | exacts(), min_size=1, max_size=3)
free = st.recursive(
    free_scalars | free_sets | st.sets(st.binary(max_size=3), min_size=1, max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3),
    max_leaves=6,
)
ids = st.text("abcdefghij0123456789", min_size=1, max_size=6)

shape = st.builds(
    Shape,
    id=ids,
    text=texts,
    flag=st.booleans(),
    whole=wholes,
    exact=exacts(),
    approx=approximates,
    data=st.binary(max_size=9),
    at=instants,
    day=st.dates(),
    ref=st.uuids(),
    colour=st.sampled_from(Colour),
    level=st.sampled_from(Level),
    kind=st.sampled_from(["a", "b"]),
    size=st.sampled_from([1, 2]),
    owner=texts,
    point=points,
    slotted=st.builds(Slotted, name=texts, tags=st.frozensets(texts, max_size=3)),
    lines=st.lists(lines, max_size=2),
    pair=st.lists(wholes, max_size=3).map(tuple),
    prices=st.dictionaries(names, exacts(), max_size=3),
    deep=st.dictionaries(names, st.lists(st.dictionaries(names, approximates, max_size=2), max_size=2), max_size=2),
    maybes=st.lists(st.none() | wholes, max_size=3),
    free=free,
    maybe=st.none() | texts,
    maybe_point=st.none() | points,
    odd_name=wholes,
)
sets = st.builds(
    Sets,
    id=ids,
    texts=st.sets(texts, max_size=4),
    frozen=st.frozensets(texts, max_size=4),
    wholes=st.sets(wholes, max_size=4),
    exacts=st.sets(exacts(), max_size=4),
    approx=st.sets(approximates, max_size=4),
    blobs=st.sets(st.binary(max_size=4), max_size=4),
    colours=st.sets(st.sampled_from(Colour)),
    levels=st.frozensets(st.sampled_from(Level)),
    refs=st.sets(st.uuids(), max_size=3),
    days=st.sets(st.dates(), max_size=3),
    instants=st.sets(instants, max_size=3),
    kinds=st.sets(st.sampled_from(["a", "b"])),
)
