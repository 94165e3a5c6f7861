"""Branches share contents with their origin: nothing is copied, nothing that one of them reaches is lost."""

from __future__ import annotations

import random
from typing import Any

import pytest
from obstore.store import MemoryStore

from singletable import AlreadyExists, InvalidValue, Meter, NotFound, Unavailable
from singletable.documents import Documents, ObjectBlobs, Place, flows
from tests.documents.models import Project, Shape, delete_shape, move_shape, put_comment, put_shape, put_shapes, rename
from tests.documents.recording import recorded
from tests.documents.shells import World
from tests.documents.stepping import Stepped, SteppingPort, at_random
from tests.support.engines import fresh

OLD, NEW = Shape(1, 1, "old"), Shape(2, 2, "new")
GARBAGE = Shape(7, 7, "garbage")


@pytest.fixture
def memory() -> Any:
    with fresh() as db:
        yield Documents(db, Project, blobs=ObjectBlobs(MemoryStore()))


def contents_in(docs: Documents[Project], id: str) -> int:
    return len(list(docs.context.contents("o1", id).list()))


async def begun(world: World) -> None:
    await world.docs.create("o1", "p1", name="Atlas")
    await world.docs.apply("p1", [put_shape(id="s1", shape=OLD).by("c", 1), put_shape(id="s2", shape=OLD).by("c", 2)])
    await world.docs.apply("p1", [put_comment(id="r1", text="one").by("c", 3)])


async def test_a_branch_goes_its_own_way_from_where_it_began(world: World) -> None:
    await begun(world)
    made = await world.docs.branch("p1", "p2")
    assert (made.id, made.parent, made.version, made.name, list(made.shapes)) == ("p2", "o1", 0, "Atlas", ["s1", "s2"])
    await world.docs.apply("p2", [move_shape(id="s1", x=5, y=5).by("d", 1), rename(name="Mine").by("d", 2)])
    await world.docs.apply("p1", [delete_shape(id="s1").by("c", 4)])
    branch, origin = await world.docs.head("p2"), await world.docs.head("p1")
    assert await world.docs.load(branch.shapes) == {"s1": Shape(5, 5, "old"), "s2": OLD}
    assert list(await world.docs.items("p2", Project.comments)) == ["r1"]  # never written in the branch
    assert (list(origin.shapes), origin.name, branch.name) == (["s2"], "Atlas", "Mine")
    assert (await world.docs.diff("p2", 0, 1)).collections["shapes"].changed == ("s1",)
    assert (await world.docs.restore("p2", version=0, by="d")).status == "applied"
    assert not (await world.docs.diff("p2", 0, 2))


async def test_a_branch_of_a_branch_and_one_of_another_parent(world: World) -> None:
    await begun(world)
    await world.docs.branch("p1", "p2", version=1)
    await world.docs.apply("p2", [put_shape(id="s3", shape=NEW).by("d", 1)])
    await world.docs.branch("p2", "p3")
    away = await world.docs.branch("p3", "p4", parent="o2")
    assert await world.docs.load(away.shapes) == {"s1": OLD, "s2": OLD, "s3": NEW}
    assert (await world.docs.parent("p4"), len((await world.docs.head("p4")).comments)) == ("o2", 0)
    assert await world.docs.check("p4") == []
    assert [row.document_id for row in await world.docs.page("o2")] == ["p4"]


async def test_what_no_branch_can_be_made_of(world: World) -> None:
    await begun(world)
    with pytest.raises(AlreadyExists, match="another id"):
        await world.docs.branch("p1", "p1")
    with pytest.raises(NotFound):
        await world.docs.branch("p9", "p2")
    with pytest.raises(NotFound, match="version 9"):
        await world.docs.branch("p1", "p2", version=9)
    with pytest.raises(InvalidValue):
        await world.docs.branch("p1", "")


# --- what it costs ----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("count", [1, 3_000, pytest.param(25_000, marks=pytest.mark.soak)])
def test_a_branch_writes_under_2_kb_for_any_size(memory: Documents[Project], count: int) -> None:
    memory.create("o1", "p1", name="x" * 200)
    for n, first in enumerate(range(0, count, 5_000)):
        memory.apply("p1", [put_shapes(count=min(5_000, count - first), first=first, width=36).by("c", n + 1)])
    before = contents_in(memory, "p1")
    with recorded(memory) as written, memory.db.meter() as meter:  # type: ignore[attr-defined]
        memory.branch("p1", "p2")
    assert written.blobs == []
    assert written.bytes_of() < 2048
    # Of four items and the index, twice their units, as in every transaction; and two for the check.
    assert meter.write_units <= 4 * 2 + 2 + 2
    assert contents_in(memory, "p1") == before
    assert contents_in(memory, "p2") == 0
    assert len(memory.head("p2").shapes) == count


def test_scalars_are_the_only_other_bytes(memory: Documents[Project]) -> None:
    memory.create("o1", "p1", name="x" * 700, description="y" * 700)
    with recorded(memory) as written:
        memory.branch("p1", "p2")
    assert written.bytes_of() < 2048 + 1536


