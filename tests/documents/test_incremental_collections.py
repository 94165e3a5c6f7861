"""A collection of garbage reads what is new since the one before, and deletes nothing that is reached."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator
from contextlib import suppress
from hashlib import sha256
from typing import Any

import pytest
from hypothesis import settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test
from obstore.store import MemoryStore

from singletable import Database, Meter, Table
from singletable.documents import Document, Documents, Items, ObjectBlobs, family_look, flows
from singletable.documents.canonical_json import digest_of
from singletable.documents.contents import Content
from singletable.documents.family_rewrite import FamilyRewrite, _update
from singletable.documents.personal import Erased
from singletable.errors import NotFound
from singletable.flow import drive
from singletable.foundation import place_in
from singletable.operations import Item, batch_write
from singletable.records import flows as records
from singletable.schema import ANY
from tests.documents.models import Comment, Project, Shape, app, link_shape, put_comment, put_shape, put_shapes
from tests.documents.stepping import Stepped, SteppingPort
from tests.support.engines import fresh
from tests.support.raw import all_items
from tests.support.sampling import fewer_elsewhere

CONTENTS = re.compile(r'\$blob\\?": ?\\?"(\w+)/([0-9a-f]{64})')


@pytest.fixture
def db() -> Iterator[Database]:
    with fresh() as made:
        yield made


@pytest.fixture
def docs(db: Database) -> Documents[Project]:
    return Documents(db, Project, blobs=ObjectBlobs(MemoryStore()))


@pytest.fixture(autouse=True)
def noted_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(family_look, "_LEAST_VERSIONS", 0)


def edit(docs: Documents[Project], id: str, count: int, first: int = 0) -> None:
    last = docs.last_ids(id, ["c"])["c"]
    for n in range(count):
        docs.apply(id, [put_shape(id=f"s{n % 3}", shape=Shape(first + n, n)).by("c", last + 1 + n)])


def wide(docs: Documents[Project], id: str) -> None:
    docs.create("o1", id)
    docs.apply(id, [put_shapes(count=120).by("w", 1)])


def read_units(docs: Documents[Project], id: str) -> float:
    with Meter() as meter:
        docs.collect_garbage(id)
    return float(meter.read_units)


def stored(docs: Documents[Project], root: str) -> set[Content]:
    return set(docs.context.contents("o1", root).list())


def reached(items: list[dict[str, Any]]) -> set[Content]:
    """What the items of a table refer to, read from their bytes: the plainest way."""
    contents = set[Content]()
    for item in items:
        word = item["sk"]["S"].partition("#")[0]
        folder = {"Shapes": "shapes", "Remarks": "remarks"}.get(word)
        if folder is not None:
            contents |= {Content(folder, base64.b64decode(each["B"])) for each in item["items"]["M"].values()}
        if "arguments_blob" in item:
            contents.add(Content("mutations", base64.b64decode(item["arguments_blob"]["B"])))
        contents |= {Content(found[0], bytes.fromhex(found[1])) for found in CONTENTS.findall(str(item))}
    return contents


def rewriting(docs: Documents[Project], port: Any, id: str, to: Shape) -> tuple[Content, Any]:
    """The content, and the flow, of a change of the oldest version of the shapes where it lies: an erasure's own."""
    family = FamilyRewrite(port, docs.context, id, Erased([], None), set())
    family.contents = docs.context.contents("o1", id)
    data = f'{{"text":"{to.text}","x":{to.x},"y":{to.y}}}'.encode()
    content = Content("shapes", digest_of(data))
    kind = docs.context.model.rows.collections["shapes"]
    part = drive(records.read_all(docs.db.port, kind.by_number(id, ANY)))[0]
    changed = _update(part, items={**part.items, "s0": content.digest})
    return content, family._write([(changed, {content: data})])


def rewrite(docs: Documents[Project], id: str, to: Shape) -> Content:
    content, flow = rewriting(docs, docs.db.port, id, to)
    drive(flow)
    return content


