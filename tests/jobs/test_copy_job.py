"""A copy as a job: the target has what the source has, whoever copied which part, killed or not."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from singletable import Database, InvalidRequest
from singletable.exchange.table_copy import CopyRun
from singletable.foundation import flows
from singletable.holds.gate import TableGate
from singletable.jobs import Jobs, JobStatus, worker as workers
from singletable.jobs.store import JobStore
from tests.erasure.models import Customer, shop
from tests.jobs.people import application_items, put_people
from tests.migrations.models import Place, new
from tests.migrations.watching import killed_at_every_request
from tests.support.engines import fresh
from tests.support.raw import all_items


@pytest.fixture
def target() -> Iterator[Database]:
    with fresh() as made:
        yield made


def test_the_target_has_what_the_source_has(db: Database, target: Database) -> None:
    jobs, before = Jobs(target, new, source=db), application_items(db)
    job = jobs.begin("copy", sections=4)
    assert (job.items, job.sections) == (120, 4)
    done = jobs.run(job.id)
    assert done.result == {"read": 120, "written": 120, "left_out": {}, "is_held": False, "found": 0}
    assert (application_items(target), application_items(db)) == (before, before)
    assert not [item for item in db.run(all_items(db.port, "people")) if item["_type"]["S"].startswith("_")]
    with pytest.raises(InvalidRequest, match="the target has items"):
        jobs.begin("copy")
    assert jobs.run(jobs.begin("copy", {"add": True}).id).state == "ended"


def test_killed_at_every_request_it_ends_with_all_items(
    db: Database, target: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workers, "LOOK_SECONDS", 0.0)
    jobs, ended = Jobs(target, new, source=db), list[JobStatus]()

    def run(kills: int) -> None:
        known = jobs.all() or [jobs.begin("copy", sections=2)]
        ended.append(jobs.run(known[0].id, at_once=1, lease_seconds=0.5, signals=False, stop=lambda: False))

    assert killed_at_every_request(target, monkeypatch, run) > 10
    done = ended[-1]
    assert (done.state, done.seen) == ("ended", 120)
    assert application_items(target) == application_items(db)


def test_what_can_not_be_copied_so_is_refused(db: Database, target: Database) -> None:
    with pytest.raises(InvalidRequest, match="reads another database"):
        Jobs(target, new).begin("copy")
    with pytest.raises(InvalidRequest, match="are the same table"):
        Jobs(db, new, source=db).begin("copy", {"add": True})
    with pytest.raises(InvalidRequest, match="masks does not run as a job"):
        Jobs(target, shop, source=db).begin("copy")
    job = Jobs(target, new, source=db).begin("copy")
    with fresh() as another:
        put_people(another, 2)
        with pytest.raises(InvalidRequest, match="the given source is"):
            Jobs(target, new, source=another).run(job.id)
    assert application_items(target) == {}


def test_personal_values_are_copied_where_it_is_said(db: Database, target: Database) -> None:
    db.create(Customer(email="a@example.org", id="a"))
    jobs = Jobs(target, shop, source=db)
    jobs.run(jobs.begin("copy", {"keep_personal": True}).id)
    assert list(target.scan(Customer)) == list(db.scan(Customer))


def test_a_table_with_workers_is_held(db: Database, target: Database) -> None:
    jobs = Jobs(target, new, source=db)
    job = jobs.begin("copy", {"hold": True}, sections=2)
    assert target.run(TableGate(target.port, new).is_held())
    assert jobs.run(job.id).result == {"read": 120, "written": 120, "left_out": {}, "is_held": True, "found": 0}
    assert target.run(TableGate(target.port, new).is_held())


def test_a_worker_that_stood_still_writes_no_old_items(
    db: Database, target: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has read a page, and stands still. Another takes its section, and the target is in use when it goes on."""
    jobs, store, still = Jobs(target, new, source=db), JobStore(target.port, new), 0.0
    job = jobs.begin("copy", sections=1)
    put, monotonic = CopyRun.put, target.port.monotonic

    async def stand_still(self: Any, items: Any) -> Any:
        nonlocal still
        if not still:
            part = (await store.parts(job.id, [0]))[0]
            assert await store.take(job.id, 0, part, "another") is not None
            await flows.put(target.port, Place(id=1, kind="of who uses the target"))
            still = 100.0
        return await put(self, items)

    monkeypatch.setattr(target.port, "monotonic", lambda: monotonic() + still)
    monkeypatch.setattr(CopyRun, "put", stand_still)
    status = jobs.run(job.id, at_once=1, stop=lambda: still > 0)
    assert (status.state, status.seen, len(status.held)) == ("running", 0, 1)
    assert [place.kind for place in target.scan(Place)] == ["of who uses the target"]
