"""Updates of what lies inside an attribute: where it is not there nothing is written, and the error names the path."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from singletable import (
    ConditionFailed,
    Entity,
    Key,
    NotFound,
    Table,
    TransactionCancelled,
    Update,
    VersionMoved,
    attr,
    field,
    key_of,
    present,
)
from singletable.errors import MissingPath, SingletableError
from tests.support.raw import put_raw, stored
from tests.support.shells import Shell

shelf = Table("shelf")


@dataclass
class Place:
    room: str
    note: str | None = None
    marks: dict[str, int] = field(default_factory=dict[str, int])


class Box(Entity, table=shelf, type="box"):
    id: str
    place: Place | None = None
    counts: dict[str, int] = field(default_factory=dict[str, int])
    lines: list[str] = field(default_factory=list[str])
    places: list[Place] = field(default_factory=list[Place])
    free: Any = None
    edits: int = field(version=True, default=0)

    @shelf.key
    @staticmethod
    def by_id(id: str) -> Key:
        return f"box#{id}", "box"


B: Any = Box
ATTR: Any = attr
EMPTY = Box(id="1")


def full() -> Box:
    return Box(
        id="1",
        place=Place("attic", "dusty", {"a": 1}),
        counts={"a": 1, "b": 2},
        lines=["x", "y", "z"],
        places=[Place("cellar", "wet")],
        free={"a": {"b": [1, {"c": 2}]}},
    )


KEY = key_of(EMPTY)

MISSING = [
    (attr(present(Box.place).room).set("attic"), "no map at Box.place", "Box.place.room"),
    (attr(present(Box.place).note).set("dry"), "no map at Box.place", "Box.place.note"),
    (attr(present(Box.place).note).set(None), "no map at Box.place", "Box.place.note"),
    (attr(present(Box.place).note).remove(), "no map at Box.place", "Box.place.note"),
    (attr(present(Box.place).marks).remove("a"), "no map at Box.place.marks", "Box.place.marks.a"),
    (attr(present(Box.place).marks["a"]).add(1), "no map at Box.place.marks", "Box.place.marks.a"),
    (ATTR(B.free["a"]).set(1), "no map at Box.free", "Box.free.a"),
    (ATTR(B.free["a"]["b"]).remove(), "no map at Box.free.a", "Box.free.a.b"),
    (ATTR(B.free[0]).remove(), "no list at Box.free", "Box.free.0"),
    (ATTR(B.free["a"][2]).set(1), "no list of 2 elements or more at Box.free.a", "Box.free.a.2"),
    (attr(Box.places[0].note).remove(), "no map at Box.places.0", "Box.places.0.note"),
    (attr(Box.places[0].room).set("x"), "no map at Box.places.0", "Box.places.0.room"),
]


async def together_with_another(shell: Shell, update: Update) -> None:
    async with shell.transaction() as tx:
        tx.update(KEY, update)
        tx.put(Box(id="2"))


@pytest.mark.parametrize(("update", "wanted", "path"), MISSING, ids=[f"{u.verb} {p}" for u, _, p in MISSING])
async def test_where_the_outer_attribute_is_missing(shell: Shell, update: Update, wanted: str, path: str) -> None:
    await shell.create(EMPTY)
    before = await stored(shell.port, KEY)
    with pytest.raises(MissingPath, match=wanted) as refused:
        await shell.update(KEY, update)
    error = refused.value
    assert (error.table, error.key.shown, error.attribute, error.operation) == ("shelf", KEY.shown, path, "update")
    assert error.hint
    assert error.stored == await shell.get(KEY)
    with pytest.raises(MissingPath, match=wanted):
        await shell.update(KEY, update, exactly_once=True)
    with pytest.raises(TransactionCancelled, match="the item lacks what") as cancelled:
        await together_with_another(shell, update)
    (failure,) = cancelled.value.failures
    assert isinstance(failure.error, MissingPath)
    assert failure.error.attribute == path
    assert wanted in str(failure.error)
    assert await stored(shell.port, KEY) == before


@pytest.mark.parametrize(("update", "wanted", "path"), MISSING, ids=[f"{u.verb} {p}" for u, _, p in MISSING])
async def test_where_the_outer_attribute_is_of_another_kind(
    shell: Shell, update: Update, wanted: str, path: str
) -> None:
    await shell.create(EMPTY)
    item = await stored(shell.port, KEY)
    assert item is not None
    name = path.split(".")[1]
    await put_raw(shell.port, Box, {**item, name: {"S": "neither a map nor a list"}})
    with pytest.raises(MissingPath, match=wanted):
        await shell.update(KEY, update)


CHANGES: list[tuple[Any, dict[str, Any]]] = [
    (attr(present(Box.place).note).set("dry"), {"place": Place("attic", "dry", {"a": 1})}),
    (attr(present(Box.place).note).remove(), {"place": Place("attic", None, {"a": 1})}),
    (attr(present(Box.place).marks["b"]).add(3), {"place": Place("attic", "dusty", {"a": 1, "b": 3})}),
    (attr(present(Box.place).marks).remove("a"), {"place": Place("attic", "dusty", {})}),
    (attr(Box.counts).remove("a"), {"counts": {"b": 2}}),
    (attr(Box.counts).remove("none"), {}),
    (attr(Box.lines).remove(0), {"lines": ["y", "z"]}),
    (attr(Box.lines).remove(9), {}),
    (ATTR(B.lines[1]).remove(), {"lines": ["x", "z"]}),
    (attr(Box.lines[3]).set("end"), {"lines": ["x", "y", "z", "end"]}),
    (attr(Box.lines[0]).set("first"), {"lines": ["first", "y", "z"]}),
    (attr(Box.places).remove(0), {"places": []}),
    (attr(Box.places[0].note).remove(), {"places": [Place("cellar")]}),
    (ATTR(B.free["a"]["b"][1]["c"]).remove(), {"free": {"a": {"b": [1, {}]}}}),
    (ATTR(B.free["a"]["b"][1]["c"]).set(None), {"free": {"a": {"b": [1, {"c": None}]}}}),
]


@pytest.mark.parametrize(("update", "becomes"), CHANGES, ids=[f"{u.verb} {u.path}" for u, _ in CHANGES])
async def test_where_it_is_there(shell: Shell, update: Update, becomes: dict[str, Any]) -> None:
    await shell.put(full())
    changed = await shell.update(KEY, update)
    assert {**vars(changed), "edits": 0} == {**vars(full()), **becomes, "edits": 0}


async def test_several_paths_of_one_item(shell: Shell) -> None:
    await shell.put(full())
    changes = (attr(Box.counts).remove("a"), attr(Box.counts["c"]).set(3))
    changed = await shell.update(KEY, *changes, attr(Box.lines).remove(0), attr(Box.lines).remove(1))
    assert (changed.counts, changed.lines) == ({"b": 2, "c": 3}, ["z"])


async def test_elements_have_the_numbers_from_before_the_update(shell: Shell) -> None:
    """As DynamoDB has it; the embedded engine takes one away after the other."""
    await shell.put(Box(id="1", lines=list("abcdefghijkl"), places=[Place(c, c) for c in "abc"]))
    removed = [attr(Box.lines).remove(n) for n in (0, 10, 2, 9)]
    changed = await shell.update(KEY, *removed, attr(Box.lines[3]).set("D"), attr(Box.lines[11]).set("L"))
    assert "".join(changed.lines) == "bDefghiL"
    changed = await shell.update(KEY, attr(Box.places).remove(0), attr(Box.places[1].note).remove())
    assert changed.places == [Place("b"), Place("c", "c")]


async def test_a_list_has_no_gaps(shell: Shell) -> None:
    """DynamoDB would append element 9 as the third; the embedded engine would put None before it."""
    await shell.put(Box(id="1", lines=["x", "y"]))
    for update in (attr(Box.lines[9]).set("end"), attr(Box.lines[3]).set("end")):
        with pytest.raises(MissingPath, match=r"elements or more at Box\.lines"):
            await shell.update(KEY, update)
    assert (await shell.update(KEY, attr(Box.lines[2]).set("end"))).lines == ["x", "y", "end"]


async def test_other_refusals_come_first(shell: Shell) -> None:
    update = attr(present(Box.place).note).remove()
    with pytest.raises(NotFound):
        await shell.update(KEY, update)
    await shell.create(Box(id="1"))
    with pytest.raises(VersionMoved):
        await shell.update(KEY, update, expected=7)
    with pytest.raises(MissingPath) as missing:
        await shell.update(KEY, update, where=attr(Box.lines).exists())
    assert isinstance(missing.value, ConditionFailed)
    await shell.update(KEY, attr(Box.place).set(Place("attic")))
    with pytest.raises(ConditionFailed) as failed:
        await shell.update(KEY, update, where=attr(Box.counts["z"]) == 1)
    assert not isinstance(failed.value, MissingPath)


async def test_an_element_of_a_list_is_not_changed_twice(shell: Shell) -> None:
    """A repeat would take the next element away."""
    from singletable.records.index_keys import is_repeatable

    for update in (attr(Box.lines).remove(0), ATTR(B.free["a"][0]).remove()):
        assert not is_repeatable((update,))
    for update in (
        attr(Box.counts).remove("a"),
        attr(Box.lines[9]).set("end"),
        attr(Box.places[0].room).set("x"),
        attr(Box.counts["a"]).set(1),
    ):
        assert is_repeatable((update,))


async def test_the_errors_hold_no_values(shell: Shell) -> None:
    await shell.create(Box(id="1", lines=["secret"]))
    with pytest.raises(SingletableError) as refused:
        await shell.update(KEY, attr(present(Box.place).note).set("secret"))
    assert "secret" not in str(refused.value)
