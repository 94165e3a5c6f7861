"""Garbage collection beside writers: nothing that is reached is taken, and everything else is, whatever the order."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from itertools import count
from typing import Any

import pytest
from obstore.store import MemoryStore

from singletable import Database, NotFound, Table, Unavailable
from singletable.documents import Document, Documents, Items, ObjectBlobs, flows
from singletable.documents.contents import Content, content_of
from singletable.documents.document import document_model
from singletable.documents.garbage import GarbageRun
from singletable.expressions import AttributeChange
from singletable.foundation import update_if
from singletable.operations import encode, read_item
from singletable.records import flows as records
from singletable.schema import ANY
from tests.documents.models import Comment, Project, Shape, fail, link_shape, note, put_comment, put_shape
from tests.documents.stepping import Stepped, SteppingPort, at_random
from tests.faults.actions import NotThereYet, PartialPage
from tests.faults.port import make_faulty
from tests.faults.rules import Faults, Match, Rule
from tests.support.engines import fresh
from tests.support.raw import put_raw
from tests.support.sampling import fewer_elsewhere, wider_elsewhere

GARBAGE = [Shape(n, n, "garbage") for n in range(3)]
LONG = 2000
LARGE = Shape(9, 9, "x" * 2000)


@pytest.fixture
def db() -> Iterator[Database]:
    with fresh() as made:
        yield made


@pytest.fixture
def memory(db: Database) -> Documents[Project]:
    return Documents(db, Project, blobs=ObjectBlobs(MemoryStore()))


class Scene:
    """A document whose store holds garbage, of which writers are about to need some."""

    def __init__(self, docs: Documents[Project], id: str) -> None:
        self.docs, self.id = docs, id
        docs.create("o1", id)
        self.refs = docs.store(id, Project.shapes, GARBAGE)
        docs.apply(id, [put_shape(id="old", shape=Shape(100, 1)).by("a", 1)])
        docs.submit(
            id, [put_shape(id="s0", shape=GARBAGE[0]).by("a", 2), put_shape(id="s1", shape=GARBAGE[1]).by("b", 1)]
        )
        self.port: Any = SteppingPort(docs.db.port)  # type: ignore[arg-type]

    def process(self) -> Any:
        return flows.process(self.port, self.docs.context, self.id)

    def collect(self) -> Any:
        return flows.collect_garbage(self.port, self.docs.context, self.id)

    def submit(self) -> Any:
        """With arguments that lie in a blob."""
        return flows.apply(self.port, self.docs.context, self.id, [put_shape(id="big", shape=LARGE).by("d", 1)])

    def refer(self) -> Any:
        """To a content that nothing keeps yet: NotFound where garbage collection was first."""
        return flows.apply(self.port, self.docs.context, self.id, [link_shape(id="l", shape=self.refs[2]).by("e", 1)])

    def reached(self) -> set[Content]:
        """What must be in the store when all is done."""
        head = self.docs.head(self.id)
        return {content for id in head.shapes if (content := content_of("shapes", head.shapes.hash_of(id))) is not None}

    def settle(self) -> None:
        """Everything was applied once, everything reached is there, and two runs take all the rest."""
        self.docs.process(self.id)
        head = self.docs.head(self.id)
        assert (head.shapes["s0"], head.shapes["s1"]) == (GARBAGE[0], GARBAGE[1])
        self.docs.collect_garbage(self.id)
        self.docs.collect_garbage(self.id)
        assert self.docs.check(self.id) == []
        contents = self.docs.context.contents("o1", self.id)
        left = {content for content in contents.list() if content.folder == "shapes"}
        assert left == self.reached()


def check_ended(writer: Stepped) -> None:
    """It has ended, well or because a collection that was about to delete what it needs slept for too long."""
    assert writer.is_done
    assert writer.error is None or (isinstance(writer.error, Unavailable) and "take_over" in str(writer.error))


# --- alone ------------------------------------------------------------------------------------------------------------
def test_it_takes_what_nothing_reaches_and_nothing_else(memory: Documents[Project]) -> None:
    memory.create("o1", "p1")
    memory.create("o1", "p10")
    memory.store("p1", Project.shapes, GARBAGE)
    memory.store("p10", Project.shapes, GARBAGE)
    memory.apply("p1", [put_shape(id="s", shape=GARBAGE[0]).by("c", 1), put_shape(id="b", shape=LARGE).by("c", 2)])
    memory.apply("p1", [put_shape(id="s", shape=LARGE).by("c", 3)])
    memory.submit("p1", [put_shape(id="w", shape=Shape(5, 5, "y" * 2000)).by("c", 5)])  # waits for 4
    found = memory.collect_garbage("p1")
    assert (found.deleted, found.kept, found.left) == (2, 0, 0)
    assert memory.head("p1").shapes.all() == {"s": LARGE, "b": LARGE}
    assert memory.at("p1", version=1).shapes["s"] == GARBAGE[0]
    memory.apply("p1", [note(word="4").by("c", 4)])
    memory.process("p1")
    assert memory.head("p1").shapes["w"].text == "y" * 2000
    assert memory.collect_garbage("p1").deleted == 0
    assert memory.collect_garbage("p10").deleted == 3
    assert memory.check("p1") == []
    with pytest.raises(NotFound):
        memory.collect_garbage("p2")


def test_a_rejected_mutation_leaves_garbage_that_is_collected(memory: Documents[Project]) -> None:
    memory.create("o1", "p1")
    memory.apply("p1", [fail().by("c", 1)])
    memory.store("p1", Project.shapes, [Shape(1, 1)])
    assert memory.collect_garbage("p1").deleted == 1


def test_an_idle_run_writes_nothing(memory: Documents[Project]) -> None:
    memory.create("o1", "p1")
    memory.apply("p1", [put_shape(id="s", shape=Shape(1, 1)).by("c", 1)])
    with memory.db.meter() as meter:  # type: ignore[attr-defined]
        memory.collect_garbage("p1")
    assert meter.write_units == 0


def test_it_keeps_what_a_slow_replica_lacks_and_what_lies_on_later_pages(
    db: Database, memory: Documents[Project], faults: Faults
) -> None:
    """Reached by versions, by a record's arguments, by what waits, and by what that refers to."""
    memory.create("o1", "p1")
    for n in range(4):
        memory.apply("p1", [put_shape(id=f"s{n}", shape=Shape(n, n)).by("c", n + 1)])
    memory.apply("p1", [put_shape(id="large", shape=LARGE).by("d", 1)])
    (ref,) = memory.store("p1", Project.shapes, [Shape(7, 7, "referred to")])
    memory.submit("p1", [put_shape(id="w", shape=Shape(5, 5, "y" * 2000)).by("c", 6)])  # waits for 5
    memory.submit("p1", [link_shape(id="l", shape=ref).by("d", 3)])  # waits for 2
    memory.store("p1", Project.shapes, GARBAGE)
    faults.add(Rule(Match("Query", key='"ConsistentRead":true'), PartialPage(1)), Rule(Match(), NotThereYet()))
    make_faulty(db.port, faults)
    assert memory.collect_garbage("p1").deleted == len(GARBAGE)
    assert faults.actions.count(PartialPage(1)) > 10
    faults.clear()
    memory.apply("p1", [note(word="5").by("c", 5), note(word="2").by("d", 2)])
    memory.process("p1")
    assert {"w", "l", "large"} <= set(memory.head("p1").shapes.all())
    assert memory.check("p1") == []


