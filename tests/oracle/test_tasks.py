"""A worker's check sees each fault of tasks that is planted in an otherwise sound table, and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest

from singletable import Database, Table
from singletable.schema import key_of, model_of
from singletable.tasks import Tasks, TaskWorker
from singletable.tasks.items import SHARDS
from tests.oracle.planting import assert_command_finds, assert_found, delete, edit, put
from tests.support.engines import fresh

app = Table("oracle-tasks", indexes=["gsi1"])
tasks = Tasks(app, index="gsi1")
ENTITIES = tasks.entities
LATER = timedelta(days=1)
LONG_AGO = {"S": "2020-01-01T00:00:00.000000Z"}


@tasks.task(tries=1)
def remind(customer: str) -> None:
    assert customer


@pytest.fixture
def db() -> Iterator[Database]:
    """With a task, and one of an order."""
    with fresh() as made:
        with made.transaction() as tx:
            tx.add(tasks.after(LATER, remind("ada")))
            tx.add(tasks.after(LATER, remind("grace"), order="o1", key="k"))
        assert TaskWorker(made, tasks).check() == []
        yield made


def plain(db: Database) -> Any:
    return next(task for task in db.scan(ENTITIES.task) if task.order is None)


def turn(db: Database) -> Any:
    return next(iter(db.scan(ENTITIES.ordered)))


def edited(of: Callable[[Database], Any], **attributes: Any) -> Callable[[Database], None]:
    return lambda db: edit(db, key_of(of(db)), **attributes)


def dead_without_error(db: Database) -> None:
    edit(db, key_of(plain(db)), state={"S": "Dead"})


def dead(db: Database) -> None:
    """A task that failed in its last try, by a worker."""
    with db.transaction() as tx:
        tx.add(tasks.after(timedelta(0), remind("")))
    TaskWorker(db, tasks).drain()


def in_another_shard(db: Database) -> None:
    edit(db, key_of(plain(db)), shard={"N": str((plain(db).shard + 1) % SHARDS)})


def held_by_nobody(db: Database) -> None:
    """A lane for a task that is missing."""
    lane = ENTITIES.lane(order="o2", turn="gone", fence=1, until=plain(db).due)
    put(db, ENTITIES.lane, model_of(ENTITIES.lane).item(lane))


PLANTED: dict[str, tuple[list[str], Callable[[Database], None]]] = {
    "another shard": (["task.shard"], in_another_shard),
    "a task that wakes early": (["task.early"], edited(plain, wake=LONG_AGO)),
    "a dead task": (["task.dead-letter"], dead),
    "a task that no worker claims": (["task.overdue"], edited(plain, wake=LONG_AGO, due=LONG_AGO)),
    "a dead task without an error": (["task.no-error"], dead_without_error),
    "a function of no program": (
        ["task.unknown"],
        edited(plain, function={"S": "gone"}, error={"S": "it has no such task"}),
    ),
    "a parameter of no program": (
        ["task.unknown"],
        edited(plain, arguments={"M": {"customer": {"S": "a"}, "x": {"S": "y"}}}),
    ),
    "arguments of another type": (["task.arguments"], edited(plain, arguments={"M": {"customer": {"BOOL": True}}})),
    "a name without its ordered task": (["task.no-turn"], lambda db: delete(db, key_of(turn(db)))),
    "a lane of nobody": (["task.lane"], held_by_nobody),
    "a task that the index lacks": (["task.unlisted"], edited(plain, gsi1pk=None, gsi1sk=None)),
    "a row of what can't be read": (["task.ghost"], edited(plain, due=None)),
}


@pytest.mark.parametrize("fault", PLANTED)
def test_a_planted_fault_is_found_and_nothing_else(db: Database, fault: str) -> None:
    wanted, plant = PLANTED[fault]
    plant(db)
    assert_found(TaskWorker(db, tasks).check, wanted)
    assert_command_finds(db, __name__, wanted)
