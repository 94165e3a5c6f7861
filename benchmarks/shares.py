"""What the instructions of one call are: what Python itself takes, and what native libraries do in it.

    python -m benchmarks.shares                    get, put, update, transact4; a minute and a half
    python -m benchmarks.shares --quick            put alone
    python -m benchmarks.shares --write shares     also to benchmarks/results/

Callgrind counts each function's own instructions in the client's process, so that a busy machine changes nothing; the
kernel's are not among them. Valgrind has to be installed. Its processor has no instructions for SHA-256: on one that
has them the share of hashes is smaller.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import sys
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from benchmarks import measure
from benchmarks.instructions import FEW, counted, more_times
from benchmarks.libraries import OURS
from benchmarks.measure import Bench
from benchmarks.report import headed, table, write

OPERATIONS: Final = ("get", "put", "update", "transact4")
QUICK: Final = ("put",)
KINDS: Final[Sequence[tuple[str, str]]] = (
    ("SHA-256 and HMAC", r"libcrypto|/_hashlib|/_sha2|/_hmac"),
    ("JSON and structs: msgspec", r"/msgspec/"),
    ("the answer's head: httptools", r"/httptools/"),
    (
        "bytecode: frames and calls",
        r" (?:_?PyEval|_PyFrame|_?PyObject_(?:Make|Vector|Call)|_?PyFunction|_PyThreadState)",
    ),
    (
        "memory and references",
        r"(?i)malloc|free|realloc|dealloc|_gc_|gc_|alloc\b|GenericAlloc|NewReference|_New$|Recycle",
    ),
    ("dicts and attributes", r"(?i)dict|lookup|getattr|setattr|getmethod|descr|_Type_|siphash|richcompare"),
    (
        "texts, bytes, numbers, regular expressions",
        r"(?i)unicode|bytes|long_|sre_|strhex|utf8|codec|mem(?:cpy|set|move)|float",
    ),
)
"""Of what kind a function is: the first whose pattern is in its library's path and name."""
OTHER: Final = "other"
_NAME: Final = re.compile(r"\((\d+)\)(?: (.*))?$")

Shares = Mapping[str, Mapping[str, int]]
"""Instructions by operation and kind."""


def run(operations: Sequence[str]) -> dict[str, dict[str, int]]:
    with measure.bench() as bench, TemporaryDirectory() as folder:
        bench.record([OURS], say)
        found: dict[str, dict[str, int]] = {}
        for operation in operations:
            say(f"{operation}: counting instructions by function")
            found[operation] = by_kind(_one_call(bench, operation, Path(folder)))
        return found


def _one_call(bench: Bench, operation: str, folder: Path) -> Counter[str]:
    """The instructions of one call, by function: what many calls take more than few, a call."""
    more = more_times(operation)
    few, many = (_functions(bench, operation, times, folder / str(times)) for times in (FEW, FEW + more))
    many.subtract(few)
    return Counter({name: round(count / more) for name, count in many.items()})


def _functions(bench: Bench, operation: str, times: int, profile: Path) -> Counter[str]:
    counted(bench, OURS, operation, times, str(profile))
    with profile.open() as lines:
        return own_instructions(lines)


def own_instructions(lines: Iterable[str]) -> Counter[str]:
    """Each function's own instructions in a profile of callgrind, by its library's path and name."""
    libraries: dict[str, str] = {}
    functions: dict[str, str] = {}
    place, name, is_of_a_call = "", "", False
    found: Counter[str] = Counter()
    for line in lines:
        key, _, value = line.partition("=")
        if key in ("ob", "cob"):
            known = _named(libraries, value)
            place = known if key == "ob" else place
        elif key in ("fn", "cfn"):
            known = _named(functions, value)
            name = known if key == "fn" else name
        elif key == "calls":
            is_of_a_call = True
        elif line[:1].isdigit() or line[:1] in ("+", "-", "*"):
            if not is_of_a_call:  # else the line has what the called function took
                found[f"{place} {name}"] += int(line.split()[1])
            is_of_a_call = False
    return found


def _named(known: dict[str, str], text: str) -> str:
    """A name, which stands in full at its first place only: `(7) malloc`, then `(7)`."""
    match = _NAME.match(text.strip())
    if match is None:
        raise ValueError(f"{text!r} is not a name of a callgrind profile")
    if match[2]:
        known[match[1]] = match[2]
    return known[match[1]]


def by_kind(functions: Mapping[str, int]) -> dict[str, int]:
    found = dict.fromkeys([*(kind for kind, _ in KINDS), OTHER], 0)
    for function, count in functions.items():
        found[next((kind for kind, pattern in KINDS if re.search(pattern, function)), OTHER)] += count
    return found


def drawn(shares: Shares) -> str:
    """A table of thousands of instructions, and each kind's share."""
    rows: dict[str, dict[str, str]] = {}
    for kind in next(iter(shares.values())):
        rows[kind] = {operation: f"{of[kind] / sum(of.values()):.0%}" for operation, of in shares.items()}
    rows["thousands of instructions"] = {
        operation: f"{sum(of.values()) / 1000:,.0f}" for operation, of in shares.items()
    }
    return table(rows)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.shares", description=str(__doc__).splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="put alone")
    parser.add_argument("--json", action="store_true", help="the instructions by operation and kind")
    parser.add_argument("--write", metavar="NAME", help="also write benchmarks/results/NAME.json and NAME.md")
    given = parser.parse_args()
    if shutil.which("valgrind") is None:
        say("shares are not counted: valgrind is not installed. Debian, Ubuntu: apt-get install valgrind")
        return
    found = run(QUICK if given.quick else OPERATIONS)
    if given.write:
        write(given.write, {"instructions": found}, headed("What the instructions of a call are", [drawn(found)]))
    print(json.dumps(found, indent=2) if given.json else drawn(found))


def say(what: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {what}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
