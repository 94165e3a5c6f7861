"""Backups hold contents: what a backup's documents reach stays in the store until the backup is deleted."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from random import Random
from typing import Any

import pytest
from msgspec.structs import replace
from obstore.store import MemoryStore

from singletable import ANY, Database, connect
from singletable.documents import BlobStore, Documents, LocalBlobs, ObjectBlobs, flows, manifests
from singletable.documents.backed_contents import DocumentContents
from singletable.documents.document import document_model
from singletable.errors import AlreadyExists, Corrupt, Denied, InvalidRequest, Unavailable
from singletable.migrations import Backups, backups_flow
from tests.documents.models import Project, Shape, app, put_comment, put_shape
from tests.documents.stepping import Stepped, SteppingPort, at_random
from tests.migrations.watching import Killed
from tests.support.sampling import sampled

pytestmark = pytest.mark.embedded("copies of a data file, and stores beside it")
TEXTS = {f"s{n}": Shape(n, n, f"text {n} " * 50) for n in range(5)}


@pytest.fixture
def store(tmp_path: Path) -> BlobStore:
    return LocalBlobs(tmp_path / "blobs")


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    with connect(f"local:{tmp_path / 'live.db'}") as made:
        yield made


def filled(docs: Documents[Project], id: str = "p1") -> None:
    docs.create("o1", id, name="Atlas")
    docs.apply(id, [put_shape(id=name, shape=shape).by("c", n) for n, (name, shape) in enumerate(TEXTS.items(), 1)])


def paths(store: BlobStore) -> set[str]:
    """The contents in a store."""
    return {path for path in store.list("") if not path.startswith("=")}


def shapes_in(file: Path, store: BlobStore) -> dict[str, Shape]:
    with connect(f"local:{file}") as copy:
        docs = Documents(copy, Project, blobs=store)
        assert copy.check(app, docs) == []
        return dict(docs.load(docs.head("p1").shapes))


def test_a_backup_keeps_the_contents_of_a_document_that_is_deleted(
    db: Database, store: BlobStore, tmp_path: Path
) -> None:
    docs, backups, file = Documents(db, Project, blobs=store), Backups(db, app, blobs=store), tmp_path / "copy.db"
    filled(docs)
    backups.copy(file)
    docs.delete("p1")
    assert shapes_in(file, store) == TEXTS
    filled(docs, "p2")  # another document goes on
    (backup,) = backups.list()
    assert backup.arn == str(file)
    backups.delete(backup.arn)
    assert not any("/p1/" in path for path in store.list(""))
    assert any("/p2/" in path for path in paths(store))
    assert list(store.list("=backups/")) == []


def test_a_collection_leaves_what_backups_need_and_takes_it_when_they_are_gone(
    db: Database, store: BlobStore, tmp_path: Path
) -> None:
    docs, backups = Documents(db, Project, blobs=store), Backups(db, app, blobs=store)
    filled(docs)
    docs.store("p1", Project.shapes, [Shape(7, 7, "stored, never submitted")])
    backups.copy(tmp_path / "one.db")
    docs.store("p1", Project.shapes, [Shape(8, 8, "after it")])
    backups.copy(tmp_path / "two.db")
    docs.store("p1", Project.shapes, [Shape(9, 9, "in neither")])
    collected = docs.collect_garbage("p1")
    assert (collected.deleted, collected.kept_for_backups) == (1, 2)
    backups.delete(str(tmp_path / "two.db"))
    assert docs.collect_garbage("p1").deleted == 1
    backups.delete(str(tmp_path / "one.db"))
    assert docs.collect_garbage("p1").deleted == 1
    assert docs.collect_garbage("p1").kept_for_backups == 0
    with pytest.raises(InvalidRequest, match=r"no backup .* is known"):
        backups.delete(str(tmp_path / "one.db"))


def test_nothing_is_deleted_while_a_backup_is_made(db: Database, store: BlobStore) -> None:
    docs = Documents(db, Project, blobs=store)
    contents = DocumentContents(docs.context)
    filled(docs)
    docs.store("p1", Project.shapes, [Shape(7, 7, "garbage")])
    db.run(contents.begin(db.port, "under way"))
    before = paths(store)
    collected = docs.collect_garbage("p1")
    assert (collected.deleted, collected.kept_for_backups, paths(store)) == (0, 1, before)
    docs.delete("p1")
    assert paths(store) == before
    db.run(contents.hold(db.port, "under way"))
    db.run(contents.end(db.port, "under way"))
    assert db.run(contents.forget(db.port, "under way")) == len(before)
    assert paths(store) == set()


def test_a_store_that_is_not_known_is_told(db: Database, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    Backups(db, app).copy(tmp_path / "copy.db")
    assert "the contents of Project are not kept for the backup" in caplog.text
    assert Backups(db, app).left_out == ("contents of Project",)


def test_a_folder_stands_alone(db: Database, store: LocalBlobs, tmp_path: Path) -> None:
    docs, backups, folder = Documents(db, Project, blobs=store), Backups(db, app, blobs=store), tmp_path / "monday"
    filled(docs)
    made = paths(store)
    backups.copy(folder, with_contents=True)
    docs.delete("p1")
    assert paths(store) == set()  # nothing is kept for it
    alone = LocalBlobs(folder / "blobs")
    assert paths(alone) == made
    assert shapes_in(folder / "data.db", alone) == TEXTS
    with pytest.raises(AlreadyExists):
        backups.copy(folder, with_contents=True)


def test_a_check_says_which_backup_has_a_content_that_is_missing(
    db: Database, store: LocalBlobs, tmp_path: Path
) -> None:
    docs, backups, folder = Documents(db, Project, blobs=store), Backups(db, app, blobs=store), tmp_path / "monday"
    filled(docs)
    backups.copy(folder, with_contents=True)
    lost = next(path for path in paths(store) if "/shapes/" in path)
    store.delete(lost)
    (finding,) = docs.check("p1")
    assert finding.code == "blob.wrong"
    assert str(folder) in finding.what


@contextmanager
def killed_at(db: Database, monkeypatch: pytest.MonkeyPatch, call: int) -> Iterator[Callable[[], bool]]:
    """The process ends before one of the calls of functions. Yields whether it did."""
    calls, call_all = 0, db.port.call_all

    async def killed(functions: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == call:
            raise Killed
        return await call_all(functions)

    with monkeypatch.context() as patched, suppress(Killed):
        patched.setattr(db.port, "call_all", killed)
        yield lambda: calls == call


def test_a_copy_killed_anywhere_goes_on(
    db: Database, store: LocalBlobs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed before each call; the document is deleted before the next one. A copy that has it has its contents."""
    docs, backups, kept = Documents(db, Project, blobs=store), Backups(db, app, blobs=store), 0
    for kill in range(1, 30):
        id, file = f"p{kill}", tmp_path / f"{kill}.db"
        filled(docs, id)
        needed = {path for path in paths(store) if f"/{id}/" in path}
        with killed_at(db, monkeypatch, kill) as was_killed:
            backups.copy(file)
        has_it = file.exists()
        docs.delete(id)
        if was_killed():
            backups.copy(file)
        assert not has_it or needed <= paths(store)
        kept += has_it
        if not was_killed():
            break
    assert kept > 3
    assert len(backups.list()) == kill
    for backup in backups.list():
        backups.delete(backup.arn)
    assert list(store.list("")) == []


