"""What the embedded engine's Unix socket costs: a `get` over a connection from it, beside a plain loopback port.

    python -m benchmarks.local_socket            under a minute
    python -m benchmarks.local_socket --rounds 3
    python -m benchmarks.local_socket --json

Two engines run at the same time, each with the same order in memory: one that only this user's processes reach, which
hands out its connections at a Unix socket, and one that is started exposed, on a port of 127.0.0.1. Both shells ask
both in pairs of short loops, over connections that are open already. Each engine goes first in every other pair, so
that a slow moment of the machine meets both. Wall time includes the engine's own work; CPU is that of this process.
"""

from __future__ import annotations

import argparse
import asyncio  # noqa: TID251 one of the shells
import gc
import json
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from statistics import median
from typing import Final

from benchmarks import workload
from benchmarks.libraries.ours import Order, make, table
from benchmarks.report import Ratio, ratio
from singletable import AsyncDatabase, Database, connect, connect_async
from singletable_local import Engine

ROUNDS: Final = 15
PAIRS_A_ROUND: Final = 10
GETS_A_LOOP: Final = 100
GETS_A_ROUND: Final = PAIRS_A_ROUND * GETS_A_LOOP
KEY: Final = Order.of_customer(workload.READ_CUSTOMER, workload.GET_NUMBER)


@dataclass(frozen=True)
class Spent:
    """Seconds: of the clock, and of this process's CPU."""

    wall: float
    cpu: float


@dataclass(frozen=True)
class Result:
    """Ratios are the socket's divided by the port's, round by round; times are medians of the rounds."""

    shell: str
    socket_us: float
    port_us: float
    wall: Ratio
    cpu: Ratio


@dataclass(frozen=True)
class Urls:
    socket: str
    port: str


# --- measuring --------------------------------------------------------------------------------------------------------
def run(rounds: int, say: Callable[[str], None]) -> list[Result]:
    with Engine.start() as behind_socket, Engine.start(exposed=True) as at_port:
        for engine in (behind_socket, at_port):
            _fill(engine.url)
            say(f"{engine.url}: {engine.isolation}")
        urls = Urls(behind_socket.url, at_port.url)
        say(f"blocking, {rounds} rounds")
        blocking = _blocking(urls, rounds)
        say(f"asyncio, {rounds} rounds")
        return [_result("blocking", blocking), _result("asyncio", asyncio.run(_awaiting(urls, rounds)))]


def _fill(url: str) -> None:
    with connect(url) as db:
        db.create_table(table)
        db.put(make(workload.READ_CUSTOMER, workload.GET_NUMBER))


Pair = tuple[Spent, Spent]
"""The socket's and the port's."""


def _blocking(urls: Urls, rounds: int) -> list[Pair]:
    with connect(urls.socket) as socket, connect(urls.port) as port:
        _gets(socket)
        _gets(port)
        return [_sum(_pair(socket, port, number) for number in range(PAIRS_A_ROUND)) for _ in range(rounds)]


def _pair(socket: Database, port: Database, number: int) -> Pair:
    if number % 2:
        first = _gets(socket)
        return first, _gets(port)
    first = _gets(port)
    return _gets(socket), first


def _gets(db: Database) -> Spent:
    gc.collect()
    wall, cpu = time.perf_counter(), time.process_time()
    for _ in range(GETS_A_LOOP):
        db.get(KEY)
    return Spent(time.perf_counter() - wall, time.process_time() - cpu)


async def _awaiting(urls: Urls, rounds: int) -> list[Pair]:
    async with connect_async(urls.socket) as socket, connect_async(urls.port) as port:
        await _gets_awaiting(socket)
        await _gets_awaiting(port)
        return [
            _sum([await _pair_awaiting(socket, port, number) for number in range(PAIRS_A_ROUND)]) for _ in range(rounds)
        ]


async def _pair_awaiting(socket: AsyncDatabase, port: AsyncDatabase, number: int) -> Pair:
    if number % 2:
        first = await _gets_awaiting(socket)
        return first, await _gets_awaiting(port)
    first = await _gets_awaiting(port)
    return await _gets_awaiting(socket), first


async def _gets_awaiting(db: AsyncDatabase) -> Spent:
    gc.collect()
    wall, cpu = time.perf_counter(), time.process_time()
    for _ in range(GETS_A_LOOP):
        await db.get(KEY)
    return Spent(time.perf_counter() - wall, time.process_time() - cpu)


def _sum(pairs: Iterable[Pair]) -> Pair:
    sockets, ports = zip(*pairs, strict=True)
    return _added(sockets), _added(ports)


def _added(loops: Iterable[Spent]) -> Spent:
    all_ = list(loops)
    return Spent(sum(each.wall for each in all_), sum(each.cpu for each in all_))


def _result(shell: str, rounds: list[Pair]) -> Result:
    sockets, ports = [socket for socket, _ in rounds], [port for _, port in rounds]
    return Result(
        shell,
        round(median(each.wall for each in sockets) / GETS_A_ROUND * 1e6, 1),
        round(median(each.wall for each in ports) / GETS_A_ROUND * 1e6, 1),
        ratio([each.wall for each in sockets], [each.wall for each in ports]),
        ratio([each.cpu for each in sockets], [each.cpu for each in ports]),
    )


# --- showing ----------------------------------------------------------------------------------------------------------
def told(found: list[Result]) -> str:
    head = f"{'a get':<9} {'socket us':>10} {'port us':>10}   {'time, socket / port':<20} {'client CPU':<20}"
    lines = [f"{r.shell:<9} {r.socket_us:>10.1f} {r.port_us:>10.1f}   {r.wall!s:<20} {r.cpu!s:<20}" for r in found]
    return "\n".join(line.rstrip() for line in (head, *lines))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.local_socket", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--rounds", type=int, default=ROUNDS, help=f"of {GETS_A_ROUND} gets in each way and shell")
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    found = run(asked.rounds, lambda text: print(text, file=sys.stderr))
    print(json.dumps([asdict(result) for result in found], indent=2) if asked.json else told(found))


if __name__ == "__main__":
    main()
