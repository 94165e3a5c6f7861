"""Instructions that one operation takes in the client's process, counted by callgrind: the same on a busy machine.

    python -m benchmarks.instructions                              ours, every operation
    python -m benchmarks.instructions get query100 --libraries singletable boto3

Each operation is done some times and many times in fresh processes under valgrind, which has to be installed, against
the replay server; what the difference holds is what one more of it takes.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from typing import Final

from benchmarks import measure, workload
from benchmarks.libraries import LIBRARIES, OURS, OURS_ASYNC, open_client
from benchmarks.measure import Bench
from benchmarks.report import table
from benchmarks.worker import measure as repeat

FEW: Final = 5
"""Of the fresh process that does it some times only."""
_USUALLY_MORE: Final = 1000
_MORE: Final = {"query1000": 10, "query100": 100, "batch_get100": 100, "mixed100": 100, "gets32": 50}
"""So many that what two starts differ by, some millions of instructions, is little beside them."""
_COLLECTED: Final = re.compile(r"Collected : (\d+)")


def instructions(bench: Bench, library: str, operation: str) -> int:
    """Of one operation."""
    more = more_times(operation)
    few, many = (counted(bench, library, operation, times) for times in (FEW, FEW + more))
    return (many - few) // more


def more_times(operation: str) -> int:
    """How often an operation is done beyond the first times."""
    return _MORE.get(operation, _USUALLY_MORE)


def counted(bench: Bench, library: str, operation: str, times: int, profile: str = os.devnull) -> int:
    """Instructions of a process that does an operation so many times; callgrind's `profile` has them by function."""
    bench.server.replay(f"{library}/{operation}")
    asked = [sys.executable, "-m", "benchmarks.instructions", "ask", library, bench.server.url, operation, str(times)]
    ran = subprocess.run(
        ["valgrind", "--tool=callgrind", f"--callgrind-out-file={profile}", *asked],
        env=measure.environment(PYTHONHASHSEED="0"),
        capture_output=True,
        text=True,
        check=False,
    )
    counted = _COLLECTED.search(ran.stderr)
    if ran.returncode or counted is None:
        raise SystemExit(f"{library}, {operation}: valgrind ended with {ran.returncode}\n{ran.stderr}")
    return int(counted[1])


def run(libraries: Sequence[str], operations: Sequence[str]) -> dict[str, dict[str, int]]:
    with measure.bench() as bench:
        bench.record(libraries, say)
        found: dict[str, dict[str, int]] = {}
        for library in libraries:
            say(f"{library}: counting instructions")
            found[library] = {operation: instructions(bench, library, operation) for operation in operations}
        return found


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.instructions", description="Instructions of one operation, by callgrind."
    )
    parser.add_argument("operations", nargs="*", help="; ".join(workload.OPERATIONS))
    parser.add_argument(
        "--libraries", nargs="+", choices=list(LIBRARIES), default=[OURS, OURS_ASYNC], metavar="LIBRARY"
    )
    given = parser.parse_args()
    operations = given.operations or list(workload.OPERATIONS)
    unknown = set(operations) - set(workload.OPERATIONS)
    if unknown:
        parser.error(f"no operation is called {', '.join(sorted(unknown))}: there are {', '.join(workload.OPERATIONS)}")
    if shutil.which("valgrind") is None:
        parser.error("valgrind is not installed. Debian, Ubuntu: apt-get install valgrind")
    print(table(run(given.libraries, operations)))


def say(what: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {what}", file=sys.stderr, flush=True)


def answer(library: str, url: str, operation: str, times: str) -> None:
    client = open_client(library, url)
    repeat(client, operation, int(times))
    client.close()


if __name__ == "__main__":
    if sys.argv[1:2] == ["ask"]:
        answer(*sys.argv[2:])
    else:
        main()
