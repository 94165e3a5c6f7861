"""Reads and writes a second of one program: by threads, by tasks of asyncio, by two processes.

    python -m benchmarks.throughput                      about a minute
    python -m benchmarks.throughput --quick
    python -m benchmarks.throughput --write throughput   also to benchmarks/results/

Against the embedded engine, and against the replay server, which only gives back what it was told. On Linux with two
cores or more the server has the first, the clients have the others: on two cores, two processes share one. The engine
takes about 130 us of its core for a read and 360 us for a write, so that a client which keeps it busy measures it.
"""

from __future__ import annotations

import argparse
import asyncio  # noqa: TID251 one of the ways
import os
import sys
import threading  # noqa: TID251 another
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, Final

from benchmarks import measure, workload
from benchmarks.child import Child
from benchmarks.libraries.ours import Order, make
from benchmarks.measure import Bench, Say
from benchmarks.report import headed, table, write
from singletable import connect, connect_async

SECONDS: Final = 1.5
QUICK_SECONDS: Final = 0.3
ROUNDS: Final = 3


@dataclass(frozen=True)
class Way:
    """How a program asks: so many threads or tasks in each of so many processes."""

    name: str
    kind: str
    at_once: int
    processes: int = 1


WAYS: Final = (
    Way("1 thread", "threads", 1),
    Way("4 threads", "threads", 4),
    Way("16 threads", "threads", 16),
    Way("asyncio, 1 task", "tasks", 1),
    Way("asyncio, 32 tasks", "tasks", 32),
    Way("2 processes of 4 threads", "threads", 4, processes=2),
    Way("2 processes of 32 tasks", "tasks", 32, processes=2),
)
OPERATIONS: Final = ("get", "put")
_RECORDED: Final = {"get": "singletable/get", "put": "singletable/put"}


# --- in the process that asks -----------------------------------------------------------------------------------------
def ask_for(url: str, kind: str, at_once: int, operation: str, seconds: float) -> int:
    """How many were done in so many seconds."""
    if kind == "threads":
        return _by_threads(url, at_once, operation, seconds)
    return asyncio.run(_by_tasks(url, at_once, operation, seconds))


def _by_threads(url: str, at_once: int, operation: str, seconds: float) -> int:
    with connect(url) as db:
        key = Order.of_customer(workload.READ_CUSTOMER, workload.GET_NUMBER)
        calls: Mapping[str, Callable[[int], object]] = {
            "get": lambda _: db.get(key),
            "put": lambda number: db.put(make(workload.WRITE_CUSTOMER, number)),
        }
        call, counts = calls[operation], [0] * at_once
        call(0)
        end = time.perf_counter() + seconds

        def go(number: int) -> None:
            while time.perf_counter() < end:
                call(number)
                counts[number] += 1

        threads = [threading.Thread(target=go, args=(number,)) for number in range(at_once)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return sum(counts)


async def _by_tasks(url: str, at_once: int, operation: str, seconds: float) -> int:
    async with connect_async(url) as db:
        key = Order.of_customer(workload.READ_CUSTOMER, workload.GET_NUMBER)
        calls: Mapping[str, Callable[[int], Any]] = {
            "get": lambda _: db.get(key),
            "put": lambda number: db.put(make(workload.WRITE_CUSTOMER, number)),
        }
        call, counts = calls[operation], [0] * at_once
        await call(0)
        end = time.perf_counter() + seconds

        async def go(number: int) -> None:
            while time.perf_counter() < end:
                await call(number)
                counts[number] += 1

        await asyncio.gather(*map(go, range(at_once)))
        return sum(counts)


# --- in the process that measures -------------------------------------------------------------------------------------
def run(seconds: float, rounds: int, say: Say) -> dict[tuple[str, str, str], float]:
    """A second's worth, by server, way and operation: the median of the rounds."""
    found: dict[tuple[str, str, str], list[float]] = {}
    with measure.bench() as bench:
        bench.record(["singletable"], say)
        servers = {"embedded engine": bench.engine.url, "replay server": bench.server.url}
        _apart(bench)
        for number in range(rounds):
            say(f"throughput, round {number + 1} of {rounds}")
            for server, url in servers.items():
                for way in WAYS:
                    for operation in OPERATIONS:
                        bench.server.replay(_RECORDED[operation])
                        rate = _rate(url, way, operation, seconds)
                        found.setdefault((server, way.name, operation), []).append(rate)
    return {place: median(rates) for place, rates in found.items()}


def _rate(url: str, way: Way, operation: str, seconds: float) -> float:
    with ExitStack() as stack:
        asked = (url, way.kind, str(way.at_once), operation, str(seconds))
        children = [
            stack.enter_context(Child("benchmarks.throughput", "ask", *asked, environ=measure.environment()))
            for _ in range(way.processes)
        ]
        return sum(int(child.hear()) for child in children) / seconds


def _apart(bench: Bench) -> None:
    """The servers on one core; this process, and those that it starts from now on, on the others."""
    cores = sorted(os.sched_getaffinity(0)) if sys.platform == "linux" else []
    if len(cores) < 2:
        return
    for pid in (bench.engine.pid, bench.server.pid):
        for task in Path(f"/proc/{pid}/task").iterdir():  # each thread has its own
            os.sched_setaffinity(int(task.name), cores[:1])
    os.sched_setaffinity(0, cores[1:])


def page(found: Mapping[tuple[str, str, str], float], seconds: float, rounds: int) -> str:
    parts = [f"Operations a second, one order each: medians of {rounds} rounds of {seconds:g} s."]
    for server in dict.fromkeys(server for server, _, _ in found):
        rows = {way.name: {op: float(found[server, way.name, op]) for op in OPERATIONS} for way in WAYS}
        parts += [f"## Against the {server}", table(rows)]
    return headed("Throughput", parts)


def summary(found: Mapping[tuple[str, str, str], float]) -> dict[str, Any]:
    return {"per_second": [{"server": s, "way": w, "operation": o, "rate": rate} for (s, w, o), rate in found.items()]}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.throughput", description="Operations a second.")
    parser.add_argument("--quick", action="store_true", help="one short round")
    parser.add_argument("--write", metavar="NAME", help="also write benchmarks/results/NAME.json and NAME.md")
    given = parser.parse_args()
    seconds, rounds = (QUICK_SECONDS, 1) if given.quick else (SECONDS, ROUNDS)
    found = run(seconds, rounds, say)
    made = page(found, seconds, rounds)
    if given.write:
        write(given.write, summary(found), made)
    print(made)


def say(what: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {what}", file=sys.stderr, flush=True)


def answer(asked: Sequence[str]) -> None:
    url, kind, at_once, operation, seconds = asked
    print(ask_for(url, kind, int(at_once), operation, float(seconds)), flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["ask"]:
        answer(sys.argv[2:])
    else:
        main()
