"""Absent, NULL and empty: what each condition and update says of them, in both shells.

`None` and an empty set are stored as absence. Other programs write None as a NULL, and empty texts, lists and maps as
they are. Each condition means what Python says of the values that are read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, cast

import pytest

from singletable import ANY, Condition, Entity, Key, Table, Update, attr, field, present
from singletable.errors import Corrupt, MissingPath, SingletableError, TransactionCancelled
from tests.support.raw import put_raw, stored
from tests.support.sampling import wider_elsewhere
from tests.support.shells import Shell

app = Table("app", indexes=["gsi1"])


@dataclass
class Inner:
    text: str | None = None
    tags: set[str] = field(default_factory=set[str])


class Doc(Entity, table=app, type="doc"):
    id: str
    text: str | None = None
    count: int | None = None
    tags: set[str] = field(default_factory=set[str])
    fixed: frozenset[int] = frozenset()
    notes: list[str] = field(default_factory=list[str])
    more: list[str | None] | None = None
    limits: dict[str, int] = field(default_factory=dict[str, int])
    lists: dict[str, list[str] | None] = field(default_factory=dict[str, "list[str] | None"])
    inner: Inner | None = None
    free: Any = None
    credits: int = 10
    steps: list[str] = field(default_factory=lambda: ["begin"])

    @app.key
    @staticmethod
    def of(id: str = ANY) -> Key:
        """Documents."""
        return "docs", f"{id}"


class Needs(Entity, table=app, type="needs"):
    id: str
    text: str
    count: int
    note: str | None = None
    tags: set[str] = field(default_factory=set[str])
    rank: int = 3

    @app.key
    @staticmethod
    def of(id: str) -> Key:
        return "needs", f"{id}"


class Ranked(Entity, table=app, type="ranked"):
    id: str
    team: str = "none"
    rank: int = 7
    label: str = field(unique=True, default="none")

    @app.key
    @staticmethod
    def of(id: str) -> Key:
        return "ranked", f"{id}"

    @app.index("gsi1")
    @staticmethod
    def by_team(team: str = ANY, rank: int = ANY) -> Key:
        """All by team and rank."""
        return "teams", f"{team}#{rank}"


NULL: Any = {"NULL": True}
NAMES = ("text", "count", "tags", "fixed", "notes", "more", "limits", "lists", "inner", "free", "credits", "steps")
FULL: Mapping[str, Any] = {
    "text": {"S": "abc"},
    "count": {"N": "3"},
    "tags": {"SS": ["a", "b"]},
    "fixed": {"NS": ["1", "2", "3"]},
    "notes": {"L": [{"S": "a"}, {"S": "b"}]},
    "more": {"L": [{"S": "a"}, NULL]},
    "limits": {"M": {"a": {"N": "1"}}},
    "lists": {"M": {"a": {"L": [{"S": "x"}]}, "b": NULL}},
    "inner": {"M": {"text": {"S": "t"}, "tags": {"SS": ["a"]}}},
    "free": {"S": "abc"},
    "credits": {"N": "5"},
    "steps": {"L": []},
}
EMPTY: Mapping[str, Any] = {
    "text": {"S": ""},
    "count": {"N": "0"},
    "notes": {"L": []},
    "more": {"L": []},
    "limits": {"M": {}},
    "lists": {"M": {}},
    "inner": {"M": {}},
    "free": {"S": ""},
}
STATES: Mapping[str, Mapping[str, Any]] = {
    "absent": {},
    "null": dict.fromkeys(NAMES, NULL),
    "empty": EMPTY,
    "full": FULL,
    "a list where anything may be": {"free": {"L": [{"S": "x"}]}},
    "nulls inside": {"inner": {"M": {"text": NULL, "tags": NULL}}},
}
Python = Callable[[Doc], object]


def size(value: Any) -> int:
    """None has no size; -1 is none that a size is compared with here."""
    return -1 if value is None else len(value)


def tags_within(doc: Doc) -> Any:
    return set[str]() if doc.inner is None else doc.inner.tags


ROWS: Mapping[str, tuple[Condition, Python]] = {
    # a set is there, or it is empty
    "size of a set == 0": (attr(Doc.tags).size() == 0, lambda d: len(d.tags) == 0),
    "size of a set != 0": (attr(Doc.tags).size() != 0, lambda d: len(d.tags) != 0),
    "size of a set == 2": (attr(Doc.tags).size() == 2, lambda d: len(d.tags) == 2),
    "size of a set != 2": (attr(Doc.tags).size() != 2, lambda d: len(d.tags) != 2),
    "size of a set < 2": (attr(Doc.tags).size() < 2, lambda d: len(d.tags) < 2),
    "size of a set < 0": (attr(Doc.tags).size() < 0, lambda d: len(d.tags) < 0),
    "size of a set <= 0": (attr(Doc.tags).size() <= 0, lambda d: len(d.tags) <= 0),
    "size of a set > 0": (attr(Doc.tags).size() > 0, lambda d: len(d.tags) > 0),
    "size of a set > -1": (attr(Doc.tags).size() > -1, lambda d: len(d.tags) > -1),
    "size of a set >= 0": (attr(Doc.tags).size() >= 0, lambda d: len(d.tags) >= 0),
    "size of a set >= 1": (attr(Doc.tags).size() >= 1, lambda d: len(d.tags) >= 1),
    "size of a frozenset == 0": (attr(Doc.fixed).size() == 0, lambda d: len(d.fixed) == 0),
    "not: size of a set == 0": (~(attr(Doc.tags).size() == 0), lambda d: len(d.tags) != 0),
    "not: size of a set < 5": (~(attr(Doc.tags).size() < 5), lambda d: len(d.tags) >= 5),
    "size of a set within == 0": (attr(present(Doc.inner).tags).size() == 0, lambda d: len(tags_within(d)) == 0),
    "a set == set()": (attr(Doc.tags) == set[str](), lambda d: d.tags == set()),
    "a set != set()": (attr(Doc.tags) != set[str](), lambda d: d.tags != set()),
    "a set == {a, b}": (attr(Doc.tags) == {"b", "a"}, lambda d: d.tags == {"a", "b"}),
    "a set != {a, b}": (attr(Doc.tags) != {"b", "a"}, lambda d: d.tags != {"a", "b"}),
    "a set in ({}, {a, b})": (attr(Doc.tags).is_in(set[str](), {"a", "b"}), lambda d: d.tags in (set(), {"a", "b"})),
    "a set in ({})": (attr(Doc.tags).is_in(set[str]()), lambda d: d.tags == set()),
    "a set contains": (attr(Doc.tags).contains("a"), lambda d: "a" in d.tags),
    "not: a set contains": (~attr(Doc.tags).contains("a"), lambda d: "a" not in d.tags),
    "a set exists": (attr(Doc.tags).exists(), lambda d: d.tags != set()),
    "not: a set exists": (~attr(Doc.tags).exists(), lambda d: d.tags == set()),
    # what may be None
    "a text == None": (attr(Doc.text).is_(None), lambda d: d.text is None),
    "a text != None": (attr(Doc.text) != None, lambda d: d.text is not None),  # noqa: E711
    "a text exists": (attr(Doc.text).exists(), lambda d: d.text is not None),
    "not: a text exists": (~attr(Doc.text).exists(), lambda d: d.text is None),
    "a text == ''": (attr(Doc.text) == "", lambda d: d.text == ""),
    "a text != ''": (attr(Doc.text) != "", lambda d: d.text != ""),
    "a text != abc": (attr(Doc.text) != "abc", lambda d: d.text != "abc"),
    "not: a text == abc": (~(attr(Doc.text) == "abc"), lambda d: d.text != "abc"),
    "a text in (None, abc)": (attr(Doc.text).is_in(None, "abc"), lambda d: d.text in (None, "abc")),
    "a text in (None)": (attr(Doc.text).is_in(None), lambda d: d.text is None),
    "not: a text in (None, abc)": (~attr(Doc.text).is_in(None, "abc"), lambda d: d.text not in (None, "abc")),
    "a text in (abc)": (attr(Doc.text).is_in("abc"), lambda d: d.text == "abc"),
    "a text between": (attr(Doc.text).between("", "b"), lambda d: d.text is not None and "" <= d.text <= "b"),
    "a text < b": (attr(Doc.text) < "b", lambda d: d.text is not None and d.text < "b"),
    "a text starts with ''": (attr(present(Doc.text)).starts_with(""), lambda d: d.text is not None),
    "a text contains ''": (attr(present(Doc.text)).contains(""), lambda d: d.text is not None),
    "a list contains ''": (attr(Doc.notes).contains(""), lambda d: "" in d.notes),
    "a text contains b": (attr(present(Doc.text)).contains("b"), lambda d: d.text is not None and "b" in d.text),
    "size of a text == 0": (attr(Doc.text).size() == 0, lambda d: size(d.text) == 0),
    "not: size of a text == 0": (~(attr(Doc.text).size() == 0), lambda d: size(d.text) != 0),
    "size of a text < 4": (attr(Doc.text).size() < 4, lambda d: 0 <= size(d.text) < 4),
    "a number < 1": (attr(Doc.count) < 1, lambda d: d.count is not None and d.count < 1),
    "a number in (None, 3)": (attr(Doc.count).is_in(3, None), lambda d: d.count in (3, None)),
    "a number != 3": (attr(Doc.count) != 3, lambda d: d.count != 3),
    # lists, maps and what lies within
    "a list == []": (attr(present(Doc.more)) == [], lambda d: d.more == []),
    "a list is None": (attr(Doc.more).is_(None), lambda d: d.more is None),
    "size of a list == 0": (attr(Doc.more).size() == 0, lambda d: size(d.more) == 0),
    "a list contains None": (attr(present(Doc.more)).contains(None), lambda d: d.more is not None and None in d.more),
    "a list within contains": (attr(present(Doc.lists["a"])).contains("x"), lambda d: "x" in (d.lists.get("a") or ())),
    "a key of a map is None": (attr(Doc.lists["b"]).is_(None), lambda d: d.lists.get("b") is None),
    "a key of a map exists": (attr(Doc.lists["b"]).exists(), lambda d: d.lists.get("b") is not None),
    "a text within is None": (
        attr(present(Doc.inner).text).is_(None),
        lambda d: d.inner is None or d.inner.text is None,
    ),
    "a set within == set()": (attr(present(Doc.inner).tags) == set[str](), lambda d: not tags_within(d)),
    "an object exists": (attr(Doc.inner).exists(), lambda d: d.inner is not None),
    "anything is None": (attr(Doc.free).is_(None), lambda d: d.free is None),
    "anything exists": (attr(Doc.free).exists(), lambda d: d.free is not None),
    "anything starts with ''": (attr(Doc.free).starts_with(""), lambda d: isinstance(d.free, str)),
    "anything contains ''": (attr(Doc.free).contains(""), lambda d: d.free is not None and "" in d.free),
    "anything != abc": (attr(Doc.free) != "abc", lambda d: d.free != "abc"),
}


def start(type: str, id: str) -> dict[str, Any]:
    """What an item of each class has at least."""
    key = {"pk": {"S": {"doc": "docs"}.get(type, type)}, "sk": {"S": id}}
    return key | {"_type": {"S": type}, "_v": {"N": "1"}, "id": {"S": id}}


async def put_states(shell: Shell) -> dict[str, Doc]:
    """One item of each state, and the entities that are read."""
    for id, attributes in STATES.items():
        await shell.run(put_raw(shell.port, Doc, {**start("doc", id), **attributes}))
    return {doc.id: doc for doc in await shell.all(Doc.of())}


async def test_conditions_mean_what_is_read(shell: Shell) -> None:
    """As a filter: one query for each, and no request more than before."""
    docs = await put_states(shell)
    assert len(docs) == len(STATES)
    wrong: dict[str, Any] = {}
    rows = dict([*ROWS.items()][:: wider_elsewhere(1)])
    with shell.meter() as meter:
        for name, (condition, python) in rows.items():
            wanted = {id for id, doc in docs.items() if python(doc)}
            found: Any
            try:
                found = {doc.id for doc in await shell.all(Doc.of().where(condition))}
            except SingletableError as error:
                found = error
            if found != wanted:
                wrong[name] = found, wanted
    assert wrong == {}
    assert meter.requests == len(rows)


ANOTHER_TYPE = "is stored with another type"
UPDATES: Mapping[str, tuple[Update, Callable[[Doc], Any]]] = {
    "set(set())": (attr(Doc.tags).set(set[str]()), lambda d: replace(d, tags=set[str]())),
    "set(frozenset())": (attr(Doc.fixed).set(frozenset[int]()), lambda d: replace(d, fixed=frozenset[int]())),
    "set(None) of a text": (attr(Doc.text).set(None), lambda d: replace(d, text=None)),
    "set('')": (attr(Doc.text).set(""), lambda d: replace(d, text="")),
    "set(0)": (attr(Doc.count).set(0), lambda d: replace(d, count=0)),
    "set([])": (attr(Doc.notes).set([]), lambda d: replace(d, notes=[])),
    "set({})": (attr(Doc.limits).set({}), lambda d: replace(d, limits={})),
    "set(None) of anything": (attr(Doc.free).set(None), lambda d: replace(d, free=None)),
    "set(None) of a key": (attr(Doc.lists["a"]).set(None), lambda d: within(d, lists=d.lists | {"a": None})),
    "remove()": (attr(Doc.text).remove(), lambda d: replace(d, text=None)),
    "remove() of an object": (attr(Doc.inner).remove(), lambda d: replace(d, inner=None)),
    "add()": (attr(present(Doc.count)).add(2), lambda d: but_for_null(d, count=(d.count or 0) + 2)),
    "add() to a default": (attr(Doc.credits).add(2), lambda d: but_for_null(d, credits=d.credits + 2)),
    "add() to a key": (attr(Doc.limits["a"]).add(2), lambda d: within(d, limits={"a": d.limits.get("a", 0) + 2})),
    "include()": (attr(Doc.tags).include({"x"}), lambda d: but_for_null(d, tags=d.tags | {"x"})),
    "exclude() of all": (attr(Doc.tags).exclude({"a", "b", "c"}), lambda d: but_for_null(d, tags=set[str]())),
    "append()": (attr(Doc.notes).append("x"), lambda d: but_for_null(d, notes=[*d.notes, "x"])),
    "append() to a default": (attr(Doc.steps).append("x"), lambda d: but_for_null(d, steps=[*d.steps, "x"])),
    "append() of None": (attr(present(Doc.more)).append(None), lambda d: but_for_null(d, more=[*(d.more or ()), None])),
    "append() to a key": (attr(present(Doc.lists["a"])).append("x"), lambda d: within(d, lists=with_x(d.lists, "a"))),
    "append() to a None": (attr(present(Doc.lists["b"])).append("x"), lambda d: none_in(d)),
    "set(set()) within": (attr(present(Doc.inner).tags).set(set[str]()), lambda d: inside(d, Inner("t", set[str]()))),
    "set(None) within": (attr(present(Doc.inner).text).set(None), lambda d: inside(d, Inner(None, {"a"}))),
}


def with_x(lists: Mapping[str, Any], name: str) -> dict[str, Any]:
    return {**lists, name: [*(lists.get(name) or ()), "x"]}


def but_for_null(doc: Doc, **values: Any) -> Any:
    """Other programs' NULL can't be added to: the error says so. Everywhere else the values are these."""
    return ANOTHER_TYPE if doc.id == "null" else replace(doc, **values)


def within(doc: Doc, **values: Any) -> Any:
    return replace(doc, **values) if doc.id in ("empty", "full") else MissingPath


def none_in(doc: Doc) -> Any:
    if doc.id == "full":  # this library's own: None inside a map is a NULL
        return ANOTHER_TYPE
    return within(doc, lists=with_x(doc.lists, "b"))


def inside(doc: Doc, full: Inner) -> Any:
    if doc.inner is None:
        return MissingPath
    return replace(doc, inner=full if doc.id == "full" else Inner())


async def outcome(shell: Shell, id: str, update: Update, *, alone: bool) -> Any:
    """The item after an update; or how it was refused."""
    try:
        if alone:
            return await shell.update(Doc.of(id), update)
        async with shell.transaction() as tx:
            tx.update(Doc.of(id), update)
        return await shell.get(Doc.of(id).consistent())
    except TransactionCancelled as cancelled:
        return said(cancelled.failures[0].error)
    except SingletableError as error:
        return said(error)


def said(error: SingletableError) -> Any:
    return ANOTHER_TYPE if ANOTHER_TYPE in error.hint else type(error)


@pytest.mark.parametrize("alone", [True, False])
async def test_updates_do_what_is_read(shell: Shell, alone: bool) -> None:
    """Each on an item of each state, alone and in a transaction."""
    assert await wrong_updates(shell, alone=alone, typed=True) == {}


@pytest.mark.parametrize("alone", [True, False])
async def test_what_a_null_can_not_be_added_to_says_so(shell: Shell, alone: bool) -> None:
    assert await wrong_updates(shell, alone=alone, typed=False) == {}


async def wrong_updates(shell: Shell, *, alone: bool, typed: bool) -> Any:
    """What updates did else than they are to. `typed`: those of values of the attributes' types, else the others."""
    wrong: dict[tuple[str, str], Any] = {}
    for name, (update, python) in UPDATES.items():
        for id, doc in (await put_states(shell)).items():
            wanted = python(doc)
            if (wanted != ANOTHER_TYPE) is typed:
                found = await outcome(shell, id, update, alone=alone)
                wrong |= {} if found == wanted else {(name, id): (found, wanted)}
    return wrong


