"""Processes that work on a job and are killed, and others that end it.

    run = work_killed("fill", db, db, notes, items=100_000)
    run.status.state, run.takeovers, run.read_again, run.updated

Each process notes its pages and updates in a file of texts, which outlives it: `people.NotingPort`.
"""

from __future__ import annotations

import signal
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Final

from singletable import Database
from singletable.jobs import Jobs, JobStatus
from singletable.jobs.store import JobStore
from tests.jobs import people
from tests.jobs.people import OPTIONS
from tests.migrations.models import new
from tests.support.children import child

SECTIONS: Final = 64
PROCESSES, GENERATIONS = 4, 2
KILLS: Final = PROCESSES * GENERATIONS
DIED: Final = -signal.SIGALRM


@dataclass(frozen=True)
class KilledRun:
    """A job that is done, and what all its processes noted of their answers."""

    status: JobStatus
    read: int
    updated: int
    takeovers: int
    """How often a section was taken from another process: a dead one, or one that stood still for too long."""

    @property
    def read_again(self) -> int:
        """The items that were read more than once."""
        return self.read - self.status.seen


def work_killed(kind: str, db: Database, source: Database, notes: Path, *, items: int) -> KilledRun:
    """A job by processes that are killed, and then by some that are not."""
    random, jobs = Random(kind), Jobs(db, new, source=source if kind == "copy" else None)
    job = jobs.begin(kind, OPTIONS[kind], sections=SECTIONS)
    for _ in range(GENERATIONS):
        lives = [str(random.randint(1, items // (KILLS + PROCESSES))) for _ in range(PROCESSES)]
        assert _codes(db, source, job.id, notes, lives) == [DIED] * PROCESSES
    assert _codes(db, source, job.id, notes, [""] * PROCESSES) == [0] * PROCESSES
    done = jobs.show(job.id)
    assert done.state == "ended"
    pages = [tuple(map(int, line.split())) for line in notes.read_text().splitlines()]
    parts = db.run(JobStore(db.port, new).parts(job.id, range(SECTIONS)))
    takeovers = sum(part.fence - 1 for part in parts.values())
    return KilledRun(done, sum(read for read, _ in pages), sum(updated for _, updated in pages), takeovers)


def _codes(db: Database, source: Database, job: str, notes: Path, lives: Sequence[str]) -> list[int]:
    """The return codes of a process for each life: the number of items after which it dies, or nothing."""
    urls = (str(each.target.endpoint.url) for each in (db, source))
    arguments = (*urls, job, str(notes))
    with ExitStack() as ending:
        begun = [ending.enter_context(child(people.work_noting, *arguments, life)) for life in lives]
        return [process.wait(7200) for process in begun]
