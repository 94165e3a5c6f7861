"""Pages of the studio: the CPU time of the server, beside that of the same read by a program.

    python -m benchmarks.studio                     pages of records, graph, documents and work, with 100 items
    python -m benchmarks.studio --items 1000 --rounds 50
    python -m benchmarks.studio --partition 1000000 a partition of so many items, beside one of 100
    python -m benchmarks.studio --json

Each round asks every page and then does the reads, so that a slow moment of the machine meets all. Times are medians;
the first round is not counted. The exit code is 1 where a page of up to 100 items takes more than 50 ms, or a page of
the large partition other requests, other units, or half as much time again as one of the small partition. The data
files of partitions are kept in data/benchmarks.
"""

from __future__ import annotations

import argparse
import asyncio  # noqa: TID251  (the studio is an ASGI application: it is asked in an event loop)
import json
import sys
from contextlib import AsyncExitStack
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.studio.asked import Asked, Result, table_of
from benchmarks.studio.layers import documents, graph, work
from benchmarks.studio.partition import FEW, differences, partition_of
from benchmarks.studio.records import records

MOST_MILLISECONDS = 50.0
MADE = (records, graph, documents, work)


async def pages(items: int, rounds: int) -> list[Result]:
    """Pages of every kind, each of a table of its own."""
    with TemporaryDirectory(prefix="singletable-studio-") as folder:
        async with AsyncExitStack() as stack:
            asked = [await stack.enter_async_context(made(Path(folder), items)) for made in MADE]
            return [result for each in await _measured(asked, rounds) for result in each]


async def partitions(items: int, rounds: int) -> tuple[list[Result], list[Result]]:
    """Pages of a small partition and of a large one."""
    async with AsyncExitStack() as stack:
        asked = [await stack.enter_async_context(partition_of(count)) for count in (FEW, items)]
        few, many = await _measured(asked, rounds)
        return few, many


async def _measured(asked: list[Asked], rounds: int) -> list[list[Result]]:
    print(f"{sum(len(each.cases) for each in asked)} pages, {rounds} rounds", file=sys.stderr)
    for number in range(rounds + 1):
        for each in asked:
            await each.round(counts=number > 0)
    return [await each.results() for each in asked]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.studio", description=__doc__)
    parser.add_argument("--items", type=int, default=100, help="items of a page")
    parser.add_argument("--partition", type=int, metavar="ITEMS", help="measure a partition of so many items instead")
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if options.partition:
        few, many = asyncio.run(partitions(options.partition, options.rounds))
        found, wrong = [*few, *many], list(differences(few, many))
    else:
        found = asyncio.run(pages(options.items, options.rounds))
        slow = [r for r in found if r.items <= 100 and r.milliseconds > MOST_MILLISECONDS]
        wrong = [f"{r.page}: {r.milliseconds} ms, more than {MOST_MILLISECONDS:g}" for r in slow]
    print(json.dumps([asdict(each) for each in found], indent=2) if options.json else table_of(found))
    if wrong:
        sys.exit("\n".join(wrong))


if __name__ == "__main__":
    main()