# --- interleaved ------------------------------------------------------------------------------------------------------
def _lengths(memory: Documents[Project]) -> tuple[int, int]:
    """How many steps a writer and a collection take alone."""
    one, other = Scene(memory, "length-1"), Scene(memory, "length-2")
    writer, collector = Stepped(one.process()), Stepped(other.collect())
    writer.finish()
    collector.finish()
    return writer.steps, collector.steps


def _frozen_writer(memory: Documents[Project], stride: int) -> int:
    """The writer stops after each of its steps, at any length: the collection runs whole, once or twice."""
    writers, _ = _lengths(memory)
    done = 0
    for k in range(0, writers + 1, stride):
        for runs in (1, 2):
            scene = Scene(memory, f"frozen-{k}-{runs}")
            writer = Stepped(scene.process())
            writer.advance(k)
            for _ in range(runs):
                Stepped(scene.collect()).finish()
            writer.finish()
            scene.settle()
            done += 1
    return done


def _crossed(memory: Documents[Project], stride: int) -> int:
    """Each stops once at each of its steps, while the other goes on; either may begin."""
    writers, collectors = _lengths(memory)
    number = count()
    pairs = [(k, j) for k in range(1, writers) for j in range(1, collectors)]
    for k, j in pairs[::stride]:
        for writer_first in (True, False):
            scene = Scene(memory, f"crossed-{next(number)}")
            writer, collector = Stepped(scene.process()), Stepped(scene.collect())
            first, second = (writer, collector) if writer_first else (collector, writer)
            first.advance(k if writer_first else j)
            second.advance(j if writer_first else k)
            first.advance(LONG)
            second.advance(LONG)
            collector.finish()
            check_ended(writer)
            scene.settle()
    return next(number)


