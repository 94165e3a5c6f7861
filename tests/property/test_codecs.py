"""What is stored is what was given: over JSON by the fast path and by the slow one."""

from __future__ import annotations

from datetime import datetime, timezone
from decimal import Decimal
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings, strategies as st

from singletable import Entity, InvalidValue
from singletable.errors import Corrupt
from singletable.foundation import is_same_item
from singletable.operations.answers import decoder_of, encode, read_item
from singletable.schema.models import model_of
from singletable.values import from_attribute_value, to_attribute_value
from singletable.values.numbers import decimal_text, float_text, integer_text, read_float, read_integer
from tests.property.shapes import Point, Sets, Shape, approximates, exacts, free, sets, shape, wholes


def fast(entity: Entity, body: bytes) -> Any:
    """By the compiled path; None where it hands the item over to the other one."""
    model = model_of(type(entity))
    try:
        return model.build(decoder_of(model.wire)(msgspec.Raw(body)))
    except (ValueError, LookupError):
        return None


@given(shape | sets)
def test_both_paths_give_what_was_given(entity: Entity) -> None:
    model = model_of(type(entity))
    body = encode(model.item(entity))
    assert model.load(read_item(body)) == entity
    assert fast(entity, body) in (entity, None)


@given(shape | sets)
def test_what_is_undeclared_is_carried_beside_the_same_object(entity: Entity) -> None:
    model = model_of(type(entity))
    item, more = read_item(encode(model.item(entity))), {"undeclared": {"M": {"x": {"B": "AAE="}}}}
    carrying: Any = model.load(item | more)
    assert carrying == entity
    plain: Any = model.load(item)
    assert is_same_item(model.item(carrying), model.item(plain) | more)  # the readers make 0 and -0 of "-0"


@given(shape.filter(lambda s: abs(s.whole) < 2**63))
def test_an_ordinary_item_takes_the_fast_path(entity: Shape) -> None:
    small = Shape(
        **{**vars(entity), "pair": (1, 2), "maybes": [1, None], "odd_name": 1, "lines": [], "point": Point(1)}
    )
    if small.maybe_point is not None:
        small.maybe_point = Point(1)
    assert fast(small, encode(model_of(Shape).item(small))) == small


@given(free)
def test_free_form_values(value: Any) -> None:
    stored = msgspec.json.decode(encode(to_attribute_value(value)))
    assert from_attribute_value(stored) == value


@given(wholes)
def test_an_int_is_stored_with_all_its_digits(value: int) -> None:
    assert read_integer(integer_text(value)) == value


@given(exacts())
def test_a_decimal_is_stored_with_all_its_digits(value: Decimal) -> None:
    assert Decimal(decimal_text(value)) == value


@given(approximates)
def test_a_float_is_stored_by_its_shortest_text(value: float) -> None:
    assert float_text(value) == repr(value)
    assert read_float(float_text(value)) == value


@given(st.integers().map(lambda n: n * 10 + 1).map(lambda n: n if abs(n) >= 10**38 else 10**38 + 1))
def test_more_than_38_digits_are_refused(value: int) -> None:
    with pytest.raises(InvalidValue, match=r"39 significant digits|\d\d significant digits|outside"):
        integer_text(value)


SECRET = "4711-secret"
WRONG: list[tuple[type[Entity], str, object]] = [
    (Shape, "text", 5),
    (Shape, "text", None),
    (Shape, "text", SECRET.encode()),
    (Shape, "flag", 1),
    (Shape, "whole", True),
    (Shape, "whole", 4711.0),
    (Shape, "whole", SECRET),
    (Shape, "whole", 10**39 + 1),
    (Shape, "exact", 4711.5),
    (Shape, "exact", Decimal("NaN")),
    (Shape, "exact", Decimal("-Infinity")),
    (Shape, "exact", Decimal("1E126")),
    (Shape, "exact", Decimal("4711E-140")),
    (Shape, "exact", Decimal("1." + "4711" * 10)),
    (Shape, "approx", float("nan")),
    (Shape, "approx", float("inf")),
    (Shape, "approx", 1e300),
    (Shape, "approx", 1e-300),
    (Shape, "approx", 2**53 + 1),
    (Shape, "approx", SECRET),
    (Shape, "data", SECRET),
    (Shape, "at", datetime(2026, 1, 1)),
    (Shape, "at", SECRET),
    (Shape, "day", datetime(2026, 1, 1, tzinfo=timezone.utc)),
    (Shape, "ref", SECRET),
    (Shape, "colour", "red"),
    (Shape, "level", 1),
    (Shape, "kind", SECRET),
    (Shape, "kind", []),
    (Shape, "size", True),
    (Shape, "size", 4711),
    (Shape, "owner", 4711),
    (Shape, "point", {"x": 4711}),
    (Shape, "lines", SECRET),
    (Shape, "lines", [SECRET]),
    (Shape, "pair", {4711}),
    (Shape, "pair", (SECRET,)),
    (Shape, "prices", [SECRET]),
    (Shape, "prices", {4711: Decimal(1)}),
    (Shape, "prices", {"x": SECRET}),
    (Shape, "deep", {"x": [{"y": SECRET}]}),
    (Shape, "maybes", [SECRET]),
    (Shape, "free", object()),
    (Shape, "free", {4711: 1}),
    (Shape, "free", [set()]),
    (Shape, "free", {"x", 4711}),
    (Shape, "maybe", 4711),
    (Shape, "maybe_point", SECRET),
    (Sets, "texts", [SECRET]),
    (Sets, "texts", {4711}),
    (Sets, "texts", None),
    (Sets, "texts", SECRET),
    (Sets, "wholes", {SECRET}),
    (Sets, "wholes", {True}),
    (Sets, "exacts", {4711}),
    (Sets, "blobs", {SECRET}),
    (Sets, "colours", {"red"}),
    (Sets, "instants", {datetime(2026, 1, 1)}),
    (Sets, "kinds", {SECRET}),
]


