"""What DynamoDB refuses or never finds true is refused here, by name, before anything is sent."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, strategies as st

from singletable import Condition, Entity, InvalidRequest, InvalidValue, Key, Table, attr, field, present
from singletable.expressions import Expressions, handles_in, words
from singletable.expressions.texts import MAX_OPERATORS, MAX_TEXT_BYTES

people = Table("people")


@dataclass
class Address:
    city: str
    zip: str | None = None


class Person(Entity, table=people, type="person"):
    id: str
    age: int = 0
    score: Decimal = Decimal(0)
    name: str = ""
    photo: bytes = b""
    active: bool = True
    born: datetime = datetime(2000, 1, 1, tzinfo=timezone.utc)
    groups: set[str] = field(default_factory=set[str])
    tags: list[str] = field(default_factory=list[str])
    address: Address | None = None
    scores: dict[str, int] = field(default_factory=dict[str, int])
    free: Any = None

    @people.key
    @staticmethod
    def by_id(id: str) -> Key:
        return f"person#{id}", "person"


P: Any = Person
ATTR: Any = attr


def rendered(condition: Condition) -> str:
    return Expressions((Person,)).condition(condition)


def in_update(*updates: Any) -> str:
    return Expressions((Person,)).update(updates)


@pytest.mark.parametrize("how", ["__lt__", "__le__", "__gt__", "__ge__"])
@pytest.mark.parametrize(
    ("handle", "value", "kind"),
    [
        (P.active, True, "a bool"),
        (P.groups, {"a"}, "a set"),
        (P.tags, ["a"], "a list"),
        (P.scores, {"a": 1}, "a map"),
        (P.address, Address("x"), "a map"),
        (P.free, False, "a bool"),
        (P.free, None, "None"),
        (P.free, {1, 2}, "a set"),
    ],
)
def test_only_texts_numbers_and_bytes_have_an_order(how: str, handle: Any, value: Any, kind: str) -> None:
    with pytest.raises(InvalidRequest, match=f"not {kind}") as refused:
        rendered(getattr(ATTR(handle), how)(value))
    assert refused.value.attribute == str(handle)
    with pytest.raises(InvalidRequest, match=f"not {kind}"):
        rendered(ATTR(handle).between(value, value))


@pytest.mark.parametrize(
    ("handle", "low", "high"),
    [
        (P.age, 2, 1),
        (P.age, -1, -2),
        (P.age, 10, 9),
        (P.score, Decimal("1E+3"), Decimal("999")),
        (P.name, "b", "a"),
        (P.name, "a", ""),
        (P.name, "\U0001f600", "\uffff"),
        (P.photo, b"\xff", b"\xfe\xff"),
        (P.born, datetime(2001, 1, 1, tzinfo=timezone.utc), datetime(2000, 1, 1, tzinfo=timezone.utc)),
        (P.free, 2, 1),
        (P.free, b"b", b"a"),
    ],
)
def test_between_takes_the_lower_value_first(handle: Any, low: Any, high: Any) -> None:
    with pytest.raises(InvalidRequest, match="lower value first") as refused:
        rendered(ATTR(handle).between(low, high))
    assert refused.value.attribute == str(handle)
    assert "BETWEEN" in rendered(ATTR(handle).between(high, low))
    assert "BETWEEN" in rendered(ATTR(handle).between(low, low))


@given(low=st.text(), high=st.text())
def test_texts_are_ordered_by_their_bytes_in_between(low: str, high: str) -> None:
    try:
        one, other = low.encode(), high.encode()
    except UnicodeEncodeError:
        return
    if one <= other:
        assert "BETWEEN" in rendered(attr(Person.name).between(low, high))
    else:
        with pytest.raises(InvalidRequest, match="lower value first"):
            rendered(attr(Person.name).between(low, high))


@given(
    low=st.decimals(allow_nan=False, allow_infinity=False, places=4, min_value=-(10**9), max_value=10**9),
    more=st.integers(0, 3),
)
def test_numbers_are_ordered_by_their_amount(low: Decimal, more: int) -> None:
    high = low + more * Decimal("0.0001")
    assert "BETWEEN" in rendered(attr(Person.score).between(low, high))
    if high > low:
        with pytest.raises(InvalidRequest, match="lower value first"):
            rendered(attr(Person.score).between(high, low))


def test_between_compares_values_of_one_type() -> None:
    with pytest.raises(InvalidRequest, match="two values of one type"):
        rendered(ATTR(P.free).between(1, "2"))


@pytest.mark.parametrize("prefix", [1, True, None, ["a"], {"a"}])
def test_only_a_text_or_bytes_begin_with_something(prefix: Any) -> None:
    with pytest.raises(InvalidRequest, match="starts_with") as refused:
        rendered(ATTR(P.free).starts_with(prefix))
    assert refused.value.attribute == "Person.free"
    assert rendered(ATTR(P.free).starts_with("a"))
    assert rendered(ATTR(P.free).starts_with(b"a"))


@pytest.mark.parametrize("handle", [P.age, P.score, P.active])
def test_what_has_no_size_is_not_asked_for_it(handle: Any) -> None:
    with pytest.raises(InvalidRequest, match="has no size") as refused:
        rendered(ATTR(handle).size() > 1)
    assert refused.value.attribute == str(handle)


# --- how many operators, and how deep ---------------------------------------------------------------------------------
def alternating(depth: int) -> Condition:
    """AND in OR in AND, so that nothing is merged: `depth` operators around a last comparison."""
    condition = attr(Person.age) == 1
    for number in range(depth):
        other = attr(Person.name) == "a"
        condition = condition & other if number % 2 else condition | other
    return condition


def negated(depth: int) -> Condition:
    condition = attr(Person.age) == 1
    for _ in range(depth):
        condition = ~condition
    return condition


def test_deep_conditions_are_rendered_in_any_stack() -> None:
    """299 negations are within DynamoDB's limit of 300 operators, however deep the caller's own stack is."""

    def deeper(left: int) -> str:
        return deeper(left - 1) if left else rendered(negated(MAX_OPERATORS - 1))

    text = deeper(sys.getrecursionlimit() - 300)
    assert text.count("NOT") == MAX_OPERATORS - 1
    assert text.count("(") == text.count(")")
    assert words(negated(MAX_OPERATORS - 1)).count("not") == MAX_OPERATORS - 1
    assert [str(h) for h in handles_in(negated(MAX_OPERATORS - 1))] == ["Person.age"]


@pytest.mark.parametrize("build", [alternating, negated])
@pytest.mark.parametrize("depth", [MAX_OPERATORS, 1000, 20_000])
def test_too_many_operators_are_counted_and_refused(build: Callable[[int], Condition], depth: int) -> None:
    with pytest.raises(InvalidRequest, match=rf"{MAX_OPERATORS} operators and functions"):
        rendered(build(depth))


def test_every_function_counts() -> None:
    """`== None` is sent as `(attribute_not_exists(x) OR attribute_type(x, :null))`: three, and `size(x) > 1` as two."""
    condition = attr(Person.address) == None  # noqa: E711
    for _ in range(59):
        condition = condition | (attr(Person.address) == None)  # noqa: E711
    for number in range(29):
        condition = condition | (attr(Person.age) == number)
    assert rendered(condition)  # 60 times 3 and 29, with 88 ORs: 297
    sized = condition | (attr(Person.tags).size() > 1)
    assert rendered(sized)  # 300
    with pytest.raises(InvalidRequest, match="300 operators and functions"):
        rendered(sized | (attr(Person.age) == 30))


def test_flat_conditions_up_to_the_limit() -> None:
    condition = attr(Person.age) == 0
    for number in range(1, 150):
        condition = condition | (attr(Person.age) == number)
    assert rendered(condition).count("OR") == 149
    with pytest.raises(InvalidRequest, match="operators"):
        rendered(condition | (attr(Person.age) == 150) | (attr(Person.age) == 151))


def test_a_text_over_4_kb_is_refused_wherever_it_stands() -> None:
    with pytest.raises(InvalidRequest, match=f"{MAX_TEXT_BYTES} bytes") as refused:
        in_update(*(ATTR(P.free[f"n{i}"]).set(i) for i in range(400)))
    assert refused.value.hint
    with pytest.raises(InvalidRequest, match=f"{MAX_TEXT_BYTES} bytes"):
        Expressions().projection(f"n{i}" for i in range(2000))
    with pytest.raises(InvalidRequest, match=f"{MAX_OPERATORS} operators and functions"):
        in_update(*(ATTR(P.free[f"n{i}"]).add(i) for i in range(151)))


# --- paths ------------------------------------------------------------------------------------------------------------
def test_a_key_of_a_map_and_an_element_of_a_list_can_be_removed() -> None:
    assert in_update(ATTR(P.scores["a"]).remove()) == "REMOVE #0.#1"
    assert in_update(attr(Person.scores).remove("a")) == "REMOVE #0.#1"
    assert in_update(ATTR(P.tags[2]).remove()) == "REMOVE #0[2]"
    assert in_update(attr(Person.tags).remove(0)) == "REMOVE #0[0]"
    assert in_update(ATTR(P.free["a"]["b"][0]).remove()) == "REMOVE #0.#1.#2[0]"
    assert in_update(attr(present(Person.address).zip).remove()) == "REMOVE #0.#1"
    for kept in (P.age, P.address.city, P.scores, P.tags):
        with pytest.raises(InvalidValue, match="only an attribute that may be None"):
            in_update(ATTR(kept).remove())
    with pytest.raises(InvalidValue, match="named by its number"):
        in_update(ATTR(P.tags).remove("a"))


@pytest.mark.parametrize("handle", [P.tags[-1], P.free[-1], P.free["a"][-2]])
def test_elements_are_counted_from_the_beginning(handle: Any) -> None:
    with pytest.raises(InvalidValue, match="counted from 0"):
        in_update(ATTR(handle).set("x"))
    with pytest.raises(InvalidValue, match="counted from 0"):
        rendered(ATTR(handle) == "x")


@pytest.mark.parametrize("handle", [P.scores[""], P.free[""], P.free["a"][""]])
def test_a_name_inside_a_map_is_not_empty(handle: Any) -> None:
    with pytest.raises(InvalidValue, match="at least one character"):
        in_update(ATTR(handle).set(1))


def test_a_path_has_32_steps_at_most() -> None:
    handle = P.free
    for _ in range(31):
        handle = handle["a"]
    assert in_update(ATTR(handle).set(1))
    with pytest.raises(InvalidRequest, match="32") as refused:
        in_update(ATTR(handle["a"]).set(1))
    assert refused.value.attribute is not None
    assert refused.value.attribute.startswith("Person.free.a.a")


def test_times_are_ordered_whatever_their_zone() -> None:
    early = datetime(2026, 1, 1, 12, tzinfo=timezone(timedelta(hours=5)))
    late = datetime(2026, 1, 1, 8, tzinfo=timezone.utc)
    assert rendered(attr(Person.born).between(early, late))