async def test_absence_is_stored_as_absence(shell: Shell) -> None:
    """None and empty sets leave no attribute: whatever wrote them."""
    await put_states(shell)
    unset = {"text", "count", "tags", "fixed"}
    cleared = (attr(Doc.text).set(None), attr(Doc.count).remove(), attr(Doc.tags).exclude({"a", "b"}))
    with shell.meter() as meter:
        await shell.update(Doc.of("full"), *cleared, attr(Doc.fixed).set(frozenset[int]()))
    assert meter.requests == 1
    with shell.meter() as meter:
        await shell.put(Doc(id="absent", tags=set[str]()))
        await shell.upsert(Doc(id="empty", text=None, tags=set[str]()))
    assert meter.requests == 2
    for id in ("full", "absent", "empty"):
        item = await shell.run(stored(shell.port, Doc.of(id)))
        assert item is not None
        assert unset & item.keys() == set()


async def test_a_null_where_a_value_must_be_is_corrupt(shell: Shell) -> None:
    """A NULL is read as None only where None may be."""
    item = start("needs", "x")
    for name, must_be in (("text", True), ("count", True), ("note", False), ("tags", False), ("rank", False)):
        full = item | {"text": {"S": "t"}, "count": {"N": "1"}} | {name: NULL}
        await shell.run(put_raw(shell.port, Needs, full))
        if must_be:
            with pytest.raises(Corrupt) as caught:
                await shell.get(Needs.of("x"))
            assert caught.value.attribute == name
        else:
            assert await shell.get(Needs.of("x")) == Needs(id="x", text="t", count=1)


