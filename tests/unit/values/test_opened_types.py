"""Unions of dataclasses, aliases of types, durations, times since the epoch, and codecs of an application's own."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field as attribute
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from typing import Annotated, Any, NewType

import pandas
import pytest
from typing_extensions import TypeAliasType, TypeVar

from singletable import (
    ANY,
    Entity,
    InvalidRequest,
    InvalidValue,
    Key,
    Table,
    attr,
)
from singletable.errors import Corrupt, DeclarationError
from singletable.expressions import Expressions, encoded
from singletable.operations.answers import decoder_of, encode, read_item
from singletable.schema import model_of
from singletable.values import EpochMilliseconds, EpochSeconds, StoredAs, Tagged, plan_for

NOON = datetime(2026, 1, 31, 12, tzinfo=timezone.utc)
app = Table("app")


@dataclass
class Circle:
    radius: int


@dataclass(frozen=True)
class Square:
    side: int
    held: list[Circle | Square] = attribute(default_factory=list["Circle | Square"])


@dataclass
class Sphere(Circle):
    colour: str = ""


class Price:
    def __init__(self, cents: int) -> None:
        self.cents = cents

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Price) and other.cents == self.cents

    __hash__ = object.__hash__


Money = Annotated[Price, StoredAs(int, lambda price: price.cents, Price)]
Kinds = Annotated[Circle | Square, Tagged("kind", c=Circle, s=Square, untagged=Circle)]


class Drawing(Entity, table=app, type="drawing"):
    id: str
    shape: Circle | Square | None = None
    kinds: list[Kinds] = attribute(default_factory=list[Kinds])
    at: EpochSeconds = NOON
    millis: EpochMilliseconds | None = None
    took: timedelta = timedelta()
    total: Money | None = None

    @app.key
    @staticmethod
    def of(id: str, at: EpochSeconds = ANY) -> Key:
        """One drawing; in a key the time is a text that sorts."""
        return f"drawing#{id}", f"at#{at}"


def stored(kind: Any, value: Any) -> Any:
    return read_item(encode({"value": encoded(plan_for(kind), value)}))["value"]


def fast(entity: Any) -> Any:
    """By the compiled path alone."""
    model: Any = model_of(type(entity))
    return model.build(decoder_of(model.wire)(encode(model.item(entity))))


def test_the_compiled_path_reads_them() -> None:
    shape = Square(1, [Circle(2), Square(3, [Circle(4)])])
    drawing = Drawing(id="1", shape=shape, kinds=[Circle(1), Square(2)], millis=NOON, took=timedelta(1), total=Price(5))
    assert fast(drawing) == drawing
    item = model_of(Drawing).item(drawing)
    assert item["sk"] == {"S": "at#2026-01-31T12:00:00.000000Z"}
    assert (item["at"], item["millis"]) == ({"N": "1769860800"}, {"N": "1769860800000"})


# --- unions -----------------------------------------------------------------------------------------------------------
def test_a_union_is_stored_with_a_tag() -> None:
    assert stored(Circle | Square, Circle(2)) == {"M": {"_type": {"S": "Circle"}, "radius": {"N": "2"}}}
    assert stored(Kinds, Square(2))["M"]["kind"] == {"S": "s"}
    assert plan_for(Kinds).load({"M": {"radius": {"N": "7"}}}) == Circle(7), "from before it was a union"


@pytest.mark.parametrize(
    ("map", "why"),
    [
        ({"radius": {"N": "7"}}, "no tag"),
        ({"_type": {"S": "Oval"}, "radius": {"N": "7"}}, "no tag"),
        ({"_type": {"N": "1"}}, "no tag"),
        ({"_type": {"S": "Square"}, "radius": {"N": "7"}}, "not there"),
    ],
)
def test_a_map_of_no_class_of_it_is_corrupt(map: Any, why: str) -> None:
    item = {**model_of(Drawing).item(Drawing(id="1")), "shape": {"M": map}}
    with pytest.raises(Corrupt, match=why):
        model_of(Drawing).load(item)


@pytest.mark.parametrize("value", [Sphere(1), 5, {"radius": 1}, Circle])
def test_an_object_of_another_class_is_refused(value: Any) -> None:
    with pytest.raises(InvalidValue, match="a Circle or Square is expected") as caught:
        model_of(Drawing).item(Drawing(id="1", shape=value))
    assert caught.value.attribute == "Drawing.shape"


@dataclass
class Marked:
    _type: str


@pytest.mark.parametrize(
    ("kind", "why"),
    [
        (Circle | str, "a union of several types"),
        (int | str, "a union of several types"),
        (Annotated[Circle | Square, Tagged("kind", c=Circle)], "the tags of a union are not those of its classes"),
        (Annotated[Circle | Square, Tagged(untagged=Sphere)], "the tags of a union"),
    ],
)
def test_a_union_without_a_form_is_refused(kind: Any, why: str) -> None:
    with pytest.raises(DeclarationError, match=why):
        plan_for(kind)


def test_the_tag_is_not_an_attribute_of_a_class() -> None:
    with pytest.raises(DeclarationError, match="the union's tag"):
        encoded(plan_for(Circle | Marked), Marked("x"))


def test_a_union_that_holds_itself_too_deep_is_refused() -> None:
    shape = Square(0)
    for _ in range(40):
        shape = Square(0, [shape])
    with pytest.raises(InvalidValue, match="nested deeper"):
        encoded(plan_for(Circle | Square), shape)


# --- aliases ----------------------------------------------------------------------------------------------------------
T = TypeVar("T")
Names = TypeAliasType("Names", list[str])
Many = TypeAliasType("Many", list[T], type_params=(T,))
UserId = NewType("UserId", str)


@pytest.mark.parametrize(
    ("kind", "same"),
    [
        (Names, list[str]),
        (Many[int], list[int]),
        (Names | None, list[str] | None),
        (dict[str, Names], dict[str, list[str]]),
    ],
)
def test_an_alias_is_what_it_stands_for(kind: Any, same: Any) -> None:
    assert plan_for(kind).form == plan_for(same).form


@pytest.mark.skipif(sys.version_info < (3, 12), reason="the syntax is of Python 3.12")
def test_the_statement_of_python_3_12() -> None:
    names: dict[str, Any] = {"NewType": NewType}
    exec("type Ids = list[UserId]\ntype UserId = str\ntype Many[T] = dict[str, T]", names)
    assert plan_for(names["Ids"]).form == plan_for(list[str]).form
    assert plan_for(names["Many"][int]).form == plan_for(dict[str, int]).form


def test_an_alias_without_an_end_is_refused() -> None:
    held: Any = type("TypeAliasType", (), {})()  # as Python 3.12 has `type held = list[held]`
    held.__value__ = list[held]
    with pytest.raises(DeclarationError, match="has no end"):
        plan_for(held)


# --- durations and times ----------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("value", "text"),
    [
        (timedelta(), "0"),
        (timedelta(minutes=1.5), "90"),
        (timedelta(seconds=-0.25), "-0.25"),
        (timedelta(microseconds=1), "0.000001"),
        (timedelta.max, "86399999999999.999999"),
        (timedelta.min, "-86399999913600"),
    ],
)
def test_a_duration_is_its_seconds(value: timedelta, text: str) -> None:
    assert stored(timedelta, value) == {"N": text}
    assert plan_for(timedelta).load({"N": text}) == value


def test_a_duration_is_exact() -> None:
    with pytest.raises(InvalidValue, match="the Timedelta equals no timedelta"):
        encoded(plan_for(timedelta), pandas.Timedelta(1, "ns"))
    for number in ("0.0000001", "1E+20"):
        with pytest.raises((ValueError, OverflowError)):
            plan_for(timedelta).load({"N": number})


def test_a_duration_is_added_to() -> None:
    expressions = Expressions((Drawing,))
    assert expressions.update([attr(Drawing.took).add(timedelta(seconds=1.5))]) == "ADD #0 :0"
    assert list(expressions.values.values()) == [{"N": "1.5"}]


@pytest.mark.parametrize(("attribute", "number"), [(Drawing.at, NOON), (Drawing.total, Price(1))])
def test_what_is_stored_as_a_number_has_no_sum(attribute: Any, number: Any) -> None:
    with pytest.raises(InvalidRequest, match="add\\(\\) is for an int"):
        Expressions((Drawing,)).update([attr(attribute).add(number)])


@pytest.mark.parametrize("kind", [EpochSeconds, EpochMilliseconds])
def test_a_time_since_the_epoch_is_exact(kind: Any) -> None:
    for value in (
        NOON,
        datetime(1, 1, 1, tzinfo=timezone.utc),
        datetime(9999, 12, 31, 23, 59, 59, tzinfo=timezone.utc),
    ):
        assert plan_for(kind).load(stored(kind, value)) == value
    for wrong, why in (
        (NOON.replace(microsecond=1), "parts of a"),
        (NOON.replace(tzinfo=None), "without a time zone"),
        (5, "a datetime|a EpochSeconds|is expected"),
    ):
        with pytest.raises(InvalidValue, match=why) as caught:
            encoded(plan_for(kind), wrong)
        assert caught.value.hint


# --- an application's own ---------------------------------------------------------------------------------------------
def test_what_a_codec_refuses_is_named_without_its_value() -> None:
    refusing = Annotated[Price, StoredAs(int, lambda price: int("4711x"), Price)]
    with pytest.raises(InvalidValue, match="a Price that its codec can't store: ValueError") as caught:
        encoded(plan_for(refusing), Price(1))
    assert "4711" not in str(caught.value)
    with pytest.raises(InvalidValue, match="a Price is expected, not int"):
        model_of(Drawing).item(Drawing(id="1", total=5))  # type: ignore[arg-type]
    unreadable = Annotated[Price, StoredAs(int, lambda price: 1, lambda stored: int("4711x"))]
    with pytest.raises(ValueError, match="the stored value is refused by its codec: ValueError") as unread:
        plan_for(unreadable).load({"N": "1"})
    assert "4711" not in str(unread.value)


def test_a_codec_is_in_the_form_of_the_record() -> None:
    assert plan_for(Money).form == {"as": "Price", "of": "N integer"}
    assert plan_for(Annotated[Price, StoredAs(dict[str, int], vars, Price, "price 2")]).form == {
        "as": "price 2",
        "of": {"map": "N integer"},
    }
    assert plan_for(timedelta).form != plan_for(Decimal).form
    assert plan_for(Kinds).form == {
        "tagged": {
            "c": {"object": {"radius": {"form": "N integer"}}},
            "s": {"object": plan_for(Square).form["object"]},  # type: ignore[index]
        },
        "by": "kind",
        "untagged": "c",
    }
