"""`python -m benchmarks.peers`: what each library's own work costs, side by side, in one run.

    python -m benchmarks.peers                  the tables; about thirteen minutes
    python -m benchmarks.peers --quick          fewer and shorter rounds
    python -m benchmarks.peers --json           one JSON object instead of the tables
    python -m benchmarks.peers --write peers    also to benchmarks/results/peers.json and .md

README.md says what is measured. Progress goes to standard error.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Any, Final

from benchmarks import bars, bulk, cold, floors, measure, metering, workload
from benchmarks.cold import Started
from benchmarks.libraries import LIBRARIES, OURS, OURS_ASYNC, compared_with, why_missing
from benchmarks.measure import Effort, Measured, Samples
from benchmarks.report import Ratio, headed, ratio, table, write

FULL: Final = Effort(rounds=9, loop_seconds=0.2)
QUICK: Final = Effort(rounds=3, loop_seconds=0.05, streamed=10_000, written=1000)
ENGINE_LOOP_SECONDS: Final = 0.1
_MEGABYTE: Final = 1e6


@dataclass(frozen=True)
class Results:
    """One run."""

    replayed: Measured
    over_tls: Measured
    over_network: Measured
    with_engine: Measured
    metered: Mapping[str, Ratio]
    """Ours inside a meter, divided by outside of one."""
    starts: Mapping[str, Started]
    grown: Mapping[str, int]
    """Bytes, by library, while it went through many items."""
    written: Mapping[str, Samples]
    """An order of many that were written in one call, by library."""
    floors: floors.Floors
    """Ours beside what no client does without; nothing where not both of ours were measured."""
    left_out: Sequence[str]
    """Why libraries were not measured."""
    effort: Effort


def run(asked: Sequence[str], effort: Effort, say: measure.Say) -> Results:
    left_out = [why for library in asked if (why := why_missing(library))]
    libraries = [library for library in asked if not why_missing(library)]
    for why in left_out:
        say(f"left out: {why}")
    beside_engine = Effort(effort.rounds, min(effort.loop_seconds, ENGINE_LOOP_SECONDS))
    with measure.bench() as bench:
        bench.record(libraries, say)
        return Results(
            bench.replayed(libraries, effort, say),
            bench.over_tls(libraries, effort, say),
            bench.over_network(libraries, beside_engine, say),
            bench.with_engine(libraries, beside_engine, say),
            metering.run(bench, effort, say) if OURS in libraries else {},
            cold.run(bench, libraries, effort.rounds, say),
            bench.streamed(libraries, effort, say),
            bulk.run(bench, libraries, effort, say),
            floors.run(bench, beside_engine, say) if {OURS, OURS_ASYNC} <= {*libraries} else {},
            left_out,
            effort,
        )


# --- telling ----------------------------------------------------------------------------------------------------------
def medians(found: Measured, of: str) -> dict[str, dict[str, float]]:
    """Library, operation, microseconds; `of` is cpu or wall."""
    told: dict[str, dict[str, float]] = {}
    for (library, operation), samples in found.items():
        told.setdefault(library, {})[operation] = round(median(getattr(samples, of)), 1)
    return told


def ratios(found: Measured, of: str = "cpu") -> dict[str, dict[str, Ratio]]:
    """The peer's cost divided by ours, by peer and operation."""
    told: dict[str, dict[str, Ratio]] = {}
    for (library, operation), samples in found.items():
        ours = found.get((compared_with(library), operation))
        if library not in (OURS, OURS_ASYNC) and ours is not None:
            told.setdefault(library, {})[operation] = ratio(getattr(samples, of), getattr(ours, of))
    return told


def start_ratios(starts: Mapping[str, Started], of: str) -> dict[str, Ratio]:
    """Wall time until the client or the item is there, the peer's divided by ours."""
    told: dict[str, Ratio] = {}
    for name, started in starts.items():
        ours = starts.get(compared_with(name))
        if name not in (OURS, OURS_ASYNC) and ours is not None:
            told[name] = ratio(getattr(started, of).wall, getattr(ours, of).wall)
    return told


def held_to_bars(results: Results) -> dict[str, dict[str, Ratio]]:
    """By peer and what there is a bar for."""
    told = ratios(results.replayed)
    for name, of in ((bars.CLIENT, "client"), (bars.ITEM, "item")):
        for peer, measured in start_ratios(results.starts, of).items():
            told.setdefault(peer, {})[name] = measured
    for peer, of_peer in bulk.ratios(results.written, "wall").items():
        told.setdefault(peer, {}).update(of_peer)
    return told


def over_floor(results: Results) -> dict[str, Ratio]:
    """Ours divided by the floor with decode, by operation: those that have a bar, of the blocking shell."""
    return floors.ratios(results.floors, OURS) if results.floors else {}


