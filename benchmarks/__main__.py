"""Every benchmark, one after the other, its tables printed and kept: `python -m benchmarks`, or `make bench`.

python -m benchmarks            under a quarter of an hour, once the data files of the applications are built
python -m benchmarks --quick    few short rounds, without the largest tables, and nothing is kept
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Sequence
from typing import Final

PARTS: Final = ("peers", "throughput", "applications", "exports", "footprint")
"""Modules of this package; each keeps its results under its own name."""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Every benchmark, one after the other.")
    parser.add_argument("--quick", action="store_true", help="few short rounds, and nothing is kept")
    quick = parser.parse_args().quick
    for part in PARTS:
        _run(part, ["--quick"] if quick else ["--write", part])


def _run(part: str, options: Sequence[str]) -> None:
    """In a process of its own: what one part has loaded and done is nothing to the next."""
    subprocess.run([sys.executable, "-m", f"benchmarks.{part}", *options], check=True)


if __name__ == "__main__":
    main()
