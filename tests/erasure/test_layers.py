"""Erasing where layers keep what is somebody's: tasks, dead letters of changes, documents with contents, sync."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from singletable import Database, Entity, Key, Table, field
from singletable.documents import (
    AsyncDocuments,
    Document,
    Documents,
    Draft,
    InboxRow,
    Items,
    LocalBlobs,
    Submission,
    Version,
    collection,
)
from singletable.erasure import AsyncErasure, Erasure, SharedScans
from singletable.erasure.items import ErasureRecord
from singletable.errors import NotFound
from singletable.streams import Changes, ChangeWorker, Inserted
from singletable.sync import Sync
from singletable.sync.client_groups import SyncBelongings, declare_items, group_keys
from singletable.tasks import Tasks, TaskWorker
from tests.migrations.test_apply_lease import Pace
from tests.migrations.watching import Killed, before_each
from tests.support.engines import fresh, fresh_async
from tests.support.raw import all_items, put_raw

app = Table("workshop", indexes=["gsi1"], stream="new_and_old")
tasks, changes = Tasks(app, index="gsi1"), Changes(app, name="copies")
LATER = datetime(2030, 1, 1, tzinfo=timezone.utc)


@dataclass(frozen=True)
class Shape:
    text: str


class User(Entity, table=app, type="user"):
    email: str
    id: str

    @app.key
    @staticmethod
    def by_email(email: str) -> Key:
        """One user."""
        return f"user#{email}", "user"


class Remark(Entity, table=app, type="remark"):
    number: int
    by: str = field(belongs_to=User.email)

    @app.key
    @staticmethod
    def by_number(number: int) -> Key:
        """One remark."""
        return f"remark#{number}", "remark"


class Project(Document, table=app, index="gsi1", parent="User", belongs_to=User.id):
    name: str = ""
    shapes: Items[Shape] = collection(personal=[])


@Project.mutation
def put_shape(draft: Draft[Project], *, id: str, text: str) -> None:
    draft.shapes[id] = Shape(text)


@Project.mutation
def drop_shape(draft: Draft[Project], *, id: str) -> None:
    del draft.shapes[id]


@tasks.task(belongs_to={"email": User.email}, tries=1)
def remind(email: str) -> None:
    raise RuntimeError("never reached anybody")


@tasks.task
def tidy(email: str) -> None:
    """It has the same argument, and is nobody's."""


@changes.on(Remark).inserted
def told(change: Inserted[Remark]) -> None:
    if change.new.number < 10:
        raise RuntimeError("nobody listens")


boards = Changes(app, name="boards")


@boards.on(Project.Version).inserted
def shown(change: Inserted[Version]) -> None:
    if change.new.scalars.get("name") == "broken":
        raise RuntimeError("nobody looks")


@boards.on(Project.Inbox).inserted
def arrived(change: Inserted[InboxRow]) -> None:
    if change.new.client == "broken":
        raise RuntimeError("nobody looks")


declare_items(app, belongs_to=User.id)
ADA = User.by_email("ada@example.org")


@pytest.fixture
def db() -> Iterator[Database]:
    with fresh() as made:
        yield made


@pytest.fixture
def documents(db: Database, tmp_path: Path) -> Documents[Project]:
    return Documents(db, Project, blobs=LocalBlobs(tmp_path))


def erasure(db: Database, documents: Documents[Project]) -> Erasure:
    return Erasure(db, app, tasks, changes, documents, SyncBelongings(app))


def fill(db: Database, documents: Documents[Project]) -> None:
    db.create_table(app)
    keys = group_keys(app)
    for id, number in (("ada", 1), ("bob", 2)):
        email = f"{id}@example.org"
        db.create(User(email=email, id=id))
        db.create(Remark(number=number, by=email))
        with db.transaction() as tx:
            tx.add(tasks.at(LATER, remind(email)))
            tx.add(tasks.at(LATER, tidy(email)))
            tx.add(tasks.at(LATER, remind(email), order=f"mail-{id}", key=f"first-{id}"))
            tx.add(tasks.at(LATER + timedelta(days=1), remind(email), order=f"mail-{id}", key=f"second-{id}"))
        for name in ("one", "two"):
            documents.create(id, f"{id}-{name}", name=name)
            for n in range(3):
                said = Submission(put_shape(id="s", text=f"{id} drew {n}"), client="c", id=n + 1)
                documents.apply(f"{id}-{name}", [said])
        db.create(keys.group(group=f"g-{id}", user=id, document="Project", project=f"{id}-one"))
        db.create(keys.client(group=f"g-{id}", client=f"tab-{id}"))


