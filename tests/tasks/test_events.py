"""The events of tasks: each try that begins and ends, with a hash of the key; a dead one is an error of the log."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from singletable import Table
from singletable.errors import Throttled
from singletable.events import TaskBegun, TaskEnded
from singletable.tasks import NothingToDo, Tasks, TaskWorker
from tests.support.engines import fresh

KEY = "charge-of-ada@example.org"
app = Table("app", indexes=["gsi1"])
tasks = Tasks(app, index="gsi1")


@tasks.task(tries=1)
def charge(how: str) -> None:
    if how == "fails":
        raise KeyError("iban")
    if how == "needless":
        raise NothingToDo


@pytest.mark.parametrize(
    ("how", "outcome", "levels"), [("works", "done", []), ("needless", "needless", []), ("fails", "dead", ["ERROR"])]
)
def test_a_task_begins_and_ends(how: str, outcome: str, levels: list[str], caplog: pytest.LogCaptureFixture) -> None:
    heard: list[Any] = []
    with fresh(listeners=[heard.append]) as db:
        db.create_table(app)
        with db.transaction() as tx:
            tx.add(tasks.after(timedelta(0), charge(how), key=KEY))
        TaskWorker(db, tasks).drain()
        key_hash = db.port.events.hash_of(KEY)
    events: list[Any] = [event for event in heard if isinstance(event, TaskBegun | TaskEnded)]
    begun, ended = events
    assert (begun.table, begun.task, begun.key_hash, begun.attempt) == ("app", "charge", key_hash, 1)
    assert (ended.table, ended.task, ended.key_hash, ended.attempt, ended.tries) == ("app", "charge", key_hash, 1, 1)
    assert ended.outcome == outcome
    assert KEY not in f"{heard} {begun.text} {ended.text} {caplog.text}"
    assert [record.levelname for record in caplog.records] == levels
    assert ("in charge" in caplog.text) is (outcome == "dead"), "with a traceback"


@pytest.mark.unscanned
def test_a_dead_task_is_told_with_its_key_where_the_program_says_so(caplog: pytest.LogCaptureFixture) -> None:
    with fresh(show_keys=True) as db:
        db.create_table(app)
        with db.transaction() as tx:
            tx.add(tasks.after(timedelta(0), charge("fails"), key=KEY))
        TaskWorker(db, tasks).drain()
    assert f"task charge ('{KEY}'): try 1 of 1" in caplog.text


@pytest.mark.parametrize("broken", [Throttled("throttled"), KeyboardInterrupt()])
def test_a_try_whose_end_is_not_written_ends_too(broken: BaseException, monkeypatch: pytest.MonkeyPatch) -> None:
    async def refuse(*_: object) -> None:
        raise broken

    heard: list[Any] = []
    with fresh(listeners=[heard.append]) as db:
        db.create_table(app)
        with db.transaction() as tx:
            tx.add(tasks.after(timedelta(0), charge("works"), key=KEY))
        monkeypatch.setattr("singletable.tasks.execution.apply", refuse)
        with pytest.raises(type(broken)):
            TaskWorker(db, tasks).drain()
    events: list[Any] = [event for event in heard if isinstance(event, TaskBegun | TaskEnded)]
    begun, ended = events
    assert (type(begun), ended.key_hash, ended.outcome, ended.error) == (TaskBegun, begun.key_hash, "open", broken)
