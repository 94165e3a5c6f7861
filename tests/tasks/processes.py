"""A worker as a child process, for tests that kill it, and the tasks that it runs."""

from __future__ import annotations

import threading  # noqa: TID251
import time

from singletable import Database, Entity, Key, Table, attr, field
from singletable.flow import Traits
from singletable.tasks import Backoff, Tasks, TaskWorker
from tests.support.children import mortal

app = Table("work", indexes=["gsi1"])
tasks = Tasks(app, index="gsi1")
_open: list[Database] = []
_notes: list[str] = []


class Counter(Entity, table=app, type="counter"):
    id: str
    count: int = 0
    steps: list[int] = field(default_factory=list[int])

    @app.key
    @staticmethod
    def by_id(id: str) -> Key:
        return f"counter#{id}", "counter"


def note(what: str) -> None:
    """A line that outlives the process."""
    with open(_notes[0], "a") as file:
        file.write(f"{what}\n")


@tasks.task
def slow(id: str) -> None:
    """Half a second of work, with its effect in the transaction of its end."""
    note("begun")
    threading.Event().wait(0.5)
    with _open[0].transaction() as tx:
        tx.update(Counter.by_id(id), attr(Counter.count).add(1))
        tx.add(tasks.done())
    note("finished")


@tasks.task(tries=1000, backoff=Backoff(0.1, 0.5))
def step(id: str, number: int) -> None:
    """Count, and note the step, in the transaction of its end."""
    if tasks.running().due.timestamp() > time.time():
        note(f"early-{id}-{number}")
    with _open[0].transaction() as tx:
        tx.update(Counter.by_id(id), attr(Counter.count).add(1), attr(Counter.steps).append(number))
        tx.add(tasks.done())


def work(url: str, notes: str, lease: str) -> None:
    _notes.append(notes)
    with mortal(url, index_lag_seconds=Traits().index_lag_seconds) as db:
        _open.append(db)
        TaskWorker(db, tasks).run(poll_seconds=0.1, lease_seconds=float(lease))
