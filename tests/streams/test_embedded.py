"""The embedded engine's streams: indexed and pruned from outside, its holes told, a private one's file removed."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from singletable import Database, connect
from singletable.errors import NotConfigured, Unavailable
from singletable.operations import TableCall
from singletable.streams import Changes, ChangeWorker, Gap, GapWarning
from singletable.wire.port_options import elapsed
from singletable_local import Engine, maintain_streams
from singletable_local.polling import wait_until
from singletable_local.private_files import private_directory
from tests.streams.models import Note, Seen, noted
from tools.distributions import PYTHONPATH

pytestmark = pytest.mark.embedded("these tests are of its streams, in its file")
DAY = 24 * 3600


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    with connect(f"local:{tmp_path / 'noted.db'}") as made:
        yield made


def data_of(db: Database) -> Path:
    assert db.target.engine is not None
    assert db.target.engine.data is not None
    return db.target.engine.data


def rows(db: Database, sql: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(data_of(db))) as database, database:
        return database.execute(sql).fetchall()


def grow_old(db: Database, *, but_last: int = 0) -> None:
    """All stream records but the last few become two days old, and were there two days of running time ago."""
    keep = f"(SELECT id FROM _stream_records ORDER BY id DESC LIMIT {but_last})"
    rows(db, f"UPDATE _stream_records SET created_at = created_at - {2 * DAY} WHERE id NOT IN {keep}")
    last = f"(SELECT coalesce(max(id), 0) FROM _stream_records WHERE id NOT IN {keep})"
    rows(db, "DELETE FROM _singletable_stream_marks")
    rows(db, f"INSERT INTO _singletable_stream_marks VALUES (0, {elapsed() - 2 * DAY}, {last})")


def sequences(db: Database) -> list[int]:
    return [int(str(number)) for (number,) in rows(db, "SELECT sequence_number FROM _stream_records ORDER BY id")]


@pytest.mark.parametrize("use", [lambda db: db.put(Note(id="n1")), lambda db: db.create_table(noted)])
def test_the_first_use_of_a_stream_indexes_it(db: Database, use: Callable[[Database], object]) -> None:
    use(db)
    highest = "SELECT MAX(CAST(sequence_number AS INTEGER)) FROM _stream_records WHERE table_name = 'noted'"
    assert "_singletable_stream" in str(rows(db, f"EXPLAIN QUERY PLAN {highest}"))


def test_what_is_over_a_day_old_goes_and_the_newest_stays(db: Database) -> None:
    for number in range(10):
        db.put(Note(id=f"n{number}"))
    grow_old(db, but_last=3)
    maintain_streams(data_of(db), db.port.now(), elapsed())
    assert sequences(db) == [8, 9, 10]
    grow_old(db)
    maintain_streams(data_of(db), db.port.now(), elapsed())
    assert sequences(db) == [10]  # the engine counts on from it
    db.put(Note(id="next"))
    assert sequences(db) == [10, 11]
    maintain_streams(data_of(db), db.port.now(), elapsed())
    assert sequences(db) == [11]


def test_a_wall_clock_that_is_set_forward_deletes_nothing_unread(db: Database) -> None:
    for number in range(3):
        db.put(Note(id=f"n{number}"))
    maintain_streams(data_of(db), db.port.now() + 2 * DAY, elapsed())
    assert sequences(db) == [1, 2, 3]
    changes, seen = Changes(noted), Seen()
    changes.on(Note).inserted(seen)
    ChangeWorker(db, changes).drain()
    assert len(seen.told) == 3


def test_a_record_goes_after_a_day_in_which_the_machine_ran(db: Database) -> None:
    """Restarts begin the uptime anew; what ran before them counts as far as it is certain."""
    now, uptime = db.port.now() + 3 * DAY, 1e6
    db.put(Note(id="n0"))
    rows(db, "DELETE FROM _singletable_stream_marks")
    maintain_streams(data_of(db), now, uptime)
    db.put(Note(id="n1"))
    db.put(Note(id="n2"))
    maintain_streams(data_of(db), now, uptime + DAY / 2)
    maintain_streams(data_of(db), now, DAY / 4)
    assert sequences(db) == [1, 2, 3]
    maintain_streams(data_of(db), now, DAY / 2)
    assert sequences(db) == [2, 3]
    maintain_streams(data_of(db), now, 2 * DAY)
    assert sequences(db) == [3]


def test_marks_are_few(db: Database) -> None:
    db.put(Note(id="n0"))
    for minute in range(3 * 24 * 60):
        if minute % 10 == 0:
            maintain_streams(data_of(db), db.port.now(), 1e6 + 60.0 * minute)
    (count,) = rows(db, "SELECT count(*) FROM _singletable_stream_marks")[0]
    assert count in (25, 26)


def test_a_hole_behind_the_checkpoint_is_a_gap(db: Database) -> None:
    changes, seen, gaps = Changes(noted), Seen(), list[Gap]()
    changes.on(Note).inserted(seen)
    changes.on_gap(gaps.append)
    for number in range(3):
        db.put(Note(id=f"a{number}"))
    ChangeWorker(db, changes).drain()
    for number in range(3):
        db.put(Note(id=f"b{number}"))
    grow_old(db)
    db.put(Note(id="last"))
    ChangeWorker(db, changes).drain()
    assert seen.told[3:] == ["Inserted note last"]
    (gap,) = gaps
    assert (gap.reason, int(gap.after), gap.consumer, changes.gaps) == ("trimmed", 3, "changes", 1)


def test_a_hole_behind_the_checkpoint_is_a_lag_of_a_day(db: Database) -> None:
    changes = Changes(noted)
    changes.on(Note).inserted(Seen())
    worker = ChangeWorker(db, changes)
    db.put(Note(id="a"))
    worker.drain()
    db.put(Note(id="b"))
    grow_old(db)
    db.put(Note(id="c"))
    maintain_streams(data_of(db), db.port.now(), elapsed())
    assert sequences(db) == [3]
    assert worker.lag().seconds == DAY
    assert "lost" in worker.lag().trouble


def test_a_gap_without_a_handler_is_a_warning(db: Database) -> None:
    changes = Changes(noted)
    changes.on(Note).inserted(Seen())
    db.put(Note(id="n1"))
    ChangeWorker(db, changes).drain()
    db.put(Note(id="n2"))
    grow_old(db)
    db.put(Note(id="n3"))
    with pytest.warns(GapWarning, match="noted were lost before 'changes'"):
        ChangeWorker(db, changes).drain()


def test_a_gap_handler_that_fails_is_called_again(db: Database) -> None:
    changes, tried = Changes(noted), list[Gap]()
    changes.on(Note).inserted(Seen())

    @changes.on_gap
    def told(gap: Gap) -> None:
        tried.append(gap)
        if len(tried) == 1:
            raise ConnectionError("nobody there")

    db.put(Note(id="n1"))
    ChangeWorker(db, changes).drain()
    db.put(Note(id="n2"))
    grow_old(db)
    db.put(Note(id="n3"))
    with pytest.raises(ConnectionError):
        ChangeWorker(db, changes).drain(lease_seconds=0.2)
    ChangeWorker(db, changes).drain(lease_seconds=0.2)
    assert len(tried) == 2


def test_a_file_that_cannot_be_maintained_raises(tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match=r"indexed and pruned.*Look at"):
        maintain_streams(tmp_path / "nothing.db", 0.0, 0.0)


# --- where a private engine's data lies -------------------------------------------------------------------------------
def test_its_directory_goes_with_the_engine() -> None:
    with Engine.start() as engine:
        assert engine.data.exists()
        assert engine.data.parent.stat().st_mode & 0o777 == 0o700
    assert not engine.data.parent.exists()


def test_its_directory_goes_when_the_owner_is_killed() -> None:
    code = "from singletable_local import Engine; e = Engine.start(); print(e.data, flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", code],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": PYTHONPATH},
    ) as owner:
        assert owner.stdout is not None
        data = Path(owner.stdout.readline().strip())
        assert data.exists()
        owner.send_signal(signal.SIGKILL)
        owner.wait(20)
    assert wait_until(lambda: not data.parent.exists(), 20)


def test_a_file_that_cannot_be_written_raises(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("singletable_local.private_files._IN_MEMORY", tmp_path / "none")
    assert private_directory({"TMPDIR": str(tmp_path)}, for_data=True).parent == tmp_path
    with pytest.raises(NotConfigured, match="TMPDIR"):
        private_directory({"TMPDIR": str(tmp_path / "none")}, for_data=True)


def test_a_table_that_is_made_anew_has_another_stream(db: Database) -> None:
    """What was not handled of the old one is a gap, which is told once. All of the new one is handled."""
    changes, seen, gaps = Changes(noted), Seen(), list[Gap]()
    changes.on(Note).inserted(seen)
    changes.on_gap(gaps.append)
    db.create(Note(id="old"))
    ChangeWorker(db, changes).drain()
    db.delete_table(noted)
    db.create_table(noted)
    db.create(Note(id="new"))
    ChangeWorker(db, changes).drain()
    assert [(gap.shard, gap.reason) for gap in gaps] == [("", "replaced")]
    assert seen.told.count("Inserted note new") == 1
    ChangeWorker(db, changes).drain()
    assert (len(gaps), ChangeWorker(db, changes).check()) == (1, [])


def remake(db: Database) -> None:
    db.delete_table(noted)
    db.create_table(noted)


def switch_again(db: Database) -> None:
    """The stream is switched off, and another one on."""
    for on in (False, True):
        view = {"StreamViewType": "NEW_AND_OLD_IMAGES"} if on else {}
        body = {"TableName": noted.name, "StreamSpecification": {"StreamEnabled": on, **view}}
        db.run(db.port.send(TableCall("UpdateTable", body)))


def remake_unseen(db: Database) -> None:
    """By a program of an older version: no trigger was there."""
    triggers = rows(db, "SELECT name FROM sqlite_master WHERE type = 'trigger'")
    for (name,) in triggers:
        rows(db, f"DROP TRIGGER {name}")
    rows(db, "UPDATE _stream_records SET created_at = created_at - 1")
    remake(db)
    assert len(triggers) == 2


@pytest.mark.parametrize("end", [remake, switch_again, remake_unseen])
def test_a_new_stream_begins_without_the_records_of_the_one_before(
    db: Database, end: Callable[[Database], None]
) -> None:
    changes, seen, gaps = Changes(noted), Seen(), list[Gap]()
    changes.on(Note).inserted(seen)
    changes.on_gap(gaps.append)
    db.create(Note(id="n1"))
    ChangeWorker(db, changes).drain()
    db.create(Note(id="lag"))
    end(db)
    db.create(Note(id="n2"))
    ChangeWorker(db, changes).drain()
    assert seen.told == ["Inserted note n1", "Inserted note n2"]
    assert [gap.reason for gap in gaps] == ["replaced"]
    assert db.check(noted, changes) == []
