"""`work`: what waits, what is dead, the exit codes of a probe, and what a person decides."""

from __future__ import annotations

import json

import pytest

from tests.e2e.cli.conftest import Folder

MODEL = """
from singletable import Entity, Key, Table
from singletable.streams import Changes
from singletable.tasks import Tasks

desk = Table("desk", indexes=["gsi1"], stream="new_and_old")
tasks = Tasks(desk, index="gsi1")
changes = Changes(desk, name="greeter")

class Note(Entity, table=desk, type="note"):
    id: str

    @desk.key
    @staticmethod
    def by_id(id: str) -> Key:
        return f"note#{id}", "note"

@tasks.task(tries=1)
def mail(to: str) -> None:
    raise ValueError(to)

@changes.on(Note).inserted
def greet(change) -> None:
    raise ValueError(change.new.id)
"""
SEED = """
import sys
from datetime import timedelta
from singletable import connect
from singletable.streams import ChangeWorker
from singletable.tasks import TaskWorker
from desk import *

with connect("local:desk.db") as db:
    with db.transaction() as tx:
        tx.create(Note(id="first"))
        tx.add(tasks.after(timedelta(0), mail("ada"), key="mail-ada"))
    if "work" in sys.argv:
        TaskWorker(db, tasks).drain()
        ChangeWorker(db, changes).drain(tries=1)
"""
DB = "--db", "local:desk.db"


@pytest.fixture
def desk(folder: Folder) -> Folder:
    for name, text in (("desk.py", MODEL), ("seed.py", SEED)):
        (folder.path / name).write_text(text)
    return folder


def seed(desk: Folder, *how: str) -> None:
    ran = desk.python("seed.py", *how)
    assert ran.code == 0, ran.err


def test_what_waits_is_shown_and_a_probe_is_told(desk: Folder) -> None:
    seed(desk)
    ran = desk.run("work", "show", "desk.py", *DB)
    assert (ran.code, ran.out.splitlines()[0].startswith("desk: 1 task due, the oldest since")) == (0, True)
    assert "8 requests" not in ran.err
    assert "request" in ran.err
    assert desk.run("work", "show", "desk.py", "--max-lag", "0", *DB).code == 4


def test_what_is_dead_is_shown_retried_and_dropped(desk: Folder) -> None:
    seed(desk, "work")
    ran = desk.run("work", "show", "desk.py", "--json", *DB)
    assert ran.code == 3
    (shown,) = json.loads(ran.out)
    assert (shown["table"], shown["dead_tasks"], shown["tasks"]["due"]) == ("desk", ["mail-ada"], 0)
    (sequence,) = shown["dead_letters"]["greeter"]
    assert "ada" not in desk.run("work", "show", "desk.py", *DB).out.replace("mail-ada", "")
    again = desk.run("work", "retry", "desk.py", "mail-ada", *DB)
    assert (again.code, again.out) == (0, "retry: mail-ada\n")
    gone = desk.run("work", "drop", "desk.py", "mail-ada", *DB)
    assert gone.code == 1, "it is due again, and not dead"
    assert "no dead task" in gone.err
    assert desk.run("work", "drop", "desk.py", sequence, "--consumer", "greeter", *DB).code == 0
    assert desk.run("work", "drop", "desk.py", sequence, "--consumer", "greeter", *DB).code == 1
    assert desk.run("work", "release", "desk.py", "mail-ada", *DB).code == 1
    assert desk.run("work", "drop", "desk.py", "1", "--consumer", "nobody", *DB).code == 2
