"""Deleting a document: hidden at once, resumable anywhere, and nothing of a branch goes with it."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest
from obstore.store import MemoryStore

from singletable import AlreadyExists, NotFound
from singletable.documents import Documents, ObjectBlobs, flows
from singletable.documents.document import document_model
from singletable.foundation import ANY, model_for
from tests.documents.models import Project, Shape, app, delete_shape, put_comment, put_shape
from tests.documents.shells import World
from tests.documents.stepping import Stepped, SteppingPort, at_random
from tests.faults.actions import Unprocessed
from tests.faults.port import make_faulty
from tests.faults.rules import Faults, Match, Rule
from tests.support.engines import fresh
from tests.support.findings import but_garbage

OLD, NEW = Shape(1, 1, "old"), Shape(2, 2, "new")


@pytest.fixture
def memory() -> Iterator[Documents[Project]]:
    with fresh() as db:
        yield Documents(db, Project, blobs=ObjectBlobs(MemoryStore()))


def left_of(docs: Documents[Project], id: str) -> list[str]:
    """The sort keys of a document's partition."""
    rows = document_model(Project).rows
    queries = (
        rows.version.by_number(id, ANY),
        *(kind.by_number(id, ANY) for kind in rows.collections.values()),
        rows.mutation.by_id(id, ANY),
        rows.client.by_client(id, ANY),
        rows.inbox.by_id(id, ANY),
        rows.epoch.by_document(id),
        rows.condemned.by_content(id, ANY),
        rows.tag.by_name(id, ANY),
        rows.branch.by_branch(id, ANY),
    )
    found = [row for query in queries for row in docs.db.all(query)]  # type: ignore[attr-defined]
    return sorted(str(model_for(row).key_item(model_for(row).key_of(row))["sk"]["S"]) for row in found)


def written(docs: Documents[Project], id: str) -> None:
    docs.create("o1", id)
    docs.apply(id, [put_shape(id="s", shape=OLD).by("c", 1), put_comment(id="r", text="x" * 2000).by("c", 2)])
    docs.apply(id, [put_shape(id="s", shape=NEW).by("c", 3)])
    docs.submit(id, [put_shape(id="waits", shape=NEW).by("c", 5)])


async def test_a_deleted_document_is_gone_for_every_verb(world: World) -> None:
    docs = world.docs
    await docs.create("o1", "p1", name="Atlas")
    await docs.apply("p1", [put_shape(id="s", shape=OLD).by("c", 1)])
    page = await docs.history("p1", limit=1)
    await docs.delete("p1")
    for verb in (
        docs.head("p1"),
        docs.head("p1", collections=[]),
        docs.at("p1", version=1),
        docs.at("p1", time=page.items[0].time),
        docs.items("p1", Project.shapes),
        docs.diff("p1", 0, 1),
        docs.parent("p1"),
        docs.submit("p1", [put_shape(id="t", shape=OLD).by("c", 2)]),
        docs.process("p1"),
        docs.restore("p1", version=1, by="c"),
        docs.branch("p1", "p2"),
        docs.history("p1", after=page.cursor),
        docs.collect_garbage("p1"),
        docs.delete("p1"),
    ):
        with pytest.raises(NotFound):
            await verb
    assert list(await docs.page("o1")) == []
    assert await docs.last_ids("p1", ["c"]) == {"c": 0}
    with pytest.raises(AlreadyExists, match="not used again"):
        await docs.create("o1", "p1")


def test_what_the_service_leaves_undone_is_deleted_too(memory: Documents[Project]) -> None:
    """A throttled table answers a batch with those of its deletes that were not made."""
    written(memory, "p1")
    faults = Faults(1)
    faults.add(Rule(Match("BatchWriteItem", probability=0.6), Unprocessed(1)))
    make_faulty(memory.db.port, faults)
    memory.delete("p1")
    assert Unprocessed(1) in faults.actions
    faults.clear()
    assert left_of(memory, "p1") == ["GcEpoch"]


