"""Data files are for their user alone, also those that were there before."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from singletable import connect
from singletable.errors import NotConfigured
from singletable_local import Engine
from singletable_local.private_files import make_files_private
from tests.engine.local.processes import create_table
from tests.support.models import User


@pytest.fixture(autouse=True)
def generous_umask() -> object:
    before = os.umask(0)
    yield
    os.umask(before)


def rights(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_all_files_of_a_database_are_made_for_its_user_alone(tmp_path: Path) -> None:
    data = tmp_path / "new" / "app.db"
    with connect(f"local:{data}") as db:
        db.create(User(email="a@example.org"))
        found = {file.name: rights(file) for file in data.parent.iterdir()}
    assert found == dict.fromkeys(
        ("app.db", "app.db-wal", "app.db-shm", "app.db.lock", "app.db.cursor-key"), stat.S_IRUSR | stat.S_IWUSR
    )
    assert rights(data.parent) == 0o700


def test_files_that_others_could_read_are_tightened_when_they_are_opened(tmp_path: Path) -> None:
    data = tmp_path / "app.db"
    with Engine.start(data) as engine:
        create_table(engine, "goals")
        os.killpg(os.getsid(engine.pid), 9)
    left = [data.with_name(data.name + suffix) for suffix in ("", "-wal", "-shm", ".lock")]
    for file in left:
        file.chmod(0o666)
    with Engine.start(data):
        assert [rights(file) for file in left] == [0o600] * len(left)


def test_a_directory_that_was_there_stays_as_it_is(tmp_path: Path) -> None:
    place = tmp_path / "shared"
    place.mkdir(mode=0o755)
    (place / "neighbour").touch(mode=0o644)
    with Engine.start(place / "app.db"):
        assert rights(place) == 0o755
        assert rights(place / "neighbour") == 0o644
        assert rights(place / "app.db") == 0o600


def test_a_file_of_another_user_is_refused_before_anything_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = tmp_path / "app.db"
    data.touch(mode=0o666)
    monkeypatch.setattr("os.geteuid", lambda: data.stat().st_uid + 1)
    with pytest.raises(NotConfigured, match=r"app\.db belongs to another user.*directory of your own"):
        make_files_private(data)
    assert rights(data) == 0o666
