"""A table's check sees each fault of jobs that is planted in an otherwise sound table, and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from singletable import Database, Entity, Key, Table
from singletable.jobs import Jobs
from singletable.jobs.check import JobCheck
from singletable.jobs.items import JobItem, JobPart
from singletable.jobs.layer import LAYER
from singletable.jobs.states import JobEvent
from singletable.jobs.store import JobStore
from singletable.jobs.work import Round
from singletable.layers import ToolSettings, checks_of
from singletable.records.check_passes import ItemPass
from singletable.records.repairs import repair
from singletable.schema import key_of
from tests.oracle.planting import assert_found, delete, edit
from tests.support.engines import fresh
from tests.support.raw import all_items

app = Table("oracle-jobs")
LONG_AGO = {"S": "2020-01-01T00:00:00.000000Z"}


class Order(Entity, table=app, type="order"):
    number: int

    @app.key
    @staticmethod
    def by_number(number: int) -> Key:
        """One order."""
        return f"order#{number}", "order"


@pytest.fixture
def db() -> Iterator[Database]:
    """With a job that has ended, and one that runs."""
    with fresh() as made:
        made.create_table(app)
        made.write_many(puts=[Order(number=number) for number in range(30)])
        jobs = Jobs(made, app)
        jobs.run(jobs.begin("check", sections=2).id)
        running = jobs.begin("fill", sections=2)
        assert made.run(JobStore(made.port, app).take(running.id, 0, None, "a worker")) is not None
        assert check(made) == []
        yield made


def check(db: Database) -> list[Any]:
    (checks,) = LAYER.checks(app, ToolSettings(db.target.seal))
    return db.check(app, checks)


def count(db: Database) -> int:
    return len(db.run(all_items(db.port, app.name)))


def job(db: Database, state: str) -> Any:
    kind: Any = JobItem.of(app)
    return next(each for each in db.scan(kind) if each.state == state)


def part(db: Database, state: str) -> Any:
    kind: Any = JobPart.of(app)
    name = job(db, state).job
    return next(each for each in db.scan(kind) if each.job == name and each.section == 0)


def idle(db: Database) -> None:
    edit(db, key_of(job(db, "running")), begun_at=LONG_AGO)
    edit(db, key_of(part(db, "running")), beat_at=LONG_AGO)


PLANTED: dict[str, tuple[list[str], Callable[[Database], None]]] = {
    "its job is gone": (["job.orphan"], lambda db: delete(db, key_of(job(db, "running")))),
    "a section of an ended one is gone": (["job.unfinished"], lambda db: delete(db, key_of(part(db, "ended")))),
    "a section of an ended one is not over": (
        ["job.unfinished"],
        lambda db: edit(db, key_of(part(db, "ended")), is_over={"BOOL": False}),
    ),
    "nobody works on it": (["job.idle"], idle),
    "it has failed": (["job.failed"], lambda db: edit(db, key_of(job(db, "running")), state={"S": "failed"})),
    "a section of an ended one can't be read": (
        ["item.unreadable", "job.unfinished"],
        lambda db: edit(db, key_of(part(db, "ended")), beats={"S": "two"}),
    ),
}


@pytest.mark.parametrize("fault", PLANTED)
def test_each_planted_fault_is_found(db: Database, fault: str) -> None:
    codes, plant = PLANTED[fault]
    plant(db)
    assert_found(lambda: check(db), codes)


def test_a_job_that_failed_is_found(db: Database) -> None:
    store = JobStore(db.port, app)
    assert db.run(store.change(job(db, "running"), JobEvent.FAIL, why="section 0 failed 3 times")) is not None
    assert [(one.code, one.what) for one in check(db)] == [("job.failed", "it has failed: section 0 failed 3 times")]


def test_what_is_left_of_a_job_is_deleted(db: Database) -> None:
    """Its sections, their lines and states; a section whose job is there stays."""
    store, running = JobStore(db.port, app), job(db, "running")
    part = db.run(store.take(running.job, 1, None, "a worker"))
    assert part is not None
    kept = Round({"pk": {"S": "x"}}, False, lines=[{"kind": "a line"}])
    assert db.run(store.keep(part, kept, 0.0, 0.0, b"a state")) is not None
    before = count(db)
    delete(db, key_of(running))
    findings = check(db)
    assert [finding.code for finding in findings] == ["job.orphan"] * 4
    items = ItemPass(app, [JobCheck(app)])
    (shown, *_) = db.run(repair(db.port, items, findings, dry_run=True))
    assert (shown.outcome, shown.what) == ("mendable", "delete what is left of a job")
    assert {repaired.outcome for repaired in db.run(repair(db.port, items, findings))} == {"mended"}
    assert check(db) == []
    assert count(db) == before - 5
    assert Jobs(db, app).all()[0].state == "ended"


def test_who_works_at_the_end_works_on_it(db: Database) -> None:
    """The end of a copy is a check of the target: it may take more than a day."""
    store, running = JobStore(db.port, app), job(db, "running").job
    idle(db)
    assert db.run(store.take(running, 2, None, "a worker")) is not None
    assert check(db) == []


def test_the_command_finds_it_without_being_told(db: Database) -> None:
    """The layer is found by itself: a program that has never imported it has its findings too."""
    idle(db)
    assert [finding.code for finding in db.check(app, *checks_of(app, db.target.seal))] == ["job.idle"]
