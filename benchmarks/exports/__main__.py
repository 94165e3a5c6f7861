"""Exports: of a million items beside a bare scan of the same table, and of 100,000 beside other programs; imports.

    python -m benchmarks.exports                    some minutes, and as many for the data files the first time
    python -m benchmarks.exports --quick            10,000 items, one round
    python -m benchmarks.exports --write exports    also to benchmarks/results/
    python -m benchmarks.exports.kills              killed at random, it ends with the same files

Each export runs in a process of its own against an engine that is open already, in turn. CPU is that of the process
that exports, wall time has the engine's share too. The other programs live in `.venv-peers`, which `make bench` makes.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from benchmarks.exports.data import ROOT, data_file
from benchmarks.exports.ours import IMPORT
from benchmarks.exports.peer import PROGRAMS
from benchmarks.libraries.ours import table as orders
from benchmarks.report import headed, ratio, table, write
from singletable_local import Engine

PEERS_PYTHON: Final = ROOT / ".venv-peers" / "bin" / "python"
PEER: Final = Path(__file__).with_name("peer.py")
MANY, FEW, QUICK = 1_000_000, 100_000, 10_000
"""Items: beside a scan, beside other programs, and of a quick run."""
FORMATS: Final = ("parquet", "jsonl", "csv", "arrow")
BAR: Final = 5.0
"""How much more CPU each other program takes, at the least."""
SCAN_BAR: Final = 1.3
"""The time of an export, in times of a bare scan, at the most."""
MEMORY_BAR: Final = 300 * 10**6


@dataclass
class Row:
    """What one way took: medians are of all rounds."""

    cpu: list[float]
    wall: list[float]
    bytes: int = 0
    held: int = 0


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.exports", description=str(__doc__).splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="10,000 items, one round")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--write", metavar="NAME", help="also to benchmarks/results/NAME.json and .md")
    chosen = parser.parse_args()
    rounds = 1 if chosen.quick else chosen.rounds
    of_scan = beside_scan(QUICK if chosen.quick else MANY, rounds)
    of_peers = beside_peers(QUICK if chosen.quick else FEW, rounds)
    of_imports = imports(QUICK if chosen.quick else FEW, rounds)
    page = headed("Exports", [_scan_part(of_scan), _peers_part(of_peers), _imports_part(of_imports)])
    print(page)
    if chosen.write:
        parts = {"scan": of_scan, "peers": of_peers, "imports": of_imports}
        summary = {part: {name: asdict(row) for name, row in rows.items()} for part, rows in parts.items()}
        write(chosen.write, summary, page)


def beside_scan(items: int, rounds: int) -> dict[str, Row]:
    """A bare scan and an export to Parquet of the same table, in turn."""
    file = data_file(items)
    with Engine.start(file):
        return _measured({what: _ours(what, file) for what in ("scan", "parquet")}, items, rounds)


def beside_peers(items: int, rounds: int) -> dict[str, Row]:
    """Every format of ours, and the other programs, in turn."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder, "orders.db")
        copy.write_bytes(data_file(items).read_bytes())
        with Engine.start(copy, exposed=True) as engine:
            ways = {what: _ours(what, copy) for what in FORMATS}
            peers = {name: [str(PEERS_PYTHON), str(PEER), name, engine.url, orders.name] for name in PROGRAMS}
            return _measured(ways | peers, items, rounds)


def imports(items: int, rounds: int) -> dict[str, Row]:
    """Imports of each format, without the writes."""
    file = data_file(items)
    with Engine.start(file):
        return _measured({what: _ours(f"{IMPORT}{what}", file) for what in FORMATS}, items, rounds)


def _ours(what: str, file: Path) -> list[str]:
    return [sys.executable, "-m", "benchmarks.exports.ours", what, f"local:{file}"]


def _measured(ways: dict[str, list[str]], items: int, rounds: int) -> dict[str, Row]:
    rows = {name: Row([], []) for name in ways}
    for number in range(rounds):
        names = list(ways)
        for name in names[number % len(names) :] + names[: number % len(names)]:
            with tempfile.TemporaryDirectory() as folder:
                told = _run([*ways[name], folder])
            if told["items"] != items:
                raise SystemExit(f"{name} took {told['items']} items of {items}")
            row = rows[name]
            row.cpu.append(told["cpu"])
            row.wall.append(told["wall"])
            row.bytes, row.held = told["bytes"], max(row.held, told.get("held", 0))
            print(f"round {number + 1}: {name} {told}", file=sys.stderr)
    return rows


def _run(command: Sequence[str]) -> dict[str, Any]:
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}\n{done.stderr}")
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def _scan_part(rows: dict[str, Row]) -> str:
    found = ratio(rows["parquet"].wall, rows["scan"].wall)
    held = rows["parquet"].held / 1e6
    shown = {name: _shown(row) | {"MB held": row.held / 1e6} for name, row in rows.items()}
    said = (
        f"An export to Parquet takes {found} times the wall time of a bare scan of the same table (at most {SCAN_BAR}: "
        f"{'held' if found.median <= SCAN_BAR else 'NOT HELD'}), and holds {held:.0f} MB (at most "
        f"{MEMORY_BAR / 1e6:.0f}: {'held' if held * 1e6 <= MEMORY_BAR else 'NOT HELD'})."
    )
    return f"## Beside a bare scan, {MANY:,} items\n\n{said}\n\n{table(shown)}"


def _peers_part(rows: dict[str, Row]) -> str:
    ours = rows["parquet"].cpu
    shown = {name: _shown(row) | {"CPU of ours": str(ratio(row.cpu, ours))} for name, row in rows.items()}
    bars = {name: ratio(rows[name].cpu, ours) for name in PROGRAMS}
    said = ", ".join(f"{name} {found}{'' if found.median >= BAR else ' NOT HELD'}" for name, found in bars.items())
    return f"## Beside other programs, {FEW:,} items\n\nAt least {BAR:g} times our CPU: {said}.\n\n{table(shown)}"


def _imports_part(rows: dict[str, Row]) -> str:
    shown = {name: _shown(row) for name, row in rows.items()}
    said = "Rows read, each as an entity of its class, and not written (`dry_run`)."
    return f"## Imports, {FEW:,} items\n\n{said}\n\n{table(shown)}"


def _shown(row: Row) -> dict[str, Any]:
    return {
        "CPU s": f"{sorted(row.cpu)[len(row.cpu) // 2]:.2f}",
        "wall s": f"{sorted(row.wall)[len(row.wall) // 2]:.2f}",
        "MB written": f"{row.bytes / 1e6:.2f}",
    }


if __name__ == "__main__":
    main()
