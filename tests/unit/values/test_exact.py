"""A value of a subclass is stored as the value that equals it, or refused by name; so is a time that is not there."""

from __future__ import annotations

import uuid
from array import array
from collections import OrderedDict, defaultdict, deque
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta, timezone, tzinfo
from decimal import Decimal
from enum import Enum, IntEnum, StrEnum
from types import MappingProxyType
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

import msgspec
import numpy
import pandas
import pytest

from singletable import Entity, InvalidValue, Key, Table
from singletable.expressions import encoded
from singletable.operations import encode
from singletable.schema import model_of
from singletable.values import is_kept, plan_for
from singletable.values.checks import read_expiry
from singletable.values.value_types import EXPIRY

ZURICH = ZoneInfo("Europe/Zurich")


class Text(str):
    pass


class Whole(int):
    pass


class Exact(Decimal):
    def __str__(self) -> str:
        return "a price"


class Moment(datetime):
    """With more than a datetime has."""

    nanosecond = 7

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Moment) and super().__eq__(other)

    __hash__ = datetime.__hash__


class Octets(bytes):
    pass


class Id(uuid.UUID):
    def __str__(self) -> str:
        return "an id"


class Rank(IntEnum):
    LOW = 1


class Colour(StrEnum):
    RED = "red"


class Old(str, Enum):  # noqa: UP042 as programs have them
    ONE = "one"


class Pair(NamedTuple):
    one: int
    other: int


@dataclass
class Point:
    x: int = 0


@dataclass
class Named(Point):
    name: str = ""


def as_read(kind: Any, value: Any) -> Any:
    """A value as it is read after it was written."""
    plan = plan_for(kind)
    return plan.load(msgspec.json.decode(encode({"value": encoded(plan, value)}))["value"])


NOON = datetime(2026, 1, 31, 12, tzinfo=timezone.utc)
EQUAL: list[tuple[Any, Any]] = [
    (float, numpy.float64(0.1)),
    (float, numpy.float64(1e-120)),
    (str, numpy.str_("a")),
    (bytes, numpy.bytes_(b"a")),
    (str, Text("a")),
    (str, Colour.RED),
    (str, Old.ONE),
    (int, Whole(7)),
    (int, Rank.LOW),
    (float, Rank.LOW),
    (float, Whole(7)),
    (Decimal, Exact("1.5")),
    (bytes, Octets(b"a")),
    (bytes, bytearray(b"a")),
    (bytes, memoryview(b"a")),
    (datetime, pandas.Timestamp(NOON)),
    (date, type("Day", (date,), {})(2026, 1, 31)),
    (time, type("Clock", (time,), {})(9, 30)),
    (list[int], type("Numbers", (list,), {})([1])),
    (tuple[int, ...], Pair(1, 2)),
    (dict[str, int], OrderedDict(a=1)),
    (dict[str, int], defaultdict(int, a=1)),
    (dict[str, int], MappingProxyType({"a": 1})),
    (set[str], {"a": 1}.keys()),
    (set[str], frozenset({"a"})),
    (set[str], {Text("a"), Colour.RED}),
    (frozenset[float], {numpy.float64(0.1)}),
    (Any, Text("a")),
    (Any, Colour.RED),
    (Any, Rank.LOW),
    (Any, Octets(b"a")),
    (Any, {Text("a")}),
    (Any, {Octets(b"a")}),
    (Any, {"a": OrderedDict(b=[Whole(1)])}),
]


@pytest.mark.parametrize(("kind", "value"), EQUAL, ids=[f"{kind} {type(value).__name__}" for kind, value in EQUAL])
def test_a_subclass_is_read_as_the_value_that_it_equals(kind: Any, value: Any) -> None:
    found = as_read(kind, value)
    assert found == value
    assert type(found) in (kind, getattr(kind, "__origin__", kind)) or kind is Any
    assert type(found).__module__ == "builtins" or kind in (Decimal, datetime, date, time)


LOST: list[tuple[Any, Any, str]] = [
    (datetime, pandas.Timestamp("2026-01-31T12:00:00.000000001Z"), "the Timestamp equals no datetime"),
    (datetime, pandas.NaT, "the NaTType equals no datetime"),
    (datetime, Moment(2026, 1, 31, tzinfo=timezone.utc), "the Moment equals no datetime"),
    (uuid.UUID, Id(int=1), "the Id equals no UUID"),
    (bytes, memoryview(array("i", [1])), "the memoryview equals no bytes"),
    (float, numpy.float64("nan"), "not finite"),
    (float, numpy.float64("inf"), "not finite"),
    (float, numpy.float32(0.5), "a float is expected, not float32"),
    (int, numpy.int64(1), "an int is expected, not int64"),
    (bool, numpy.bool_(True), "a bool is expected, not numpy.bool"),
    (int, True, "an int is expected, not bool"),
    (Point, Named(1, "a"), "a Point is expected, not its subclass Named"),
    (list[int], (1,), "a list is expected, not tuple"),
    (list[int], Pair(1, 2), "a list is expected, not Pair"),
    (list[int], deque([1]), "a list is expected, not deque"),
    (tuple[int, ...], [1], "a tuple is expected, not list"),
    (list[int], numpy.array([1]), "a list is expected, not ndarray"),
    (Any, (1,), "DynamoDB has no type for a tuple"),
    (Any, numpy.float32(0.5), "DynamoDB has no type for a float32"),
    (Any, NOON, "DynamoDB has no type for a datetime"),
]


@pytest.mark.parametrize(("kind", "value", "why"), LOST, ids=[why for *_, why in LOST])
def test_what_would_lose_a_part_is_refused_by_name(kind: Any, value: Any, why: str) -> None:
    with pytest.raises(InvalidValue, match=why) as caught:
        encoded(plan_for(kind), value)
    assert caught.value.hint