@pytest.mark.parametrize(("kind", "attribute", "value"), WRONG)
@settings(max_examples=1)
@given(data=st.data())
def test_a_wrong_value_is_refused_by_its_attribute(
    kind: type[Entity], attribute: str, value: object, data: st.DataObject
) -> None:
    entity = data.draw(shape if kind is Shape else sets)
    vars(entity)[attribute] = value
    with pytest.raises(InvalidValue) as caught:
        model_of(kind).item(entity)
    assert caught.value.attribute == f"{kind.__name__}.{attribute}"
    assert "4711" not in str(caught.value)


LOSSY: list[tuple[str, str, dict[str, Any]]] = [
    ("whole", "whole", {"N": "1.5"}),
    ("at", "at", {"S": "2026-01-01T00:00:00"}),
    ("at", "at", {"S": "2026-01-01T00:00:00.0000001Z"}),
    ("at", "at", {"S": "4711"}),
    ("text", "text", {"N": "4711"}),
    ("flag", "flag", {"N": "1"}),
    ("ref", "ref", {"S": "4711"}),
    ("colour", "colour", {"S": "4711"}),
    ("level", "level", {"N": "4711"}),
    ("kind", "kind", {"S": "4711"}),
    ("pair", "pair", {"L": [{"N": "1.5"}]}),
    ("odd_name", "a.b-c#[0]", {"N": "1.5"}),
    ("point", "point", {"S": "4711"}),
    ("maybe", "maybe", {"N": "4711"}),
    ("prices", "prices", {"M": {"x": {"S": "4711"}}}),
]


@pytest.mark.parametrize(("attribute", "stored", "value"), LOSSY)
@settings(max_examples=1)
@given(data=st.data())
def test_what_cannot_be_read_without_loss_is_corrupt(
    attribute: str, stored: str, value: dict[str, Any], data: st.DataObject
) -> None:
    model = model_of(Shape)
    entity = data.draw(shape)
    item = {**model.item(entity), stored: value}
    assert fast(entity, encode(item)) is None
    with pytest.raises(Corrupt, match="an item of Shape") as caught:
        model.load(item)
    assert caught.value.attribute == stored
    assert "4711" not in str(caught.value)


@pytest.mark.parametrize("missing", ["text", "point", "flag"])
@settings(max_examples=1)
@given(data=st.data())
def test_what_must_be_there_and_is_not_is_corrupt(missing: str, data: st.DataObject) -> None:
    entity = data.draw(shape)
    item = {k: v for k, v in model_of(Shape).item(entity).items() if k != missing}
    with pytest.raises(Corrupt, match="not there"):
        model_of(Shape).load(item)


@pytest.mark.parametrize(
    ("attribute", "text", "value"),
    [
        ("whole", "1E3", 1000),
        ("whole", "7.00", 7),
        ("approx", "0.10", 0.1),
        ("approx", "0.10000000000000000555111512312578270212", 0.1),  # another program's: the nearest float
        ("exact", "1.50", Decimal("1.5")),
    ],
)
@settings(max_examples=1)
@given(data=st.data())
def test_another_text_of_the_number_reads_the_same(
    attribute: str, text: str, value: object, data: st.DataObject
) -> None:
    entity = data.draw(shape)
    item = {**model_of(Shape).item(entity), attribute: {"N": text}}
    read = fast(entity, encode(item)) or model_of(Shape).load(item)
    assert getattr(read, attribute) == value
