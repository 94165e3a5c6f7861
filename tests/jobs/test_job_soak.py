"""Jobs by one, two and four processes: how much sooner they end, and what they take together.

`JOB_ITEMS=100000` is the size of a table in use; with `-s` the figures are shown.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from singletable import Database, connect
from singletable.jobs import Jobs
from tests.jobs import people
from tests.jobs.people import application_items, put_people
from tests.migrations.models import new
from tests.support.children import start_child
from tests.support.engines import fresh_url
from tests.support.traits import LOCAL

pytestmark = [
    pytest.mark.soak,
    pytest.mark.timeout(7200),
    pytest.mark.embedded("its processes share one engine's socket"),
]
ITEMS = int(os.environ.get("JOB_ITEMS", "800"))
WAITS = {"fill": 0.25, "check": 0.5, "copy": 1.0}
"""Seconds for which each wave of requests waits, so that waits dominate."""
PROCESSES = (1, 4) if ITEMS < 10_000 else (1, 2, 4)
OPTIONS: Mapping[str, dict[str, Any]] = {"fill": {}, "check": {}, "copy": {"keep_personal": True}}


@pytest.mark.parametrize("waits", [True, False], ids=["a service whose waits dominate", "the embedded engine"])
@pytest.mark.parametrize("kind", WAITS)
def test_more_processes_end_sooner(kind: str, waits: bool, tmp_path: Path) -> None:
    took = {}
    for processes in PROCESSES:
        with databases(kind) as (url, source, db, read):
            jobs = Jobs(db, new, source=read if kind == "copy" else None)
            job = jobs.begin(kind, OPTIONS[kind], sections=16)
            seconds = WAITS[kind] if waits else 0.0
            took[processes] = worked(url, source, job.id, processes, seconds, tmp_path / f"{processes}")
            done = jobs.show(job.id)
            assert done.state == "ended"
            assert ITEMS <= done.seen <= ITEMS + 40 + ITEMS // 1_000  # each item once, and those of the job
            if kind == "copy":
                assert application_items(db) == application_items(read)
    shown = ", ".join(f"{processes}: {seconds:.1f} s" for processes, seconds in took.items())
    sys.stdout.write(f"{kind} of {ITEMS:,} items, {'waits dominate' if waits else 'embedded'}: {shown}\n")
    if waits:
        assert took[4] <= (0.6 if kind == "check" else 0.4) * took[1]  # a check ends with one look by one process


def test_a_rate_is_never_passed_by_a_twentieth_in_ten_seconds(tmp_path: Path) -> None:
    """Four processes: each begins with a part of the rate, and has more of it when others end."""
    rate, notes = 150.0, tmp_path / "notes"
    with databases("fill") as (url, source, db, _):
        job = Jobs(db, new).begin("fill", sections=16, write_rate=rate)
        worked(url, source, job.id, 4, 0.0, notes)
        assert Jobs(db, new).show(job.id).state == "ended"
    units = sorted(
        (at, write) for at, _, write in (map(float, line.split()) for line in notes.read_text().splitlines())
    )
    most = max(sum(u for at, u in units if begin <= at < begin + 10) for begin, _ in units)
    sys.stdout.write(f"a fill at {rate:g} units a second: at most {most:g} in ten seconds\n")
    assert sum(u for _, u in units) >= ITEMS * 1.5
    assert most <= rate * 10 * 1.05


@contextmanager
def databases(kind: str) -> Iterator[tuple[str, str, Database, Database]]:
    """A table to work on, and the source of a copy."""
    with (
        fresh_url() as url,
        fresh_url() as source,
        connect(url, traits=LOCAL) as db,
        connect(source, traits=LOCAL) as read,
    ):
        put_people(read if kind == "copy" else db, ITEMS)
        yield url, source, db, read


def worked(url: str, source: str, job: str, processes: int, wait: float, notes: Path) -> float:
    """The seconds in which so many processes ended a job, from when all had begun."""
    with ExitStack() as ending:
        begun = []
        for _ in range(processes):
            arguments = url, source, job, str(wait), "1", str(notes)
            process = start_child(people.work_slowly, *arguments, stdin=subprocess.PIPE)
            ending.callback(process.wait)
            ending.callback(process.kill)
            begun.append(process)
        for process in begun:
            assert process.stdout is not None
            ending.callback(process.stdout.close)
            assert process.stdout.readline()
        at = time.monotonic()
        for process in begun:
            assert process.stdin is not None
            process.stdin.write(b"\n")
            process.stdin.close()
        assert [process.wait(3600) for process in begun] == [0] * processes
        return time.monotonic() - at