# --- garbage ----------------------------------------------------------------------------------------------------------
def family(memory: Documents[Project]) -> None:
    """p1, p2 of it, p3 of p2; each with a content that only its history reaches, and one that nobody does."""
    memory.create("o1", "p1")
    memory.apply("p1", [put_shape(id="shared", shape=OLD).by("c", 1)])
    memory.branch("p1", "p2")
    memory.apply("p2", [put_shape(id="own", shape=NEW).by("c", 1)])
    memory.branch("p2", "p3")
    memory.apply("p3", [delete_shape(id="own").by("c", 1), delete_shape(id="shared").by("c", 2)])
    memory.store("p3", Project.shapes, [GARBAGE])


@pytest.mark.parametrize("of", ["p1", "p2", "p3"])
def test_a_collection_asks_the_whole_family(memory: Documents[Project], of: str) -> None:
    family(memory)
    found = memory.collect_garbage(of)
    assert (found.stored, found.deleted) == (3, 1)
    assert memory.head("p2").shapes.all() == {"own": NEW, "shared": OLD}
    assert memory.at("p3", version=0).shapes.all() == {"own": NEW, "shared": OLD}
    memory.apply("p3", [put_shape(id="g", shape=GARBAGE).by("c", 3)])
    assert memory.collect_garbage(of).deleted == 0
    assert [memory.check(id) for id in ("p1", "p2", "p3")] == [[], [], []]


def test_check_sees_a_content_that_a_branch_lacks(memory: Documents[Project]) -> None:
    family(memory)
    contents = memory.context.contents("o1", "p1")
    for each in contents.list():
        contents.delete(each)
    assert {finding.code for finding in memory.check("p3")} == {"blob.wrong"}


async def _branch_and_write(port: Any, context: Any, id: str, made: str) -> None:
    await flows.branch(port, context, id, made)
    await flows.apply(port, context, made, [put_shape(id="g", shape=GARBAGE).by("d", 1)])


def test_branching_and_collecting_in_any_order_lose_nothing(memory: Documents[Project]) -> None:
    """A branch is made, and a content that is about to be collected is put in it, beside two collections."""
    deleted = 0
    for n in range(12):
        id, made = f"p-{n}", f"q-{n}"
        memory.create("o1", id)
        memory.apply(id, [put_shape(id="s", shape=OLD).by("c", 1)])
        memory.store(id, Project.shapes, [GARBAGE, NEW])
        port: Any = SteppingPort(memory.db.port)  # type: ignore[arg-type]
        context = memory.context

        flows_ = [
            _branch_and_write(port, context, id, made),
            flows.apply(port, context, id, [put_shape(id="n", shape=NEW).by("c", 2)]),
            flows.collect_garbage(port, context, id),
            flows.collect_garbage(port, context, id),
        ]
        brancher, writer, one, other = at_random(flows_, random.Random(n))
        for each in (brancher, writer):
            assert each.error is None or isinstance(each.error, Unavailable), each.error
        deleted += one.finish().deleted + other.finish().deleted
        memory.collect_garbage(id)
        assert memory.check(id) == []
        if brancher.error is None:
            assert memory.check(made) == []
            assert memory.head(made).shapes.all()["g"] == GARBAGE
    assert deleted > 2


def test_a_branch_that_is_made_within_a_collection_looks_at_what_is_condemned(memory: Documents[Project]) -> None:
    """The collection stops at each of its steps; the branch is made there, and needs what is about to be deleted."""
    for k in range(1, 200):
        id, made = f"p-{k}", f"q-{k}"
        memory.create("o1", id)
        memory.store(id, Project.shapes, [GARBAGE])
        port: Any = SteppingPort(memory.db.port)  # type: ignore[arg-type]
        collector = Stepped(flows.collect_garbage(port, memory.context, id))
        collector.advance(k)
        if collector.is_done:
            break
        memory.branch(id, made)
        writer = Stepped(flows.apply(port, memory.context, made, [put_shape(id="g", shape=GARBAGE).by("d", 1)]))
        writer.advance(5000)
        collector.finish()
        if writer.error is not None:
            assert isinstance(writer.error, Unavailable)
            memory.process(made)
        assert memory.head(made).shapes.all() == {"g": GARBAGE}
        assert memory.check(made) == []
    else:
        pytest.fail("the collection never ended")


async def test_a_family_is_listed_from_each_of_its_documents(world: World) -> None:
    await begun(world)
    await world.docs.branch("p1", "p2", version=1)
    await world.docs.branch("p2", "p3")
    listed = [("p1", None), ("p2", Place("p1", 1)), ("p3", Place("p2", 0))]
    for id in ("p1", "p2", "p3"):
        with Meter() as meter:
            found = await world.docs.family(id)
        assert [(each.document_id, each.origin) for each in found] == listed
        assert (meter.requests, meter.read_units) == (3, 3)
    await world.docs.delete("p1")
    assert [each.document_id for each in await world.docs.family("p3")] == ["p2", "p3"]
    with pytest.raises(NotFound):
        await world.docs.family("p1")
