"""`python -m benchmarks.peers`: what each library's own work costs, side by side, in one run.

    python -m benchmarks.peers                  the tables; about two minutes
    python -m benchmarks.peers --quick          fewer and shorter rounds; under a minute
    python -m benchmarks.peers --json           one JSON object instead of the tables
    python -m benchmarks.peers --write peers    also to benchmarks/results/peers.json and .md

README.md says what is measured. Progress goes to standard error.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from typing import Final

from benchmarks import cold, measure, report
from benchmarks.libraries import LIBRARIES
from benchmarks.measure import Effort

FULL: Final = Effort(rounds=9, loop_seconds=0.25)
QUICK: Final = Effort(rounds=3, loop_seconds=0.08)


def main() -> None:
    given = _arguments()
    effort = QUICK if given.quick else FULL
    if given.rounds:
        effort = Effort(given.rounds, effort.loop_seconds)
    results = report.Results(measure.run(given.libraries, effort, say), cold.run(effort.rounds, say), effort)
    as_json, as_page = json.dumps(report.summary(results), indent=2), report.page(results)
    if given.write:
        for path in report.write(given.write, {".json": as_json + "\n", ".md": as_page}):
            say(f"written: {path}")
    print(as_json if given.json else as_page)


def say(what: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {what}", file=sys.stderr, flush=True)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers", description="Client CPU, library by library.")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--quick", action="store_true", help="fewer and shorter rounds, under a minute")
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
