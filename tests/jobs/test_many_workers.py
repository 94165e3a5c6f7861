"""Workers that share a job while the service's waits dominate: how much sooner it ends, what their deaths cost, and its
rate. By counts and the workers' own clock, so that load changes nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from random import Random
from typing import Any

import pytest

from singletable.exchange.table_copy import PAGE as COPY_PAGE
from singletable.jobs import Jobs, JobStatus
from singletable.jobs.check_job import CheckWork
from singletable.migrations.fill import PAGE as FILL_PAGE
from tests.jobs.people import OPTIONS, application_items, is_filled, put_people
from tests.jobs.waiting_service import WaitingService
from tests.migrations.models import new
from tests.support.engines import fresh

PAGES = {"fill": FILL_PAGE, "check": CheckWork.page, "copy": COPY_PAGE}
ITEMS, SECTIONS, OWN_ITEMS = 800, 64, 200
"""The last is more than a job has of its own, which it reads too."""
WAVE_SECONDS = 0.25
KINDS = ["check", *(pytest.param(kind, marks=pytest.mark.soak) for kind in ("fill", "copy"))]


@pytest.mark.parametrize("kind", KINDS)
def test_four_workers_take_at_most_two_fifths_of_the_time_of_one(kind: str) -> None:
    took = {}
    for workers in (1, 2, 4):
        with service(kind) as (waiting, jobs, job):
            took[workers] = waiting.until_ended(job.id, workers=workers)
            done = jobs.show(job.id)
            assert done.state == "ended"
            assert ITEMS <= done.seen == waiting.read <= ITEMS + OWN_ITEMS  # each item once, and those of the job
    assert took[2] <= 0.6 * took[1], took
    assert took[4] <= 0.4 * took[1], took


@pytest.mark.parametrize(
    ("kind", "seed"),
    [("fill", 0), *(pytest.param(kind, seed, marks=pytest.mark.soak) for kind in OPTIONS for seed in range(1, 9))],
)
def test_a_death_costs_a_round(kind: str, seed: int) -> None:
    """What is read again is at most a page of each that died, and every item is written once."""
    random = Random(f"{kind} {seed}")
    with service(kind, sections=8, seed=seed) as (waiting, jobs, job):
        kills = [random.uniform(0.0, 6.0) for _ in range(6)]
        waiting.until_ended(job.id, workers=4, kills=kills)
        died, done = len(waiting.waves) - 4, jobs.show(job.id)
        assert done.state == "ended"
        assert done.result is not None
        assert died >= 2
        assert ITEMS <= done.seen <= ITEMS + OWN_ITEMS
        assert done.seen <= waiting.read <= done.seen + died * PAGES[kind]
        if kind == "check":
            assert done.result["found"] == len(list(jobs.lines(job.id))) == ITEMS
        elif kind == "fill":
            assert list(waiting.updates.values()) == [1] * ITEMS
            assert is_filled(waiting.db)
        else:
            assert application_items(waiting.db) == application_items(waiting.source)


@pytest.mark.parametrize(
    ("kind", "rates", "workers", "at_once", "sections", "items"),
    [
        ("fill", {"write_rate": 40.0}, 4, 1, 16, ITEMS),
        ("check", {"read_rate": 100.0}, 4, 4, 64, ITEMS),
        pytest.param("check", {"read_rate": 100.0}, 2, 1, 16, 4 * ITEMS, marks=pytest.mark.soak),
        pytest.param("check", {"read_rate": 100.0}, 8, 4, 64, 2 * ITEMS, marks=pytest.mark.soak),
        pytest.param("check", {"read_rate": 100.0}, 8, 1, 4, 5 * ITEMS, marks=pytest.mark.soak),
    ],
)
def test_a_rate_is_never_passed_by_a_twentieth_in_ten_seconds(
    kind: str, rates: Mapping[str, Any], workers: int, at_once: int, sections: int, items: int
) -> None:
    """Each worker begins with a part of the rate, and has more of it when others end. The end keeps to it too, and so
    do looks at sections that others have, and the progress that is told."""
    with service(kind, items=items, sections=sections, wave_seconds=0.01, **rates) as (waiting, jobs, job):
        waiting.until_ended(job.id, workers=workers, at_once=at_once)
        assert jobs.show(job.id).state == "ended"
        assert len(waiting.progress) >= workers
    (rate,), of_kind = rates.values(), 2 if kind == "fill" else 1
    assert sum(wave[of_kind] for wave in waiting.units) >= rate * 15
    assert rate * 10 * 0.8 <= most_in_ten_seconds(waiting, of_kind) <= rate * 10 * 1.05


@pytest.mark.parametrize(
    ("kind", "rates", "seed"),
    [
        ("fill", {"write_rate": 60.0}, 1),
        *(pytest.param("fill", {"write_rate": 60.0}, seed, marks=pytest.mark.soak) for seed in (2, 3)),
        *(pytest.param("check", {"read_rate": 100.0}, seed, marks=pytest.mark.soak) for seed in (1, 2, 3)),
    ],
)
def test_neither_deaths_nor_who_comes_after_them_pass_a_rate(kind: str, rates: Mapping[str, Any], seed: int) -> None:
    """What a dead worker took it takes no more, before others have its share. Each death costs a round of its slots."""
    random = Random(f"{kind} {seed}")
    with service(kind, sections=16, seed=seed, wave_seconds=0.01, **rates) as (waiting, jobs, job):
        kills = [random.uniform(0.0, 25.0) for _ in range(8)]
        waiting.until_ended(job.id, workers=4, at_once=2, kills=kills)
        died, done = len(waiting.waves) - 4, jobs.show(job.id)
    (rate,), of_kind = rates.values(), 2 if kind == "fill" else 1
    assert (done.state, died >= 4) == ("ended", True)
    assert most_in_ten_seconds(waiting, of_kind) <= rate * 10 * 1.05
    assert done.seen <= waiting.read <= done.seen + died * 2 * PAGES[kind]
    if kind == "fill":
        assert list(waiting.updates.values()) == [1] * ITEMS


def test_a_rate_is_another_while_workers_run() -> None:
    """A person makes it lower, and higher again. Workers notice it within three seconds, and a page."""
    with service("check", items=2 * ITEMS, sections=16, wave_seconds=0.01, read_rate=100.0) as (waiting, jobs, job):
        calls = {
            2.0: lambda: jobs.resume(job.id, read_rate=20.0),
            30.0: lambda: jobs.resume(job.id, read_rate=200.0),
        }
        waiting.until_ended(job.id, workers=2, calls=calls)
        assert jobs.show(job.id).state == "ended"
    assert 150 <= most_in_ten_seconds(waiting, 1, since=5.5, until=30.0) <= 210
    assert 600 <= most_in_ten_seconds(waiting, 1, since=30.0) <= 2_100


def test_a_job_without_a_rate_gets_one_while_workers_run() -> None:
    with service("check", sections=16, wave_seconds=0.25) as (waiting, jobs, job):
        took = waiting.until_ended(job.id, workers=2, calls={0.5: lambda: jobs.resume(job.id, read_rate=20.0)})
        assert jobs.show(job.id).state == "ended"
    assert took > 20.0  # seven without: the pages are small now
    assert most_in_ten_seconds(waiting, 1, since=4.0) <= 210


def most_in_ten_seconds(
    waiting: WaitingService, of_kind: int, *, since: float = 0.0, until: float = float("inf")
) -> float:
    """The most units that were taken in any ten seconds: of reads, 1, or of writes, 2."""
    units = [(wave[0], wave[of_kind]) for wave in waiting.units if since <= wave[0] < until]
    return max(sum(number for at, number in units if begin <= at < begin + 10) for begin, _ in units)


@contextmanager
def service(
    kind: str,
    *,
    items: int = ITEMS,
    sections: int = SECTIONS,
    seed: int = 0,
    wave_seconds: float = WAVE_SECONDS,
    **bounds: Any,
) -> Iterator[tuple[WaitingService, Jobs, JobStatus]]:
    """A job that was begun, on a table of old items, or into an empty one."""
    with fresh() as db, fresh() as source:
        put_people(source if kind == "copy" else db, items)
        jobs = Jobs(db, new, source=source if kind == "copy" else None)
        job = jobs.begin(kind, OPTIONS[kind], sections=sections, **bounds)
        yield WaitingService(new, db, source, wave_seconds, seed), jobs, job
