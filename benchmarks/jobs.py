"""Jobs by one, two and four processes on the embedded engine, beside the plain command in one process.

    python -m benchmarks.jobs                          100,000 items; about ten minutes on two cores
    python -m benchmarks.jobs --items 20000
    python -m benchmarks.jobs --kills                  four processes, after eight that are killed at random moments
    python -m benchmarks.jobs --items 1000000 --kinds check --processes 4 --write jobs_million

The engine and the processes share the machine's cores, so more processes than cores gain little here. What they gain
where a service's waits dominate is counted, not timed: `python -m benchmarks.job_waits`.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from benchmarks.measure import Say
from benchmarks.report import RESULTS, headed, table, write
from singletable import Database, connect
from singletable.exchange import TableCopy
from singletable.jobs import Jobs
from singletable.migrations import Migrations
from singletable.wire import RetryPolicy, Timeouts
from tests.jobs import people
from tests.jobs.killed_processes import KILLS, PROCESSES as LIVING, work_killed
from tests.jobs.people import OPTIONS, put_people
from tests.migrations.models import new
from tests.support.children import child
from tests.support.engines import fresh_url
from tests.support.traits import LOCAL

ITEMS: Final = 100_000
PROCESSES: Final = (1, 2, 4)
SECTIONS: Final = 64
PATIENT: Final[Mapping[str, Any]] = {"timeouts": Timeouts(read=600.0), "retry": RetryPolicy(deadline_seconds=600.0)}
"""The engine makes an index within one request, which of a million items takes longer than a usual timeout."""


@dataclass(frozen=True)
class Took:
    """What a command took. `processes` is 0 for the plain one. Of processes that were killed, the units are those that
    the job knows of, and the seconds have their starts too."""

    kind: str
    processes: int
    seconds: float
    read_units: float
    write_units: float
    kills: int = 0
    taken_over: int = 0
    read_again: int = 0


def command(kind: str, db: Database, source: Database) -> Callable[[], object]:
    """The plain command, without a job."""
    commands: Mapping[str, Callable[[], object]] = {
        "check": lambda: db.check(new),
        "fill": Migrations(db, new).fill,
        "copy": lambda: TableCopy(source, db, new).run(keep_personal=True),
    }
    return commands[kind]


def plain(kind: str, db: Database, source: Database) -> Took:
    """A command in this process."""
    began = time.monotonic()
    with db.meter() as meter:
        command(kind, db, source)()
    return Took(kind, 0, time.monotonic() - began, meter.read_units, meter.write_units)


def shared(kind: str, processes: int, db: Database, source: Database) -> Took:
    """A job, by so many processes, from when they start."""
    jobs = Jobs(db, new, source=source if kind == "copy" else None)
    job = jobs.begin(kind, OPTIONS[kind], sections=SECTIONS)
    urls = [str(each.target.endpoint.url) for each in (db, source)]
    began = time.monotonic()
    with ExitStack() as ending:
        begun = [ending.enter_context(child(people.work_at, *urls, job.id)) for _ in range(processes)]
        assert [process.wait(7200) for process in begun] == [0] * processes
    done = jobs.show(job.id)
    assert done.state == "ended"
    return Took(kind, processes, time.monotonic() - began, done.read_units, done.write_units)


def killed(kind: str, db: Database, source: Database, items: int) -> Took:
    """A job by processes that are killed, and by others that end it."""
    began = time.monotonic()
    with TemporaryDirectory() as folder:
        run = work_killed(kind, db, source, Path(folder) / "notes", items=items)
    seconds, done = time.monotonic() - began, run.status
    return Took(kind, LIVING, seconds, done.read_units, done.write_units, KILLS, run.takeovers, run.read_again)


@contextmanager
def databases(kind: str, items: int) -> Iterator[tuple[Database, Database]]:
    """A table of old items; of a copy an empty one and its source."""
    with (
        fresh_url() as url,
        fresh_url() as other,
        connect(url, traits=LOCAL, **PATIENT) as db,
        connect(other, traits=LOCAL, **PATIENT) as source,
    ):
        put_people(source if kind == "copy" else db, items)
        yield db, source


def run(items: int, kinds: Sequence[str], processes: Sequence[int], kills: bool, say: Say) -> Iterator[Took]:
    """Each command by each number of processes, and with `kills` by those that follow some that are killed."""
    for kind in kinds:
        ways: list[Callable[[Database, Database], Took]] = [
            *(partial(shared, kind, number) if number else partial(plain, kind) for number in processes),
            *([partial(killed, kind, items=items)] if kills else ()),
        ]
        for measured in ways:
            with databases(kind, items) as (db, source):
                took = measured(db, source)
            say(str(took))
            yield took


def with_kept(name: str, items: int, noted: Sequence[Took]) -> list[Took]:
    """These results and the others that are kept under a name, of as many items. A million takes hours in one run."""
    path = RESULTS / f"{name}.json"
    kept = json.loads(path.read_text()) if path.exists() else {}
    took = [Took(**one) for one in kept["took"]] if kept.get("items") == items else []
    merged = {(one.kind, one.kills, one.processes): one for one in (*took, *noted)}
    return [merged[place] for place in sorted(merged, key=lambda place: (list(OPTIONS).index(place[0]), *place[1:]))]


def page(items: int, noted: Sequence[Took]) -> str:
    rows = {
        named(took): {
            "seconds": f"{took.seconds:.1f}",
            "items a second": f"{items / took.seconds:,.0f}",
            "read units": f"{took.read_units:,.0f}",
            "write units": f"{took.write_units:,.0f}",
            "sections taken over": took.taken_over if took.kills else "-",
            "items read again": f"{took.read_again:,}" if took.kills else "-",
        }
        for took in noted
    }
    said = (
        f"{items:,} items, a job in {SECTIONS} sections. The engine and the processes share the cores. Where "
        "a service's waits dominate more workers end sooner: `python -m benchmarks.job_waits`. Rows may be of several "
        "runs; the date and the load are those of the last one."
    )
    return headed("Jobs by several processes", [said, table(rows)])


def named(took: Took) -> str:
    """What was done, and who did it."""
    after = f", after {took.kills} that were killed" if took.kills else ""
    return f"{took.kind}, {who(took.processes, 'process', 'processes')}{after}"


def who(number: int, one: str, many: str) -> str:
    """Who did the work."""
    return {0: "the plain command", 1: f"1 {one}"}.get(number, f"{number} {many}")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.jobs", description="Jobs by several processes.")
    parser.add_argument("--items", type=int, default=ITEMS)
    parser.add_argument("--kinds", nargs="+", choices=OPTIONS, default=list(OPTIONS))
    parser.add_argument("--processes", nargs="*", type=int, default=[0, *PROCESSES], help="0 is the plain command")
    parser.add_argument("--kills", action="store_true", help=f"also {LIVING} processes, after {KILLS} that are killed")
    parser.add_argument("--quick", action="store_true", help="2,000 items")
    parser.add_argument("--json", action="store_true", help="print the results as JSON")
    parser.add_argument("--write", metavar="NAME", help="add to benchmarks/results/NAME.json and NAME.md")
    given = parser.parse_args()
    items = 2_000 if given.quick else given.items
    noted = list[Took]()
    for took in run(items, given.kinds, given.processes, given.kills, _say):
        noted.append(took)
        if given.write:
            kept = with_kept(given.write, items, noted)
            write(given.write, summary(items, kept), page(items, kept))
    print(json.dumps(summary(items, noted)) if given.json else page(items, noted))


def summary(items: int, noted: Sequence[Took]) -> dict[str, Any]:
    return {"items": items, "took": [asdict(took) for took in noted]}


def _say(said: str) -> None:
    print(time.strftime("%H:%M:%S"), said, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
