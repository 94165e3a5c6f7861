"""A function that works on jobs: on the named one, or on all that run, until its time is nearly over."""

from __future__ import annotations

from typing import Any

import pytest

from singletable import Database
from singletable.events import WorkerPaused
from singletable.jobs import AsyncJobs, JobRefused, Jobs
from singletable.jobs.lambda_handler import MARGIN_SECONDS
from singletable.jobs.store import JobStore
from tests.jobs.people import is_filled
from tests.jobs.test_failed import fail_at
from tests.migrations.models import new
from tests.support.engines import fresh_async


class Context:
    """The context of a call whose time is counted in its looks at the clock."""

    def __init__(self, looks: int) -> None:
        self.looks = looks

    def get_remaining_time_in_millis(self) -> int:
        self.looks -= 1
        return int(MARGIN_SECONDS * 1000) - (self.looks < 0)


def test_it_works_on_the_named_one_and_no_other(db: Database) -> None:
    jobs = Jobs(db, new)
    check, fill = jobs.begin("check"), jobs.begin("fill")
    assert jobs.lambda_handler()({"job": fill.id}) == {fill.id: "ended"}
    assert (jobs.show(check.id).seen, is_filled(db)) == (0, True)
    assert jobs.lambda_handler()({"job": fill.id}) == {fill.id: "ended"}
    with pytest.raises(JobRefused, match="no job"):
        jobs.lambda_handler()({"job": "fill-of-nobody"})


def test_it_works_on_all_that_run_the_oldest_first(db: Database) -> None:
    jobs = Jobs(db, new)
    fill, check = jobs.begin("fill"), jobs.begin("check")
    assert list(jobs.lambda_handler()({"source": "aws.events"})) == [fill.id, check.id]
    assert [jobs.show(job.id).state for job in (check, fill)] == ["ended", "ended"]
    assert jobs.lambda_handler()({}) == {}


@pytest.mark.parametrize("looks", range(0, 40, 3))
def test_before_its_time_is_over_it_leaves_its_sections_to_the_next_call(db: Database, looks: int) -> None:
    jobs = Jobs(db, new)
    job = jobs.begin("fill", sections=8)
    states = jobs.lambda_handler(at_once=1)({}, Context(looks))
    assert states in ({} if looks == 0 else {job.id: "running"}, {job.id: "running" if looks < 20 else "ended"})
    assert (jobs.show(job.id).held, jobs.show(job.id).over >= min(8, (looks - 10) // 5)) == ((), True)
    assert jobs.lambda_handler()({}, None) == ({} if states == {job.id: "ended"} else {job.id: "ended"})
    assert is_filled(db)


def test_it_does_not_wait_for_a_job_that_is_paused_or_that_others_have(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It waits for two leases, in which it would see that another worker is dead."""
    jobs, store, slept = Jobs(db, new), JobStore(db.port, new), 0.0

    async def sleep(seconds: float) -> None:
        nonlocal slept
        slept += seconds
        part = db.run(store.parts(job.id, [0])).get(0)
        if part is not None:
            db.run(store.beat(part, part.beats + 1))

    job = jobs.begin("fill", sections=1)
    monkeypatch.setattr(db.port, "sleep", sleep)
    monkeypatch.setattr(db.port, "monotonic", lambda: slept)
    assert db.run(store.take(job.id, 0, None, "another")) is not None
    assert jobs.lambda_handler(at_once=1, lease_seconds=5.0)({}) == {job.id: "running"}
    assert 10 <= slept < 12
    slept = 0.0
    jobs.pause(job.id)
    assert jobs.lambda_handler(at_once=1)({}) == {}
    assert jobs.lambda_handler(at_once=1, lease_seconds=5.0)({"job": job.id}) == {job.id: "paused"}
    assert 10 <= slept < 12


def test_what_it_can_not_do_is_left_to_others_and_told(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """A job of another program stops no other."""
    jobs, told = Jobs(db, new), list[Any]()
    check, fill = jobs.begin("check"), jobs.begin("fill")
    db.run(JobStore(db.port, new).set(_stored(db, check.id), _any(db), declaration="of another program"))
    monkeypatch.setattr(type(db.port.events), "emit", lambda self, event: told.append(event))
    assert jobs.lambda_handler()({}) == {check.id: "refused", fill.id: "ended"}
    (left,) = [event for event in told if isinstance(event, WorkerPaused)]
    assert "other classes" in left.text
    with pytest.raises(JobRefused, match="other classes"):
        jobs.lambda_handler()({"job": check.id})


def test_an_error_of_one_stops_no_other_and_is_raised(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """Until that one has failed: then the function's calls have nothing to do."""
    jobs = Jobs(db, new)
    fill, check = jobs.begin("fill"), jobs.begin("check")
    fail_at(monkeypatch, 0, ValueError("the name of Ada"))
    for wanted in ("running", "running", "failed"):
        with pytest.raises(ValueError, match="of Ada"):
            jobs.lambda_handler(at_once=1)({})
        assert (jobs.show(fill.id).state, jobs.show(check.id).state) == (wanted, "ended")
    assert jobs.lambda_handler(at_once=1)({}) == {}
    assert jobs.lambda_handler(at_once=1)({"job": fill.id}) == {fill.id: "failed"}


def _stored(db: Database, id: str) -> Any:
    return db.run(JobStore(db.port, new).read(id))


def _any(db: Database) -> Any:
    from singletable.expressions import attr

    return attr(JobStore(db.port, new).job.state) == "running"


async def test_in_the_awaiting_shell() -> None:
    async with fresh_async() as db:
        await db.create_table(new)
        jobs = AsyncJobs(db, new)
        job = await jobs.begin("fill", sections=2)
        assert await jobs.lambda_handler()({}) == {job.id: "ended"}
