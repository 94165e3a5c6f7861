"""Merging a branch: disjoint edits exactly, conflicts listed by item, and nothing lost whatever comes in between."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest
from obstore.store import MemoryStore

from singletable import InvalidRequest, NotFound
from singletable.documents import Conflict, Documents, Mutation, ObjectBlobs, Place, flows
from singletable.errors import TransactionConflict
from tests.documents.models import Project, Shape, delete_shape, move_shape, put_comment, put_shape, rename
from tests.documents.shells import World
from tests.documents.stepping import SteppingPort, at_random
from tests.support.engines import fresh

OLD, NEW = Shape(1, 1, "old"), Shape(2, 2, "new")


@pytest.fixture
def memory() -> Iterator[Documents[Project]]:
    with fresh() as db:
        yield Documents(db, Project, blobs=ObjectBlobs(MemoryStore()))


async def parted(docs: Any) -> None:
    """p1 with four shapes, and p2, a branch of it."""
    await docs.create("o1", "p1", name="Atlas", description="maps")
    await docs.apply("p1", [put_shape(id=f"s{n}", shape=OLD).by("c", n) for n in (1, 2, 3, 4)])
    await docs.branch("p1", "p2")


async def test_disjoint_edits_are_merged_exactly(world: World) -> None:
    await parted(world.docs)
    mine = [move_shape(id="s1", x=9, y=9), rename(name="Ours"), put_shape(id="mine", shape=NEW)]
    theirs = [delete_shape(id="s2"), move_shape(id="s3", x=7, y=7), put_comment(id="r", text="theirs")]
    await world.docs.apply("p1", [each.by("c", n) for n, each in enumerate(mine, 5)])
    await world.docs.apply("p2", [each.by("d", n) for n, each in enumerate(theirs, 1)])
    found = await world.docs.merge("p2", onto="p1")
    assert (found.is_merged, found.conflicts) == (True, ())
    assert found.taken == (("shapes", "s2"), ("shapes", "s3"), ("comments", "r"))
    assert (found.base, found.ours, found.theirs) == (Place("p2", 0), Place("p1", 2), Place("p2", 1))
    head = await world.docs.head("p1")
    assert await world.docs.load(head.shapes) == {
        "s1": Shape(9, 9, "old"),
        "s3": Shape(7, 7, "old"),
        "s4": OLD,
        "mine": NEW,
    }
    assert (head.name, list(head.comments), head.version) == ("Ours", ["r"], 3)
    again = await world.docs.merge("p2", onto="p1")
    assert (again.is_merged, again.taken, again.outcome) == (True, (), None)
    back = await world.docs.merge("p1", onto="p2")
    assert (back.is_merged, back.conflicts) == (True, ())
    assert (await world.docs.head("p2", collections=[])).name == "Ours"
    assert await world.docs.load((await world.docs.head("p2")).shapes) == await world.docs.load(head.shapes)


async def test_conflicts_are_listed_and_nothing_is_written(world: World) -> None:
    await parted(world.docs)
    await world.docs.apply("p1", [move_shape(id="s1", x=5, y=5).by("c", 5), rename(name="Ours").by("c", 6)])
    await world.docs.apply("p1", [delete_shape(id="s2").by("c", 7), move_shape(id="s4", x=3, y=3).by("c", 8)])
    edits = [move_shape(id="s1", x=6, y=6), rename(name="Theirs"), move_shape(id="s2", x=6, y=6)]
    edits += [move_shape(id="s4", x=3, y=3), delete_shape(id="s3")]
    await world.docs.apply("p2", [each.by("d", n) for n, each in enumerate(edits, 1)])
    base, ours, theirs = [await world.docs.at(id, version=version) for id, version in (("p2", 0), ("p1", 3), ("p2", 1))]
    found = await world.docs.merge("p2", onto="p1")
    assert (found.is_merged, found.outcome, found.taken) == (False, None, ())
    assert found.conflicts == (
        Conflict("shapes", "s1", *(each.shapes.hash_of("s1") for each in (base, ours, theirs))),
        Conflict("shapes", "s2", base.shapes.hash_of("s2"), None, theirs.shapes.hash_of("s2")),
        Conflict("", "name", "Atlas", "Ours", "Theirs"),
    )
    assert (await world.docs.head("p1")).version == 3
    part = await world.docs.merge("p2", onto="p1", choose={("shapes", "s1"): "theirs"})
    assert not part.is_merged
    done = await world.docs.merge("p2", onto="p1", prefer="ours", choose={("shapes", "s1"): "theirs"})
    assert (done.is_merged, done.taken, done.conflicts) == (
        True,
        (("shapes", "s1"), ("shapes", "s3")),
        found.conflicts,
    )
    head = await world.docs.head("p1")
    assert await world.docs.load(head.shapes) == {"s1": Shape(6, 6, "old"), "s4": Shape(3, 3, "old")}
    assert head.name == "Ours"
    # What was decided stays decided: only later changes are merged the next time.
    await world.docs.apply("p2", [move_shape(id="s1", x=8, y=8).by("d", 6)])
    later = await world.docs.merge("p2", onto="p1")
    assert (later.taken, later.conflicts, later.base) == ((("shapes", "s1"),), (), Place("p2", 1))


async def test_two_branches_are_merged_through_where_they_parted(world: World) -> None:
    await parted(world.docs)
    await world.docs.apply("p2", [move_shape(id="s1", x=5, y=5).by("d", 1)])
    await world.docs.branch("p2", "p3")
    await world.docs.branch("p1", "p4")
    await world.docs.delete("p1")
    await world.docs.apply("p3", [put_shape(id="three", shape=NEW).by("e", 1)])
    await world.docs.apply("p4", [delete_shape(id="s4").by("f", 1)])
    found = await world.docs.merge("p3", onto="p4")
    assert found.is_merged
    head = await world.docs.head("p4")
    assert await world.docs.load(head.shapes) == {"s1": Shape(5, 5, "old"), "s2": OLD, "s3": OLD, "three": NEW}
    assert await world.docs.check("p4") == []
    await world.docs.collect_garbage("p4")
    assert await world.docs.check("p3") == []


async def test_what_can_not_be_merged(world: World) -> None:
    await parted(world.docs)
    await world.docs.create("o1", "other")
    with pytest.raises(InvalidRequest, match="replay"):
        await world.docs.merge("other", onto="p1")
    with pytest.raises(InvalidRequest, match="another one"):
        await world.docs.merge("p1", onto="p1")
    with pytest.raises(NotFound):
        await world.docs.merge("p2", onto="p9")
    forged = {"source": "p2", "version": 9, "scalars": {"name": {"was": {"S": "Atlas"}, "to": {"S": "!"}}}, "items": {}}
    (outcome,) = await world.docs.apply("p1", [Mutation.of("$merge", forged).by("merge-p2", 1)])
    assert outcome.status == "rejected"
    await world.docs.apply("p2", [rename(name="Theirs").by("d", 1)])
    assert (await world.docs.merge("p2", onto="p1")).base == Place("p2", 0)


def test_an_edit_that_comes_in_between_is_kept(memory: Documents[Project]) -> None:
    """In any order: what was written to the same item beside a merge is a conflict or comes after it, never lost."""
    kept = 0
    for n in range(14):
        one, two = f"p-{n}", f"q-{n}"
        memory.create("o1", one)
        memory.apply(one, [put_shape(id="s", shape=OLD).by("c", 1), put_shape(id="t", shape=OLD).by("c", 2)])
        memory.branch(one, two)
        memory.apply(two, [put_shape(id="s", shape=NEW).by("d", 1)])
        port: Any = SteppingPort(memory.db.port)  # type: ignore[arg-type]
        merger, writer, _ = at_random(
            [
                flows.merge(port, memory.context, two, one),
                flows.apply(port, memory.context, one, [put_shape(id="s", shape=Shape(5, 5, "edit")).by("c", 3)]),
                flows.apply(port, memory.context, one, [put_shape(id="t", shape=Shape(6, 6)).by("e", 1)]),
            ],
            random.Random(n),
        )
        assert writer.error is None
        assert merger.error is None or isinstance(merger.error, TransactionConflict)
        head = memory.head(one).shapes.all()
        assert head == {"s": Shape(5, 5, "edit"), "t": Shape(6, 6)}
        kept += merger.error is None and not merger.value.is_merged
        assert memory.check(one) == []
    assert 0 < kept < 14


def test_random_histories_of_two_merge_as_by_hand(memory: Documents[Project]) -> None:
    """Against a merge of plain dictionaries."""
    chance = random.Random(5)
    for n in range(6):
        one, two = f"p-{n}", f"q-{n}"
        ids = [f"s{k}" for k in range(12)]
        memory.create("o1", one)
        memory.apply(one, [put_shape(id=id, shape=Shape(0, 0)).by("c", k) for k, id in enumerate(ids[:8], 1)])
        memory.branch(one, two)
        base = memory.head(two).shapes.all()
        for document, client in ((one, "x"), (two, "y")):
            edits = [_edit(chance, memory.head(document).shapes, ids) for _ in range(1)]
            for k in range(1, 6):
                memory.apply(document, [edits[0].by(client, k)])
                edits = [_edit(chance, memory.head(document).shapes, ids)]
        ours, theirs = memory.head(one).shapes.all(), memory.head(two).shapes.all()
        changed = {id for id in {*base, *theirs} if base.get(id) != theirs.get(id)}
        both = {id for id in changed if ours.get(id) not in (base.get(id), theirs.get(id))}
        expected = {**ours, **{id: theirs[id] for id in changed - both if id in theirs}}
        expected = {id: shape for id, shape in expected.items() if id not in changed - both or id in theirs}
        found = memory.merge(two, onto=one, prefer="ours")
        assert {(c.collection, c.id) for c in found.conflicts} == {("shapes", id) for id in both}
        assert memory.head(one).shapes.all() == expected


def _edit(chance: random.Random, shapes: Any, ids: list[str]) -> Mutation:
    id = chance.choice(ids)
    if id in shapes and chance.random() < 0.4:
        return delete_shape(id=id)
    return put_shape(id=id, shape=Shape(chance.randrange(3), 1))
