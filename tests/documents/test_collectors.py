"""Two tables over one blob store, as after a restore or a copy: one of them deletes contents there."""

from __future__ import annotations

import shutil
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest

from singletable import Database, InvalidRequest, Meter, connect
from singletable.documents import Documents, LocalBlobs
from singletable.documents.backed_contents import DocumentContents
from singletable.documents.collectors import Collector, check_collector
from singletable.documents.manifests import Manifests
from singletable.documents.read import epoch_row
from singletable.errors import Corrupt
from singletable.flow import Traits
from singletable.operations import batch_write
from tests.documents.models import Project, Shape, app, put_shape
from tests.support.engines import fresh, fresh_url
from tests.support.raw import all_items

ONE, TWO, GARBAGE = Shape(1, 1, "in both"), Shape(2, 2, "in the first alone"), [Shape(9, 9)]


def documents_of(db: Database, store: LocalBlobs) -> Documents[Project]:
    return Documents(db, Project, blobs=store)


def copied(old: Database, new: Database) -> None:
    """As a restore does it: the items, in another table of the same name."""
    new.create_table(app)
    items: Any = old.run(all_items(old.port, app.name))
    new.run(new.port.send(batch_write(app.name, puts=items)))


@pytest.fixture
def store(tmp_path: Path) -> LocalBlobs:
    return LocalBlobs(tmp_path / "blobs")


def test_a_copy_deletes_nothing_that_only_the_first_table_reaches(store: LocalBlobs) -> None:
    with fresh() as old, fresh() as new:
        first, second = documents_of(old, store), documents_of(new, store)
        first.create("o1", "p1")
        first.apply("p1", [put_shape(id="s", shape=ONE).by("c", 1)])
        first.collect_garbage("p1")
        copied(old, new)
        first.apply("p1", [put_shape(id="s", shape=TWO).by("c", 2)])
        with pytest.raises(InvalidRequest, match=r"another table may use the blobs.*documents-test.*take_over"):
            second.collect_garbage("p1")
        with pytest.raises(InvalidRequest, match="another table may use the blobs") as refused:
            second.delete("p1")
        assert (refused.value.table, refused.value.operation) == (app.name, "collect_garbage")
        assert second.head("p1").shapes["s"] == ONE, "it is not hidden"
        assert first.head("p1").shapes["s"] == TWO
        assert second.collect_garbage("p1", take_over=True).deleted == 1
        assert second.collect_garbage("p1").deleted == 0
        with pytest.raises(InvalidRequest, match="another table"):
            first.collect_garbage("p1")


def test_a_table_takes_over_all_that_was_collected(store: LocalBlobs) -> None:
    """As a restore under the same name does, when the first table is gone."""
    with fresh() as old, fresh() as new:
        first, second = documents_of(old, store), documents_of(new, store)
        for id in ("p1", "p2", "p3"):
            first.create("o1", id)
            first.apply(id, [put_shape(id="s", shape=ONE).by("c", 1)])
            first.store(id, Project.shapes, GARBAGE)
        for id in ("p1", "p2"):
            first.collect_garbage(id)
        copied(old, new)
        assert second.take_over_blobs() == 3
        assert [second.collect_garbage(id).deleted for id in ("p1", "p2", "p3")] == [0, 0, 1]
        with pytest.raises(InvalidRequest, match="another table"):
            first.collect_garbage("p3")
        assert [family.root for family in Manifests(store, "projects").families()] == ["p1", "p2", "p3"]


def test_a_table_takes_over_what_is_its_own(store: LocalBlobs, monkeypatch: pytest.MonkeyPatch) -> None:
    """Others may have the same store: their documents are not in this table, or it is told to leave their notes."""
    with fresh() as old, fresh() as new:
        first, second = documents_of(old, store), documents_of(new, store)
        for id in ("p1", "p2", "p3"):
            first.create("o1", id)
        for id in ("p1", "p2"):
            first.collect_garbage(id)  # they have a note, and no contents
        copied(old, new)
        first.create("o1", "p4")
        first.collect_garbage("p4")
        path = "=collectors/o1/projects/{}/table.json"
        theirs = msgspec.json.encode(Collector("arn:another/table", "id"))
        store.delete(path.format("p2"))
        store.put(path.format("p2"), theirs)
        before = store.get(path.format("p4"), 999)
        delete = store.delete

        def away(path: str) -> None:
            delete(path)
            assert len(list(store.list("=collectors/"))) == 2  # a kill now leaves the others

        monkeypatch.setattr(store, "delete", away)
        assert new.run(DocumentContents(second.context).take_over(new.port)) == 1
        assert (store.get(path.format("p2"), 999), store.get(path.format("p4"), 999)) == (theirs, before)
        assert second.take_over_blobs() == 2
        assert second.collect_garbage("p2").deleted == 0
        assert store.get(path.format("p4"), 999) == before