def _at_random(memory: Documents[Project], runs: int, seed: int) -> int:
    """Two processors, two submitters and two collections, in any order."""
    deleted = 0
    for n in range(runs):
        scene = Scene(memory, f"random-{seed}-{n}")
        flows_ = [scene.process(), scene.process(), scene.submit(), scene.refer(), scene.collect(), scene.collect()]
        *writers, referrer, one, other = at_random(flows_, random.Random(seed * 100_003 + n))
        for writer in writers:
            check_ended(writer)
        assert referrer.error is None or isinstance(referrer.error, (NotFound, Unavailable))
        deleted += one.finish().deleted + other.finish().deleted
        scene.settle()
        assert ("l" in memory.head(scene.id).shapes) == (referrer.error is None)
    return deleted


def test_a_writer_frozen_between_any_two_steps_loses_nothing(memory: Documents[Project]) -> None:
    assert _frozen_writer(memory, stride=wider_elsewhere(3)) > fewer_elsewhere(7)


def test_a_writer_and_a_collection_cross_at_some_steps(memory: Documents[Project]) -> None:
    assert _crossed(memory, stride=wider_elsewhere(53)) > fewer_elsewhere(8)


def test_writers_and_collections_in_random_order(memory: Documents[Project]) -> None:
    assert _at_random(memory, fewer_elsewhere(10), seed=1) >= fewer_elsewhere(3)


@pytest.mark.soak
@pytest.mark.timeout(900)
def test_a_writer_and_a_collection_cross_at_all_steps(memory: Documents[Project]) -> None:
    assert _crossed(memory, stride=1) > 500


@pytest.mark.soak
@pytest.mark.timeout(1800)
def test_writers_and_collections_in_random_order_for_long(memory: Documents[Project]) -> None:
    assert _at_random(memory, 400, seed=2) > 80


# --- what dies --------------------------------------------------------------------------------------------------------
def test_a_collection_that_died_anywhere_is_finished_by_the_next(memory: Documents[Project]) -> None:
    """At `deleting` only by one that is told that it is alone: a run that only sleeps could still delete."""
    _, collectors = _lengths(memory)
    left_behind = 0
    for k in range(1, collectors, 2):
        scene = Scene(memory, f"dead-{k}")
        dead = Stepped(scene.collect())
        dead.advance(k)
        left = memory.collect_garbage(scene.id).left
        left_behind += left
        if left:
            memory.collect_garbage(scene.id, take_over=True)
        scene.settle()
    assert left_behind


