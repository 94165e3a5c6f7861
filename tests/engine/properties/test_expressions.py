"""Conditions and updates mean on the engine what they mean in Python."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import given, strategies as st

from singletable import (
    Condition,
    ConditionFailed,
    Database,
    Entity,
    Key,
    Table,
    Update,
    attr,
    field,
    key_of,
    present,
)
from tests.property.examples import times

things = Table("things")


@dataclass
class Spot:
    x: int
    name: str | None = None


class Thing(Entity, table=things, type="thing"):
    """Stored under names that are reserved words or look like paths."""

    id: str
    number: int = field(name="size", default=0)
    maybe: int | None = field(name="a.b", default=None)
    text: str = field(name="x-y", default="")
    word: str | None = field(name="select", default=None)
    flag: bool = field(name="p#q", default=False)
    groups: set[str] = field(name="tags[0]", default_factory=set[str])
    items: list[str] = field(name=":items", default_factory=list[str])
    spot: Spot | None = field(name="spot", default=None)

    @things.key
    @staticmethod
    def by_id(id: str) -> Key:
        return f"thing#{id}", "thing"


numbers, words = st.integers(-3, 3), st.sampled_from(["", "a", "ab", "b", "é"])
members = st.sets(words.filter(bool), max_size=3)
spots = st.builds(Spot, x=numbers, name=st.none() | words)
things_ = st.builds(
    Thing,
    id=st.builds(lambda: uuid4().hex),
    number=numbers,
    maybe=st.none() | numbers,
    text=words,
    word=st.none() | words,
    flag=st.booleans(),
    groups=members,
    items=st.lists(words, max_size=3),
    spot=st.none() | spots,
)

Test = Callable[[Thing], bool]
Claim = tuple[Condition, Test]


def compared(handle: Any, read: Callable[[Thing], Any], value: Any) -> list[Claim]:
    """Every comparison of one attribute; an absent one is less or greater than nothing, and equal to nothing."""

    def ordered(holds: Callable[[Any, Any], bool]) -> Test:
        return lambda t: (found := read(t)) is not None and holds(found, value)

    a = attr(handle)
    return [
        (a == value, lambda t: read(t) == value),
        (a != value, lambda t: read(t) != value),
        (a < value, ordered(lambda x, y: x < y)),
        (a <= value, ordered(lambda x, y: x <= y)),
        (a > value, ordered(lambda x, y: x > y)),
        (a >= value, ordered(lambda x, y: x >= y)),
    ]


def spot_x(thing: Thing) -> int | None:
    return thing.spot.x if thing.spot else None


@st.composite
def claims(draw: st.DrawFn) -> Claim:
    n, m, w, v = draw(numbers), draw(numbers), draw(words), draw(words)
    low, high = sorted((n, m))
    group = draw(members)
    inner = attr(present(Thing.spot).x)
    choices: list[Claim] = [
        *compared(Thing.number, lambda t: t.number, n),
        *compared(Thing.maybe, lambda t: t.maybe, n),
        (attr(Thing.text) == w, lambda t: t.text == w),
        (attr(Thing.text) < w, lambda t: t.text.encode() < w.encode()),
        (attr(Thing.word) != w, lambda t: t.word != w),
        (attr(Thing.word) == None, lambda t: t.word is None),  # noqa: E711
        (attr(Thing.word) != None, lambda t: t.word is not None),  # noqa: E711
        (attr(Thing.maybe).is_(None), lambda t: t.maybe is None),
        (attr(Thing.flag).is_(True), lambda t: t.flag),
        (attr(Thing.flag) == False, lambda t: not t.flag),  # noqa: E712
        (attr(Thing.number).between(low, high), lambda t: low <= t.number <= high),
        (attr(Thing.maybe).between(low, high), lambda t: t.maybe is not None and low <= t.maybe <= high),
        (attr(Thing.number).is_in(n, m), lambda t: t.number in (n, m)),
        (attr(Thing.word).is_in(w, v), lambda t: t.word in (w, v)),
        (attr(Thing.word).exists(), lambda t: t.word is not None),
        (attr(Thing.groups).exists(), lambda t: bool(t.groups)),
        (attr(Thing.groups) == group, lambda t: t.groups == group),
        (attr(Thing.groups) != group, lambda t: t.groups != group),
        (attr(Thing.text).starts_with(w), lambda t: t.text.startswith(w)),
        (attr(Thing.text).contains(w or "a"), lambda t: (w or "a") in t.text),
        (attr(Thing.groups).contains(w or "a"), lambda t: (w or "a") in t.groups),
        (attr(Thing.items).contains(w), lambda t: w in t.items),
        (attr(Thing.items).size() > n, lambda t: len(t.items) > n),
        (attr(Thing.items).size() == abs(n), lambda t: len(t.items) == abs(n)),
        (attr(Thing.groups).size() >= 2, lambda t: len(t.groups) >= 2),
        (attr(Thing.items[0]) == w, lambda t: bool(t.items) and t.items[0] == w),
        (inner == n, lambda t: spot_x(t) == n),
        (inner < n, lambda t: t.spot is not None and t.spot.x < n),
        (attr(present(Thing.spot).name) == None, lambda t: t.spot is None or t.spot.name is None),  # noqa: E711
        (attr(Thing.spot).exists(), lambda t: t.spot is not None),
    ]
    return draw(st.sampled_from(choices))


def joined(inner: st.SearchStrategy[Claim]) -> st.SearchStrategy[Claim]:
    return st.one_of(
        st.tuples(inner, inner).map(lambda p: (p[0][0] & p[1][0], lambda t: p[0][1](t) and p[1][1](t))),
        st.tuples(inner, inner).map(lambda p: (p[0][0] | p[1][0], lambda t: p[0][1](t) or p[1][1](t))),
        inner.map(lambda c: (~c[0], lambda t: not c[1](t))),
    )


trees = st.recursive(claims(), joined, max_leaves=6)


@times(3)
@given(things_, trees)
def test_a_condition_holds_where_it_holds_in_python(db: Database, thing: Thing, claim: Claim) -> None:
    condition, holds = claim
    db.put(thing)
    expected = holds(thing)
    assert db.all(key_of(thing).where(condition)) == [thing] * expected
    changed = replace(thing, number=thing.number + 1)
    if expected:
        db.put(changed, where=condition)
        assert db.get(key_of(thing)) == changed
    else:
        with pytest.raises(ConditionFailed) as caught:
            db.put(changed, where=condition)
        assert caught.value.stored == thing


Change = tuple[str, Update, Callable[[Thing], Any]]
"""The attribute, the update, and its value afterwards."""


@st.composite
def changes(draw: st.DrawFn) -> Change:
    n, w, group = draw(numbers), draw(words), draw(members.filter(bool))
    more = draw(st.lists(words, max_size=2))
    spot = draw(st.none() | spots)
    choices: list[Change] = [
        ("number", attr(Thing.number).set(n), lambda t: n),
        ("number", attr(Thing.number).add(n), lambda t: t.number + n),
        ("maybe", attr(Thing.maybe).add(n), lambda t: (t.maybe or 0) + n),
        ("maybe", attr(Thing.maybe).set(None), lambda t: None),
        ("maybe", attr(Thing.maybe).remove(), lambda t: None),
        ("text", attr(Thing.text).set(w), lambda t: w),
        ("word", attr(Thing.word).set(w), lambda t: w),
        ("word", attr(Thing.word).set(None), lambda t: None),
        ("flag", attr(Thing.flag).set(n > 0), lambda t: n > 0),
        ("groups", attr(Thing.groups).include(group), lambda t: t.groups | group),
        ("groups", attr(Thing.groups).exclude(group), lambda t: t.groups - group),
        ("groups", attr(Thing.groups).set(set()), lambda t: set()),
        ("groups", attr(Thing.groups).set(group), lambda t: group),
        ("items", attr(Thing.items).append(*more), lambda t: [*t.items, *more]),
        ("items", attr(Thing.items).set(more), lambda t: more),
        ("spot", attr(Thing.spot).set(spot), lambda t: spot),
    ]
    return draw(st.sampled_from(choices))


@times(0.6)
@given(things_, st.lists(st.lists(changes(), min_size=1, max_size=4, unique_by=lambda c: c[0]), max_size=6))
def test_updates_do_what_they_do_in_python(db: Database, thing: Thing, steps: list[list[Change]]) -> None:
    db.put(thing)
    key = key_of(thing)
    for step in steps:
        expected = replace(thing, **{name: after(thing) for name, _, after in step})
        assert db.update(key, *(update for _, update, _ in step)) == expected
        thing = expected
    assert db.get(key) == thing


@times(0.3)
@given(things_, spots, numbers)
def test_what_lies_inside_is_changed_alone(db: Database, thing: Thing, spot: Spot, number: int) -> None:
    thing = replace(thing, spot=spot, items=["x", "y"])
    db.put(thing)
    changed = db.update(
        key_of(thing),
        attr(present(Thing.spot).x).add(number),
        attr(present(Thing.spot).name).set("z"),
        attr(Thing.items[1]).set("w"),
    )
    assert changed == replace(thing, spot=Spot(spot.x + number, "z"), items=["x", "w"])
    assert db.update(key_of(thing), attr(present(Thing.spot).name).remove()).spot == Spot(spot.x + number)


@times(0.6)
@given(things_, st.lists(st.tuples(st.booleans(), members.filter(bool)), max_size=8))
def test_a_set_may_come_and_go(db: Database, thing: Thing, steps: list[tuple[bool, set[str]]]) -> None:
    db.put(thing)
    groups = thing.groups
    for adds, names in steps:
        update = attr(Thing.groups).include(names) if adds else attr(Thing.groups).exclude(names)
        groups = groups | names if adds else groups - names
        assert db.update(key_of(thing), update).groups == groups
    assert len(db.all(key_of(thing).where(attr(Thing.groups).exists()))) == bool(groups)
