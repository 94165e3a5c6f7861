"""Handles and conditions: what they refuse, with advice; and conditions in words."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from singletable import Entity, InvalidRequest, InvalidValue, Key, Table, attr, field, present
from singletable.expressions import Expressions, words
from singletable.expressions.handles import VERBS

people = Table("people")


@dataclass
class Address:
    city: str
    zip: str | None = field(name="z.i.p", default=None)


class Person(Entity, table=people, type="person"):
    id: str
    age: int = 0
    name: str = ""
    groups: set[str] = field(default_factory=set[str])
    tags: list[str] = field(default_factory=list[str])
    address: Address | None = None
    homes: list[Address] = field(default_factory=list[Address])
    extra: dict[str, int] = field(default_factory=dict[str, int])
    free: Any = None
    slots: list[int | None] = field(default_factory=list[int | None])

    @people.key
    @staticmethod
    def by_id(id: str) -> Key:
        return f"person#{id}", "person"


P: Any = Person
ATTR: Any = attr


@pytest.mark.parametrize(
    "use",
    [
        lambda: P.age > 3,
        lambda: P.age == 3,
        lambda: P.age != 3,
        lambda: bool(P.age),
        lambda: P.name.lower(),
        lambda: "x" in P.groups,
        lambda: P.age + 1,
        lambda: len(P.tags),
        lambda: list(P.tags),
    ],
)
def test_a_handle_is_no_value(use: Callable[[], Any]) -> None:
    with pytest.raises(TypeError, match=r"write attr\(Person\."):
        use()


def test_a_handle_says_what_it_is() -> None:
    assert (str(P.age), repr(P.age)) == ("Person.age", "<attribute Person.age>")
    assert str(P.address.city) == "Person.address.city"
    assert str(P.homes[0].city) == "Person.homes.0.city"
    assert isinstance(hash(P.age), int)
    assert copy.copy(P.age).__str__() == "Person.age"
    with pytest.raises(AttributeError, match="no attribute 'nope'"):
        _ = P.nope
    with pytest.raises(AttributeError):
        P.age._repr_pretty_  # what a notebook asks of every object


def test_attr_takes_a_handle() -> None:
    with pytest.raises(TypeError, match=r"attr\(\) takes an attribute of an entity class.*not a int"):
        attr(Person(id="1").age)


@pytest.mark.parametrize(
    "use",
    [
        lambda c: c and c,
        lambda c: c or c,
        lambda c: not c,
        lambda c: 1 if c else 2,
        lambda c: 1 < attr(P.age) < 3,
    ],
)
def test_a_condition_is_no_bool(use: Callable[[Any], Any]) -> None:
    with pytest.raises(TypeError, match=r"& \| ~, not and/or/not"):
        use(attr(Person.age) > 3)


def test_a_condition_joins_conditions_only() -> None:
    condition: Any = attr(Person.age) > 3
    for wrong in (True, attr(Person.age), "x", None):
        with pytest.raises(TypeError, match="compare first"):
            _ = condition & wrong
        with pytest.raises(TypeError, match="compare first"):
            _ = condition | wrong


@pytest.mark.parametrize(
    ("condition", "said"),
    [
        (attr(Person.age) >= 4711, "Person.age >= ..."),
        (attr(P.address.city) == "4711", "Person.address.city == ..."),
        (attr(P.address) == None, "Person.address == None"),  # noqa: E711
        (attr(Person.age).between(4711, 4712), "Person.age between ..."),
        (attr(Person.age).is_in(4711), "Person.age in ..."),
        (attr(Person.name).starts_with("4711"), "Person.name starts with ..."),
        (attr(Person.groups).contains("4711"), "Person.groups contains ..."),
        (attr(Person.name).exists(), "Person.name exists"),
        (attr(Person.tags).size() > 4711, "size of Person.tags > ..."),
        (~(attr(Person.age) == 4711), "not (Person.age == ...)"),
        (
            (attr(Person.age) > 1) & (attr(Person.age) < 4711) & (attr(Person.name) != "4711"),
            "Person.age > ... and Person.age < ... and Person.name != ...",
        ),
        (
            (attr(Person.age) > 1) | (attr(Person.age) < 4711) & (attr(Person.name) != "4711"),
            "Person.age > ... or (Person.age < ... and Person.name != ...)",
        ),
    ],
)
def test_words_never_hold_values(condition: Any, said: str) -> None:
    assert words(condition) == said


def test_texts_hold_placeholders_only() -> None:
    expressions = Expressions((Person,))
    text = expressions.condition((attr(present(Person.address).zip) == "4711") & (attr(Person.name) == "#0 = :0"))
    assert "4711" not in text
    assert set(text) <= set("#:0123456789. =AND()")
    assert set(expressions.names.values()) == {"address", "z.i.p", "name"}
    assert list(expressions.values.values()) == [{"S": "4711"}, {"S": "#0 = :0"}]


def test_not_has_no_parentheses_too_many() -> None:
    one, other = attr(Person.age) == 1, attr(Person.name) == "x"
    assert Expressions().condition(~(one & other)) == "NOT (#0 = :0 AND #1 = :1)"
    assert Expressions().condition(~one) == "NOT (#0 = :0)"
    assert Expressions().condition(~~one) == "NOT (NOT (#0 = :0))"


@pytest.mark.parametrize(
    ("make", "kind", "said"),
    [
        (lambda: attr(P.age) == "x", InvalidValue, "an int is expected"),
        (lambda: attr(P.age) < None, InvalidValue, "an int is expected, not None"),
        (lambda: attr(P.age).is_in(1, "x"), InvalidValue, "an int is expected"),
        (lambda: attr(P.groups).contains(1), InvalidValue, "a str is expected"),
        (lambda: attr(P.address.nope) == 1, Exception, "no attribute 'nope'"),
        (lambda: attr(P.age.nope) == 1, InvalidValue, "nothing inside"),
        (lambda: attr(P.homes["x"]) == 1, InvalidValue, "by its number"),
    ],
)
def test_a_value_that_the_attribute_cannot_hold(make: Any, kind: type[Exception], said: str) -> None:
    with pytest.raises(kind, match=said):
        Expressions((Person,)).condition(make())


@pytest.mark.parametrize(
    ("updates", "kind", "said"),
    [
        ([attr(P.age).set(None)], InvalidValue, "None is for an attribute that may be None"),
        ([attr(P.age).set("x")], InvalidValue, "an int is expected"),
        ([attr(P.address.city).set(None)], InvalidValue, "None is for an attribute that may be None"),
        ([attr(P.tags[0]).set(None)], InvalidValue, "None is for an attribute that may be None"),
        ([ATTR(P.age).add("x")], InvalidValue, "an int is expected"),
        ([attr(P.age).append(1)], InvalidRequest, "only a list"),
        ([attr(P.groups).include(set())], InvalidRequest, "at least one member"),
        ([attr(P.groups).include({1})], InvalidValue, "a str is expected"),
        ([attr(P.age).set(1), attr(P.age).add(1)], InvalidRequest, "two changes of the same attribute"),
        ([attr(P.homes).set([]), attr(P.homes[0].city).set("x")], InvalidRequest, "two changes of the same"),
    ],
)
def test_an_update_that_cannot_be(updates: Any, kind: type[Exception], said: str) -> None:
    with pytest.raises(kind, match=said) as caught:
        Expressions((Person,)).update(updates)
    assert getattr(caught.value, "attribute", "").startswith("Person.")


def test_none_is_absence_where_it_can_be_and_a_value_where_it_is_one() -> None:
    for update, said in (
        (attr(P.address.zip).set(None), "REMOVE #0.#1"),
        (attr(P.free).set(None), "SET #0 = :0"),
        (attr(P.slots[2]).set(None), "SET #0[2] = :0"),
    ):
        assert Expressions((Person,)).update([update]) == said


def test_updates_of_every_kind() -> None:
    text = Expressions((Person,)).update(
        [
            attr(Person.age).add(1),
            attr(Person.name).set("x"),
            attr(Person.groups).exclude({"a"}),
            attr(Person.tags).append("x"),
            attr(P.extra["n"]).add(1),
            attr(Person.address).set(None),
        ]
    )
    assert text == (
        "SET #1 = :1, #3 = list_append(if_not_exists(#3, :3), :4), #4.#5 = if_not_exists(#4.#5, :5) + :6"
        " REMOVE #6 ADD #0 :0 DELETE #2 :2"
    )


def test_a_method_without_attr_is_told_where_attr_goes() -> None:
    handle: Any = Person.age
    with pytest.raises(
        TypeError, match=r"Person\.age is an attribute of the class, not a value: write attr\(Person\.age\)\.set\("
    ):
        handle.set(3)
    with pytest.raises(TypeError, match=r"write attr\(Person\.age\.sett\) to compare"):
        handle.sett(3)
    assert {name for name in dir(attr(Person.age)) if not name.startswith("_")} - {"handle"} == VERBS