def contents(path: Path) -> str:
    import gzip

    return "".join(gzip.decompress(file.read_bytes()).decode() for file in sorted(path.rglob("*.gz")))


def everything(db: Database, path: Path) -> str:
    """All that is stored of anybody: items, and contents."""
    tables = [*db.run(all_items(db.port, "workshop")), *db.run(all_items(db.port, changes.leases.name))]
    return repr([item for item in tables if item.get("_type", {}).get("S") not in ("_apply",)]) + contents(path)


@pytest.mark.parametrize("shared", [None, SharedScans(sections=3)], ids=["alone", "its scans are jobs"])
def test_tasks_documents_dead_letters_and_bindings(
    db: Database, documents: Documents[Project], tmp_path: Path, shared: SharedScans | None
) -> None:
    fill(db, documents)
    ChangeWorker(db, changes).drain(tries=1)
    assert len(ChangeWorker(db, changes).dead_letters()) == 2
    db.create(Remark(number=11, by="ada@example.org"))
    with db.transaction() as tx:
        tx.add(tasks.after(timedelta(0), remind("ada@example.org"), key="dead"))
    TaskWorker(db, tasks).drain()
    assert [letter.key for letter in TaskWorker(db, tasks).dead_letters()] == ["dead"]
    plan = erasure(db, documents).plan(ADA, shared=shared)
    expected = {"User": 1, "Remark": 2, "task": 4, "dead letter": 1, "Project": 2, "SyncGroup": 1, "SyncClient": 1}
    assert plan.deleted == expected
    assert plan.left_out == ()
    receipt = erasure(db, documents).apply(ADA, shared=shared)
    assert (receipt.deleted, receipt.kept) == (expected, ())
    with pytest.raises(NotFound):
        documents.head("ada-one")
    assert documents.head("bob-one").shapes["s"] == Shape("bob drew 2")
    assert "ada drew" not in contents(tmp_path)
    assert contents(tmp_path).count("bob drew") == 6
    assert [letter.record.dynamodb.keys["pk"]["S"] for letter in ChangeWorker(db, changes).dead_letters()] == [
        "remark#a2"
    ]
    left = everything(db, tmp_path).replace("ada-one", "").replace("ada-two", "")
    assert left.count("ada@") == 1, "the argument of a task that is declared to be nobody's"
    assert [p.what for p in receipt.remaining if p.where == "tasks"] == [
        "1 of tidy name the subject, and no belongs_to= says so: cancel them."
    ]
    assert TaskWorker(db, tasks).check() == []
    assert [finding.code for finding in db.check(app, documents, tasks)] == []


def test_what_cant_be_read_is_told_and_the_rest_goes(db: Database, documents: Documents[Project]) -> None:
    """A task, which may be anybody's; the row by which a document is listed."""
    fill(db, documents)
    for item in db.run(all_items(db.port, "workshop")):
        is_task, is_listing = "first-bob" in repr(item), item["sk"] == {"S": "Project#ada-one"}
        if (is_task and "function" in item) or is_listing:
            name = "function" if is_task else "created"
            db.run(put_raw(db.port, User, item | {name: {"M": {}}}))
    receipt = erasure(db, documents).apply(ADA)
    assert receipt.deleted == {"User": 1, "Remark": 1, "task": 3, "Project": 1, "SyncGroup": 1, "SyncClient": 1}
    assert {(kept.kind, kept.count) for kept in receipt.kept} == {("Listing", 1), ("TaskOrdered", 1)}


def test_a_branch_of_somebody_else_keeps_what_it_shares(
    db: Database, documents: Documents[Project], tmp_path: Path
) -> None:
    fill(db, documents)
    documents.apply(
        "ada-one", [put_shape(id="gone", text="ada took it back").by("c", 4), drop_shape(id="gone").by("c", 5)]
    )
    documents.branch("ada-one", "copy", parent="bob")
    documents.store("ada-one", Project.shapes, [Shape("ada never sent it")])
    plan = erasure(db, documents).plan(ADA)
    assert [each.what.partition("; ")[2] for each in plan.belongings if each.kind == "Project"] == [
        "contents that its branches share stay",
        "",
    ]
    receipt = erasure(db, documents).apply(ADA)
    assert documents.head("copy").shapes["s"] == Shape("ada drew 2")
    assert "branches of Project" in [place.where for place in receipt.remaining]
    assert [
        text for text in ("ada took it back", "ada never sent it", "ada drew 1") if text in contents(tmp_path)
    ] == []
    assert db.check(app, documents, tasks) == []


