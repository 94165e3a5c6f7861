"""What the workers of the storm do: handlers of changes, functions of tasks, and the processes that run them."""

from __future__ import annotations

from typing import Any

from singletable import Database
from singletable.streams import ChangeWorker, Inserted, Modified
from singletable.tasks import TaskWorker
from tests.storm.journal import say
from tests.storm.life import Life
from tests.storm.models import Ended, Handled, Tracked, changes, tasks

_database: list[Database] = []
"""Of the worker that this process is."""


@tasks.task(tries=100_000)
def effect(id: str) -> None:
    """Leaves its trace in the transaction of its end."""
    say(say="ran")
    with _database[0].transaction() as tx:
        tx.create(Ended(id=id))
        tx.add(tasks.done())


@changes.on(Tracked).inserted
def appeared(change: Inserted[Tracked]) -> None:
    _handle(change.new)


@changes.on(Tracked).modified(Tracked.count)
def counted(change: Modified[Tracked]) -> None:
    _handle(change.new)


def _handle(tracked: Tracked) -> None:
    """Raise what is written down, never lower it: a change may come again."""
    say(say="handled", item=tracked.id, count=tracked.count)
    db = _database[0]
    found = db.get(Handled.by_id(tracked.id).consistent())
    if found is None or found.count < tracked.count:
        db.put(Handled(id=tracked.id, count=tracked.count))


def use(db: Database) -> None:
    """The database of the functions above."""
    _database[:] = [db]


class ChangesWorker:
    """A worker of the stream."""

    def __init__(self, life: Life) -> None:
        self.db = life.database(waits=True)
        use(self.db)

    def run(self, stop: Any) -> None:
        ChangeWorker(self.db, changes).run(
            lease_seconds=2.0, poll_seconds=0.05, tries=100_000, backoff_seconds=0.02, stop=stop, signals=False
        )


class TasksWorker:
    """A worker of tasks."""

    def __init__(self, life: Life) -> None:
        self.db = life.database(waits=True)
        use(self.db)

    def run(self, stop: Any) -> None:
        TaskWorker(self.db, tasks).run(at_once=4, lease_seconds=2.0, poll_seconds=0.1, stop=stop, signals=False)
