"""What a copy leaves to be released, in the program: the copy, the report, the release. And the table of leases."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from tests.e2e.cli.conftest import Folder
from tests.support.emulators import MOTO

MODEL = """
import os
from singletable import Entity, Key, Table
from singletable.streams import Changes
from singletable.tasks import Tasks

desk = Table("desk", indexes=["gsi1"], stream="new_and_old")
tasks = Tasks(desk, index="gsi1")
changes = Changes(desk)

class Note(Entity, table=desk, type="note"):
    id: str

    @desk.key
    @staticmethod
    def by_id(id: str) -> Key:
        return f"note#{id}", "note"

def told(text):
    with open("log.txt", "a") as log:
        log.write(text + chr(10))

@tasks.task
def mail(to: str) -> None:
    told(f"mail {to}")

@tasks.task
def clean() -> None:
    told("clean")

@changes.on(Note).inserted
def greet(change) -> None:
    told(f"greet {change.new.id}")
"""
SEED = """
import sys
from datetime import timedelta
from singletable import connect
from desk import *

with connect(sys.argv[1]) as db, db.transaction() as tx:
    tx.create(Note(id="first"))
    for name in ("ada", "bob"):
        tx.add(tasks.after(timedelta(0), mail(name)))
    tx.add(tasks.after(timedelta(hours=1), clean()))
"""
WORK = """
import sys
from singletable import connect
from singletable.streams import ChangeWorker
from singletable.tasks import TaskWorker
from desk import *

with connect(sys.argv[1]) as db:
    for name in sys.argv[2:]:
        db.create(Note(id=name))
    TaskWorker(db, tasks).drain()
    ChangeWorker(db, changes).drain()
"""
KILLED = """
from singletable import connect
from singletable.exchange import TableCopy
from desk import *

class Killed(Exception): ...

def kill(copied):
    raise Killed

with connect("local:desk.db") as source, connect("local:killed.db") as target:
    try:
        TableCopy(source, target, desk).run(keep_personal=True, progress=kill)
    except Killed:
        pass
"""


@pytest.fixture
def desk(shop: Folder) -> Folder:
    for name, text in (("desk.py", MODEL), ("seed.py", SEED), ("work.py", WORK)):
        (shop.path / name).write_text(text)
    assert shop.python("seed.py", "local:desk.db").code == 0
    return shop


def work(desk: Folder, db: str, *notes: str) -> list[str]:
    """The handlers and tasks that ran, after some notes were written."""
    log = desk.path / "log.txt"
    log.unlink(missing_ok=True)
    ran = desk.python("work.py", db, *notes)
    assert ran.code == 0, ran.err
    return sorted(log.read_text().split("\n")[:-1]) if log.exists() else []


@pytest.mark.parametrize("how", ["copy", "file"])
def test_nothing_of_a_copy_runs_before_its_release(desk: Folder, how: str) -> None:
    if how == "copy":
        command = "copy", "desk.py", "--from", "local:desk.db", "--to", "local:staging.db", "--keep-personal"
        dry = desk.run(*command, "--dry-run")
        assert "it would be held" in dry.out
        assert "mail" in dry.out
        assert "begins with what changes after the release: note inserted" in dry.out
        made = desk.run(*command)
        assert "it is held: nothing of it runs until `singletable release`" in made.out
    else:
        assert desk.run("backup", "copy", "staging.db", "--db", "local:desk.db").code == 0
    staging = "local:staging.db"
    assert work(desk, staging, "while held") == []
    dry = desk.run("release", "desk.py", "--dry-run", "--json", "--db", staging)
    (report,) = json.loads(dry.out)
    assert (report["is_held"], report["why"].startswith("copied from ")) == (True, True)
    assert [(each["name"], each["due"], each["later"]) for each in report["work"]] == [
        ("changes", 0, 0),
        ("clean", 0, 1),
        ("mail", 2, 0),
    ]
    refused = desk.run("release", "desk.py", "--db", staging)
    assert (refused.code, "Add --yes" in refused.err) == (2, True)
    unknown = desk.run("release", "desk.py", "--drop", "mial", "--yes", "--db", staging)
    assert (unknown.code, "there are clean, mail" in unknown.err) == (2, True)
    assert work(desk, staging) == []
    released = desk.run("release", "desk.py", "--drop", "clean", "--yes", "--db", staging)
    assert (released.code, "desk: released" in released.out, "1 task clean" in released.out) == (0, True, True)
    assert work(desk, staging, "new") == ["greet new", "mail ada", "mail bob"]
    assert work(desk, staging) == []
    again = desk.run("release", "desk.py", "--db", staging)
    assert (again.code, "not held; released" in again.out) == (0, True)
    assert work(desk, "local:desk.db", "own") == ["greet first", "greet own", "mail ada", "mail bob"]


def test_a_slice_leaves_tasks_behind_and_a_copy_without_workers_is_not_held(desk: Folder) -> None:
    command = "copy", "desk.py", "--from", "local:desk.db", "--to", "local:slice.db", "--sample", "99%"
    dry = desk.run(*command, "--dry-run")
    assert ("mail" in dry.out.split("stays behind")[0], "note inserted" in dry.out) == (False, True)
    assert "held" not in desk.run(*command, "--no-hold").out
    assert "greet first" in work(desk, "local:slice.db")


def test_a_copy_that_has_not_ended_is_released_when_it_is_given_up(desk: Folder) -> None:
    (desk.path / "killed.py").write_text(KILLED)
    assert desk.python("killed.py").code == 0
    command = "release", "desk.py", "--yes", "--db", "local:killed.db"
    refused = desk.run(*command)
    assert (refused.code, "not ended: a copy or an import" in refused.out, "--unfinished" in refused.err) == (
        1,
        True,
        True,
    )
    released = desk.run(*command, "--unfinished")
    assert (released.code, "desk: released" in released.out) == (0, True)


@pytest.fixture(scope="module")
def moto() -> Iterator[str]:
    with MOTO.running() as url:
        yield url


def test_the_table_of_leases_is_made_with_its_table(desk: Folder, moto: str) -> None:
    at = "--db", moto
    early = desk.run("table", "create", "desk.py", *at)
    assert early.out == "desk: created\ndesk-leases: created\n"
    assert desk.run("table", "create", "desk.py", *at).code == 0
    assert desk.run("check", "desk.py", *at).code == 0
    assert desk.run("plan", "desk.py", *at).code == 2
    assert desk.run("apply", "desk.py", "--yes", *at).code == 0
    assert desk.run("plan", "desk.py", *at).code == 0


def test_a_check_before_the_first_worker_and_an_apply_that_makes_the_leases(desk: Folder, moto: str) -> None:
    at = "--db", moto
    (desk.path / "desk.py").write_text(MODEL.replace('"desk"', '"other"'))
    made = desk.python(
        "-c", f"from singletable import connect; from desk import *; connect({moto!r}).create_table(desk)"
    )
    assert made.code == 0, made.err
    checked = desk.run("check", "desk.py", *at)
    assert (checked.code, "no worker has run, as the table other-leases is missing" in checked.err) == (0, True)
    planned = desk.run("plan", "desk.py", *at)
    assert (planned.code, "create table other-leases" in planned.out) == (2, True)
    assert desk.run("apply", "desk.py", "--yes", *at).code == 0
    checked = desk.run("check", "desk.py", *at)
    assert (checked.code, "missing" in checked.err) == (0, False)
