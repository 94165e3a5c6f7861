"""A check, a fill and a copy of 100,000 items by four processes, after eight that are killed: each item has its effect
once, and a death costs a round. `JOB_ITEMS=1000000` takes a larger table; with `-s` the counts are shown."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import pytest

from singletable import Database, connect
from singletable.flow import FAN_OUT
from singletable.jobs import Jobs, JobStatus
from singletable.jobs.store import JobStore
from tests.jobs import people
from tests.jobs.people import application_items, put_people
from tests.jobs.test_many_workers import OPTIONS, PAGES
from tests.migrations.models import Person, Place, new, written
from tests.migrations.test_fill import people as old_people
from tests.support.children import child
from tests.support.engines import fresh_url
from tests.support.traits import LOCAL

pytestmark = [
    pytest.mark.soak,
    pytest.mark.timeout(7200),
    pytest.mark.embedded("its processes share one engine's socket"),
]
ITEMS = int(os.environ.get("JOB_ITEMS", "100000"))
SECTIONS, PROCESSES, GENERATIONS = 64, 4, 2
KILLS = PROCESSES * GENERATIONS
OWN_ITEMS = 2_000
"""More than the jobs have of their own, which they read too."""
DIED = -signal.SIGALRM


def test_every_effect_once_though_processes_are_killed(tmp_path: Path) -> None:
    with (
        fresh_url() as url,
        fresh_url() as copied,
        connect(url, traits=LOCAL) as db,
        connect(copied, traits=LOCAL) as target,
    ):
        put_people(db, ITEMS)
        checked, _ = worked("check", db, db, tmp_path / "check")
        assert checked["found"] == ITEMS  # each lacks the keys of the new index
        filled, noted = worked("fill", db, db, tmp_path / "fill")
        assert ITEMS - FAN_OUT * KILLS <= noted.updated <= ITEMS  # the dead noted nothing of their last wave
        assert filled["contended"] == filled["found"] == 0
        assert is_written(db)
        worked("copy", target, db, tmp_path / "copy")
        assert application_items(target) == application_items(db)


@dataclass(frozen=True)
class Noted:
    """What all processes noted of their answers."""

    read: int
    updated: int


def worked(kind: str, db: Database, source: Database, notes: Path) -> tuple[Mapping[str, Any], Noted]:
    """The result of a job by processes that are killed, and then by some that are not."""
    random, jobs = Random(kind), Jobs(db, new, source=source if kind == "copy" else None)
    job = jobs.begin(kind, OPTIONS[kind], sections=SECTIONS)
    for _ in range(GENERATIONS):
        lives = [str(random.randint(1, ITEMS // (KILLS + PROCESSES))) for _ in range(PROCESSES)]
        assert ended(db, source, job, notes, lives) == [DIED] * PROCESSES
    assert ended(db, source, job, notes, [""] * PROCESSES) == [0] * PROCESSES
    done = jobs.show(job.id)
    assert done.state == "ended"
    assert done.result is not None
    pages = [tuple(map(int, line.split())) for line in notes.read_text().splitlines()]
    noted = Noted(sum(read for read, _ in pages), sum(updated for _, updated in pages))
    takeovers, again = taken_over(db, job), noted.read - done.seen
    sys.stdout.write(f"{kind}: {ITEMS:,} items, {KILLS} kills, {takeovers} takeovers, {again:,} items read again\n")
    assert ITEMS <= done.seen <= ITEMS + OWN_ITEMS
    assert 0 <= again <= takeovers * PAGES[kind]
    return done.result, noted


def ended(db: Database, source: Database, job: JobStatus, notes: Path, lives: list[str]) -> list[int]:
    """The return codes of a process for each life: the number of items after which it dies, or nothing."""
    urls = (str(each.target.endpoint.url) for each in (db, source))
    arguments = (*urls, job.id, str(notes))
    with ExitStack() as ending:
        begun = [ending.enter_context(child(people.work_noting, *arguments, life)) for life in lives]
        return [process.wait(3600) for process in begun]


def taken_over(db: Database, job: JobStatus) -> int:
    """How often a section was taken from another: by a death, or from one that stood still for too long."""
    parts = db.run(JobStore(db.port, new).parts(job.id, range(job.sections)))
    return sum(part.fence - 1 for part in parts.values())


def is_written(db: Database) -> bool:
    """Whether each item is what the newer program declares, and found by its new keys."""
    persons = {person.id: (person.first, person.last, person.revision) for person in db.scan(Person)}
    places = sum(1 for kind in ("park", "café") for _ in db.iter(Place.by_kind(kind)))
    expected = map(written, old_people(ITEMS - ITEMS // 2))
    return places == ITEMS // 2 and persons == {p.id: (p.first, p.last, 1) for p in expected}
