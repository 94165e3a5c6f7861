"""What was erased is in no byte of the embedded engine's file; where it may be, the receipt says so."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from singletable import Database, Entity, Key, Table, connect, field
from singletable.erasure import Erasure, Receipt
from singletable.errors import Unavailable
from singletable_local import maintain_streams, wipe_deleted
from tests.support.engines import fresh_url
from tests.support.traits import LOCAL

pytestmark = pytest.mark.embedded("the embedded engine's own file is read")
diary = Table("diary", indexes=["gsi1"])
watched = Table("watched-diary", stream="new_and_old")
NOTES = 101
DAY = 24 * 3600.0


class Writer(Entity, table=diary, type="writer"):
    email: str = field(personal=True)
    nick: str = field(personal=True, unique=True)

    @diary.key
    @staticmethod
    def by_email(email: str) -> Key:
        """One."""
        return f"writer#{email}", "writer"

    @diary.index("gsi1")
    @staticmethod
    def by_nick(nick: str) -> Key:
        """One."""
        return f"nick#{nick}", "writer"


class Note(Entity, table=diary, type="note"):
    email: str = field(belongs_to=Writer.email)
    number: int
    text: str = field(personal=True)

    @diary.key
    @staticmethod
    def of_writer(email: str, number: int) -> Key:
        """One, in a partition of its own."""
        return f"note#{email}#{number}", "note"


class Reader(Entity, table=watched, type="reader"):
    email: str = field(personal=True)

    @watched.key
    @staticmethod
    def by_email(email: str) -> Key:
        """One."""
        return f"reader#{email}", "reader"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "diary.db"


@pytest.fixture
def db(file: Path) -> Iterator[Database]:
    with connect(f"local:{file}") as made:
        made.create_table(diary)
        for name in ("ada", "bob"):
            made.create(Writer(email=f"{name}@example.org", nick=f"nick-of-{name}"))
            notes = [
                Note(email=f"{name}@example.org", number=n, text=f"secret-of-{name} {n} " * (n + 1))
                for n in range(NOTES)
            ]
            made.write_many(puts=notes)
        yield made


def traces(file: Path, *words: str) -> dict[str, int]:
    """How often words are in the bytes of a data file and of those beside it."""
    content = b"".join(each.read_bytes() for each in file.parent.iterdir() if each.is_file())
    return {word: content.count(word.encode()) for word in words}


def erase(db: Database, name: str) -> Receipt:
    return Erasure(db, diary).apply(Writer.by_email(f"{name}@example.org"))


def test_no_byte_of_the_file_holds_what_was_erased(db: Database, file: Path) -> None:
    words = ("nick-of-ada", "secret-of-ada", "ada@example.org")
    assert min(traces(file, *words).values()) > 0
    receipt = erase(db, "ada")
    assert receipt.deleted == {"Writer": 1, "Note": NOTES}
    assert set(traces(file, *words).values()) == {0}
    assert traces(file, "secret-of-bob")["secret-of-bob"] > NOTES
    assert [each.where for each in receipt.remaining] == ["copies of the data file", "exports and other systems"]
    assert db.check(diary) == []
    db.close()
    assert set(traces(file, *words).values()) == {0}


def test_programs_write_while_the_file_is_written_anew(db: Database, file: Path) -> None:
    """Each of their writes waits, and none is lost."""
    erase(db, "ada")
    db.write_many(puts=[Note(email="bob@example.org", number=n, text="x" * 100_000) for n in range(NOTES)])
    number = NOTES
    with connect(f"local:{file}") as other, ThreadPoolExecutor(1) as pool:
        wiping = pool.submit(wipe_deleted, file)
        while not wiping.done():
            other.create(Note(email="bob@example.org", number=number, text="meanwhile"))
            number += 1
        wiping.result()
        other.create(Note(email="bob@example.org", number=number, text="later"))
    assert number > NOTES
    assert sorted(note.number for note in db.scan(Note)) == list(range(number + 1))


def test_a_file_that_a_program_reads_is_named_in_the_receipt(
    db: Database, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("singletable_local.data_wipe._BUSY_SECONDS", 0.05)
    with closing(sqlite3.connect(file, isolation_level=None)) as reader:
        reader.execute("BEGIN")
        assert reader.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] > 0
        receipt = erase(db, "ada")
        held = receipt.remaining[0]
        assert held.where == "the engine's data file"
        assert "Its free pages hold the deleted data" in held.what
        assert f"sqlite3 {file} 'VACUUM" in held.what
        assert "ada" not in held.what
        with pytest.raises(Unavailable, match="can't be"):
            wipe_deleted(file)
    wipe_deleted(file)
    assert set(traces(file, "secret-of-ada", "ada@example.org").values()) == {0}


def test_an_engine_whose_file_is_not_ours_is_named() -> None:
    with fresh_url() as url, connect(url, traits=LOCAL) as db:
        db.create_table(diary)
        db.create(Writer(email="ada@example.org", nick="a"))
        where = [each.where for each in erase(db, "ada").remaining]
    assert where == ["the engine's data file", "copies of the data file", "exports and other systems"]


def test_a_file_that_holds_the_records_of_a_stream_is_named(file: Path) -> None:
    with connect(f"local:{file}") as db:
        db.create_table(watched)
        for name in ("ada", "bob"):
            db.create(Reader(email=f"{name}@example.org"))
        receipt = Erasure(db, watched).apply(Reader.by_email("ada@example.org"))
        held, _, stream, _ = receipt.remaining
        assert (held.where, stream.where) == ("the engine's data file", "stream records")
        assert "rewrite it then" in held.what
        assert traces(file, "ada@example.org")["ada@example.org"] > 0
        for name in ("bob", "carl"):  # the newest record of a table stays
            db.put(Reader(email=f"{name}@example.org"))
        now = db.port.now()
        maintain_streams(file, now, 0.0)
        maintain_streams(file, now + 2 * DAY, 2 * DAY)
        wipe_deleted(file)
        assert traces(file, "ada@example.org")["ada@example.org"] == 0