def _stepping(docs: Documents[Project]) -> Any:
    return SteppingPort(docs.db.port)  # type: ignore[arg-type]


# --- what it costs ----------------------------------------------------------------------------------------------------
def test_it_costs_what_is_new(docs: Documents[Project]) -> None:
    """Of a document whose map of shapes takes two units in each version."""
    wide(docs, "p1")
    edit(docs, "p1", 40)
    first = read_units(docs, "p1")
    idle = read_units(docs, "p1")
    edit(docs, "p1", 5)
    five = read_units(docs, "p1")
    edit(docs, "p1", 10)
    ten = read_units(docs, "p1")
    assert first >= 60
    assert idle <= 9
    assert five <= idle + 5 * 2
    assert ten <= idle + 10 * 2


def test_garbage_costs_a_second_look_at_what_is_new_alone(docs: Documents[Project]) -> None:
    wide(docs, "p1")
    edit(docs, "p1", 40)
    docs.store("p1", Project.shapes, [Shape(9, 9, "garbage")])
    first = read_units(docs, "p1")
    docs.store("p1", Project.shapes, [Shape(8, 8, "garbage")])
    assert read_units(docs, "p1") <= 25 < first
    assert stored(docs, "p1") == reached(drive(all_items(docs.db.port, app.name)))


def test_few_new_versions_write_no_note(docs: Documents[Project], monkeypatch: pytest.MonkeyPatch) -> None:
    """It would be written whole for each of them. They are read again with the next ones."""
    monkeypatch.setattr(family_look, "_LEAST_VERSIONS", 16)
    docs.create("o1", "p1")
    edit(docs, "p1", 15)
    docs.collect_garbage("p1")
    assert notes(docs) == []
    edit(docs, "p1", 1)
    docs.collect_garbage("p1")
    (note,) = notes(docs)
    edit(docs, "p1", 15)
    docs.collect_garbage("p1")
    assert notes(docs) == [note]


def notes(docs: Documents[Project]) -> list[str]:
    return list(docs.context.store.list("=looked/"))


def test_each_new_version_record_and_waiting_mutation_is_read(docs: Documents[Project]) -> None:
    """One at a time. The arguments of a large mutation lie in a blob, which its record alone reaches."""
    docs.create("o1", "p1")
    edit(docs, "p1", 3)
    docs.collect_garbage("p1")
    for n in range(3):
        edit(docs, "p1", 1, first=100 + n)
        docs.collect_garbage("p1")
        docs.apply("p1", [put_shape(id="s", shape=Shape(n, n, "large" * 500)).by("d", n + 1)])
        docs.collect_garbage("p1")
        assert docs.check("p1") == []
    (ref,) = docs.store("p1", Project.shapes, [Shape(5, 5, "waits")])
    docs.submit("p1", [link_shape(id="l", shape=ref).by("e", 2)])
    edit(docs, "p1", 1, first=200)
    for _ in range(2):
        assert docs.collect_garbage("p1").deleted == 0
    waiting = next(item for item in drive(all_items(docs.db.port, app.name)) if item["sk"]["S"].startswith("Inbox"))
    drive(docs.db.port.send(batch_write(app.name, deletes=[{"pk": waiting["pk"], "sk": waiting["sk"]}])))
    assert docs.collect_garbage("p1").deleted == 1  # a note that had it would keep it for ever
    assert stored(docs, "p1") == reached(drive(all_items(docs.db.port, app.name)))


# --- what a note is not taken for -------------------------------------------------------------------------------------
def test_a_note_that_is_gone_or_damaged_costs_a_whole_look(docs: Documents[Project]) -> None:
    docs.create("o1", "p1")
    edit(docs, "p1", 20)
    docs.collect_garbage("p1")
    store = docs.context.store
    damages: list[Any] = [
        lambda data: None,
        lambda data: data[:-3],
        lambda data: b"{}",
        lambda data: re.sub(rb'"contents":{.*?}', b'"contents":{}', data),
    ]
    for n, damage in enumerate(damages):
        (path,) = notes(docs)
        data = store.get(path, 1 << 20)
        assert data is not None
        store.delete(path)
        if (content := damage(data)) is not None:
            assert content != data
            store.put(path, content)
        docs.store("p1", Project.shapes, [Shape(n, 7, "garbage")])
        assert docs.collect_garbage("p1").deleted == 1
        assert docs.check("p1") == []