def test_it_is_hidden_when_the_first_transaction_has_happened(memory: Documents[Project]) -> None:
    """Whatever is left: the deletion dies after each of its steps, and is called again."""
    for k in range(1, 200):
        id = f"p{k}"
        written(memory, id)
        port: Any = SteppingPort(memory.db.port)  # type: ignore[arg-type]
        dying = Stepped(flows.delete(port, memory.context, id))
        dying.advance(k)
        if dying.is_done:
            break
        hidden = id not in [row.document_id for row in memory.page("o1", limit=1000)]
        if hidden:
            for verb in (
                lambda id=id: memory.head(id),
                lambda id=id: memory.at(id, version=1),
                lambda id=id: memory.items(id, Project.shapes),
                lambda id=id: memory.process(id),
            ):
                with pytest.raises(NotFound):
                    verb()
            assert {finding.code for finding in memory.check(id)} <= {"document.deleting"}
            with_rest = memory.db.run(_delete_again(memory, id))
            assert with_rest in (None, "gone")
        else:
            assert memory.head(id).shapes.all() == {"s": NEW}
            memory.delete(id)
        assert left_of(memory, id) == ["GcEpoch"]
        assert list(memory.context.contents("o1", id).list()) == []
    else:
        pytest.fail("the deletion never ended")
    assert k > 8
    assert memory.db.check(app) == []  # type: ignore[attr-defined]


async def _delete_again(docs: Documents[Project], id: str) -> str | None:
    try:
        await flows.delete(docs.db.port, docs.context, id)
    except NotFound:
        return "gone"
    return None


def test_an_origin_goes_and_its_branches_stay(memory: Documents[Project]) -> None:
    written(memory, "p1")
    memory.branch("p1", "p2", version=1)
    memory.branch("p1", "p3")
    memory.branch("p3", "p4")
    memory.delete("p1")
    assert memory.head("p2").shapes.all() == {"s": OLD}
    assert memory.head("p4").comments.all()["r"].text == "x" * 2000
    kept = [key for key in left_of(memory, "p1") if key.startswith(("Shapes#", "Remarks#"))]
    assert len(kept) == 3  # both versions of the shapes, and the comments: no more than branches began with
    memory.delete("p3")
    assert memory.head("p4").shapes.all() == {"s": NEW}
    found = memory.collect_garbage("p4")
    assert found.deleted == 1  # the arguments of a comment, which only p1's history had
    memory.apply("p4", [put_shape(id="t", shape=Shape(4, 4)).by("d", 1)])
    assert [memory.check("p2"), memory.check("p4")] == [[], []]
    memory.delete("p2")
    assert memory.collect_garbage("p4").deleted == 1  # the old shape
    assert memory.check("p4") == []
    memory.delete("p4")
    assert [left_of(memory, id) for id in ("p1", "p2", "p3", "p4")] == [["GcEpoch"]] * 4
    assert list(memory.context.contents("o1", "p1").list()) == []


def test_deleting_beside_writers_branches_and_collections(memory: Documents[Project]) -> None:
    """In any order: a branch that was made is whole, and what was not hidden in time was written before."""
    branches = 0
    for n in range(12):
        id, made = f"p-{n}", f"q-{n}"
        written(memory, id)
        port: Any = SteppingPort(memory.db.port)  # type: ignore[arg-type]
        context = memory.context
        deleter, brancher, writer, collector = at_random(
            [
                flows.delete(port, context, id),
                flows.branch(port, context, id, made),
                flows.apply(port, context, id, [delete_shape(id="s").by("d", 1)]),
                flows.collect_garbage(port, context, id),
            ],
            random.Random(n),
        )
        deleter.finish()
        for each in (brancher, writer, collector):
            assert each.error is None or isinstance(each.error, NotFound), each.error
        with pytest.raises(NotFound):
            memory.head(id)
        if brancher.error is None:
            branches += 1
            assert but_garbage(memory.check(made)) == []
            assert set(memory.head(made).shapes.all().values()) <= {NEW}
            memory.collect_garbage(made)
            assert memory.check(made) == []
        else:
            assert [row for row in left_of(memory, id) if not row.startswith("Inbox#")] == ["GcEpoch"]
    assert branches > 2
