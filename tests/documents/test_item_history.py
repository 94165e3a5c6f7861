"""Who changed an item: version, mutation, client and user; through restored versions, branches and merges."""

from __future__ import annotations

from typing import Any

import pytest

from singletable import Meter, NotFound
from singletable.documents import Changer, Document, Documents, Draft, Items
from tests.documents.models import Project, Shape, app, delete_shape, move_shape, put_shape, rename
from tests.documents.shells import World

OLD = Shape(1, 1, "old")


async def written(docs: Any) -> None:
    await docs.create("o1", "p1")
    await docs.apply("p1", [put_shape(id="s1", shape=OLD).by("ada", 1, principal="a@x"), rename(name="A").by("ada", 2)])
    await docs.apply("p1", [rename(name="B").by("ada", 3)])
    together = [
        move_shape(id="s1", x=5, y=5).by("ben", 1, principal="b@x"),
        put_shape(id="s2", shape=OLD).by("cem", 1),
        rename(name="C").by("dan", 1),
        move_shape(id="s9", x=1, y=1).by("eve", 1),  # rejected
    ]
    await docs.apply("p1", together)
    await docs.apply("p1", [delete_shape(id="s1").by("cem", 2)])


async def test_each_change_names_its_mutation_also_where_a_version_has_several(world: World) -> None:
    await written(world.docs)
    found = await world.docs.item_history("p1", Project.shapes, "s1")
    assert [(c.version, c.mutations, c.is_certain) for c in found] == [
        (4, (Changer("cem", 2, "delete_shape", None),), True),
        (3, (Changer("ben", 1, "move_shape", "b@x"),), True),
        (1, (Changer("ada", 1, "put_shape", "a@x"),), True),
    ]
    assert [(c.before is None, c.after is None) for c in found] == [(False, True), (False, False), (True, False)]
    assert found[1].after == (await world.docs.at("p1", version=3)).shapes.hash_of("s1")
    assert [c.version for c in await world.docs.item_history("p1", Project.shapes, "s1", limit=2)] == [4, 3]
    assert [c.version for c in await world.docs.item_history("p1", Project.shapes, "s1", before=3)] == [1]
    assert await world.docs.item_history("p1", Project.shapes, "never") == []
    for since, versions in ((0, [4, 3, 1]), (1, [4, 3]), (2, [4, 3]), (3, [4]), (4, []), (9, [])):
        newer = await world.docs.item_history("p1", Project.shapes, "s1", since=since)
        assert [c.version for c in newer] == versions
    assert [c.version for c in await world.docs.item_history("p1", Project.shapes, "s1", before=4, since=1)] == [3]
    with pytest.raises(NotFound):
        await world.docs.item_history("p9", Project.shapes, "s1")


async def test_what_is_newer_costs_what_is_new(world: World) -> None:
    await world.docs.create("o1", "p1")
    for n in range(40):
        await world.docs.apply("p1", [put_shape(id="s1", shape=Shape(n, n)).by("c", n + 1)])
    with Meter() as meter:
        whole = await world.docs.item_history("p1", Project.shapes, "s1", limit=100)
    with Meter() as newer:
        last = await world.docs.item_history("p1", Project.shapes, "s1", since=38)
    assert (len(whole), last) == (40, whole[:2])
    assert newer.read_units <= 12 < meter.read_units / 6


async def test_versions_say_who_made_them(world: World) -> None:
    await written(world.docs)
    versions = await world.docs.history("p1", limit=3)
    with Meter() as meter:
        records = await world.docs.mutations(versions)
    assert [(row.version, row.name, row.client, row.principal, row.error is None) for row in records] == [
        (4, "delete_shape", "cem", None, True),
        (3, "move_shape", "ben", "b@x", True),
        (3, "put_shape", "cem", None, True),
        (3, "rename", "dan", None, True),
        (3, "move_shape", "eve", None, False),
        (2, "rename", "ada", None, True),
    ]
    assert (meter.requests, meter.read_units) == (1, len(records))
    assert await world.docs.mutations([]) == []


async def test_it_goes_on_in_what_was_branched_from_and_through_merges(world: World) -> None:
    await written(world.docs)
    await world.docs.branch("p1", "p2", version=3)
    await world.docs.apply("p2", [move_shape(id="s1", x=7, y=7).by("fay", 1)])
    assert [(c.document_id, c.version) for c in await world.docs.item_history("p2", Project.shapes, "s1")] == [
        ("p2", 1),
        ("p1", 3),
        ("p1", 1),
    ]
    await world.docs.merge("p2", onto="p1", prefer="theirs", principal="m@x")
    newest = (await world.docs.item_history("p1", Project.shapes, "s1"))[0]
    assert [(m.name, m.client, m.principal) for m in newest.mutations] == [("$merge", "merge-p2", "m@x")]
    await world.docs.delete("p1")
    assert [(c.document_id, c.version) for c in await world.docs.item_history("p2", Project.shapes, "s1")] == [
        ("p2", 1)
    ]


async def test_many_versions_are_read_in_pieces(world: World) -> None:
    await world.docs.create("o1", "p1")
    for n in range(1, 41):
        edit = put_shape(id="s", shape=Shape(n, 0)) if n % 10 == 0 else rename(name=str(n))
        await world.docs.apply("p1", [edit.by("c", n)])
    assert [c.version for c in await world.docs.item_history("p1", Project.shapes, "s")] == [40, 30, 20, 10]


def test_it_says_where_the_program_gives_another_result_than_it_gave(docs: Documents[Project]) -> None:
    class Board(Document, table=app):
        notes: Items[str]

    factor = ["old"]

    @Board.mutation
    def put(draft: Draft[Board], *, id: str) -> None:
        draft.notes[id] = factor[0]

    boards = Documents(docs.db, Board, blobs=docs.context.store)
    boards.create("o1", "b1")
    boards.apply("b1", [put(id="n").by("c", 1), put(id="m").by("d", 1)])
    assert [c.is_certain for c in boards.item_history("b1", Board.notes, "n")] == [True]
    factor[0] = "new"
    (change,) = boards.item_history("b1", Board.notes, "n")
    assert not change.is_certain
    assert [m.client for m in change.mutations] == ["c", "d"]