def test_what_an_erasure_rewrites_is_reached(docs: Documents[Project]) -> None:
    """Also where the collection before has looked at that version already."""
    docs.create("o1", "p1")
    edit(docs, "p1", 5)
    docs.collect_garbage("p1")
    for n in range(3):
        content = rewrite(docs, "p1", Shape(3, n, "rewritten"))
        docs.collect_garbage("p1")
        docs.collect_garbage("p1")
        assert content in stored(docs, "p1")
        assert docs.at("p1", version=1).shapes["s0"] == Shape(3, n, "rewritten")


def test_what_an_older_library_rewrote_is_reached(docs: Documents[Project]) -> None:
    """Its erasure raises the epoch after it, and says nothing else."""
    docs.create("o1", "p1")
    edit(docs, "p1", 5)
    docs.collect_garbage("p1")
    (ref,) = docs.store("p1", Project.shapes, [Shape(3, 3, "rewritten")])
    sha256 = ref.blob.partition("/")[2]
    stored_items: list[Any] = drive(all_items(docs.db.port, app.name))
    part = next(item for item in stored_items if item["sk"]["S"].startswith("Shapes#"))
    epoch = next(item for item in stored_items if item["sk"]["S"] == "GcEpoch")
    digest = base64.b64encode(bytes.fromhex(sha256)).decode()
    rewritten = {**part, "items": {"M": {**part["items"]["M"], "s0": {"B": digest}}}}
    raised = {**epoch, "epoch": {"N": str(int(epoch["epoch"]["N"]) + 1)}}
    drive(docs.db.port.send(batch_write(app.name, [rewritten, raised])))
    docs.collect_garbage("p1")
    assert docs.at("p1", version=1).shapes["s0"] == Shape(3, 3, "rewritten")


def test_what_an_erasure_rewrites_beside_a_collection_is_reached(docs: Documents[Project]) -> None:
    """At every step of the collection; and the collection after it takes no note of before."""
    steps = 0
    while True:
        id = f"p{steps}"
        docs.create("o1", id)
        edit(docs, id, 4)
        docs.collect_garbage(id)
        docs.store(id, Project.shapes, [Shape(3, 3, "rewritten"), Shape(1, 9, "garbage")])
        run = Stepped(flows.collect_garbage(_stepping(docs), docs.context, id))
        run.advance(steps)
        if run.is_done:
            break
        content, flow = rewriting(docs, _stepping(docs), id, Shape(3, 3, "rewritten"))
        erasing = Stepped(flow)
        erasing.advance(30)
        run.finish()  # first where the erasure waits for it
        erasing.finish()
        docs.collect_garbage(id)
        assert content in stored(docs, id)
        assert docs.check(id) == []
        steps += 1
    assert steps > 20


def test_a_collection_that_the_class_gains_is_read_whole(db: Database) -> None:
    """A program without it has noted versions that have it."""

    table, annotations = Table("documents-test", indexes=["gsi1"]), {"shapes": Items[Shape]}
    fewer: Any = type("Project", (Document,), {"__annotations__": annotations}, table=table, index="gsi1")
    blobs = ObjectBlobs(MemoryStore())
    old, new = Documents(db, fewer, blobs=blobs), Documents(db, Project, blobs=blobs)
    new.create("o1", "p1")
    new.apply("p1", [put_comment(id="c", text="kept").by("c", 1)])
    new.apply("p1", [put_comment(id="c", text="now").by("c", 2)])
    old.collect_garbage("p1")
    new.collect_garbage("p1")
    assert new.at("p1", version=1).comments["c"] == Comment("kept")
    assert new.check("p1") == []


