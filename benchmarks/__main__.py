"""Every benchmark, one after the other, its tables printed and kept: `python -m benchmarks`, or `make bench`.

python -m benchmarks                           half an hour, once the data files of applications and exports are built
python -m benchmarks --quick                   few short rounds, without the largest tables, and nothing is kept
python -m benchmarks --parts peers stages      some parts, those of the page of speed in about 20 minutes:
                                               peers (13), stages, shares (1), throughput (2), waiting (2), layers (2)
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Sequence
from typing import Final

from benchmarks.libraries import OLDEST_PYTHON
from tools.pythons import environment_of, pythons

PARTS: Final = (
    *("peers", "stages", "shares", "throughput", "waiting", "applications", "layers", "exports", "footprint"),
    "at_scale",
)
"""Modules of this package; each keeps its results under its own name. `pages` writes the figures in pages then."""
ASKED_FOR: Final = ("jobs", "job_waits")
"""Parts that run where they are named: ten minutes of processes that share a machine, and five of counting."""
OPTIONS: Final = {"exports": ("--rounds", "1")}
"""An export of a million items takes a minute and a half; its own run takes the median of three."""
OF_EVERY_PEER: Final = "peers"
"""The one that is run by a Python that every library can do with."""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Every benchmark, one after the other.")
    parser.add_argument("--quick", action="store_true", help="few short rounds, and nothing is kept")
    parser.add_argument(
        "--parts",
        nargs="+",
        choices=(*PARTS, *ASKED_FOR),
        default=PARTS,
        metavar="PART",
        help=", ".join((*PARTS, *ASKED_FOR)),
    )
    given = parser.parse_args()
    quick = given.quick
    for part in given.parts:
        python = newest_python() if part == OF_EVERY_PEER else sys.executable
        _run(python, part, ["--quick"] if quick else ["--write", part, *OPTIONS.get(part, ())])
    if not quick:
        _run(sys.executable, "pages", ["--write"])


def newest_python() -> str:
    """The newest of this machine, in an environment with all libraries, where it is new enough for them; else this one,
    and the results say which libraries they lack."""
    newer = [python for python in pythons() if not python.is_free_threaded and python.release >= OLDEST_PYTHON]
    return str(environment_of(newer[-1], "newer_peers") / "bin" / "python") if newer else sys.executable


def _run(python: str, part: str, options: Sequence[str]) -> None:
    """In a process of its own: what one part has loaded and done is nothing to the next."""
    subprocess.run([python, "-m", f"benchmarks.{part}", *options], check=True)


if __name__ == "__main__":
    main()
