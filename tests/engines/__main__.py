# ruff: noqa: T201
"""`python -m tests.engines [NAME ...]`, as `make engines` does: layers on emulators, and a table at the end.

A run passes when nothing fails but what its list expects (`expected/NAME.toml`), and all of that does fail.
`--only PATH` takes a layer, or files of one, even where the list leaves them out.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from tests.engines.differences import read_differences

LAYERS = (
    "tests/engine",
    "tests/rules",
    "tests/graph",
    "tests/documents",
    "tests/streams",
    "tests/tasks",
    "tests/sync",
    "tests/exchange",
    "tests/migrations",
    "tests/erasure",
    "tests/queues",
    "tests/faults",
    "tests/histories",
    "tests/oracle",
    "tests/stateful",
)
"""What runs on each engine, but for what its list leaves out."""
ENGINES = ("python", "ministack", "moto", "dynalite")
ROOT = Path(__file__).parents[2]
_MOST_SECONDS = 2700.0
"""Of one engine. An emulator that hangs doesn't hold up the others."""
_COUNT = re.compile(r"(\d+) (passed|failed|errors?|xfailed|skipped)")


def main() -> int:
    """0 when every run passed."""
    parser = argparse.ArgumentParser(prog="python -m tests.engines", description=__doc__)
    parser.add_argument("names", nargs="*", default=list(ENGINES), help="the engines; without any, all of these")
    parser.add_argument("--workers", default="2", help="processes that run tests")
    parser.add_argument("--only", action="append", metavar="PATH", help="a layer, or a file; may be repeated")
    said = parser.parse_args()
    rows = [run(name, said.workers, said.only or (*ignored_of(name), *layers_of(name))) for name in said.names]
    print(f"\n{'engine':12}{'passed':>8}{'expected differences':>22}{'failed':>8}{'seconds':>9}")
    for name, counts, seconds in rows:
        failed = counts.get("failed", 0) + counts.get("error", 0)
        print(f"{name:12}{counts.get('passed', 0):8}{counts.get('xfailed', 0):22}{failed:8}{seconds:9.0f}")
    return int(any(counts["code"] for _, counts, _ in rows))


def layers_of(name: str) -> list[str]:
    """The layers that run on an engine."""
    return [layer for layer in LAYERS if layer not in _left_out(name)]


def ignored_of(name: str) -> list[str]:
    """The options that leave out files of these layers."""
    return [f"--ignore={path}" for path in _left_out(name) if path not in LAYERS]


def _left_out(name: str) -> list[str]:
    return [path for each in read_differences(name).left_out for path in each.layers]


def run(name: str, workers: str, chosen: Sequence[str]) -> tuple[str, dict[str, int], float]:
    """One engine's run of the chosen tests: what pytest counts at its end, its return code, and how long it took."""
    command = [sys.executable, "-m", "pytest", "-q", "-r", "fE", "-m", "not soak", "--engine", name]
    command += ["--timeout", "600", "-n", workers, "--dist", "loadfile", *chosen]
    print(f"--- {name}: {' '.join(command[1:])}", flush=True)
    started, last = time.monotonic(), ""
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            print(line, end="", flush=True)
            last = line.strip() or last
            if time.monotonic() - started > _MOST_SECONDS:
                print(f"\n{name} is ended here: it runs for over {_MOST_SECONDS / 60:.0f} minutes", flush=True)
                process.terminate()
                break
        code = process.wait(60)
    counts = {kind.removesuffix("s"): int(number) for number, kind in _COUNT.findall(last)}
    return name, {**counts, "code": code}, time.monotonic() - started


if __name__ == "__main__":
    sys.exit(main())
