"""What a layer asks of stored attributes has the text that it would have without shapes, whatever was asked before."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, strategies as st

from singletable import Entity, InvalidRequest, Key, Table, attr
from singletable.expressions import (
    AttributeChange,
    Condition,
    Expressions,
    Given,
    Size,
    Stored,
    StoredTexts,
    stored_texts,
)
from singletable.expressions.stored_shapes import KEPT, _rendered  # pyright: ignore[reportPrivateUsage]
from singletable.expressions.texts import MAX_IN, MAX_OPERATORS

NAMES = st.sampled_from(["a", "b", "#0", ":1", "AND", ""])
VALUES: st.SearchStrategy[Any] = st.one_of(
    st.text().map(lambda text: {"S": text}),
    st.integers().map(lambda number: {"N": str(number)}),
    st.sampled_from([{"BOOL": True}, {"NULL": True}, {"SS": ["x"]}]),
)
SHARED: dict[str, Any] = {"S": "one object in several places"}
GIVEN = st.one_of(VALUES, st.just(SHARED)).map(Given)
STORED = st.builds(Stored, NAMES, st.sampled_from([(), ("inner",), (0, "b")]))
OPERATORS = st.sampled_from(["=", "<>", "<", "<=", ">", ">="])
FUNCTIONS = st.sampled_from(["attribute_exists", "attribute_not_exists"])
JOINS = st.sampled_from(["AND", "OR"])


def asked(how: str, *operands: Any) -> Condition:
    return Condition(how, operands)


def joined(how: str, parts: list[Condition]) -> Condition:
    return Condition(how, tuple(parts))


def among(left: Stored, values: list[Given]) -> Condition:
    return Condition("IN", (left, *values))


TESTS = st.one_of(
    st.builds(asked, OPERATORS, STORED, GIVEN),
    st.builds(asked, FUNCTIONS, STORED),
    st.builds(among, STORED, st.lists(GIVEN, min_size=1, max_size=3)),
)


def nested(inner: st.SearchStrategy[Condition]) -> st.SearchStrategy[Condition]:
    return st.one_of(
        st.builds(asked, st.just("NOT"), inner), st.builds(joined, JOINS, st.lists(inner, min_size=2, max_size=4))
    )


CONDITIONS = st.recursive(TESTS, nested, max_leaves=8)
CHANGES = st.builds(
    AttributeChange,
    NAMES,
    st.none() | VALUES,
    plus=st.none() | VALUES,
    keep=st.booleans(),
    clause=st.sampled_from(["SET", "ADD", "DELETE"]),
)


def plainly(changes: Any, condition: Condition | None) -> Any:
    expressions = Expressions()
    update = expressions.update((), changes) if changes else ""
    text = None if condition is None else expressions.condition(condition)
    return StoredTexts(update, text, expressions.names, dict(expressions.values))


@given(st.lists(CHANGES, max_size=4), st.none() | CONDITIONS)
def test_the_texts_are_those_without_a_shape(changes: Any, condition: Condition | None) -> None:
    assert stored_texts(changes, condition) == plainly(changes, condition)


@given(CONDITIONS, st.data())
def test_the_next_of_a_shape_has_its_own_values(condition: Condition, data: Any) -> None:
    stored_texts((), condition)
    other = with_values(condition, lambda: data.draw(GIVEN))
    assert stored_texts((), other) == plainly((), other)


def with_values(part: Any, draw: Any) -> Any:
    if isinstance(part, Condition):
        return Condition(part.how, tuple(with_values(operand, draw) for operand in part.operands))
    return draw() if isinstance(part, Given) else part


def test_the_next_of_a_shape_renders_nothing() -> None:
    def of(number: int) -> Condition:
        return Condition("=", (Stored("nothing renders it again"), Given({"N": str(number)})))

    stored_texts((), of(1))
    misses = _rendered.cache_info().misses
    for number in range(101):
        texts = stored_texts((), of(number))
        assert texts is not None
        assert texts.values == {":0": {"N": str(number)}}
    assert _rendered.cache_info().misses == misses
    assert _rendered.cache_info().maxsize == KEPT


def test_values_of_a_request_are_its_own() -> None:
    condition = Condition("=", (Stored("a"), Given({"N": "1"})))
    one, other = stored_texts((), condition), stored_texts((), condition)
    assert one is not None
    assert other is not None
    one.values[":9"] = {"N": "9"}
    assert ":9" not in other.values


people = Table("people")


class Person(Entity, table=people, type="person"):
    id: str
    age: int = 0

    @people.key
    @staticmethod
    def by_id(id: str) -> Key:
        return f"person#{id}", "person"


@pytest.mark.parametrize(
    "condition",
    [
        attr(Person.age) == 1,
        Condition("=", (Stored("a"), Given({"N": "1"}))) & (attr(Person.age) == 1),
        Size(Stored("a")) > 1,
        Condition("BETWEEN", (Stored("a"), Given({"N": "2"}), Given({"N": "1"}))),
        Condition("begins_with", (Stored("a"), Given({"S": ""}))),
        Condition("contains", (Stored("a"), Given({"S": ""}))),
        Condition("=", (Stored("a"), 1)),
    ],
)
def test_what_may_hang_on_a_value_has_no_shape(condition: Condition) -> None:
    assert stored_texts((), condition) is None


def test_as_many_operators_as_dynamodb_takes_and_no_more() -> None:
    test = Condition("attribute_exists", (Stored("a"),))
    most = (MAX_OPERATORS + 1) // 2
    assert stored_texts((), Condition("AND", (test,) * most)) is not None
    with pytest.raises(InvalidRequest, match="operators and functions"):
        stored_texts((), Condition("AND", (test,) * (most + 1)))
    with pytest.raises(InvalidRequest, match="is_in"):
        stored_texts((), Condition("IN", (Stored("a"), *[Given({"S": "x"})] * (MAX_IN + 1))))


def test_a_condition_may_be_deeper_than_the_stack() -> None:
    condition = Condition("=", (Stored("a"), Given({"N": "1"})))
    for _ in range(5000):
        condition = ~condition
    with pytest.raises(InvalidRequest, match="operators and functions"):
        stored_texts((), condition)