def summary(results: Results) -> dict[str, Any]:
    """The one object of `--json`."""
    return {
        "client_cpu_us": medians(results.replayed, "cpu"),
        "wall_us": medians(results.replayed, "wall"),
        "cpu_ratio_peer_to_ours": _plain(ratios(results.replayed)),
        "over_tls_cpu_us": medians(results.over_tls, "cpu"),
        "over_tls_cpu_ratio_peer_to_ours": _plain(ratios(results.over_tls)),
        "over_network_wall_us": medians(results.over_network, "wall"),
        "over_network_wall_ratio_peer_to_ours": _plain(ratios(results.over_network, "wall")),
        "with_engine_cpu_us": medians(results.with_engine, "cpu"),
        "with_engine_wall_us": medians(results.with_engine, "wall"),
        "meter_on_to_off": {op: vars(found) for op, found in results.metered.items()},
        "cold_ms": {
            name: {"client": median(s.client.wall) / 1000, "item": median(s.item.wall) / 1000}
            for name, s in results.starts.items()
        },
        "cold_client_ratio": {name: vars(r) for name, r in start_ratios(results.starts, "client").items()},
        "cold_item_ratio": {name: vars(r) for name, r in start_ratios(results.starts, "item").items()},
        "write_many_us": {name: {"cpu": median(s.cpu), "wall": median(s.wall)} for name, s in results.written.items()},
        "write_many_cpu_ratio_peer_to_ours": _plain(bulk.ratios(results.written, "cpu")),
        "write_many_wall_ratio_peer_to_ours": _plain(bulk.ratios(results.written, "wall")),
        "floors_cpu_us": {
            shell: {
                operation: {name: median(samples.cpu) for name, samples in ways.items()}
                for operation, ways in found.items()
            }
            for shell, found in results.floors.items()
        },
        "streaming_grew_mb": {name: round(grown / _MEGABYTE, 1) for name, grown in results.grown.items()},
        "bars": bars.summary(held_to_bars(results), over_floor(results)),
        "left_out": list(results.left_out),
        "rounds": results.effort.rounds,
        "loop_seconds": results.effort.loop_seconds,
    }


def page(results: Results) -> str:
    """The tables as Markdown."""
    rounds = results.effort.rounds
    parts = [
        f"Medians of {rounds} interleaved rounds (`make bench`). CPU is that of all threads of the client's process.",
        *(f"Left out: {why}." for why in results.left_out),
        "## The bars",
        bars.page(held_to_bars(results), over_floor(results)),
        "## Client CPU against the replay server, microseconds an operation",
        table(medians(results.replayed, "cpu")),
        "## Client CPU, the peer's divided by ours: median (least-greatest round)",
        "Awaitable libraries are compared with `singletable_async`, the others with `singletable`.",
        *_if_any(ratios(results.replayed)),
        "## Wall time against the replay server, microseconds an operation",
        table(medians(results.replayed, "wall")),
        "## Over TLS: client CPU, microseconds an operation",
        table(medians(results.over_tls, "cpu")),
        *_if_any(ratios(results.over_tls)),
        f"## Answers {workload.NETWORK_MILLISECONDS} ms later, as over a network: wall time, microseconds an operation",
        table(medians(results.over_network, "wall")),
        *_if_any(ratios(results.over_network, "wall")),
        "## With the embedded engine: wall time and client CPU, microseconds an operation",
        table(medians(results.with_engine, "wall")),
        table(medians(results.with_engine, "cpu")),
        "## Inside a meter, divided by outside of one: client CPU, in pairs of short loops",
        *_if_any({OURS: results.metered} if results.metered else {}),
        "## Import, first client and first item, milliseconds in a fresh interpreter",
        table({name: _start_row(results, name) for name in results.starts}),
        "## Ours beside the floors: client CPU, microseconds an operation, in one process by turns",
        "The floor sends a request that is made beforehand, and reads the answer. With decode it makes and reads JSON.",
        *(table(floors.rows(results.floors, shell)) for shell in results.floors),
        f"## {results.effort.written:,} orders by `write_many`, answers {workload.NETWORK_MILLISECONDS} ms later",
        "Microseconds an order, in the way that each library has to write many in one call.",
        table({name: _written_row(results, name) for name in results.written}),
        f"## Growth of the process while it goes through {results.effort.streamed:,} items of 400 bytes",
        table({name: {"MB": f"{grown / _MEGABYTE:.1f}"} for name, grown in results.grown.items()}),
    ]
    return headed("singletable and its peers", parts)


def _start_row(results: Results, name: str) -> dict[str, str]:
    started = results.starts[name]
    clients, items = start_ratios(results.starts, "client"), start_ratios(results.starts, "item")
    return {
        "client": f"{median(started.client.wall) / 1000:.1f}",
        "client, divided by ours": str(clients.get(name, "")),
        "item": f"{median(started.item.wall) / 1000:.1f}",
        "item, divided by ours": str(items.get(name, "")),
    }


def _written_row(results: Results, name: str) -> dict[str, str]:
    written = results.written[name]
    cpu, wall = (bulk.ratios(results.written, of).get(name, {}).get(bars.WRITE_MANY, "") for of in ("cpu", "wall"))
    return {
        "client CPU": f"{median(written.cpu):.1f}",
        "CPU, divided by ours": str(cpu),
        "wall time": f"{median(written.wall):.1f}",
        "wall time, divided by ours": str(wall),
    }


def _if_any(rows: Mapping[str, Mapping[str, Any]]) -> list[str]:
    return [table(rows)] if rows else []


def _plain(found: Mapping[str, Mapping[str, Ratio]]) -> dict[str, dict[str, Any]]:
    return {name: {op: vars(one) for op, one in row.items()} for name, row in found.items()}


def main() -> None:
    given = _arguments()
    effort = QUICK if given.quick else FULL
    if given.rounds:
        effort = replace(effort, rounds=given.rounds)
    results = run(given.libraries, effort, say)
    if given.write:
        for path in write(given.write, summary(results), page(results)):
            say(f"written: {path}")
    print(json.dumps(summary(results), indent=2) if given.json else page(results))


def say(what: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {what}", file=sys.stderr, flush=True)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers", description="Client CPU, library by library.")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--quick", action="store_true", help="fewer and shorter rounds")
    parser.add_argument("--rounds", type=_positive, help=f"how many; {FULL.rounds} without --quick")
    parser.add_argument("--write", metavar="NAME", help="also write benchmarks/results/NAME.json and NAME.md")
    parser.add_argument("--libraries", nargs="+", choices=list(LIBRARIES), default=list(LIBRARIES), metavar="LIBRARY")
    return parser.parse_args()


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("at least one round")
    return number


if __name__ == "__main__":
    main()
