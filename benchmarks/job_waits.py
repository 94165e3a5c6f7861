"""Jobs where a service's waits dominate, by one, two and four workers: time, requests, units, beside the plain command.

    python -m benchmarks.job_waits                     100,000 items; about five minutes
    python -m benchmarks.job_waits --items 20000

Nothing is timed. The workers' clock goes on by the waits alone, so load changes nothing:
`tests/jobs/waiting_service.py`. A worker does one section at a time.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Final

from benchmarks.jobs import ITEMS, PROCESSES, SECTIONS, command, databases, who
from benchmarks.measure import Say
from benchmarks.report import headed, table, write
from singletable import Database
from singletable.jobs import Jobs
from tests.jobs.people import OPTIONS
from tests.jobs.waiting_service import WaitingService
from tests.migrations.models import new

WAVE_SECONDS: Final = 0.25


@dataclass(frozen=True)
class Shared:
    """What a job took. `workers` is 0 for the plain command, whose time is not known here."""

    kind: str
    workers: int
    seconds: float | None
    requests: int
    read_units: float
    write_units: float


def run(items: int, say: Say) -> list[Shared]:
    noted: list[Shared] = []
    for kind in OPTIONS:
        for workers in (0, *PROCESSES):
            with databases(kind, items) as (db, source):
                noted.append(shared(kind, workers, db, source) if workers else alone(kind, db, source))
            say(str(noted[-1]))
    return noted


def alone(kind: str, db: Database, source: Database) -> Shared:
    """The plain command."""
    with db.meter() as meter:
        command(kind, db, source)()
    return Shared(kind, 0, None, meter.requests, meter.read_units, meter.write_units)


def shared(kind: str, workers: int, db: Database, source: Database) -> Shared:
    """A job, by so many workers."""
    jobs = Jobs(db, new, source=source if kind == "copy" else None)
    job = jobs.begin(kind, OPTIONS[kind], sections=SECTIONS)
    service = WaitingService(new, db, source, WAVE_SECONDS)
    seconds = service.until_ended(job.id, workers=workers)
    assert jobs.show(job.id).state == "ended"
    read, write = (sum(wave[kind] for wave in service.units) for kind in (1, 2))
    return Shared(kind, workers, seconds, service.requests, read, write)


def page(items: int, noted: Sequence[Shared]) -> str:
    one = {took.kind: took.seconds for took in noted if took.workers == 1}
    rows = {
        f"{took.kind}, {who(took.workers, 'worker', 'workers')}": {
            "seconds": "-" if took.seconds is None else f"{took.seconds:,.1f}",
            "of one worker's": "-" if took.seconds is None else f"{took.seconds / (one[took.kind] or 1):.2f}",
            "requests": f"{took.requests:,}",
            "read units": f"{took.read_units:,.0f}",
            "write units": f"{took.write_units:,.0f}",
        }
        for took in noted
    }
    said = (
        f"{items:,} items, a job in {SECTIONS} sections, of which a worker does one at a time. Seconds are those of "
        f"the workers' own clock: up to 16 requests are answered after {1000 * WAVE_SECONDS:.0f} ms, and nothing else "
        "takes time. Units and requests are those of the job's own items too. A worker without a section looks for one "
        "each second: of a job that one worker ends within some seconds, more make nothing sooner."
    )
    return headed("Jobs where a service's waits dominate", [said, table(rows)])


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.job_waits", description=str(__doc__).splitlines()[0])
    parser.add_argument("--items", type=int, default=ITEMS)
    parser.add_argument("--quick", action="store_true", help="2,000 items")
    parser.add_argument("--write", metavar="NAME", help="also write benchmarks/results/NAME.json and NAME.md")
    given = parser.parse_args()
    items = 2_000 if given.quick else given.items
    noted = run(items, lambda said: print(said, file=sys.stderr, flush=True))
    told = page(items, noted)
    if given.write:
        write(given.write, {"items": items, "shared": [asdict(took) for took in noted]}, told)
    print(told)


if __name__ == "__main__":
    main()
