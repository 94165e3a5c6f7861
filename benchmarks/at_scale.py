"""What each command takes of a table of 10^9 items: units, money, time by workers.

    python -m benchmarks.at_scale                           measures small tables, prints the page
    python -m benchmarks.at_scale --write at_scale          also to benchmarks/results/
    python -m benchmarks.at_scale --items 1e8 --bytes 2048 --region us-west-2

Requests and units are counted by the meter on the local engine, client CPU is that of this process, and both are
multiplied: nobody has run these commands on such a table. Waits are assumed, and so are the table's limits.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any, Final

from benchmarks.commands import COMMANDS, Taken, collected, taken_by
from benchmarks.report import headed, machine, table, write
from singletable.migrations import Prices, prices_of

ITEMS: Final = 10**9
BYTES: Final = 1024
REGION: Final = "us-east-1"
FEW, MANY = 1_000, 6_000
"""Items of the two tables that are measured."""
WORKERS: Final = (1, 4, 16)
PAGE_SECONDS, REQUEST_SECONDS = 0.1, 0.01
"""The waits for an answer that are assumed: of a page of 1 MB, and of any other request."""
PAGES_AT_ONCE, REQUESTS_AT_ONCE = 4, 16
"""Of one worker on AWS."""
UNITS_A_SECOND: Final = 40_000
"""The default quota of a table on demand, of read units and of write units."""
_UNITS_A_PAGE: Final = 256
"""The read units of a consistent page of 1 MB."""
_COLLECTION: Final = "collect_garbage"
_GB: Final = 2.0**30
_ITEM_OVERHEAD: Final = 100
"""Bytes that DynamoDB's storage adds to an item."""
_BACKUPS: Final = {
    "point-in-time recovery, a month": 0.20,
    "a backup, kept for a month": 0.10,
    "a restore, of either": 0.15,
    "DynamoDB's own export to S3": 0.10,
}
"""Dollars for a GB in us-east-1. https://aws.amazon.com/dynamodb/pricing/on-demand/ as of 2025-12-01."""


def measured(items: int, size: int) -> dict[str, Taken]:
    """What each command takes of an item."""
    each: dict[str, Taken] = {}
    for command in COMMANDS:
        taken_by(command, FEW // 10, size)  # what is loaded and made once
        each[command] = taken_by(command, items, size).each_more(taken_by(command, FEW, size), items - FEW)
    few, many = FEW // 20, items // 20
    collected(few)
    each[_COLLECTION] = in_full_pages(collected(many).each_more(collected(few), many - few))
    return each


def in_full_pages(taken: Taken) -> Taken:
    """What an item takes where each table that was measured is less than a page: a page of a large one is full."""
    return replace(taken, pages=max(taken.pages, taken.read_units / _UNITS_A_PAGE))


def page(found: Mapping[str, Any]) -> str:
    """The tables, of kept results."""
    items, size = found["items"], found["bytes"]
    prices = prices_of(found["region"])
    if prices is None:
        raise SystemExit(f"the package has no prices of {found['region']}")
    each = {command: Taken(**taken) for command, taken in found["each"].items()}
    rows = {f"`{command}`": _row(taken, items, prices) for command, taken in each.items()}
    parts = [table(rows), _assumed(found, prices), table(_backups(items, size)), _about_backups(items, size)]
    return "\n\n".join(parts)


def _row(taken: Taken, items: int, prices: Prices) -> dict[str, str]:
    reads, writes = taken.read_units * items, taken.write_units * items
    dollars = reads * prices.on_demand.read_unit + writes * prices.on_demand.write_unit
    row = {
        "requests": _short((taken.pages + taken.others) * items),
        "read units": _short(reads),
        "write units": _short(writes),
        "dollars": f"{dollars:,.0f}",
        "client CPU": _hours(taken.cpu_seconds * items),
    }
    return row | {f"{_workers(count)}": _hours(seconds(taken, items, count)) for count in WORKERS}


def seconds(taken: Taken, items: int, workers: int) -> float:
    """What takes longest: the work of each worker, its waits, or the units that the table gives."""
    waits = taken.pages * PAGE_SECONDS / PAGES_AT_ONCE + taken.others * REQUEST_SECONDS / REQUESTS_AT_ONCE
    least = max(taken.read_units, taken.write_units) / UNITS_A_SECOND
    return items * max((taken.cpu_seconds + waits) / workers, least)


def _workers(count: int) -> str:
    return "1 worker" if count == 1 else f"{count} workers"


def _assumed(found: Mapping[str, Any], prices: Prices) -> str:
    place = found["machine"]
    processor = f"{place['processor']}, {place['python']}, load average {place['load_average'][0]}"
    return (
        f"{_short(found['items'])} items of {found['bytes']:,} bytes, with one index; prices of {prices.region}, on "
        f"demand, as of {prices.as_of}. Measured on tables of {FEW:,} and {found['measured']:,} items, the difference "
        f"multiplied ({place['date']}, {processor}). Assumed: a page of 1 MB comes after {1000 * PAGE_SECONDS:.0f} ms, "
        f"{PAGES_AT_ONCE} at once; any other answer after {1000 * REQUEST_SECONDS:.0f} ms, {REQUESTS_AT_ONCE} at once; "
        f"a table gives {UNITS_A_SECOND:,} units a second, which is the bound where more workers do not help."
    )


def _backups(items: int, size: int) -> dict[str, dict[str, str]]:
    gigabytes = items * (size + _ITEM_OVERHEAD) / _GB
    return {what: {"dollars": f"{gigabytes * dollars:,.0f}"} for what, dollars in _BACKUPS.items()}


def _about_backups(items: int, size: int) -> str:
    return (
        f"{items * (size + _ITEM_OVERHEAD) / _GB:,.0f} GB at the prices of us-east-1, as of 2025-12-01, from "
        "aws.amazon.com/dynamodb/pricing. None of these takes units or workers of yours."
    )


def _short(number: float) -> str:
    for size, name in ((1e9, "billion"), (1e6, "million"), (1e3, "thousand")):
        if number >= size:
            return f"{number / size:,.3g} {name}"
    return f"{number:,.0f}"


def _hours(seconds: float) -> str:
    return f"{seconds / 3600:,.1f} h" if seconds < 48 * 3600 else f"{seconds / 86400:,.1f} d"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.at_scale", description=str(__doc__).splitlines()[0])
    parser.add_argument("--items", type=float, default=ITEMS, help="of the table that is told")
    parser.add_argument("--bytes", type=int, default=BYTES, help="of an item")
    parser.add_argument("--region", default=REGION, help="whose prices count")
    parser.add_argument("--quick", action="store_true", help="smaller tables")
    parser.add_argument("--write", metavar="NAME", help="also to benchmarks/results/NAME.json and .md")
    chosen = parser.parse_args()
    many = 2 * FEW if chosen.quick else MANY
    each = {command: asdict(taken) for command, taken in measured(many, chosen.bytes).items()}
    found = {"items": int(chosen.items), "bytes": chosen.bytes, "region": chosen.region, "measured": many, "each": each}
    told = headed(f"At {_short(chosen.items)} items", [page({**found, "machine": machine()})])
    print(told)
    if chosen.write:
        write(chosen.write, found, told)


if __name__ == "__main__":
    main()
