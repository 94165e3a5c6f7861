"""`python -m benchmarks.footprint`: what is installed, and how long an import takes, library by library, in one run.

    python -m benchmarks.footprint                        installs each library into a folder of its own; a minute
    python -m benchmarks.footprint --write footprint      also to benchmarks/results/footprint.json and .md

The size is that of all files that `pip install` puts there, dependencies too, without compiled bytecode. The time is
the CPU time of a fresh interpreter, with nothing on its path but that folder and the standard library. The exit code is
1 where the core is not under 6 MB, or its import takes more than 1.15 times that of msgspec alone.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import Final

from benchmarks.report import Ratio, headed, ratio, table, write
from tools.distributions import ROOT
from tools.wheels.__main__ import wheel

MOST_MEGABYTES: Final = 6.0
MOST_IMPORT: Final = 1.15
OURS: Final = "singletable"
BASE: Final = "msgspec"
"""What the import is compared with: an interpreter that has started, and imported msgspec."""


@dataclass(frozen=True)
class Library:
    """What is installed, and the first lines of a program, each after those before it."""

    installed: str
    starts: Mapping[str, str]


LIBRARIES: Final[Mapping[str, Library]] = {
    BASE: Library("msgspec", {"import": "import msgspec"}),
    OURS: Library(
        "singletable",
        {
            "import": "import singletable",
            "declarations": "from singletable import ANY, Entity, Key, Table, attr",
            "client": "from singletable import connect; connect('http://127.0.0.1:1')",
        },
    ),
    "boto3": Library(
        "boto3", {"import": "import boto3", "client": "boto3.client('dynamodb', endpoint_url='http://127.0.0.1:1')"}
    ),
    "pydynox": Library(
        "pydynox",
        {
            "import": "import pydynox",
            "declarations": "from pydynox import Model",
            "client": "pydynox.DynamoDBClient(endpoint_url='http://127.0.0.1:1')",
        },
    ),
    "aiodynamo": Library(
        "aiodynamo[aiohttp]",
        {
            "import": "import aiodynamo",
            "client": "import aiohttp; from aiodynamo.client import Client; from aiodynamo.http.aiohttp import AIOHTTP",
        },
    ),
    "pynamodb": Library(
        "pynamodb",
        {
            "import": "import pynamodb",
            "declarations": "from pynamodb.models import Model; from pynamodb.attributes import UnicodeAttribute",
            "client": "from pynamodb.connection import Connection; Connection(host='http://127.0.0.1:1').client",
        },
    ),
}
_TIMED: Final = """
import sys, time
sys.path.insert(0, {folder!r})
{code}
print(time.process_time())
"""
_ENVIRONMENT: Final = {"AWS_ACCESS_KEY_ID": "x", "AWS_SECRET_ACCESS_KEY": "x", "AWS_DEFAULT_REGION": "us-east-1"}

Times = dict[tuple[str, str], list[float]]
"""Seconds of CPU, a figure a round, by library and start."""


def main() -> int:
    given = _arguments()
    with tempfile.TemporaryDirectory() as folder:
        folders = installed(Path(folder))
        sizes = {name: size(path) for name, path in folders.items()}
        times = timed(folders, given.rounds)
    compared = ratio(times[OURS, "import"], times[BASE, "import"])
    told = page(sizes, times, compared)
    if given.write:
        write(given.write, summary(sizes, times, compared), told)
    print(json.dumps(summary(sizes, times, compared)) if given.json else told)
    held = sizes[OURS] < MOST_MEGABYTES and compared.median <= MOST_IMPORT
    return 0 if held else 1


def installed(folder: Path) -> dict[str, Path]:
    """Each library in a folder of its own, in the version that development pins; ours as it stands here."""
    found: dict[str, Path] = {}
    for name, each in LIBRARIES.items():
        found[name] = folder / name
        what = str(wheel(ROOT, folder)) if name == OURS else f"{each.installed}=={version(name)}"
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-compile"]
        subprocess.run([*command, "--target", str(found[name]), what], check=True)
    return found


def size(folder: Path) -> float:
    """Megabytes of its files, without bytecode."""
    files = (path for path in folder.rglob("*") if path.is_file() and path.suffix != ".pyc")
    return sum(path.stat().st_size for path in files) / 1e6


def timed(folders: Mapping[str, Path], rounds: int) -> Times:
    """Every start of every library in each round, in turn. The first round writes the bytecode, and is not counted."""
    times: Times = {}
    for number in range(rounds + 1):
        for name, each in LIBRARIES.items():
            lines: list[str] = []
            for start, line in each.starts.items():
                lines.append(line)
                taken = _start(folders[name], "\n".join(lines))
                if number:
                    times.setdefault((name, start), []).append(taken)
    return times


def _start(folder: Path, code: str) -> float:
    environ = {**os.environ, **_ENVIRONMENT}
    environ.pop("PYTHONDONTWRITEBYTECODE", None)
    command = [sys.executable, "-s", "-S", "-c", _TIMED.format(folder=str(folder), code=code)]
    told = subprocess.run(command, env=environ, cwd=folder, check=True, stdout=subprocess.PIPE, text=True)
    return float(told.stdout)


# --- telling ----------------------------------------------------------------------------------------------------------
def page(sizes: Mapping[str, float], times: Times, compared: Ratio) -> str:
    starts = list(LIBRARIES[OURS].starts)
    rows = {
        name: {
            "MB": f"{sizes[name]:.1f}",
            **{f"{start}, ms of CPU": _milliseconds(times.get((name, start))) for start in starts},
            "client, divided by ours": _divided(times, name),
        }
        for name in LIBRARIES
    }
    size_held = "held" if sizes[OURS] < MOST_MEGABYTES else "MISSED"
    import_held = "held" if compared.median <= MOST_IMPORT else "MISSED"
    method = (
        "Installed with all that it needs, without bytecode; and the CPU time of a fresh interpreter until a line has "
        "run, each column after the one before: the import, the names that declarations take, the first client."
    )
    said = (
        f"The core is {sizes[OURS]:.1f} MB, at most {MOST_MEGABYTES:g}: {size_held}. `import singletable` takes "
        f"{compared} times `import msgspec`, at most {MOST_IMPORT:g}: {import_held}. What a program names is "
        "loaded when it is named: the other columns have it."
    )
    parts = [method, table(rows), said]
    return headed("Installed size and import time", parts)


def _milliseconds(taken: Sequence[float] | None) -> str:
    return "" if taken is None else f"{median(taken) * 1000:.0f}"


def _divided(times: Times, name: str) -> str:
    taken = times.get((name, "client"))
    return "" if taken is None or name == OURS else str(ratio(taken, times[OURS, "client"]))


def summary(sizes: Mapping[str, float], times: Times, compared: Ratio) -> dict[str, object]:
    medians = {f"{name}, {start}": round(median(taken) * 1000, 1) for (name, start), taken in times.items()}
    return {"megabytes": sizes, "cpu_ms": medians, "import_to_msgspec": vars(compared)}


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.footprint", description="Sizes and import times.")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.set_defaults(rounds=15)  # of both: an option's own default would be that of the one that is added first
    parser.add_argument("--quick", action="store_const", dest="rounds", const=3, help="fewer rounds")
    parser.add_argument("--rounds", type=int, help="how many; 15 without it")
    parser.add_argument("--write", metavar="NAME", help="also write benchmarks/results/NAME.json and NAME.md")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