@pytest.mark.embedded("its data file is copied")
def test_a_copy_of_the_data_file_is_another_table(store: LocalBlobs, tmp_path: Path) -> None:
    with connect(f"local:{tmp_path / 'a.db'}") as db:
        documents_of(db, store).create("o1", "p1")
        documents_of(db, store).collect_garbage("p1")
    shutil.copy(tmp_path / "a.db", tmp_path / "b.db")
    with connect(f"local:{tmp_path / 'b.db'}") as db, pytest.raises(InvalidRequest, match=r"names .*a\.db"):
        documents_of(db, store).collect_garbage("p1")
    with connect(f"local:{tmp_path / 'a.db'}") as db:
        assert documents_of(db, store).collect_garbage("p1").deleted == 0


def test_documents_that_are_older_than_their_table_come_from_another(store: LocalBlobs) -> None:
    """Nobody has collected so far, so the store names no table."""
    with fresh_url() as url, connect(url, traits=Traits(), clock=lambda: 1_000_000_000.0) as db:
        db.create_table(app)
        documents = documents_of(db, store)
        documents.create("o1", "p1")
        documents.branch("p1", "p2")
        for id in ("p1", "p2"):
            with pytest.raises(InvalidRequest, match="the document is older than the table"):
                documents.collect_garbage(id)
        assert documents.collect_garbage("p1", take_over=True).deleted == 0
        assert documents.collect_garbage("p2").deleted == 0


def test_of_two_tables_that_begin_at_once_one_is_noted(store: LocalBlobs, monkeypatch: pytest.MonkeyPatch) -> None:
    with fresh() as db:
        documents, put = documents_of(db, store), store.put
        documents.create("o1", "p1")

        def outrun(path: str, data: bytes) -> bool:
            put(path, msgspec.json.encode(Collector("another", "id")))
            return put(path, data)

        monkeypatch.setattr(store, "put", outrun)
        with pytest.raises(InvalidRequest, match="names another id"):
            documents.collect_garbage("p1")


def test_what_it_costs(store: LocalBlobs, monkeypatch: pytest.MonkeyPatch) -> None:
    with fresh() as db:
        documents = documents_of(db, store)
        documents.create("o1", "p1")
        documents.collect_garbage("p1")
        epoch, reads, get = db.run(epoch_row(db.port, documents.context, "p1")), list[str](), store.get

        def noted(path: str, most: int) -> bytes | None:
            reads.append(path)
            return get(path, most)

        monkeypatch.setattr(store, "get", noted)
        with Meter() as meter:
            db.run(check_collector(db.port, documents.context, epoch))
        assert (meter.requests, meter.read_units, reads) == (1, 0, ["=collectors/o1/projects/p1/table.json"])


def test_the_note_goes_with_the_last_of_the_family(store: LocalBlobs) -> None:
    with fresh() as db:
        documents = documents_of(db, store)
        documents.create("o1", "p1")
        documents.branch("p1", "p2")
        documents.collect_garbage("p1")
        for id in ("p1", "p2"):
            assert [*store.list("")] == ["=collectors/o1/projects/p1/table.json"]
            documents.delete(id)
        assert [*store.list("")] == []


def test_one_that_does_not_know_its_file_is_the_same_table() -> None:
    known, unknown = Collector("t", "1", "/data/a.db"), Collector("t", "1")
    assert known.is_same(unknown)
    assert unknown.is_same(known)
    assert not known.is_same(Collector("t", "1", "/data/b.db"))
    assert not unknown.is_same(Collector("t", "2"))
    assert not unknown.is_same(Collector("u", "1"))


@pytest.mark.parametrize("name", [".DS_Store", ".nfs000000000001"])
def test_files_of_the_system_in_a_store_are_none_of_it(store: LocalBlobs, name: str) -> None:
    """They are no backup that is being made, no manifest and no note."""
    with fresh() as db:
        documents = documents_of(db, store)
        documents.create("o1", "p1")
        documents.store("p1", Project.shapes, GARBAGE)
        contents = DocumentContents(documents.context)
        for folder in (
            "=collectors",
            "=backups/open/projects",
            "=backups/made/projects",
            "=backups/held/o1/projects/p1",
        ):
            (store.directory / folder).mkdir(parents=True)
            (store.directory / folder / name).write_bytes(b"\0")
        assert db.run(contents.notes(db.port)) == []
        assert documents.take_over_blobs() == 1
        assert documents.collect_garbage("p1").deleted == 1


def test_a_note_that_cant_be_read_is_named(store: LocalBlobs) -> None:
    with fresh() as db:
        documents, path = documents_of(db, store), "=collectors/o1/projects/p1/table.json"
        documents.create("o1", "p1")
        store.put("=collectors/read-me.txt", b"of a person")
        store.put(path, b"{")
        for call in (partial(documents.collect_garbage, "p1"), documents.take_over_blobs):
            with pytest.raises(Corrupt, match=path):
                call()