@pytest.mark.parametrize("state", [{}, {"rank": NULL, "label": NULL}, {"rank": {"N": "7"}, "label": {"S": "none"}}])
async def test_a_default_that_was_read_is_held_as_it_is_stored(shell: Shell, state: Mapping[str, Any]) -> None:
    """An index key and a guard hold what was read: also what the item lacks and its class has a default for."""
    item = start("ranked", "x") | {"gsi1pk": {"S": "teams"}, "gsi1sk": {"S": "none#b7"}}
    await shell.run(put_raw(shell.port, Ranked, {**item, **state}))
    with shell.meter() as meter:
        moved = await shell.update(Ranked.of("x"), attr(Ranked.team).set("b"))
    assert (moved.team, moved.rank, meter.requests) == ("b", 7, 2)
    assert [each.id for each in await shell.all(Ranked.by_team("b"))] == ["x"]
    renamed = await shell.update(Ranked.of("x"), attr(Ranked.label).set("new"))
    assert renamed.label == "new"
    await shell.put(Ranked(id="x", label="other"))
    assert await shell.all(Ranked.of("x")) == [Ranked(id="x", label="other")]
    assert await shell.check(app) == []


async def test_a_sum_in_an_index_key_is_the_stored_one(shell: Shell) -> None:
    item = start("ranked", "x") | {"gsi1pk": {"S": "teams"}, "gsi1sk": {"S": "none#b7"}}
    await shell.run(put_raw(shell.port, Ranked, item))
    raised = await shell.update(Ranked.of("x"), attr(Ranked.rank).add(1))
    assert [(each.id, each.rank) for each in await shell.all(Ranked.by_team("none"))] == [("x", 8)]
    assert raised.rank == 8


