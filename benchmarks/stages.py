"""Where the CPU of one call goes, from the socket up to the verb.

    python -m benchmarks.stages                    half a minute
    python -m benchmarks.stages --quick
    python -m benchmarks.stages --write stages     also to benchmarks/results/

Each stage is the difference of two ways to ask for the same, in one process by turns, against the replay server: the
whole call, the prepared operation, its prepared request, the signed bytes, and those bytes over a bare socket.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Mapping
from functools import partial
from statistics import median
from typing import Any, Final

from benchmarks import bars, measure
from benchmarks.floors import ALONE, blocking_floors, exchange_of, in_turns, repeat
from benchmarks.libraries import OURS
from benchmarks.libraries.blocking import client_of
from benchmarks.measure import Effort, Say
from benchmarks.report import headed, table, write
from singletable import Database, connect
from singletable.flow import drive

FULL: Final = Effort(rounds=15, loop_seconds=0.1)
QUICK: Final = Effort(rounds=3, loop_seconds=0.02)
STAGES: Final = (
    "the verb: keys, expressions, rules",
    "the request's JSON, the answer's objects",
    "signature, checksum, whether to repeat",
    "connection, the answer's head",
    "socket: send and receive",
)
"""From the call down. What takes them away, one after the other, is in `_ways`."""
_WIDE: Final = 40
"""Signs of a bar that is the whole call."""
_TIMEOUT_SECONDS, _MAX_IDLE_SECONDS = 10.0, 50.0

Stages = Mapping[str, Mapping[str, float]]
"""Microseconds of CPU by operation and stage."""


def run(effort: Effort, say: Say) -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, float]] = {}
    with measure.bench() as bench:
        bench.record([OURS], say)
        with connect(bench.server.url) as db, db.meter():
            for operation in bars.FLOORS:
                say(f"{operation}, stage by stage")
                bench.server.replay(f"{OURS}/{operation}")
                samples = in_turns(_ways(db, bench.server.url, operation), effort)
                whole = [median(one.cpu) for one in samples.values()]
                left = [*whole[1:], 0.0]
                found[operation] = {
                    stage: max(0.0, one - rest) for stage, one, rest in zip(STAGES, whole, left, strict=True)
                }
    return found


def _ways(db: Database, url: str, operation: str) -> dict[str, Callable[[int], object]]:
    """The call, then each time without one stage more."""
    exchange = exchange_of(url, operation)
    port: Any = db.port
    request = exchange.operation.request()
    delivery, connections = port._delivery, port._alone  # noqa: SLF001 the layers below a port have no other door
    calls: dict[str, Callable[[], object]] = {
        STAGES[0]: client_of(db).calls[operation],
        STAGES[1]: lambda: drive(port.send(exchange.operation)),
        STAGES[2]: lambda: drive(delivery.deliver(connections, request)),
        STAGES[3]: lambda: drive(connections.exchange(exchange.message, _TIMEOUT_SECONDS, _MAX_IDLE_SECONDS)),
        STAGES[4]: blocking_floors(url, exchange)[ALONE],
    }
    return {name: partial(repeat, call) for name, call in calls.items()}


def page(stages: Stages, effort: Effort) -> str:
    """Operation by operation: microseconds and shares, whose bars are as long as they are."""
    method = (
        f"Client CPU of one blocking call against the replay server: medians of {effort.rounds} rounds, each stage the "
        "difference of two ways to ask for the same (`python -m benchmarks.stages`)."
    )
    return headed("Where the time of one call goes", [method, *drawn(stages)])


def drawn(stages: Stages) -> list[str]:
    """A heading and a table for each operation."""
    parts: list[str] = []
    for operation, taken in stages.items():
        whole = sum(taken.values())
        rows = {
            stage: {
                "us": f"{us:,.1f}",
                "share": f"{us / whole:.0%}",
                "": ("█" * round(us / whole * _WIDE)).ljust(_WIDE),
            }
            for stage, us in taken.items()
        }
        parts += [f"### `{operation}`: {whole:,.0f} us", table(rows)]
    return parts


def _row(us: float, share: float) -> dict[str, str]:
    return {"us": f"{us:,.1f}", "share": f"{share:.0%}", "": ("█" * round(share * _WIDE)).ljust(_WIDE)}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.stages", description="Where the CPU of a call goes.")
    parser.add_argument("--quick", action="store_true", help="few short rounds")
    parser.add_argument("--write", metavar="NAME", help="also write benchmarks/results/NAME.json and NAME.md")
    given = parser.parse_args()
    effort = QUICK if given.quick else FULL
    stages = run(effort, say)
    told = page(stages, effort)
    if given.write:
        write(given.write, {"stages_cpu_us": stages}, told)
    print(told)


def say(what: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {what}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
