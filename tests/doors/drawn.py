"""Every type that attributes may have, and values of it: drawn, at its corners, and of subclasses.

A type of `VALUE_TYPES` is drawn without being named here: hypothesis makes its values, and its least and greatest are
corners. What a kind of number, text or time has of corners beyond these is below.
"""

from __future__ import annotations

import copyreg
from collections.abc import Iterator
from dataclasses import dataclass, make_dataclass
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from enum import Enum, IntEnum
from typing import Annotated, Any, Literal, Optional, cast
from zoneinfo import ZoneInfo

from hypothesis import strategies as st

from singletable.values import VALUE_TYPES, EpochMilliseconds, EpochSeconds, Scalar, StoredAs, Tagged, plan_for


class Shift(Enum):
    EARLY = "early"
    LATE = "late"


class Rank(IntEnum):
    LOW = 1
    HIGH = 20


ZURICH = ZoneInfo("Europe/Zurich")
CORNERS: dict[type[Any], list[Any]] = {
    str: ["", "\0", "\r\n", "\u2028", "e\u0301", "\U0001f468\u200d\U0001f469", "\ud800", "a\udfff", "null", "0", " "],
    int: [0, -1, 2**53 + 1, 2**63, -(2**64), 10**38 - 1, 10**38, 10**38 + 1, -(10**125), 10**126],
    Decimal: [
        Decimal(text)
        for text in (
            *("0", "-0", "1.50", "1E+3", "1E-130", "9.9E+125", "1E+126", "1E-131", "NaN", "-Infinity"),
            *("1." + "9" * 37, "1." + "9" * 38, "-" + "7" * 38, "0.1", "1E-19", "12345678901234567890.5"),
        )
    ],
    float: [0.0, -0.0, 0.1, 1e16, 1e22, 1 / 3, 5e-324, 1e-130, 1e125, 1e308, float("nan"), float("inf"), 2.0**60],
    bytes: [b"", b"\0", b"\xff" * 5, bytes(range(256))],
    datetime: [
        datetime(2026, 10, 25, 2, 30, tzinfo=ZURICH),
        datetime(2026, 10, 25, 2, 30, tzinfo=ZURICH, fold=1),
        datetime(2026, 3, 29, 2, 30, tzinfo=ZURICH),
        datetime(2026, 1, 1),
        datetime(1, 1, 1, tzinfo=timezone.utc),
        datetime(9999, 12, 31, 23, 59, 59, 999999, timezone.utc),
        datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=1))),
        datetime(2026, 1, 1, 0, 0, 0, 1, timezone(timedelta(hours=5, minutes=45, seconds=1))),
    ],
}
_DRAWN: dict[type[Any], st.SearchStrategy[Any]] = {
    datetime: st.datetimes(timezones=st.none() | st.timezones() | st.just(timezone.utc)),
    Decimal: st.decimals() | st.decimals(-1000, 1000, places=2),
    str: st.text(max_size=12),
    bytes: st.binary(max_size=12),
}
"""Where hypothesis's own would be too long, or mostly refused."""


def subclassed(value: Any) -> Any:
    """The same value as one of a subclass; itself where its type has none."""
    kind: type[Any] = type(value)
    if kind is bool or issubclass(kind, Enum):
        return value
    made: Any = type(f"Sub{kind.__name__}", (kind,), {})
    make, arguments, *state = cast("tuple[Any, ...]", value.__reduce_ex__(2))
    if make is copyreg.__newobj__:  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue]
        again = made.__new__(made, *arguments[1:])
        if state and state[0] is not None:
            again.__setstate__(state[0])
        return again
    return made(*arguments)


def values_of(kind: type[Any]) -> st.SearchStrategy[Any]:
    """Values of a type with a single value."""
    ends = [getattr(kind, name) for name in ("min", "max", "resolution") if isinstance(getattr(kind, name, None), kind)]
    corners = [*CORNERS.get(kind, ()), *ends]
    drawn = _DRAWN[kind] if kind in _DRAWN else st.from_type(kind)
    some = drawn | st.sampled_from(corners) if corners else drawn
    return some | some.map(subclassed)