def test_versions_that_have_the_numbers_of_others_are_read(docs: Documents[Project]) -> None:
    """The table is set back to version 2, but for the epoch, which names a note of version 6; and edited again."""
    docs.create("o1", "p1")
    edit(docs, "p1", 2)
    before: list[Any] = drive(all_items(docs.db.port, app.name))
    edit(docs, "p1", 4, first=50)
    docs.collect_garbage("p1")
    places = {place_in(app, item) for item in before}
    later = [item for item in drive(all_items(docs.db.port, app.name)) if place_in(app, item) not in places]
    gone = [{"pk": item["pk"], "sk": item["sk"]} for item in later]
    drive(docs.db.port.send(batch_write(app.name, deletes=gone)))
    drive(docs.db.port.send(batch_write(app.name, [item for item in before if item["sk"]["S"] != "GcEpoch"])))
    edit(docs, "p1", 6, first=70)
    docs.collect_garbage("p1")
    docs.collect_garbage("p1")
    assert docs.check("p1") == []
    assert stored(docs, "p1") == reached(drive(all_items(docs.db.port, app.name)))


def test_a_table_that_was_set_back_before_the_note_is_read(docs: Documents[Project]) -> None:
    """To version 2, but for the epoch, which names a note of version 6: no version from there on is left."""
    docs.create("o1", "p1")
    edit(docs, "p1", 2)
    before: list[Any] = drive(all_items(docs.db.port, app.name))
    edit(docs, "p1", 4, first=50)
    docs.collect_garbage("p1")
    places = {place_in(app, item) for item in before}
    later = [item for item in drive(all_items(docs.db.port, app.name)) if place_in(app, item) not in places]
    gone = [{"pk": item["pk"], "sk": item["sk"]} for item in later]
    drive(docs.db.port.send(batch_write(app.name, deletes=gone)))
    drive(docs.db.port.send(batch_write(app.name, [item for item in before if item["sk"]["S"] != "GcEpoch"])))
    docs.collect_garbage("p1")
    assert docs.check("p1") == []
    assert stored(docs, "p1") == reached(drive(all_items(docs.db.port, app.name)))


def test_a_note_of_another_version_of_the_library_is_not_taken(docs: Documents[Project]) -> None:
    docs.create("o1", "p1")
    edit(docs, "p1", 3)
    docs.collect_garbage("p1")
    data = b'{"form": 2}'
    docs.context.store.put(f"=looked/o1/projects/p1/{sha256(data).hexdigest()}.json", data)
    epoch = next(item for item in drive(all_items(docs.db.port, app.name)) if item["sk"]["S"] == "GcEpoch")
    other: Any = {**epoch, "looked": {"B": base64.b64encode(sha256(data).digest()).decode()}}
    drive(docs.db.port.send(batch_write(app.name, [other])))
    docs.store("p1", Project.shapes, [Shape(1, 7, "garbage")])
    assert docs.collect_garbage("p1").deleted == 1
    assert docs.check("p1") == []


def test_a_collection_beside_a_deletion_leaves_no_note(docs: Documents[Project]) -> None:
    """The document is deleted at any of its steps: a note would stay, with its id, when nobody collects there again."""
    steps = 0
    while True:
        id = f"p{steps}"
        docs.create("o1", id)
        edit(docs, id, 3)
        run = Stepped(flows.collect_garbage(_stepping(docs), docs.context, id))
        run.advance(steps)
        if run.is_done:
            break
        docs.delete(id)
        with suppress(NotFound):
            run.finish()
        assert notes(docs) == []
        steps += 1
    assert steps > 8


def test_what_a_deleted_branch_reached_goes(docs: Documents[Project]) -> None:
    docs.create("o1", "p1")
    edit(docs, "p1", 3)
    docs.branch("p1", "b1")
    edit(docs, "b1", 3, first=100)
    docs.collect_garbage("p1")
    docs.delete("b1")
    assert docs.collect_garbage("p1").deleted == 3
    assert docs.check("p1") == []


