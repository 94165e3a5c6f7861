"""Jobs by one, two and four processes on the embedded engine, beside the plain command in one process.

    python -m benchmarks.jobs                          100,000 items; about ten minutes on two cores
    python -m benchmarks.jobs --items 20000
    python -m benchmarks.jobs --items 1000000 --processes 4 --write jobs_million

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
from typing import Any, Final

from benchmarks.measure import Say
from benchmarks.report import headed, table, write
from singletable import Database, connect
from singletable.exchange import TableCopy
from singletable.jobs import Jobs
from singletable.migrations import Migrations
from singletable.wire import RetryPolicy, Timeouts
from tests.jobs import people
from tests.jobs.people import put_people
from tests.migrations.models import new
from tests.support.children import child
from tests.support.engines import fresh_url
from tests.support.traits import LOCAL

ITEMS: Final = 100_000
PROCESSES: Final = (1, 2, 4)
SECTIONS: Final = 64
PATIENT: Final[Mapping[str, Any]] = {"timeouts": Timeouts(read=600.0), "retry": RetryPolicy(deadline_seconds=600.0)}
"""The engine makes an index within one request, which of a million items takes longer than a usual timeout."""
OPTIONS: Final[Mapping[str, dict[str, Any]]] = {"check": {}, "fill": {}, "copy": {"keep_personal": True}}


@dataclass(frozen=True)
class Took:
    """What a command took. `processes` is 0 for the plain one."""

    kind: str
    processes: int
    seconds: float
    read_units: float
    write_units: float


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


def run(items: int, kinds: Sequence[str], processes: Sequence[int], say: Say) -> list[Took]:
    noted: list[Took] = []
    for kind in kinds:
        for number in processes:
            with databases(kind, items) as (db, source):
                noted.append(shared(kind, number, db, source) if number else plain(kind, db, source))
            say(str(noted[-1]))
    return noted


def page(items: int, noted: Sequence[Took]) -> str:
    rows = {
        f"{took.kind}, {named(took.processes, 'process', 'processes')}": {
            "seconds": f"{took.seconds:.1f}",
            "items a second": f"{items / took.seconds:,.0f}",
            "read units": f"{took.read_units:,.0f}",
            "write units": f"{took.write_units:,.0f}",
        }
        for took in noted
    }
    said = (
        f"{items:,} items, a job in {SECTIONS} sections. The engine and the processes share the cores. Where "
        "a service's waits dominate more workers end sooner: `python -m benchmarks.job_waits`."
    )
    return headed("Jobs by several processes", [said, table(rows)])


def named(number: int, one: str, many: str) -> str:
    """Who did the work."""
    if not number:
        return "the plain command"
    return f"1 {one}" if number == 1 else f"{number} {many}"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.jobs", description="Jobs by several processes.")
    parser.add_argument("--items", type=int, default=ITEMS)
    parser.add_argument("--kinds", nargs="+", choices=OPTIONS, default=list(OPTIONS))
    parser.add_argument("--processes", nargs="+", type=int, default=[0, *PROCESSES], help="0 is the plain command")
    parser.add_argument("--quick", action="store_true", help="2,000 items")
    parser.add_argument("--json", action="store_true", help="print the results as JSON")
    parser.add_argument("--write", metavar="NAME", help="also write benchmarks/results/NAME.json and NAME.md")
    given = parser.parse_args()
    items = 2_000 if given.quick else given.items
    noted = run(
        items,
        given.kinds,
        given.processes,
        lambda said: print(time.strftime("%H:%M:%S"), said, file=sys.stderr, flush=True),
    )
    summary = {"items": items, "took": [asdict(took) for took in noted]}
    if given.write:
        write(given.write, summary, page(items, noted))
    print(json.dumps(summary) if given.json else page(items, noted))


if __name__ == "__main__":
    main()
