"""What a schedule's function prints of tasks and of a consumer's letters, as CloudWatch reads it."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest

from singletable import Entity, Key, Table, connect
from singletable.streams import Changes, ChangeWorker, Inserted
from singletable.tasks import Backoff, Tasks, TaskWorker

NOW = 1_900_000_000.0


class Clock:
    now = NOW


@pytest.mark.embedded("it has a clock of its own")
def test_overdue_and_dead_tasks_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    app = Table("app", indexes=["gsi1"])
    tasks, clock = Tasks(app, index="gsi1"), Clock()

    @tasks.task(tries=1, backoff=Backoff(first_seconds=1))
    def charge(number: int) -> None:
        raise ConnectionError

    with connect("local", clock=lambda: clock.now) as db:
        db.create_table(app)
        worker = TaskWorker(db, tasks)
        metrics = worker.lambda_metrics()
        with db.meter() as meter:
            assert metrics({}) == {"TasksOverdueSeconds": 0.0, "TasksDead": 0.0}
        assert (meter.requests, meter.read_units) == (16, 8)
        with db.transaction() as tx:
            for number, minutes in enumerate((2, 1, 90, *[9] * 30)):
                tx.add(tasks.after(timedelta(minutes=minutes), charge(number)))
        assert metrics({})["TasksOverdueSeconds"] == 0.0  # none is due
        clock.now += 600
        capsys.readouterr()
        assert metrics({}, None) == {"TasksOverdueSeconds": 540.0, "TasksDead": 0.0}
        (line,) = capsys.readouterr().out.splitlines()
        assert json.loads(line) == {
            "_aws": {
                "Timestamp": int((NOW + 600) * 1000),
                "CloudWatchMetrics": [
                    {
                        "Namespace": "singletable",
                        "Dimensions": [["Table"]],
                        "Metrics": [
                            {"Name": "TasksOverdueSeconds", "Unit": "Seconds"},
                            {"Name": "TasksDead", "Unit": "Count"},
                        ],
                    }
                ],
            },
            "Table": "app",
            "TasksOverdueSeconds": 540.0,
            "TasksDead": 0.0,
        }
        worker.drain()
        assert metrics({}) == {"TasksOverdueSeconds": 0.0, "TasksDead": 32.0}  # several in each part of the index


@pytest.mark.embedded("it has a clock of its own")
def test_a_run_of_a_recurring_task_that_failed_for_good_is_counted() -> None:
    app = Table("app", indexes=["gsi1"])
    tasks, clock = Tasks(app, index="gsi1"), Clock()

    @tasks.recurring(every=timedelta(hours=1), tries=1)
    def nightly() -> None:
        raise ConnectionError

    with connect("local", clock=lambda: clock.now) as db:
        db.create_table(app)
        worker = TaskWorker(db, tasks)
        metrics = worker.lambda_metrics()
        worker.drain()
        assert metrics({})["TasksDead"] == 0
        clock.now += 3601
        worker.drain()
        assert metrics({})["TasksDead"] == 1
        assert len(worker.dead_letters()) == 1


@pytest.mark.embedded("its stream")
def test_letters_and_lag_of_a_consumer_are_printed(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    app = Table("app", stream="new_and_old")
    changes = Changes(app, name="mail")

    class User(Entity, table=app, type="user"):
        name: str

        @app.key
        @staticmethod
        def by_name(name: str) -> Key:
            return f"user#{name}", "user"

    @changes.on(User).inserted
    def welcome(change: Inserted[Any]) -> None:
        raise ConnectionError

    with connect("local") as db:
        db.create_table(app)
        worker = ChangeWorker(db, changes)
        assert worker.lambda_metrics()({}) == {"ChangesDead": 0.0}, "no worker has run: its lag is not known"
        capsys.readouterr()
        for name in ("ada", "ben"):
            db.create(User(name=name))
        worker.drain(tries=1)
        with db.meter() as meter:
            assert worker.lambda_metrics()({}) == {"ChangesDead": 1.0, "ChangesBehindSeconds": 0.0}
        assert meter.requests == 7  # one of the letters, four and two of the lag
        line = json.loads(capsys.readouterr().out)
        assert (line["Table"], line["Consumer"]) == ("app", "mail")
        for letter in worker.dead_letters():
            worker.drop(letter)
        db.create(User(name="eve"))
        now = db.port.now
        monkeypatch.setattr(db.port, "now", lambda: now() + 600.0)
        metrics = worker.lambda_metrics()({})
        assert metrics["ChangesDead"] == 0.0
        assert 590.0 < metrics["ChangesBehindSeconds"] < 660.0
