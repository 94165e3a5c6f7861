"""That nothing in memory grows with requests made, items streamed, or connections dropped.

    python -m benchmarks.soak_memory                       a million requests; about three minutes
    python -m benchmarks.soak_memory --requests 100000
    python -m benchmarks.soak_memory --write soak_memory   also to benchmarks/results/

A program of both shells reads, writes, changes, streams and sends transactions, inside a meter, against the replay
server, which closes the connection in place of every 500th answer. After each tenth the process's memory and Python's
own count of blocks and open files are noted: after a first tenth, in which pools and caches fill, they stay.
"""

from __future__ import annotations

import argparse
import asyncio  # noqa: TID251 the awaiting shell runs on it
import gc
import json
import os
import sys
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Final

from benchmarks import measure, workload
from benchmarks.libraries.ours import UPDATES, Order, make
from benchmarks.measure import Say
from benchmarks.replay import ReplayServer
from benchmarks.report import headed, table, write
from singletable import AsyncDatabase, Database, connect, connect_async
from singletable.wire import RetryPolicy

REQUESTS: Final = 1_000_000
STEPS: Final = 10
DROPS_EVERY: Final = 500
_AT_ONCE: Final = 16
_STREAMED: Final = 5_000
_PATIENT: Final = RetryPolicy(attempts=5, base_seconds=0.001)
_MEGABYTE: Final = 1e6


@dataclass(frozen=True)
class Held:
    """What the process held after so many requests."""

    requests: int
    resident_bytes: int
    blocks: int
    """Of Python's own allocator."""
    files: int
    """Open: sockets among them."""


def held(requests: int) -> Held:
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    files = len(os.listdir("/proc/self/fd"))
    return Held(requests, pages * os.sysconf("SC_PAGE_SIZE"), sys.getallocatedblocks(), files)


def soak(requests: int, say: Say) -> list[Held]:
    """What was held after each tenth of the requests."""
    with measure.bench() as bench, connect(bench.server.url, retry=_PATIENT) as db:
        awaiting = connect_async(bench.server.url, retry=_PATIENT)
        run = asyncio.new_event_loop().run_until_complete
        for name, once in blocking_calls(db).items():
            bench.server.record(name)
            once()
        bench.server.drop(DROPS_EVERY)
        noted: list[Held] = []
        with db.meter() as meter:
            for step in range(STEPS):
                while meter.requests < requests * (step + 1) / STEPS:
                    _round(bench.server, db, awaiting, run)
                noted.append(held(meter.requests))
                say(f"{meter.requests} requests, {meter.retries} retries: {noted[-1]}")
        run(awaiting.close())
        return noted


def blocking_calls(db: Database) -> dict[str, Callable[[], object]]:
    """Every kind of request that is repeated, by the name that its answers are kept under."""
    order = make(workload.WRITE_CUSTOMER, workload.PUT_NUMBER)
    four = [make(workload.WRITE_CUSTOMER, number) for number in workload.TRANSACT_NUMBERS]
    keys = [Order.of_customer(workload.READ_CUSTOMER, number) for number in range(5)]

    def transact() -> None:
        with db.transaction() as tx:
            for one in four:
                tx.put(one)

    return {
        "get": lambda: db.get(Order.of_customer(workload.READ_CUSTOMER, workload.GET_NUMBER)),
        "put": lambda: db.put(order),
        "update": lambda: db.update(Order.of_customer(workload.WRITE_CUSTOMER, workload.UPDATE_NUMBER), *UPDATES),
        "get_many": lambda: db.get_many(keys),
        "transact": transact,
        "stream": lambda: deque(islice(db.iter(Order.of_customer(workload.STREAM_CUSTOMER)), 10), maxlen=0),
    }


def _round(server: ReplayServer, db: Database, awaiting: AsyncDatabase, run: Callable[[Any], Any]) -> None:
    """Some thousands of requests of every kind."""
    for name, once in blocking_calls(db).items():
        server.replay(name)
        for _ in range(1 if name == "stream" else 500):
            once()
    server.replay("stream")
    deque(islice(db.iter(Order.of_customer(workload.STREAM_CUSTOMER)), _STREAMED), maxlen=0)
    server.replay("get")
    run(_gets(awaiting))


async def _gets(db: AsyncDatabase) -> None:
    key = Order.of_customer(workload.READ_CUSTOMER, workload.GET_NUMBER)
    for _ in range(1000 // _AT_ONCE):
        await asyncio.gather(*(db.get(key) for _ in range(_AT_ONCE)))


def grown(noted: Sequence[Held]) -> dict[str, float]:
    """From the second note, when pools and caches are full, to the last: megabytes, blocks and files."""
    first, last = noted[1], noted[-1]
    return {
        "resident MB": (last.resident_bytes - first.resident_bytes) / _MEGABYTE,
        "blocks": last.blocks - first.blocks,
        "files": last.files - first.files,
    }


def page(noted: Sequence[Held]) -> str:
    rows = {
        f"{n.requests:,} requests": {
            "resident MB": f"{n.resident_bytes / _MEGABYTE:.1f}",
            "blocks": f"{n.blocks:,}",
            "open files": n.files,
        }
        for n in noted
    }
    growth = ", ".join(f"{name} {value:+.1f}" for name, value in grown(noted).items())
    told = f"Every {DROPS_EVERY}th answer is a closed connection. From the second note to the last: {growth}."
    return headed("Memory over many requests", [told, table(rows)])


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.soak_memory", description="What grows.")
    parser.add_argument("--requests", type=int, default=REQUESTS)
    parser.add_argument("--json", action="store_true", help="print the notes as JSON")
    parser.add_argument("--write", metavar="NAME", help="also write benchmarks/results/NAME.json and NAME.md")
    given = parser.parse_args()
    noted = soak(given.requests, lambda said: print(time.strftime("%H:%M:%S"), said, file=sys.stderr, flush=True))
    summary = {"notes": [asdict(note) for note in noted], "grown": grown(noted)}
    if given.write:
        write(given.write, summary, page(noted))
    print(json.dumps(summary) if given.json else page(noted))


if __name__ == "__main__":
    main()
