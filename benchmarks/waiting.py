"""What waiting costs: threads that share a database, bursts over TLS, a thousand gets in flight, a long `write_many`.

    python -m benchmarks.waiting                    about two minutes
    python -m benchmarks.waiting --quick
    python -m benchmarks.waiting --write waiting    also to benchmarks/results/

All against the replay server, in processes of their own, in turn; figures are medians of the rounds. Other numbers of
threads and tasks: `throughput.py`.
"""

from __future__ import annotations

import argparse
import asyncio  # noqa: TID251 one of the shells runs on it
import json
import resource
import sys
import threading  # noqa: TID251 what is measured
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from statistics import median, quantiles
from typing import Final

from benchmarks import measure, workload
from benchmarks.child import Child
from benchmarks.libraries.ours import Order, make
from benchmarks.measure import Bench, Say
from benchmarks.memory import forget_peak, held_bytes, peak_bytes
from benchmarks.report import headed, table, write
from singletable import connect, connect_async

Figures = dict[str, float]
Call = Callable[[], Awaitable[object]]

BURST: Final = 100
IN_FLIGHT: Final = 1_000
_THREADS: Final = {"1 thread": 1, "16 threads": 16}
_NETWORK_MILLISECONDS: Final = 3
_PAUSE_SECONDS: Final = 0.01
_A_BATCH: Final = 25
_KEY: Final = Order.of_customer(workload.READ_CUSTOMER, workload.GET_NUMBER)
EFFORT: Final = {"rounds": 5, "gets": 4_000, "items": 1_000_000}
QUICK: Final = {"rounds": 1, "gets": 1_600, "items": 20_000}
BARS: Final[Mapping[str, tuple[float, str]]] = {
    "gets/s of 16 threads, to those of one": (1.0, "at least"),
    "the same over TLS": (1.0, "at least"),
    "CPU of a get in a burst over TLS, to one in a steady stream": (1.5, "at most"),
    "p99 of 1,000 gets in flight, to p50": (2.0, "at most"),
    "MB that write_many grew by": (30.0, "at most"),
    "items that write_many asked for before its first request": (100.0, "at most"),
}
"""What is measured, the bar, and on which side of it that has to be."""