SINGLE: dict[str, tuple[Any, st.SearchStrategy[Any]]] = {
    **{kind.__name__: (kind, values_of(kind)) for kind in VALUE_TYPES},
    "Shift": (Shift, st.sampled_from(Shift)),
    "Rank": (Rank, st.sampled_from(Rank)),
    "Literal": (Literal["a", "b"], st.sampled_from(["a", "b", "c"])),
}
_names = st.text(min_size=1, max_size=4) | st.sampled_from(["B", "M", "SS", "N", "value"])
_free_scalars = st.none() | st.booleans() | st.one_of(*(values_of(kind) for kind in (str, int, Decimal, bytes)))
_free = st.recursive(
    _free_scalars | st.sets(st.text(max_size=3), max_size=2) | st.sets(st.binary(max_size=3), max_size=2),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_names, inner, max_size=3),
    max_leaves=5,
)


_list, _tuple, _dict, _of_set, _frozen = cast("tuple[Any, ...]", (list, tuple, dict, set, frozenset))
_optional = cast("Any", Optional)


def _declared() -> Iterator[tuple[str, Any, st.SearchStrategy[Any]]]:
    """Each type alone, and in everything that may hold it."""
    for name, (kind, values) in SINGLE.items():
        few, maybe = st.lists(values, max_size=2), values | st.none()
        held = make_dataclass(f"Held{name}", [("one", kind), ("other", _optional[kind], None)])
        yield name, kind, values
        yield f"{name} | None", _optional[kind], maybe
        yield f"list[{name}]", _list[kind], few
        yield f"tuple[{name}, ...]", _tuple[kind, ...], few.map(tuple)
        yield f"dict[str, {name}]", _dict[str, kind], st.dictionaries(_names, values, max_size=2)
        yield f"list[{name} | None]", _list[_optional[kind]], st.lists(maybe, max_size=2)
        yield held.__name__, held, st.builds(held, values, maybe)
        plan = plan_for(kind)
        if isinstance(plan, Scalar) and plan.tag in "SNB":
            yield f"set[{name}]", _of_set[kind], few.map(_set)
            yield f"frozenset[{name}]", _frozen[kind], few.map(_set).map(frozenset)
    yield "Any", Any, _free


def _set(values: list[Any]) -> set[Any]:
    return {value for value in values if not (isinstance(value, Decimal) and value.is_snan())}  # which has no hash


DECLARED: dict[str, tuple[Any, st.SearchStrategy[Any]]] = {name: (kind, values) for name, kind, values in _declared()}


@dataclass(frozen=True)
class Price:
    """A type of an application's own."""

    cents: int
    currency: str = "CHF"

    @staticmethod
    def of(text: str) -> Price:
        number, currency = text.split(" ")
        return Price(int(number), currency)

    def __str__(self) -> str:
        return f"{self.cents} {self.currency}"


@dataclass
class Circle:
    radius: Decimal
    notes: Any = None


@dataclass(frozen=True)
class Group:
    name: str
    parts: list[Circle | Group]


def _in_francs(price: Price) -> Price:
    return Price(price.cents)


def _map_of(price: Price) -> dict[str, Any]:
    return {"cents": price.cents, "currency": price.currency}


_prices = st.builds(Price, st.integers(-5, 10**10), st.sampled_from(["CHF", "EUR"]))
_circles = st.builds(Circle, values_of(Decimal), _free)
_groups = st.recursive(
    _circles, lambda inner: st.builds(Group, values_of(str), st.lists(inner, max_size=2)), max_leaves=4
)
_moments = values_of(datetime)
OPENED: dict[str, tuple[Any, st.SearchStrategy[Any]]] = {
    "Price as text": (Annotated[Price, StoredAs(str, str, Price.of)], _prices),
    "Price as number": (Annotated[Price, StoredAs(int, lambda price: price.cents, Price)], _prices.map(_in_francs)),
    "Price as map": (Annotated[Price, StoredAs(_dict[str, Any], _map_of, lambda held: Price(**held))], _prices),
    "prices": (_of_set[Annotated[Price, StoredAs(str, str, Price.of)]], st.sets(_prices, max_size=2)),
    "EpochSeconds": (EpochSeconds, _moments | _moments.map(lambda at: at.replace(microsecond=0))),
    "EpochMilliseconds": (EpochMilliseconds, _moments | _moments.map(lambda at: at.replace(microsecond=5000))),
    "union": (Circle | Group, _groups),
    "tagged union": (Annotated[Circle | Group, Tagged("kind", c=Circle, g=Group, untagged=Circle)], _groups),
    "list of a union": (_list[_optional[Circle | Group]], st.lists(_groups | st.none(), max_size=2)),
}
"""Types of an application's own codec, times since the epoch, and unions."""
ALL = DECLARED | OPENED
