"""`singletable stream tail` on a real stream: once, and live until it is told to stop."""

from __future__ import annotations

import json
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

from singletable import connect
from singletable_local.polling import wait_until
from tests.e2e.cli.conftest import Folder
from tests.faults.proxy import FaultProxy
from tests.faults.rules import Faults

MODEL = '''
from __future__ import annotations
from singletable import Entity, Key, Table

app = Table("moving", stream="new_and_old")


class Thing(Entity, table=app, type="thing"):
    id: str
    name: str = ""

    @app.key
    @staticmethod
    def by_id(id: str) -> Key:
        """One thing."""
        return f"thing#{id}", "thing"
'''
WRITE = """
import sys
from singletable import attr, connect
from moving import Thing

with connect("local:data/singletable.db") as db:
    for id in sys.argv[1:]:
        db.create(Thing(id=id, name="\\x1b[31mred"))
        db.update(Thing.by_id(id), attr(Thing.name).set("blue"))
        db.delete(Thing.by_id(id))
"""


@pytest.fixture
def moving(folder: Folder) -> Folder:
    """A folder with a table that has a stream, and three changes in it."""
    (folder.path / "moving.py").write_text(MODEL)
    (folder.path / "write.py").write_text(WRITE)
    ran = folder.python("write.py", "t1")
    assert ran.code == 0, ran.err
    return folder


def test_what_was_is_shown_typed(moving: Folder) -> None:
    ran = moving.run("stream", "tail", "moving", "--from", "horizon", "--once")
    assert ran.code == 0, ran.err
    lines = [line.split("  ", 1)[1] for line in ran.out.splitlines()]
    assert lines == [
        "inserted  thing  id: t1, name: red",
        "modified  thing  thing#t1 / thing  name: red -> blue",
        "removed  thing  id: t1, name: blue",
    ]


def test_json_has_a_line_for_each_change(moving: Folder) -> None:
    ran = moving.run("stream", "tail", "moving:app", "--from", "horizon", "--once", "--json", "--type", "thing")
    seen = [json.loads(line) for line in ran.out.splitlines()]
    assert [one["what"] for one in seen] == ["inserted", "modified", "removed"]
    assert seen[1]["new"] == {"id": "t1", "name": "blue"}
    assert seen[2]["old"] == {"id": "t1", "name": "blue"}
    assert moving.run("stream", "tail", "moving", "--from", "horizon", "--once", "--type", "other").out == ""


def test_nothing_is_new_from_now(moving: Folder) -> None:
    ran = moving.run("stream", "tail", "moving", "--once")
    assert (ran.code, ran.out) == (0, "")


def test_it_shows_what_comes_until_it_is_told_to_stop(moving: Folder) -> None:
    started = moving.run("local", "start")
    assert started.code == 0, started.err
    program = str(Path(sys.executable).with_name("singletable"))
    command = [program, "stream", "tail", "moving", "--from", "horizon"]
    environ = {**moving.environ, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(command, cwd=moving.path, env=environ, stdout=subprocess.PIPE, text=True) as tail:
        assert tail.stdout is not None
        before = [tail.stdout.readline() for _ in range(3)]
        assert moving.python("write.py", "t2").code == 0
        after = [tail.stdout.readline() for _ in range(3)]
        tail.send_signal(signal.SIGINT)
        assert tail.wait(20) == 0
    assert [line.split()[1] for line in before + after] == ["inserted", "modified", "removed"] * 2
    assert "t2" in after[0]


def test_it_rests_while_nothing_comes(moving: Folder) -> None:
    """A quarter of a second between two readings that found nothing."""
    program, faults = str(Path(sys.executable).with_name("singletable")), Faults()

    def readings() -> int:
        return faults.seen["GetRecords"]

    with (
        connect(f"local:{moving.path / 'data' / 'singletable.db'}") as db,
        FaultProxy(db.target.endpoint.url, faults) as proxy,
        subprocess.Popen(
            [program, "stream", "tail", "moving", "--db", proxy.url], cwd=moving.path, env=moving.environ
        ) as tail,
    ):
        assert wait_until(lambda: readings() >= 1, 30)
        began, first = time.monotonic(), readings()
        assert wait_until(lambda: readings() >= first + 4, 30)
        took = time.monotonic() - began
        tail.send_signal(signal.SIGINT)
        assert tail.wait(20) == 0
    assert took > 0.7, "three whole pauses, and a part of one"


def test_a_table_without_a_stream_is_refused(shop: Folder) -> None:
    ran = shop.run("stream", "tail", "shop.model")
    assert ran.code == 2
    assert "no table with a stream" in ran.err


def test_what_is_missing_has_a_line(moving: Folder) -> None:
    """Changes that went from the stream between two readings of one watch."""
    program = str(Path(sys.executable).with_name("singletable"))
    assert moving.run("local", "start").code == 0
    command = [program, "stream", "tail", "moving", "--from", "horizon", "--json"]
    environ = {**moving.environ, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(command, cwd=moving.path, env=environ, stdout=subprocess.PIPE, text=True) as tail:
        assert tail.stdout is not None
        before = [json.loads(tail.stdout.readline()) for _ in range(3)]
        tail.send_signal(signal.SIGSTOP)
        assert moving.python("write.py", "t2").code == 0
        forget_all_but_the_last(moving)
        tail.send_signal(signal.SIGCONT)
        after = [json.loads(tail.stdout.readline()) for _ in range(2)]
        tail.send_signal(signal.SIGINT)
        assert tail.wait(20) == 0
    assert [one["what"] for one in before + after] == ["inserted", "modified", "removed", "gap", "removed"]
    assert after[0]["after"] == before[-1]["sequence"]


def forget_all_but_the_last(folder: Folder) -> None:
    with closing(sqlite3.connect(folder.path / "data" / "singletable.db")) as database, database:
        database.execute("DELETE FROM _stream_records WHERE id < (SELECT MAX(id) FROM _stream_records)")
