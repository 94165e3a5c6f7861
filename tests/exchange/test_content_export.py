"""An export with contents: every change of a document's items and every mutation, as rows that SQL can ask."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import pytest

from singletable import Database, Entity, InvalidRequest, Key, Meter, Table, field
from singletable.documents import Document, Documents, Draft, Items, LocalBlobs, version_transaction
from singletable.errors import NotConfigured
from singletable.exchange import AsyncExports, DirectoryStore, Exports, Imports, export, read_manifest
from singletable.exchange.formats import FORMATS
from singletable.operations import batch_write
from singletable.reports import open_export
from singletable.schema import model_of
from singletable_deploy import Deployment, Role, opens, scans
from singletable_deploy.cloudformation import template
from tests.exchange.test_export import Taken
from tests.migrations.watching import Killed, before_each
from tests.support.engines import awaiting, fresh
from tests.support.roles import recording
from tests.support.templates import statements_of

notes = Table("notes", indexes=["gsi1"])
LONG = "a long word " * 4000
"""Arguments of this length lie in a blob."""
SECRETS = ("Tell nobody", "ada@example.org", "Adelaide", LONG[:24], "of nobody's", "KeyError: 'none'")


class Person(Entity, table=notes, type="person"):
    id: str = field(personal=True)
    name: str = field(personal=True)

    @notes.key
    @staticmethod
    def by_id(id: str) -> Key:
        """One person."""
        return f"person#{id}", "person"


@dataclass(frozen=True)
class Cell:
    text: str = field(personal=True)
    author: str | None = field(default=None, mentions=Person.id)
    place: int = 0


class Sheet(Document, table=notes, index="gsi1", principal=Person.id):
    title: str = ""
    cells: Items[Cell]
    marks: Items[dict[str, Any]]


@Sheet.mutation(personal=["text"], mentions={"author": Person.id})
def write(draft: Draft[Sheet], *, id: str, text: str, author: str | None = None, place: int = 0) -> None:
    draft.cells[id] = Cell(text, author, place)


@Sheet.mutation
def mark(draft: Draft[Sheet], *, id: str, value: dict[str, Any]) -> None:
    draft.marks[id] = value


@Sheet.mutation(personal=[])
def drop(draft: Draft[Sheet], *, id: str) -> None:
    del draft.cells[id]


@pytest.fixture(scope="module")
def blobs(tmp_path_factory: pytest.TempPathFactory) -> LocalBlobs:
    return LocalBlobs(tmp_path_factory.mktemp("contents") / "blobs")


@pytest.fixture(scope="module")
def db(blobs: LocalBlobs) -> Iterator[Database]:
    """Two sheets and a branch, with items that were added, changed and removed, and a mutation that was rejected."""
    with fresh() as made:
        made.create_table(notes)
        made.create(Person(id="ada@example.org", name="Adelaide"))
        sheets = Documents(made, Sheet, blobs=blobs)
        sheets.create("t1", "s1", title="First")
        ada = "ada@example.org"
        sheets.apply("s1", [write(id="a", text="Tell nobody", author=ada, place=7).by("c", 1, principal=ada)])
        sheets.apply(
            "s1", [write(id="b", text=LONG).by("c", 2), mark(id="m", value={"word": "of nobody's"}).by("c", 3)]
        )
        sheets.apply("s1", [drop(id="b").by("c", 4), drop(id="none").by("c", 5)])
        sheets.branch("s1", "s2")
        sheets.apply("s2", [write(id="a", text="On the branch").by("d", 1)])
        sheets.create("t1", "s3")
        yield made


def rows_in(folder: Path, dataset: str) -> list[dict[str, Any]]:
    """The rows as SQL has them, in whichever format they are."""
    with open_export(folder, notes) as session:
        answer = session.query(f"SELECT * FROM {dataset} ORDER BY ALL")
        return [dict(zip(answer.columns, row, strict=True)) for row in answer.rows()]


def texts_in(folder: Path) -> str:
    """Everything that an export has written, as text."""
    return "\n".join(path.read_text() for path in sorted(folder.rglob("*")) if path.is_file())


def files_of(folder: Path) -> dict[str, str]:
    """A digest of each file that the manifest names."""
    manifest = read_manifest(DirectoryStore(folder))
    paths = [file.path for dataset in manifest.datasets for file in dataset.files]
    return {path.removeprefix(manifest.id): hashlib.sha256((folder / path).read_bytes()).hexdigest() for path in paths}


@pytest.mark.parametrize("format", FORMATS)
def test_each_change_is_a_row_with_its_content(db: Database, blobs: LocalBlobs, tmp_path: Path, format: Any) -> None:
    done = Exports(db, notes, blobs=blobs).export(tmp_path, format=format, contents=True)
    changes = [
        (
            row["document_id"],
            row["version"],
            row["id"],
            row["change"],
            row["content"] and msgspec.json.decode(row["content"]),
        )
        for row in rows_in(tmp_path, "sheet_cells_change")
    ]
    first = {"text": "Tell nobody", "author": "ada@example.org", "place": 7}
    assert changes == [
        ("s1", 1, "a", "added", first),
        ("s1", 2, "b", "added", {"text": LONG, "author": None, "place": 0}),
        ("s1", 3, "b", "removed", None),
        ("s2", 0, "a", "added", first),
        ("s2", 1, "a", "changed", {"text": "On the branch", "author": None, "place": 0}),
    ]
    mutations = rows_in(tmp_path, "sheet_mutation_arguments")
    assert [(row["document_id"], row["id"], row["name"], row["version"]) for row in mutations] == [
        ("s1", 1, "write", 1),
        ("s1", 2, "write", 2),
        ("s1", 3, "mark", 2),
        ("s1", 4, "drop", 3),
        ("s1", 5, "drop", 3),
        ("s2", 1, "write", 1),
    ]
    assert [row["principal"] for row in mutations] == ["ada@example.org", *[None] * 5]
    assert [row["error"] is None for row in mutations] == [True, True, True, True, False, True]
    assert msgspec.json.decode(mutations[1]["arguments"])["text"] == LONG
    assert (done.contents, done.lost) == (5 + 2 + 6, 0)


def test_it_costs_the_items_again_and_no_more(db: Database, blobs: LocalBlobs, tmp_path: Path) -> None:
    with Meter() as plain:
        Exports(db, notes, blobs=blobs).export(tmp_path / "plain")
    with Meter() as whole:
        Exports(db, notes, blobs=blobs).export(tmp_path / "whole", contents=True)
    documents, collections = 3, 2
    of_branch = 2  # what it began with, a query for each collection
    asked = documents * (2 * collections + 2) + of_branch
    assert whole.requests - plain.requests == asked


def test_masks_stand_for_what_contents_declare_and_for_all_that_declares_nothing(
    db: Database, blobs: LocalBlobs, tmp_path: Path
) -> None:
    Exports(db, notes, blobs=blobs).export(tmp_path / "plain", format="jsonl", contents=True)
    assert all(secret in texts_in(tmp_path / "plain") for secret in SECRETS)
    masked = tmp_path / "masked"
    Exports(db, notes, blobs=blobs).export(masked, format="jsonl", contents=True, personal=False, mask_key=b"k" * 16)
    assert not [secret for secret in SECRETS if secret in texts_in(masked)]
    (person,) = rows_in(masked, "person")
    first, *_ = rows_in(masked, "sheet_cells_change")
    content = msgspec.json.decode(first["content"])
    assert (content["author"], content["place"]) == (person["id"], 7)
    made, _, marked, dropped, *_ = rows_in(masked, "sheet_mutation_arguments")
    assert made["principal"] == person["id"]
    assert msgspec.json.decode(made["arguments"])["id"] == "a"
    assert msgspec.json.decode(marked["arguments"]).keys() == {"id", "value"}
    assert msgspec.json.decode(marked["arguments"])["value"].keys() == {"word"}
    assert msgspec.json.decode(dropped["arguments"]) == {"id": "b"}


def test_sql_covers_contents_principals_and_arguments(db: Database, blobs: LocalBlobs, tmp_path: Path) -> None:
    Exports(db, notes, blobs=blobs).export(tmp_path, contents=True)
    with open_export(tmp_path, notes, personal=False) as session:
        covered = session.query("SELECT DISTINCT content FROM sheet_cells_change WHERE content IS NOT NULL")
        assert [*covered.rows()] == [("‹personal›",)]
        of_mutations = session.query("SELECT version, principal, arguments FROM sheet_mutation_arguments LIMIT 1")
        assert [*of_mutations.rows()] == [(1, "‹personal›", "‹personal›")]
        reasons = session.query("SELECT DISTINCT error FROM sheet_mutation_arguments WHERE error IS NOT NULL")
        assert [*reasons.rows()] == [("‹personal›",)]


def test_a_role_that_may_scan_and_open_the_documents_may_export(
    db: Database, blobs: LocalBlobs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = template(Deployment("exports", [notes], [Role("exporter", [scans(notes), opens(Sheet)])], alarms=False))
    taken = Taken(statements_of(made, "Exporter"), notes)
    with monkeypatch.context() as patched:
        recording(patched, taken)
        Exports(db, notes, blobs=blobs).export(tmp_path, contents=True)
    assert (set(taken.asked), taken.refused) == ({"dynamodb:Scan", "dynamodb:Query", "dynamodb:GetItem"}, [])


def test_killed_before_any_request_it_ends_with_the_same_files(
    db: Database, blobs: LocalBlobs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(export, "SECTION_ITEMS", 3)
    exports, whole = Exports(db, notes, blobs=blobs), tmp_path / "whole"
    with Meter() as meter:
        exports.export(whole, contents=True)
    kills = 0
    for step in range(2, meter.requests, 3):
        count, folder = 0, tmp_path / str(step)

        def happens(_: object, last: int = step) -> None:
            nonlocal count
            count += 1
            if count == last:
                raise Killed

        with monkeypatch.context() as patched:
            before_each(db, patched, happens)
            with pytest.raises(Killed):
                exports.export(folder, contents=True)
        done = exports.export(folder, contents=True)
        kills += 1
        assert done.resumed
        assert files_of(folder) == files_of(whole)
        assert (done.contents, done.lost) == (13, 0)
    assert kills >= 5


def test_a_content_that_is_gone_is_null_and_counted(db: Database, tmp_path: Path) -> None:
    blobs = LocalBlobs(tmp_path / "blobs")
    sheets = Documents(db, Sheet, blobs=blobs)
    sheets.create("t2", "lost")
    sheets.apply("lost", [write(id="a", text="gone").by("c", 1), write(id="b", text=LONG).by("c", 2)])
    for path in list(blobs.list("")):
        blobs.delete(path)
    done = Exports(db, notes, blobs=blobs).export(tmp_path / "to", contents=True)
    rows = [row for row in rows_in(tmp_path / "to", "sheet_cells_change") if row["document_id"] == "lost"]
    assert [(row["change"], row["content"], row["sha256"] is None) for row in rows] == [("added", None, False)] * 2
    mutations = [row for row in rows_in(tmp_path / "to", "sheet_mutation_arguments") if row["document_id"] == "lost"]
    assert [row["arguments"] is None for row in mutations] == [False, True]
    assert done.lost >= 3
    sheets.delete("lost")


async def test_a_collection_in_parts_and_one_whose_part_is_gone(
    db: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A version that lacks a part, as its document is being deleted, is left out. In the awaiting shell."""
    monkeypatch.setattr(version_transaction, "SPILL_BYTES", 200)
    blobs = LocalBlobs(tmp_path / "blobs")
    sheets = Documents(db, Sheet, blobs=blobs)
    sheets.create("t3", "parts")
    every = [write(id=f"item-{number}", text=str(number)) for number in range(6)]
    sheets.apply("parts", [mutation.by("c", number) for number, mutation in enumerate(every, 1)])
    sheets.apply("parts", [write(id="item-0", text="again").by("c", 7)])
    sheets.apply("parts", [drop(id="item-1").by("c", 8)])
    kind: Any = sheets.context.model.rows.collections["cells"]
    assert len(db.all(kind.by_number("parts", 1))) > 1
    part = model_of(kind).key_item(kind.by_number("parts", 2, 1))
    db.run(db.port.send(batch_write(notes.name, deletes=[part])))
    async with awaiting(db) as other:
        await AsyncExports(other, notes, blobs=blobs).export(tmp_path / "to", contents=True)
    rows = [row for row in rows_in(tmp_path / "to", "sheet_cells_change") if row["document_id"] == "parts"]
    assert [(row["version"], row["id"], row["change"]) for row in rows] == [
        *((1, f"item-{number}", "added") for number in range(6)),
        (3, "item-0", "changed"),
        (3, "item-1", "removed"),
    ]


def test_an_import_leaves_them_out(db: Database, blobs: LocalBlobs, tmp_path: Path) -> None:
    Exports(db, notes, blobs=blobs).export(tmp_path, keys=True, contents=True)
    with fresh() as other:
        done = Imports(other, notes).run(tmp_path)
        assert done.bad == 0
        assert other.check(notes) == []
    assert {name.partition(":")[0] for name in done.left_out} == {
        "sheet_cells_change",
        "sheet_marks_change",
        "sheet_mutation_arguments",
    }


def test_what_has_no_contents_is_refused(db: Database, tmp_path: Path) -> None:
    with pytest.raises(NotConfigured, match="Sheet has no blob store"):
        Exports(db, notes).export(tmp_path, contents=True)
    with pytest.raises(InvalidRequest, match="no class of documents is declared"):
        Exports(db, Table("bare")).export(tmp_path, contents=True)
