"""What a page costs beside the sum of its operations: `python -m benchmarks.applications`.

    python -m benchmarks.applications                        with 10^3, 10^5 and 10^6 items in the table
    python -m benchmarks.applications --items 1000 100000    of these sizes only
    python -m benchmarks.applications --quick                few rounds, without the largest
    python -m benchmarks.applications --write applications   also to benchmarks/results/

A page is asked for as the application does it. Its operations are what it asks of the database, from keys that are
known beforehand, one by one through `Database.run` into the same typed objects: what is left is what the page adds.
Tables of all sizes, and documents of 100 and 1,000 items, lie open at the same time, and each round asks all of them.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from statistics import median
from typing import Any, Final

from benchmarks.applications.case import PAGES, Ask, Case
from benchmarks.applications.data import BOARD_SIZES, SIZES, opened
from benchmarks.applications.documents import DocumentEdit, DocumentHead
from benchmarks.applications.goals import GoalsPage
from benchmarks.applications.manhunt import SearchPage
from benchmarks.applications.organisations import OrganisationPage
from benchmarks.measure import Samples
from benchmarks.report import Ratio, headed, ratio, table, write
from singletable import Database, Meter

CASES: Final[Sequence[Case]] = (GoalsPage(), OrganisationPage(), SearchPage(), DocumentHead(), DocumentEdit())
ROUNDS: Final = 15
QUICK_ROUNDS: Final = 3
LOOP_SECONDS: Final = 0.03
"""About how long one way is asked in one round, at the least: quick pages are asked for several times."""


@dataclass
class Measured:
    """One page on a table of one size."""

    case: Case
    items: int
    page: Ask
    operations: Ask
    cost: Meter
    """Of all places together."""
    naive: Ask
    naive_cost: Meter
    laps: int
    """How often a round goes to all places."""
    rounds: int = 0
    of_page: Samples = field(default_factory=Samples)
    of_operations: Samples = field(default_factory=Samples)
    of_naive: Samples = field(default_factory=Samples)

    def round(self) -> None:
        """The page at every place, and the operations, as often one first as the other; then the naive way, once."""
        self.rounds += 1
        ways = [(self.of_page, self.page), (self.of_operations, self.operations)]
        for samples, ask in ways if self.rounds % 2 else reversed(ways):
            samples.add(timed(ask, [*range(PAGES)] * self.laps), PAGES * self.laps)
        self.of_naive.add(timed(self.naive, [0]), 1)


def timed(ask: Ask, places: Iterable[int]) -> dict[str, float]:
    """Seconds of this process's CPU and of the clock."""
    began, began_cpu = time.perf_counter(), time.process_time()
    for place in places:
        ask(place)
    return {"cpu": time.process_time() - began_cpu, "wall": time.perf_counter() - began}


def measured(case: Case, items: int, db: Database) -> Measured:
    """A page, ready for its rounds: its cost is noted, its first answers are checked, and its operations ask for the
    same."""
    page, operations, naive = case.page(db, items), case.operations(db, items), case.naive(db, items)
    for ask in (page, operations, naive):
        ask(0)  # a table's first use has requests of its own
    with db.meter() as cost:
        took = timed(page, range(PAGES))
    with db.meter() as own:
        timed(operations, range(PAGES))
    assert cost.requests == own.requests, (case.name, cost, own)
    assert abs(cost.read_units - own.read_units) + abs(cost.write_units - own.write_units) < PAGES, (cost, own)
    with db.meter() as naive_cost:
        naive(0)
    laps = math.ceil(LOOP_SECONDS / took["wall"])
    return Measured(case, items, page, operations, cost, naive, naive_cost, laps)


def run(sizes: Sequence[int], rounds: int, say: Callable[[str], None]) -> list[Measured]:
    found: list[Measured] = []
    for case in CASES:
        with ExitStack() as stack:
            own = [items for items in case.sizes if items in sizes]
            pages = [measured(case, items, stack.enter_context(opened(case.data, items, say))) for items in own]
            say(f"{case.name}, {rounds} rounds")
            for _ in range(rounds):
                for page in pages:
                    page.round()
        found += pages
    return found


# --- showing ----------------------------------------------------------------------------------------------------------
def page_of(found: Sequence[Measured], rounds: int) -> str:
    rows = {f"{m.case.name}, {m.items:,} items": _row(m) for m in found}
    naive = {f"{m.case.name}, {m.items:,} items": _naive_row(m) for m in found}
    return headed(
        "Pages of the applications",
        [
            f"Medians of {rounds} interleaved rounds against the embedded engine, on data files; microseconds a page.",
            "## A page beside the sum of its operations, run one by one",
            table(rows),
            "## The same by the naive model",
            table(naive),
            *_growth_table(growth(found)),
        ],
    )


def _growth_table(grown: Mapping[str, Ratio]) -> list[str]:
    """Nothing where one size alone was asked for."""
    title = "## The largest table beside the smallest, wall time of a page"
    return [title, table({name: {"ratio": str(of)} for name, of in grown.items()})] if grown else []


def growth(found: Sequence[Measured]) -> dict[str, Ratio]:
    """Of each page: its wall time on the largest table divided by that on the smallest, round by round."""
    pages = {case.name: [m for m in found if m.case is case] for case in CASES if case.sizes is SIZES}
    return {name: ratio(of[-1].of_page.wall, of[0].of_page.wall) for name, of in pages.items() if len(of) > 1}


def summary(found: Sequence[Measured]) -> dict[str, Any]:
    return {
        "pages": [{"page": m.case.name, "items": m.items, **_row(m), "naive": _naive_row(m)} for m in found],
        "growth": {name: vars(grown) for name, grown in growth(found).items()},
    }


def _row(m: Measured) -> dict[str, Any]:
    return {
        "requests": f"{m.cost.requests / PAGES:g}",
        "round trips": f"{m.cost.round_trips / PAGES:g}",
        "read units": f"{m.cost.read_units / PAGES:.1f}",
        "CPU": median(m.of_page.cpu),
        "CPU of operations": median(m.of_operations.cpu),
        "CPU ratio": str(ratio(m.of_page.cpu, m.of_operations.cpu)),
        "wall": median(m.of_page.wall),
        "wall of operations": median(m.of_operations.wall),
        "wall ratio": str(ratio(m.of_page.wall, m.of_operations.wall)),
    }


def _naive_row(m: Measured) -> dict[str, Any]:
    return {
        "requests": m.naive_cost.requests,
        "round trips": m.naive_cost.round_trips,
        "read units": f"{m.naive_cost.read_units:g}",
        "wall": median(m.of_naive.wall),
        "wall, divided by the page's": str(ratio(m.of_naive.wall, m.of_page.wall)),
    }


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.applications", description="Pages of the applications.")
    parser.add_argument("--items", type=int, nargs="+", help="of these sizes only; 1000, 100000, 1000000, and 100")
    parser.add_argument("--rounds", type=int, help=f"how many; {ROUNDS}")
    parser.add_argument("--quick", action="store_true", help="few rounds, without the largest table")
    parser.add_argument("--write", metavar="NAME", help="also write benchmarks/results/NAME.json and NAME.md")
    given = parser.parse_args()
    rounds = given.rounds or (QUICK_ROUNDS if given.quick else ROUNDS)
    found = run(given.items or (*BOARD_SIZES, *(SIZES[:-1] if given.quick else SIZES)), rounds, say)
    page = page_of(found, rounds)
    if given.write:
        write(given.write, summary(found), page)
    print(page)


def say(what: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {what}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