def test_a_writer_waits_for_a_deletion_and_says_so_when_it_never_ends(memory: Documents[Project]) -> None:
    """The writer began in the epoch of the collection, which has died between `deleting` and the end."""
    scene = Scene(memory, "stuck")
    needed = {ref.blob.partition("/")[2] for ref in scene.refs[:2]}
    dead = Stepped(scene.collect())
    for _ in range(1000):
        dead.step()
        if any(row.deleting and row.sha256 in needed for row in _condemned(memory, scene.id)):
            break
    with pytest.raises(Unavailable, match="take_over"):
        Stepped(scene.process()).finish()
    assert memory.last_ids(scene.id, ["a", "b"]) == {"a": 1, "b": 0}
    memory.collect_garbage(scene.id, take_over=True)
    scene.settle()


def test_a_run_deletes_only_by_its_own_rows(memory: Documents[Project]) -> None:
    """One looked and slept. A writer took its rows away, and before it committed another run condemned anew."""
    alone = Scene(memory, "alone")
    first = Stepped(alone.collect())
    while not any(row.deleting for row in _condemned(memory, alone.id)):
        first.step()
    scene = Scene(memory, "two-runs")
    memory.submit(scene.id, [put_shape(id="s2", shape=GARBAGE[2]).by("f", 1)])
    asleep, writer, other = Stepped(scene.collect()), Stepped(scene.process()), Stepped(scene.collect())
    asleep.advance(first.steps - 1)
    assert len(_condemned(memory, scene.id)) == len(GARBAGE)
    while _condemned(memory, scene.id):
        writer.step()
    writer.advance(1 + len(GARBAGE))  # it looks once more, and puts the contents
    while len(_condemned(memory, scene.id)) < len(GARBAGE):
        other.step()
    writer.finish()
    assert memory.head(scene.id, collections=[]).version == 2
    asleep.finish()
    assert memory.check(scene.id) == []
    other.finish()
    scene.settle()


def test_what_is_referred_to_again_is_condemned_no_more(memory: Documents[Project]) -> None:
    """By a mutation that waits: it comes when the contents are condemned, and before they are looked for again."""
    memory.create("o1", "p1")
    refs = memory.store("p1", Project.shapes, GARBAGE)
    port: Any = SteppingPort(memory.db.port)  # type: ignore[arg-type]
    collector = Stepped(flows.collect_garbage(port, memory.context, "p1"))
    while len(_condemned(memory, "p1")) < len(GARBAGE):
        collector.step()
    memory.submit("p1", [link_shape(id="l", shape=refs[0]).by("c", 2)])  # waits for 1
    found = collector.finish()
    assert (found.deleted, found.kept, found.left) == (2, 1, 0)
    assert _condemned(memory, "p1") == []
    memory.apply("p1", [note(word="1").by("c", 1)])
    memory.process("p1")
    assert memory.head("p1").shapes.all() == {"l": GARBAGE[0]}
    assert memory.check("p1") == []


def _condemned(docs: Documents[Project], id: str) -> list[Any]:
    kind = docs.context.model.rows.condemned
    return docs.db.run(records.read_all(docs.db.port, kind.by_content(id, ANY)))


def test_a_run_that_wakes_after_another_can_delete_nothing_any_more(memory: Documents[Project]) -> None:
    """The first looked and saw nothing that reaches the contents; then it slept, and a whole run and a writer came."""
    _, collectors = _lengths(memory)
    for k in range(1, collectors, 2):
        scene = Scene(memory, f"asleep-{k}")
        asleep = Stepped(scene.collect())
        asleep.advance(k)
        memory.collect_garbage(scene.id)
        writer = Stepped(scene.process())
        writer.advance(LONG)
        asleep.finish()
        check_ended(writer)
        scene.settle()


