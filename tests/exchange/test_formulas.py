"""Texts that a spreadsheet takes for formulas: as stored in CSV, escaped where that is asked, read as they were."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, strategies as st

from singletable import ANY, Database, Entity, Key, Table
from singletable.exchange import Exports, Format, Imports
from singletable.exchange.formulas import escape_formulas, without_escape
from singletable.reports import open_export
from tests.support.engines import fresh

notes = Table("formula-notes")
BEGINNINGS = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")
TEXTS = [*(f"{each}1" for each in BEGINNINGS), "'=1", "''+1", "'", "'a", "a=1", "", " =1", "x;=1"]


class Note(Entity, table=notes, type="note"):
    number: int
    text: str
    octets: bytes = b"\xfb\xef"
    """In base64 `++8=`."""

    @notes.key
    @staticmethod
    def by_number(number: int = ANY) -> Key:
        return "note", f"note#{number}"


@pytest.fixture(scope="module")
def db() -> Iterator[Database]:
    with fresh() as made:
        made.create_table(notes)
        made.write_many(puts=[Note(number=-n, text=text) for n, text in enumerate(TEXTS)])
        yield made


def exported(db: Database, folder: Path, format: Format) -> Path:
    manifest = Exports(db, notes).export(folder, format=format).manifest
    assert manifest is not None
    (file,) = manifest.dataset("note").files
    return folder / file.path


def cells_of(path: Path) -> dict[int, tuple[str, str]]:
    with open(path, encoding="utf-8", newline="") as file:
        return {-int(row["number"]): (row["text"], row["octets"]) for row in csv.DictReader(file)}


def test_csv_has_each_text_as_it_is_stored(db: Database, tmp_path: Path) -> None:
    assert [text for _, (text, _) in sorted(cells_of(exported(db, tmp_path, "csv")).items())] == TEXTS


def test_an_escaped_file_has_no_formula(db: Database, tmp_path: Path) -> None:
    path = exported(db, tmp_path, "csv-escaped")
    assert path.suffix == ".csv"
    cells = cells_of(path)
    assert not any(text.startswith(BEGINNINGS) for row in cells.values() for text in row)
    changed = {text: cells[n][0] for n, text in enumerate(TEXTS) if cells[n][0] != text}
    assert changed == {text: f"'{text}" for text in TEXTS if text.lstrip("'").startswith(BEGINNINGS)}
    assert b'"x;=1"' in path.read_bytes()  # in quotes, where a semicolon ends no cell


@pytest.mark.parametrize("how", ["folder", "file"])
def test_it_is_imported_as_it_was(db: Database, tmp_path: Path, how: str) -> None:
    path = exported(db, tmp_path, "csv-escaped")
    with fresh() as target:
        target.create_table(notes)
        if how == "folder":
            Imports(target, notes).run(tmp_path)
        else:
            Imports(target, notes).run(path, into=Note, format="csv-escaped")
        assert list(target.scan(Note)) == list(db.scan(Note))


def test_sql_asks_it_as_it_was(db: Database, tmp_path: Path) -> None:
    exported(db, tmp_path, "csv-escaped")
    with open_export(tmp_path, notes) as session:
        found = [text for (text,) in session.query("SELECT text FROM note ORDER BY number DESC").rows()]
    assert found == TEXTS


@given(st.text(st.sampled_from("'=+-@\t\r\n\uff1da \"")) | st.text())
def test_each_text_comes_back(text: str) -> None:
    (written,) = escape_formulas(pa.array([text], pa.string())).to_pylist()
    assert without_escape(written) == text
    assert not written.startswith(BEGINNINGS)