class Capped(Entity, table=app, type="capped"):
    id: str
    team: str = "none"
    limit: int | None = 5
    steps: list[str] | None = field(default_factory=lambda: ["begin"])

    @app.key
    @staticmethod
    def of(id: str) -> Key:
        """One."""
        return "capped", f"{id}"

    @app.index("gsi1")
    @staticmethod
    def by_team(team: str, limit: int | None) -> Key:
        """Those with a limit."""
        return "capped", f"{team}#{limit}"


async def test_what_may_be_none_is_read_as_none_whatever_its_default_is(shell: Shell) -> None:
    """Sums and lists begin at what was read, and an item without the attribute is not one that has the default."""
    await shell.put(Capped(id="x", limit=None, steps=None))
    raised = await shell.update(Capped.of("x"), attr(Capped.limit).add(1), attr(Capped.steps).append("end"))
    assert (raised.limit, raised.steps) == (1, ["end"])
    await shell.put(Capped(id="x"))
    read = await shell.get(Capped.of("x"))
    assert read is not None
    await shell.update(Capped.of("x"), attr(Capped.limit).remove())
    moved = await shell.update(read, attr(Capped.team).set("b"))
    assert (moved.team, moved.limit) == ("b", None)
    assert await shell.check(app) == []


WRONG: Mapping[str, tuple[Update, str]] = {
    "add() to a text": (cast(Any, attr(Doc.text)).add("x"), "for an int, a Decimal"),
    "add() to a list": (attr(cast(Any, Doc.notes)).add(1), "for an int, a Decimal"),
    "add() to an object": (attr(cast(Any, Doc.inner)).add(1), "for an int, a Decimal"),
    "include() to a list": (attr(cast(Any, Doc.notes)).include({"a"}), "for a set"),
    "exclude() from a text": (attr(cast(Any, Doc.text)).exclude({"a"}), "for a set"),
    "append() to a set": (attr(cast(Any, Doc.tags)).append("a"), "only a list"),
    "include() of nothing": (attr(Doc.tags).include(set[str]()), "at least one member"),
    "set(None) of a number": (attr(cast(Any, Doc.credits)).set(None), "None is for"),
    "remove() of a number": (attr(cast(Any, Doc.credits)).remove(), "may be None"),
    "set() within a set": (attr(cast(Any, Doc.lists)).set({"a": set[str]()}), "a list is expected"),
}


@pytest.mark.parametrize("name", WRONG)
async def test_what_an_attribute_can_not_do_is_refused_here(shell: Shell, name: str) -> None:
    update, said = WRONG[name]
    with shell.meter() as meter, pytest.raises(ValueError, match=said) as caught:
        await shell.update(Doc.of("x"), update)
    assert meter.requests == 0
    assert str(getattr(caught.value, "attribute", "")).startswith("Doc.")
