"""A copied data file: its tables are held for every program, by whatever address it comes; written down once."""

from __future__ import annotations

from pathlib import Path

import pytest

from singletable import Table, connect
from singletable.errors import NotConfigured
from singletable.migrations import Backups
from singletable.release import Hold
from singletable_local import Engine

pytestmark = pytest.mark.embedded("its data file")

app = Table("copied-file", indexes=["gsi1"])
leases = Table("copied-file-leases")


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    with connect(f"local:{tmp_path / 'live.db'}") as db:
        db.create_table(app)
        db.create_table(leases)
        Backups(db, app).copy(tmp_path / "monday.db")
    return tmp_path / "monday.db"


def test_who_comes_by_the_socket_finds_it_held(copied: Path) -> None:
    with Engine.start(copied) as engine, connect(engine.url) as db:
        assert Hold(db, app).report().is_held
        assert Hold(db, app).release().opened_at is not None
        assert not Hold(db, app).report().is_held


def test_it_is_exposed_only_when_its_tables_say_that_they_are_held(copied: Path) -> None:
    with pytest.raises(NotConfigured, match="its tables are held") as refused:
        Engine.start(copied, exposed=True)
    assert refused.value.table == "copied-file"
    with connect(f"local:{copied}") as db:
        assert Hold(db, app).report().is_held
    with Engine.start(copied, exposed=True) as engine, connect(engine.url) as db:
        assert Hold(db, app).report().is_held


def test_it_is_held_once_though_two_programs_see_its_mark(copied: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with connect(f"local:{copied}") as one, connect(f"local:{copied}") as other:
        copy = other.port.traits.held_copy
        assert copy is not None
        read, is_released = copy.why, False

        def why(table: str) -> str | None:
            nonlocal is_released
            answer = read(table)
            if not is_released:  # the other program has read the mark, and not yet the table
                is_released = True
                assert Hold(one, app).release().opened_at is not None
            return answer

        monkeypatch.setattr(copy, "why", why)
        assert not Hold(other, app).report().is_held


@pytest.mark.parametrize("was_released", [False, True])
def test_a_put_after_the_release_of_another_program_is_refused(
    copied: Path, monkeypatch: pytest.MonkeyPatch, was_released: bool
) -> None:
    """The mark is read a second time, before the other program removes it."""
    if was_released:
        with connect(f"local:{copied}") as db:
            Hold(db, app).release()
            Backups(db, app).copy(copied.with_name("tuesday.db"))
        copied = copied.with_name("tuesday.db")
    with connect(f"local:{copied}") as one, connect(f"local:{copied}") as other:
        copy = other.port.traits.held_copy
        assert copy is not None
        read, looks = copy.why, 0

        def why(table: str) -> str | None:
            nonlocal looks
            looks += 1
            answer = read(table)
            if looks == 2:
                assert Hold(one, app).release().opened_at is not None
            return answer

        monkeypatch.setattr(copy, "why", why)
        assert not Hold(other, app).report().is_held


def test_a_copy_of_one_that_was_released_is_held_anew(copied: Path) -> None:
    with connect(f"local:{copied}") as db:
        assert Hold(db, app).release().opened_at is not None
        Backups(db, app).copy(copied.with_name("tuesday.db"))
    with connect(f"local:{copied.with_name('tuesday.db')}") as db:
        report = Hold(db, app).report()
        assert (report.is_held, report.why) == (True, "copied from monday.db")