def test_the_error_names_the_class_and_the_attribute() -> None:
    table = Table("app")

    class Run(Entity, table=table, type="run"):
        id: str
        at: datetime | None = None
        place: Point | None = None

        @table.key
        @staticmethod
        def of(id: str) -> Key:
            """One run."""
            return f"run#{id}", "run"

    wrong: dict[str, Any] = {"at": pandas.NaT, "place": Named()}
    for attribute, value in wrong.items():
        with pytest.raises(InvalidValue) as caught:
            model_of(Run).item(Run(id="1", **{attribute: value}))
        assert caught.value.attribute == f"Run.{attribute}"


FOLDS = [datetime(2026, 10, 25, 2, 30, 0, 1, ZURICH, fold=fold) for fold in (0, 1)]


def test_an_hour_that_is_there_twice_is_stored_as_the_one_that_is_meant() -> None:
    first, second = (as_read(datetime, moment) for moment in FOLDS)
    assert [first, second] == [moment.astimezone(timezone.utc) for moment in FOLDS]
    assert second - first == timedelta(hours=1)
    assert as_read(datetime, pandas.Timestamp(FOLDS[1])) == second


class Nowhere(tzinfo):
    """A zone that does not say its offset."""

    def utcoffset(self, dt: datetime | None) -> timedelta | None:
        return None

    def dst(self, dt: datetime | None) -> timedelta | None:
        return None

    def tzname(self, dt: datetime | None) -> str | None:
        return None


@pytest.mark.parametrize(
    ("value", "why"),
    [
        (datetime(2026, 3, 29, 2, 30, tzinfo=ZURICH), "the hour that its zone leaves out"),
        (datetime(2026, 3, 29, 2, 30, tzinfo=ZURICH, fold=1), "the hour that its zone leaves out"),
        (datetime(2026, 3, 29, 2, 30, tzinfo=Nowhere()), "without a time zone"),
        (datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=1))), "outside the years"),
    ],
)
def test_a_time_that_is_not_a_point_in_time_is_refused(value: datetime, why: str) -> None:
    with pytest.raises(InvalidValue, match=why):
        encoded(plan_for(datetime), value)


def test_members_that_are_one_point_in_time_are_stored_once() -> None:
    """Python has them as two, as the hour is there twice; DynamoDB would refuse the set."""
    assert len({FOLDS[0], FOLDS[0].astimezone(timezone.utc)}) == 2
    assert len(as_read(set[datetime], {FOLDS[0], FOLDS[0].astimezone(timezone.utc)})) == 1


@pytest.mark.parametrize("digits", ["0.1000000000000000055511151231257827", "12345678901234567890123456789012345678"])
def test_a_number_with_more_digits_is_read_as_the_nearest_float(digits: str) -> None:
    assert plan_for(float).load({"N": digits}) == float(digits)


def test_a_float_of_any_is_read_as_the_decimal_of_its_shortest_text() -> None:
    for value in (0.1, numpy.float64(0.1)):
        assert as_read(Any, value) == Decimal("0.1")


class Card(msgspec.Struct, rename="camel"):
    due_at: datetime
    price: Decimal = Decimal(1)
    marks: tuple[int, ...] = ()
    days: list[date] = []


AT_NOON = datetime(2026, 11, 26, 12, tzinfo=timezone.utc)


@pytest.mark.parametrize(
    "given",
    [
        {"dueAt": "2026-11-26T12:00:00Z"},
        {"dueAt": AT_NOON.isoformat(), "price": "1.50", "marks": [1, 2], "days": ["2026-11-26"]},
        {"due_at": AT_NOON},
    ],
)
def test_an_object_may_be_given_as_its_json(given: dict[str, Any]) -> None:
    card = Card(AT_NOON) if len(given) == 1 else Card(AT_NOON, Decimal("1.50"), (1, 2), [date(2026, 11, 26)])
    assert is_kept(given, card)
    assert is_kept({"cards": [given]}, {"cards": [card]})


@pytest.mark.parametrize(
    "given",
    [
        {"dueAt": "2026-11-26T12:00:00.1234567Z"},
        {"dueAt": "2026-11-26T13:00:00Z"},
        {"dueAt": "2026-11-26T12:00:00Z", "price": "1.0"},
        {"dueAt": "2026-11-26T12:00:00Z", "marks": [1]},
        {"dueAt": "2026-11-26T12:00:00Z", "more": 1},
    ],
)
def test_json_of_which_a_part_is_lost_is_not_kept(given: dict[str, Any]) -> None:
    assert not is_kept(given, Card(AT_NOON))


@pytest.mark.parametrize("year", [1, 1969, 2026, 2300, 9999])
def test_a_time_of_expiry_never_ends_late(year: int) -> None:
    """Parts of a second are left off, also of a time that a float of seconds would round up, and past the last year."""
    last = datetime(year, 12, 31, 23, 59, 59, 999_999, timezone.utc)
    stored = EXPIRY.check(last)
    assert read_expiry(int(stored)) == last.replace(microsecond=0)


class Untrue:
    """As an array of numbers, it has no truth."""

    def __bool__(self) -> bool:
        raise ValueError("ambiguous")


@pytest.mark.parametrize("value", [Untrue(), numpy.array([1, 2])], ids=["object", "array"])
def test_what_has_no_truth_is_refused_as_a_set_like_any_other_value(value: Any) -> None:
    plans: Any = (
        (set[str], value),
        (frozenset[int], value),
        (list[set[str]], [value]),
        (dict[str, set[bytes]], {"a": value}),
    )
    for kind, whole in plans:
        with pytest.raises(InvalidValue, match="a set is expected"):
            encoded(plan_for(kind), whole)
