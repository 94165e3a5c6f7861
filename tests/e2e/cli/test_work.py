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
HOLD = """
from singletable import connect
from singletable.holds import hold
from desk import *

with connect("local:desk.db") as db:
    db.run(hold(db.port, desk, "copied from aws", in_use=False))
"""
HANG = """
import os
from datetime import timedelta
from singletable import connect
from singletable.tasks import TaskWorker
from desk import *

@tasks.task
def hang() -> None:
    os._exit(7)

with connect("local:desk.db") as db:
    with db.transaction() as tx:
        tx.add(tasks.after(timedelta(0), hang(), key="hang-1"))
    TaskWorker(db, tasks).drain()
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
    assert (ran.code, ran.out.splitlines()[0].startswith("desk: 1 task due, ")) == (0, True)
    assert "8 requests" not in ran.err
    assert "request" in ran.err
    assert desk.run("work", "show", "desk.py", "--max-lag", "0", *DB).code == 4


def test_a_table_that_is_held_says_why_nothing_runs(desk: Folder) -> None:
    seed(desk)
    (desk.path / "hold.py").write_text(HOLD)
    assert desk.python("hold.py").code == 0
    first = desk.run("work", "show", "desk.py", *DB).out.splitlines()[0]
    assert first.startswith("desk: held, copied from aws, since ")
    assert first.endswith(": nothing runs before `singletable release`")
    assert "copied from aws" in json.loads(desk.run("work", "show", "desk.py", "--json", *DB).out)[0]["held"]


def test_who_has_a_task_is_shown(desk: Folder) -> None:
    (desk.path / "hang.py").write_text(HANG)
    assert desk.python("hang.py").code == 7
    line = next(line for line in desk.run("work", "show", "desk.py", *DB).out.splitlines() if "hang-1" in line)
    assert "hang" in line.replace("hang-1", "")
    assert ", process " in line
    (shown,) = json.loads(desk.run("work", "show", "desk.py", "--json", *DB).out)
    assert shown["tasks"]["leases"][0]["process"] in line


def test_what_is_dead_is_shown_retried_and_dropped(desk: Folder) -> None:
    seed(desk, "work")
    ran = desk.run("work", "show", "desk.py", "--json", *DB)
    assert ran.code == 3
    (shown,) = json.loads(ran.out)
    assert (shown["table"], shown["held"], shown["tasks"]["due"]) == ("desk", "", 0)
    (dead,), (letter,) = shown["dead_tasks"], shown["dead_letters"]["greeter"]
    assert ", process " in dead["process"]
    assert (dead["key"], dead["task"], dead["tries"], dead["error"]) == ("mail-ada", "mail", 1, "ValueError")
    assert (letter["change"], letter["tries"], letter["error"]) == ("note#INSERT", 1, "ValueError")
    sequence = letter["sequence"]
    out = desk.run("work", "show", "desk.py", *DB).out
    assert "ada" not in out.replace("mail-ada", "")
    assert all(word in out for word in (dead["process"], "ValueError", "note#INSERT"))
    texts = desk.run("work", "show", "desk.py", "--personal", *DB).out
    assert "ValueError: ada" in texts
    assert "ValueError: first" in texts
    failed = desk.run("work", "retry", "desk.py", sequence, "--consumer", "greeter", *DB)
    assert (failed.code, failed.out) == (1, "")
    assert "note#INSERT failed again, and stays a dead letter:\nTraceback" in failed.err
    assert failed.err.rstrip().endswith("ValueError: first")
    assert "click" not in failed.err
    again = desk.run("work", "retry", "desk.py", "mail-ada", *DB)
    assert (again.code, again.out) == (0, "retry: mail-ada\n")
    gone = desk.run("work", "drop", "desk.py", "mail-ada", *DB)
    assert gone.code == 1, "it is due again, and not dead"
    assert "no dead task" in gone.err
    assert desk.run("work", "drop", "desk.py", sequence, "--consumer", "greeter", *DB).code == 0
    assert desk.run("work", "drop", "desk.py", sequence, "--consumer", "greeter", *DB).code == 1
    assert desk.run("work", "release", "desk.py", "mail-ada", *DB).code == 1
    assert desk.run("work", "drop", "desk.py", "1", "--consumer", "nobody", *DB).code == 2