def test_a_document_that_is_half_deleted_is_found_again(
    db: Database, documents: Documents[Project], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(db, documents)
    expected = erasure(db, documents).plan(ADA).deleted

    def kill(operation: Any) -> None:
        if type(operation).__name__ == "BatchWriteItem":  # the first of its items, after it was hidden
            raise Killed

    with monkeypatch.context() as patched:
        before_each(db, patched, kill)
        with pytest.raises(Killed):
            erasure(db, documents).apply(ADA)
    (record,) = db.all(ErasureRecord.of(app).by_id())
    assert set(record.again) == {"Project#ada-one", "Project#ada-two"}
    assert erasure(db, documents).plan(ADA).deleted != expected, "no list has it any more"
    puts = 0

    def kill_later(operation: Any) -> None:
        nonlocal puts
        puts += type(operation).__name__ == "PutItem"
        if puts == 3:  # the lease; that it goes on; and now what is deleted next
            raise Killed

    with monkeypatch.context() as patched:
        Pace(db, patched)
        before_each(db, patched, kill_later)
        with pytest.raises(Killed):
            erasure(db, documents).apply(ADA)
    with monkeypatch.context() as patched:
        Pace(db, patched)
        receipt = erasure(db, documents).apply(ADA)
    assert (receipt.deleted, receipt.runs) == (expected, 3)
    (record,) = db.all(ErasureRecord.of(app).by_id())
    assert record.again == []
    assert "ada drew" not in contents(tmp_path)
    assert db.check(app, documents, tasks) == []


def test_layers_that_are_declared_are_found(db: Database, documents: Documents[Project], tmp_path: Path) -> None:
    fill(db, documents)
    expected = erasure(db, documents).plan(ADA)
    found = Erasure(db, app, blobs=LocalBlobs(tmp_path)).plan(ADA)
    assert (found.deleted, found.left_out) == (expected.deleted, ())
    assert found.deleted.keys() >= {"task", "Project", "SyncGroup", "SyncClient"}
    without = Erasure(db, app).plan(ADA)
    assert without.left_out == ("documents of Project: it has no blob store here. Pass blobs=, or --blobs",)
    assert without.deleted == {name: count for name, count in expected.deleted.items() if name != "Project"}


async def test_sync_is_a_layer_by_itself(tmp_path: Path) -> None:
    async with fresh_async() as db:
        await db.create_table(app)
        await db.create(User(email="ada@example.org", id="ada"))
        await db.create(group_keys(app).group(group="g", user="ada", document="Project", project="p"))
        documents = AsyncDocuments(db, Project, blobs=LocalBlobs(tmp_path))
        sync = Sync(documents, authenticate=lambda request: "ada", authorise=lambda *args: True, belongs_to=User.id)
        plan = await AsyncErasure(db, app, sync, documents).plan(ADA)
        assert (plan.deleted, plan.left_out) == ({"User": 1, "SyncGroup": 1}, ())


def test_dead_letters_of_documents(db: Database, documents: Documents[Project], tmp_path: Path) -> None:
    """Of a document that goes, and of a mutation of theirs in one that stays. Those of others stay."""
    fill(db, documents)
    documents.create("ada", "ada-broken", name="broken")
    documents.create("bob", "bob-broken", name="broken")
    for client, who in (("broken", "ada"), ("sound", "bob")):
        said = put_shape(id=who, text=f"{who} said").by(client, 1, principal=who)
        documents.submit("bob-one", [said])
    documents.submit("ada-one", [put_shape(id="b", text="to ada").by("broken", 1, principal="bob")])
    worker = ChangeWorker(db, boards)
    worker.drain(tries=1)
    assert len(worker.dead_letters()) == 4
    receipt = Erasure(db, app, documents).apply(ADA)
    assert receipt.deleted["dead letter"] == 3
    assert [letter.record.dynamodb.keys["pk"]["S"] for letter in worker.dead_letters()] == ["Project#bob-broken"]
    assert [p.where for p in receipt.remaining if "clients" in p.where] == ["documents at clients"]
