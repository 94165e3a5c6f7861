"""Processes that share a job, and are killed: what one has kept is not done again, and the rest is."""

from __future__ import annotations

from contextlib import ExitStack
from random import Random

import pytest

from singletable import connect
from singletable.jobs import Jobs, JobStatus
from tests.jobs import people
from tests.jobs.people import application_items, is_filled, put_people
from tests.migrations.models import new
from tests.support.children import child
from tests.support.engines import fresh, fresh_url
from tests.support.traits import LOCAL

pytestmark = [
    pytest.mark.embedded("its processes share one engine's socket"),
    pytest.mark.timeout(600),
]
LEASE_SECONDS = 1.0


def test_a_process_is_killed_and_another_goes_on() -> None:
    """Two processes; one is killed in the midst, and the other one does what it had."""
    done = worked_by(processes=2, kills=1, items=400, sections=8, seed=1)
    assert done.state == "ended"


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(5))
def test_killed_again_and_again_each_section_loses_a_round(seed: int) -> None:
    done = worked_by(processes=4, kills=12, items=10_000, sections=16, seed=seed)
    assert done.state == "ended"


def worked_by(*, processes: int, kills: int, items: int, sections: int, seed: int) -> JobStatus:
    """A job by processes of which so many are killed, one after the other; then so many work at a time."""
    random = Random(seed)
    with fresh_url() as url, connect(url, traits=LOCAL) as db:
        put_people(db, items)
        jobs = Jobs(db, new)
        job = jobs.begin("fill", sections=sections)
        for number in range(kills):
            victim_seen = jobs.show(job.id).seen + random.randint(1, max(2, items // (kills + 2)))
            with child(people.work, url, job.id, str(LEASE_SECONDS), "2") as victim:
                while victim.poll() is None and jobs.show(job.id).seen < victim_seen:
                    continue
                assert victim.poll() is None or number, "it ended before it was killed"
        with ExitStack() as ending:
            begun = [
                ending.enter_context(child(people.work, url, job.id, str(LEASE_SECONDS), "2")) for _ in range(processes)
            ]
            assert [one.wait(300) for one in begun] == [0] * processes
        done = jobs.show(job.id)
        assert is_filled(db)
        assert db.check(new) == []
        assert application_items(db) == wanted(items)
        assert items <= done.seen <= items + 1 + sections  # what was read again after a kill is counted once
        assert done.result is not None
        assert 0 < done.result["written"] <= items
        return done


def wanted(items: int) -> dict[str, object]:
    """The items after a fill by one process."""
    with fresh() as other:
        put_people(other, items)
        from singletable.migrations import Migrations

        Migrations(other, new).fill()
        return dict(application_items(other))