def test_the_contents_of_a_collection_that_the_class_has_no_more_stay(memory: Documents[Project]) -> None:
    memory.create("o1", "p1")
    memory.apply("p1", [put_shape(id="s", shape=Shape(1, 1)).by("a", 1), put_comment(id="c", text="kept").by("a", 2)])
    memory.store("p1", Project.shapes, GARBAGE)
    table = Table("documents-test", indexes=["gsi1"])
    fewer = type("Project", (Document,), {"__annotations__": {"shapes": Items[Shape]}}, table=table, index="gsi1")
    assert Documents(memory.db, fewer, blobs=memory.context.store).collect_garbage("p1").deleted == len(GARBAGE)
    assert memory.head("p1").comments["c"] == Comment("kept")
    assert memory.check("p1") == []


def test_a_row_of_a_collection_that_died_is_removed_when_its_content_is_needed(memory: Documents[Project]) -> None:
    """By a mutation that waits: no writer has needed the content so far, who would have removed the row."""
    memory.create("o1", "p1")
    refs = memory.store("p1", Project.shapes, GARBAGE)
    port: Any = SteppingPort(memory.db.port)  # type: ignore[arg-type]
    died = Stepped(flows.collect_garbage(port, memory.context, "p1"))
    while len(_condemned(memory, "p1")) < len(GARBAGE):
        died.step()
    memory.submit("p1", [link_shape(id="l", shape=refs[0]).by("c", 2)])  # waits for 1
    found = memory.collect_garbage("p1")
    assert (found.deleted, found.left) == (2, 0)
    assert _condemned(memory, "p1") == []
    assert memory.check("p1") == []


def test_a_check_counts_what_nothing_reaches(memory: Documents[Project]) -> None:
    """Once for a family; not while a collection is at it; and each content that a member reaches is no finding."""
    memory.create("o1", "p1")
    refs = memory.store("p1", Project.shapes, GARBAGE)
    memory.apply("p1", [put_shape(id="a", shape=LARGE).by("a", 1), link_shape(id="b", shape=refs[0]).by("a", 2)])
    memory.branch("p1", "p2")
    memory.apply("p2", [put_shape(id="c", shape=Shape(1, 2)).by("b", 1)])
    (finding,) = memory.check("p1")
    assert (finding.code, finding.what.split()[:2]) == ("blob.unreached", ["2", "contents"])
    assert memory.check("p2") == []
    memory.collect_garbage("p2")
    assert memory.check("p1") == memory.check("p2") == []
    memory.store("p1", Project.shapes, GARBAGE)
    memory.delete("p1")
    assert [finding.code for finding in memory.check("p2")] == ["blob.unreached"]


def test_what_an_older_version_is_rewritten_to_meanwhile_stays(
    memory: Documents[Project], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As an erasure does, between the two looks of a collection."""
    memory.create("o1", "p1")
    memory.apply("p1", [put_shape(id="s", shape=Shape(1, 1, "first")).by("a", 1)])
    memory.apply("p1", [put_shape(id="s", shape=Shape(2, 2, "second")).by("a", 2)])
    (ref,) = memory.store("p1", Project.shapes, [Shape(3, 3, "rewritten")])
    kind: Any = document_model(Project).rows.collections["shapes"]
    raise_epochs = GarbageRun.raise_epochs

    async def rewritten_first(run: GarbageRun) -> None:
        (part, _) = await records.read_all(run.port, kind.by_number("p1", ANY))
        item = kind.__model__.item(replace(part, items={"s": bytes.fromhex(ref.blob.partition("/")[2])}))
        await put_raw(run.port, kind, read_item(encode(item)))
        epoch = run.context.model.rows.epoch.by_document("p1")
        await run.port.send(update_if(epoch, [AttributeChange("rewritten", {"S": "an erasure's"})], None))
        await raise_epochs(run)

    monkeypatch.setattr(GarbageRun, "raise_epochs", rewritten_first)
    assert memory.collect_garbage("p1").kept == 1
    assert memory.at("p1", version=1).shapes["s"] == Shape(3, 3, "rewritten")