# --- in the process that asks -----------------------------------------------------------------------------------------
def by_threads(url: str, count: int, gets: int) -> Figures:
    """CPU microseconds, gets a second, and switches to another thread a get, by so many threads."""
    with connect(url) as db:

        def go(times: int) -> None:
            for _ in range(times):
                db.get(_KEY)

        def together(times: int) -> None:
            threads = [threading.Thread(target=go, args=(times // count,)) for _ in range(count)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()

        together(20 * count)
        switched, cpu, wall = _switches(), time.process_time(), time.perf_counter()
        together(gets)
        cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    return {"cpu": cpu / gets * 1e6, "rate": gets / wall, "switches": (_switches() - switched) / gets}


def _switches() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_nvcsw


async def in_bursts(get: Call, gets: int) -> Figures:
    """100 gets at once, a pause, and again."""
    cpu = 0.0
    for _ in range(gets // BURST):
        started = time.process_time()
        await asyncio.gather(*(get() for _ in range(BURST)))
        cpu += time.process_time() - started
        await asyncio.sleep(_PAUSE_SECONDS)
    return {"cpu": cpu / gets * 1e6}


async def steadily(get: Call, gets: int) -> Figures:
    """100 tasks, each of which asks again when it was answered."""

    async def go() -> None:
        for _ in range(gets // BURST):
            await get()

    started = time.process_time()
    await asyncio.gather(*(go() for _ in range(BURST)))
    return {"cpu": (time.process_time() - started) / gets * 1e6}


async def in_flight(get: Call, gets: int) -> Figures:
    """1,000 tasks, of which 100 have a connection at a time: milliseconds of a get, its time in line included."""
    took: list[float] = []

    async def go() -> None:
        for _ in range(max(2, gets // IN_FLIGHT)):
            started = time.perf_counter()
            await get()
            took.append((time.perf_counter() - started) * 1e3)

    started = time.perf_counter()
    await asyncio.gather(*(go() for _ in range(IN_FLIGHT)))
    wall, percentiles = time.perf_counter() - started, quantiles(took, n=100)
    return {"p50": percentiles[49], "p99": percentiles[98], "rate": len(took) / wall}


_AWAITING: Final = {"bursts": in_bursts, "steady": steadily, "in flight": in_flight}


async def by_tasks(url: str, way: str, gets: int) -> Figures:
    async with connect_async(url) as db:

        async def get() -> object:
            return await db.get(_KEY)

        await asyncio.gather(*(get() for _ in range(BURST)))
        return await _AWAITING[way](get, gets)


def by_write_many(url: str, items: int) -> Figures:
    """A generator of orders, written: CPU microseconds an item, megabytes grown, items asked for before a request."""
    asked_first = items
    with connect(url) as db:
        db.write_many(puts=[make(workload.WRITE_CUSTOMER, number) for number in range(_A_BATCH)])

        def orders() -> Iterator[Order]:
            nonlocal asked_first
            for number in range(items):
                if meter.requests and asked_first == items:
                    asked_first = number
                yield make(f"customer-{number // 1000:04}", number % 1000)

        forget_peak()
        before, started = held_bytes(), time.process_time()
        with db.meter() as meter:
            db.write_many(puts=orders())
        cpu = time.process_time() - started
    return {"cpu": cpu / max(1, items) * 1e6, "grown": (peak_bytes() - before) / 1e6, "asked first": asked_first}


def answer(url: str, way: str, count: int) -> Figures:
    if way in _THREADS:
        return by_threads(url, _THREADS[way], count)
    return by_write_many(url, count) if way == "write_many" else asyncio.run(by_tasks(url, way, count))


# --- in the process that measures -------------------------------------------------------------------------------------
def run(rounds: int, gets: int, items: int, say: Say) -> dict[str, Figures]:
    """The medians of each way's figures."""
    found: dict[str, list[Figures]] = {}
    with measure.bench() as bench:
        bench.record(["singletable"], say)
        _record_batch(bench)
        plain, tls = bench.server.url, bench.server.tls_url
        for number in range(rounds):
            say(f"waiting, round {number + 1} of {rounds}")
            bench.server.replay("singletable/get")
            for place, url in (("", plain), (" over TLS", tls)):
                for way in _THREADS:
                    found.setdefault(f"{way}{place}", []).append(_ask(bench, url, way, gets))
            bench.server.delay(_NETWORK_MILLISECONDS)
            found.setdefault("bursts", []).append(_ask(bench, tls, "bursts", gets))
            found.setdefault("steady", []).append(_ask(bench, tls, "steady", gets))
            found.setdefault("in flight", []).append(_ask(bench, plain, "in flight", 5 * gets))
            bench.server.delay(0)
        say(f"write_many of {items:,} orders")
        bench.server.replay("write_many")
        found["write_many"] = [_ask(bench, plain, "write_many", items)]
    return {way: {name: median(f[name] for f in figures) for name in figures[0]} for way, figures in found.items()}


def _record_batch(bench: Bench) -> None:
    bench.server.record("write_many")
    _ask(bench, bench.server.url, "write_many", 0)


def _ask(bench: Bench, url: str, way: str, count: int) -> Figures:
    environ = measure.environment(AWS_CA_BUNDLE=bench.trusted)
    with Child("benchmarks.waiting", "ask", url, way, str(count), environ=environ) as child:
        figures: Figures = json.loads(child.hear())
    return figures


def measured(found: Mapping[str, Figures]) -> dict[str, float]:
    """The figures that have a bar, by its name."""
    figures = (
        found["16 threads"]["rate"] / found["1 thread"]["rate"],
        found["16 threads over TLS"]["rate"] / found["1 thread over TLS"]["rate"],
        found["bursts"]["cpu"] / found["steady"]["cpu"],
        found["in flight"]["p99"] / found["in flight"]["p50"],
        found["write_many"]["grown"],
        found["write_many"]["asked first"],
    )
    return dict(zip(BARS, figures, strict=True))


def is_reached(name: str, figure: float) -> bool:
    bar, side = BARS[name]
    return figure >= bar if side == "at least" else figure <= bar


def held_to_bars(figures: Mapping[str, float]) -> str:
    """A table of the figures that have a bar."""
    return table(
        {
            name: {
                "bar": f"{BARS[name][1]} {BARS[name][0]:g}",
                "measured": f"{figure:.2f}",
                "": "reached" if is_reached(name, figure) else "MISSED",
            }
            for name, figure in figures.items()
        }
    )


def page(found: Mapping[str, Figures]) -> str:
    return headed(
        "Waiting", [held_to_bars(measured(found)), table({way: _shown(figures) for way, figures in found.items()})]
    )


def _shown(figures: Figures) -> dict[str, str]:
    columns = {"cpu": "CPU us", "rate": "a second", "switches": "switches", "p50": "p50 ms", "p99": "p99 ms"}
    columns |= {"grown": "MB grown", "asked first": "asked first"}
    return {column: f"{figures[name]:,.1f}" if name in figures else "" for name, column in columns.items()}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.waiting", description=str(__doc__).splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="one short round")
    parser.add_argument("--json", action="store_true", help="the figures, and those with a bar")
    parser.add_argument("--write", metavar="NAME", help="also write benchmarks/results/NAME.json and NAME.md")
    given = parser.parse_args()
    found = run(**(QUICK if given.quick else EFFORT), say=say)
    summary = {"figures": found, "bars": measured(found)}
    if given.write:
        write(given.write, summary, page(found))
    print(json.dumps(summary) if given.json else page(found))


def say(what: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {what}", file=sys.stderr, flush=True)


def _answer(asked: Sequence[str]) -> None:
    url, way, count = asked
    print(json.dumps(answer(url, way, int(count))), flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["ask"]:
        _answer(sys.argv[2:])
    else:
        main()