def test_the_notes_of_a_deleted_family_go(docs: Documents[Project]) -> None:
    docs.create("o1", "p1")
    edit(docs, "p1", 3)
    docs.collect_garbage("p1")
    assert len(notes(docs)) == 1
    docs.delete("p1")
    assert (notes(docs), stored(docs, "p1")) == ([], set())


def test_another_table_takes_no_note(docs: Documents[Project], monkeypatch: pytest.MonkeyPatch) -> None:
    """A copy of the table, which takes the store over: its items may be those of another moment."""
    wide(docs, "p1")
    edit(docs, "p1", 20)
    docs.collect_garbage("p1")
    docs.context.store.delete("=collectors/o1/projects/p1/table.json")
    monkeypatch.setattr("singletable.documents.collectors.table_identity", lambda described: "another")
    assert read_units(docs, "p1") > 30


# --- any order of anything --------------------------------------------------------------------------------------------
class Collections(RuleBasedStateMachine):
    """Edits, branches, deletions, erasures, collections that are killed anywhere, rewinds of the table with and without
    the row that names the note. Nothing that is reached is ever missing; at the end nothing else is there."""

    def __init__(self) -> None:
        super().__init__()
        self.entered = fresh()
        self.db = self.entered.__enter__()
        self.store = ObjectBlobs(MemoryStore())
        self.docs = Documents(self.db, Project, blobs=self.store)
        self.docs.create("o1", "p0")
        self.count = 0
        self.alive = ["p0"]
        self.saved: tuple[list[Item], dict[str, bytes], list[str]] | None = None

    def teardown(self) -> None:
        try:
            for _ in range(2):
                self.docs.collect_garbage("p0", take_over=True)
            assert self.left() == self.reached()
            assert [finding for id in self.alive for finding in self.docs.check(id)] == []
        finally:
            self.entered.__exit__(None, None, None)

    def items(self) -> list[Any]:
        return self.db.run(all_items(self.db.port, app.name))

    def reached(self) -> set[Content]:
        return reached(self.items())

    def left(self) -> set[Content]:
        return stored(self.docs, "p0")

    def one(self, index: int) -> str:
        return self.alive[index % len(self.alive)]

    @invariant()
    def nothing_reached_is_missing(self) -> None:
        assert self.reached() <= self.left()

    @rule(index=st.integers(0, 5), item=st.integers(0, 2), repeat=st.booleans())
    def edit(self, index: int, item: int, repeat: bool) -> None:
        """Of a new content, or of one that an earlier version may have had."""
        id = self.one(index)
        self.count += 0 if repeat else 1
        last = self.docs.last_ids(id, ["c"])["c"]
        text = "large" * 500 if self.count % 3 == 0 else ""
        self.docs.apply(id, [put_shape(id=f"s{item}", shape=Shape(self.count % 7, 0, text)).by("c", last + 1)])

    @rule(index=st.integers(0, 5), text=st.integers(0, 3))
    def comment(self, index: int, text: int) -> None:
        id = self.one(index)
        last = self.docs.last_ids(id, ["d"])["d"]
        self.docs.apply(id, [put_comment(id="c", text=f"{text}").by("d", last + 1)])

    @rule(index=st.integers(0, 5), submits=st.booleans())
    def garbage(self, index: int, submits: bool) -> None:
        """Contents that nothing reaches; or that only the inbox reaches, as the mutation waits for another."""
        id = self.one(index)
        self.count += 1
        (ref,) = self.docs.store(id, Project.shapes, [Shape(self.count, 1, "stored")])
        if submits:
            client = f"w{self.count}"
            self.docs.submit(id, [link_shape(id="l", shape=ref).by(client, 2)])
            self.waits = (id, client)

    waits: tuple[str, str] | None = None

    @precondition(lambda self: self.waits is not None and self.waits[0] in self.alive)
    @rule()
    def arrive(self) -> None:
        """The mutation that another waits for."""
        assert self.waits is not None
        id, client = self.waits
        self.docs.apply(id, [put_shape(id="a", shape=Shape(1, 1)).by(client, 1)])
        self.docs.process(id)
        self.waits = None

    @rule(index=st.integers(0, 5))
    def branch(self, index: int) -> None:
        self.count += 1
        new = f"b{self.count}"
        self.docs.branch(self.one(index), new)
        self.alive.append(new)

    @precondition(lambda self: len(self.alive) > 1)
    @rule(index=st.integers(0, 5))
    def delete(self, index: int) -> None:
        id = self.alive.pop(1 + index % (len(self.alive) - 1))
        self.docs.delete(id)

    @rule(text=st.integers(0, 2), beside=st.booleans())
    def erase(self, text: int, beside: bool) -> None:
        """After a collection that died, or beside one that goes on when the erasure has ended."""
        if not any("Shapes#" in item["sk"]["S"] and item["pk"]["S"].endswith("#p0") for item in self.items()):
            return
        run = Stepped(flows.collect_garbage(_stepping(self.docs), self.docs.context, "p0", take_over=True))
        run.advance(1 + 18 * text)
        _, flow = rewriting(self.docs, _stepping(self.docs), "p0", Shape(text, 5, "rewritten"))
        erasing = Stepped(flow)
        erasing.advance(40)
        if beside or not erasing.is_done:
            run.finish()
        erasing.finish()

    @rule()
    def collect(self) -> None:
        self.docs.collect_garbage("p0", take_over=True)

    @rule(steps=st.integers(1, 90), erases=st.booleans())
    def die(self, steps: int, erases: bool) -> None:
        """A collection that is killed; an edit, or an erasure, may come before its end."""
        run = Stepped(flows.collect_garbage(_stepping(self.docs), self.docs.context, "p0"))
        run.advance(steps)
        if not run.is_done and not erases:
            self.docs.collect_garbage("p0", take_over=True)

    @rule()
    def save(self) -> None:
        blobs = {path: self.store.get(path, 1 << 20) or b"" for path in self.store.list("")}
        self.saved = self.items(), blobs, [*self.alive]

    @precondition(lambda self: self.saved is not None)
    @rule(keeps_epochs=st.booleans())
    def rewind(self, keeps_epochs: bool) -> None:
        """The table as it was, in its place, with the contents that have gone since. Where a restore is of several
        moments, the row that names the note may be of a later one."""
        assert self.saved is not None
        items, blobs, alive = self.saved
        if keeps_epochs and alive != self.alive:
            return
        now = {place_in(app, item): item for item in self.items()}
        then = {place_in(app, item): item for item in items}
        kept = {place: item for place, item in now.items() if keeps_epochs and place[1] == "GcEpoch"}
        self.put([*then.values()], [now[place] for place in now.keys() - then.keys()], kept)
        for path, data in blobs.items():
            self.store.put(path, data)
        self.alive, self.waits = [*alive], None

    def put(self, items: list[Any], gone: list[Any], kept: dict[Any, Any]) -> None:
        table = app.name
        keys = [{"pk": item["pk"], "sk": item["sk"]} for item in gone if place_in(app, item) not in kept]
        puts = [kept.get(place_in(app, item), item) for item in items]
        for i in range(0, len(puts), 25):
            self.db.run(self.db.port.send(batch_write(table, puts[i : i + 25])))
        for i in range(0, len(keys), 25):
            self.db.run(self.db.port.send(batch_write(table, deletes=keys[i : i + 25])))


def test_nothing_that_is_reached_is_deleted_in_any_order() -> None:
    run_state_machine_as_test(
        Collections, settings=settings(max_examples=fewer_elsewhere(12), stateful_step_count=25, deadline=None)
    )


@pytest.mark.soak
@pytest.mark.timeout(900)
def test_nothing_that_is_reached_is_deleted_in_any_order_for_long() -> None:
    run_state_machine_as_test(Collections, settings=settings(max_examples=250, stateful_step_count=50, deadline=None))