def test_a_deletion_killed_anywhere_goes_on(
    db: Database, store: LocalBlobs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    docs, backups, kill = Documents(db, Project, blobs=store), Backups(db, app, blobs=store), 0
    is_over = False
    while not is_over:
        kill += 1
        id, file = f"p{kill}", tmp_path / f"{kill}.db"
        filled(docs, id)
        backups.copy(file)
        docs.delete(id)
        with killed_at(db, monkeypatch, kill) as was_killed:
            backups.delete(str(file))
        is_over = not was_killed()
        if not is_over:
            backups.delete(str(file))
        assert list(store.list("")) == []
    assert kill > 5


def test_a_check_without_leave_to_list_says_so(
    db: Database, store: LocalBlobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    docs = Documents(db, Project, blobs=store)
    filled(docs)
    store.delete(next(path for path in paths(store) if "/shapes/" in path))

    listed = store.list

    def refuse(prefix: str) -> Iterator[str]:
        if prefix.startswith("=backups/"):
            raise Denied("the blob store refused to list")
        return listed(prefix)

    monkeypatch.setattr(store, "list", refuse)
    (finding,) = docs.check("p1")
    assert "whether a backup has it is not known" in finding.what


@pytest.mark.parametrize("seed", sampled(range(24), 3))
def test_beside_deletions_and_collections_a_copy_has_its_contents(
    db: Database, store: LocalBlobs, tmp_path: Path, seed: int
) -> None:
    """A branch is deleted, and its family's garbage collected; another document is deleted whole."""
    docs = Documents(db, Project, blobs=store)
    filled(docs, "p1")
    filled(docs, "p2")
    docs.branch("p1", "b1")
    docs.apply("b1", [put_shape(id="own", shape=Shape(text=f"the branch's {seed}")).by("c", 1)])
    (own,) = (path for path in paths(store) if docs.head("b1").shapes.hash_of("own") in path)
    alive: list[str] = []

    def copy_data(to: Path, progress: Any) -> int:
        alive.extend(listing.document_id for listing in docs.page("o1"))
        to.touch()
        return 0

    port: Any = SteppingPort(db.port)
    port.traits = replace(db.port.traits, copy_data=copy_data)

    async def delete_and_collect() -> None:
        await flows.delete(port, docs.context, "b1")
        await flows.collect_garbage(port, docs.context, "p1")

    stored = paths(store)
    work = [
        backups_flow.copy_file(port, [DocumentContents(docs.context)], tmp_path / "copy.db"),
        delete_and_collect(),
        flows.delete(port, docs.context, "p2"),
    ]
    assert [flow.error for flow in at_random(work, Random(seed))] == [None] * 3
    needed = {path for path in stored if "/p2/" in path and "p2" in alive} | (
        {own} & stored if "b1" in alive else set()
    )
    assert needed <= paths(store)
    assert not list(store.list("=backups/open/"))


def test_a_collection_leaves_what_a_backup_needs_that_was_made_while_it_ran(db: Database) -> None:
    """A branch needs garbage for a moment, and the backup is of that moment, at each step of a collection."""
    store = ObjectBlobs(MemoryStore())
    docs = Documents(db, Project, blobs=store)
    contents, garbage = DocumentContents(docs.context), Shape(text="garbage for now")
    for step in range(60):
        id, branch = f"p{step}", f"b{step}"
        docs.create("o1", id)
        docs.branch(id, branch)
        (reference,) = docs.store(id, Project.shapes, [garbage])
        port: Any = SteppingPort(db.port)
        collection = Stepped(flows.collect_garbage(port, docs.context, id))
        collection.advance(step)
        rows = db.all(document_model(Project).rows.condemned.by_content(id, ANY))
        if any(row.deleting for row in rows):
            break  # whoever needs it now waits until it is gone, and stores it again
        docs.apply(branch, [put_shape(id="s", shape=garbage).by("c", 1)])
        db.run(contents.begin(db.port, f"arn:{step}"))
        db.run(contents.hold(db.port, f"arn:{step}"))
        db.run(contents.end(db.port, f"arn:{step}"))
        docs.delete(branch)
        collection.finish()
        assert any(f"/{id}/" in path and reference.blob in path for path in paths(store)), step
    assert 10 < step < 59


def test_a_family_is_held_whole_whatever_lies_beside_its_contents(db: Database) -> None:
    """In a store that lists by names, another file of a document is between its collections."""
    store = ObjectBlobs(MemoryStore())
    docs = Documents(db, Project, blobs=store)
    filled(docs)
    docs.apply("p1", [put_comment(id="r", text="a remark").by("d", 1)])
    store.put("o1/projects/p1/sbetween", b"no content")
    contents = DocumentContents(docs.context)
    note = db.run(contents.hold(db.port, "arn:x"))
    assert (note.families, note.contents) == (1, len(paths(store)) - 1)
    before = paths(store) - {"o1/projects/p1/sbetween"}
    docs.delete("p1")
    assert before <= paths(store)


def test_a_backup_that_goes_on_is_always_open(db: Database, store: LocalBlobs, monkeypatch: pytest.MonkeyPatch) -> None:
    """`begin` deletes nothing; a store that has no promise after it is told."""
    contents = DocumentContents(Documents(db, Project, blobs=store).context)
    db.run(contents.begin(db.port, "x"))
    monkeypatch.setattr(store, "delete", lambda path: pytest.fail(path))
    db.run(contents.begin(db.port, "x"))
    monkeypatch.setattr(store, "put", lambda path, data: False)
    with pytest.raises(Unavailable, match="does not have it"):
        db.run(contents.begin(db.port, "y"))


def test_a_manifest_that_goes_while_it_is_read_is_left_out(
    db: Database, store: LocalBlobs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    docs, backups = Documents(db, Project, blobs=store), Backups(db, app, blobs=store)
    filled(docs)
    docs.store("p1", Project.shapes, [Shape(7, 7, "garbage")])
    backups.copy(tmp_path / "one.db")
    with monkeypatch.context() as patched:
        get = store.get
        patched.setattr(store, "get", lambda path, most: None if path.startswith("=backups/") else get(path, most))
        assert backups.list() == []
        assert docs.collect_garbage("p1").deleted == 1


def test_a_manifest_unpacks_to_a_limit(db: Database, store: LocalBlobs, monkeypatch: pytest.MonkeyPatch) -> None:
    docs = Documents(db, Project, blobs=store)
    filled(docs)
    db.run(DocumentContents(docs.context).hold(db.port, "arn:x"))
    monkeypatch.setattr(manifests, "_MOST_BYTES", 1000)
    assert len(list(manifests.needed_by_backups(docs.context.contents("o1", "p1")))) == 1
    monkeypatch.setattr(manifests, "_MOST_BYTES", 300)  # more than it has packed
    with pytest.raises(Corrupt, match="unpacks to more than 300 bytes"):
        list(manifests.needed_by_backups(docs.context.contents("o1", "p1")))
    for damaged in (b"", b"no gzip"):
        with pytest.raises(Corrupt, match="can't be read"):
            manifests.decoded_note("x.gz", damaged, manifests.FamilyContents)
