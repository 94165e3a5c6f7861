"""An export that is killed at random and goes on ends with the files of one that ran through: the same, byte for byte.

python -m benchmarks.exports.kills                       50,000 items, killed six times
python -m benchmarks.exports.kills --items 1000000       some ten minutes
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from hashlib import file_digest
from pathlib import Path
from random import Random
from shutil import rmtree
from typing import Final

from benchmarks.exports.data import ROOT, data_file
from singletable.exchange import DirectoryStore, read_manifest
from singletable.exchange.export import SECTION_ITEMS
from singletable_local import Engine

USUAL: Final = 50_000
KILLS: Final = 6
LEAST_SECTIONS: Final = 10
_EARLIEST, _LATEST = 0.1, 0.7
"""When a run is killed, in times of a whole run."""

Files = dict[str, tuple[int, int, str]]
"""By the path without the export's id: rows, bytes, digest."""


@dataclass(frozen=True)
class Killed:
    """What a run that was killed so often took, beside one that was not."""

    items: int
    kills: int
    whole_seconds: float
    killed_seconds: float
    """Of all its runs."""
    files: int
    bytes: int
    held: int
    """The most memory that the last run held."""

    def __str__(self) -> str:
        return (
            f"{self.items:,} items: killed {self.kills} times at random and resumed, the same {self.files} files, "
            f"{self.bytes:,} bytes, in {self.killed_seconds:.1f} s; without a kill in {self.whole_seconds:.1f} s; "
            f"the last run held {self.held / 1e6:.0f} MB"
        )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.exports.kills", description=__doc__.splitlines()[0])
    parser.add_argument("--items", type=int, default=USUAL)
    parser.add_argument("--kills", type=int, default=KILLS)
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    print(killed(chosen.items, chosen.kills, chosen.seed))


def killed(items: int, kills: int, seed: int) -> Killed:
    """Export twice: once through, once with kills. SystemExit where the files differ."""
    random, file = Random(seed), data_file(items)
    with Engine.start(file), tempfile.TemporaryDirectory() as folder:
        whole, broken = Path(folder, "whole"), Path(folder, "broken")
        began = time.perf_counter()
        _through(_command(file, whole, items))
        whole_seconds = time.perf_counter() - began
        expected = files_in(whole)
        began = time.perf_counter()
        for _ in range(kills):
            while not _is_killed(_command(file, broken, items), whole_seconds * random.uniform(_EARLIEST, _LATEST)):
                _check(expected, files_in(broken), items)  # it had ended before: another one is killed
                rmtree(broken)
        held = int(_through(_command(file, broken, items))["held"])
        killed_seconds = time.perf_counter() - began
        found = files_in(broken)
        _check(expected, found, items)
        return Killed(items, kills, whole_seconds, killed_seconds, len(found), sum(f[1] for f in found.values()), held)


def _check(expected: Files, found: Files, items: int) -> None:
    """SystemExit where an export has other files than the one that ran through, or not all rows."""
    if expected != found:
        differ = sorted({path for path, _ in expected.items() ^ found.items()})
        raise SystemExit(f"after a kill these files differ: {', '.join(differ)}")
    rows = sum(rows for rows, _, _ in found.values())
    if rows != items:
        raise SystemExit(f"{rows} rows of {items} items")


def files_in(folder: Path) -> Files:
    """The files that the manifest of an export names."""
    manifest, found = read_manifest(DirectoryStore(folder)), Files()
    for dataset in manifest.datasets:
        for file in dataset.files:
            with open(folder / file.path, "rb") as content:
                digest = file_digest(content, "sha256").hexdigest()
            found[file.path.removeprefix(f"{manifest.id}/")] = (file.rows, file.bytes, digest)
    return found


def _command(file: Path, folder: Path, items: int) -> list[str]:
    section = min(SECTION_ITEMS, max(1, items // LEAST_SECTIONS))
    return [sys.executable, "-m", "benchmarks.exports.ours", "parquet", f"local:{file}", str(folder), str(section)]


def _through(command: list[str]) -> dict[str, float]:
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}\n{done.stderr}")
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def _is_killed(command: list[str], seconds: float) -> bool:
    """Whether it was killed after so many seconds: not where it had ended before."""
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=ROOT) as process:
        try:
            process.wait(timeout=seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            return True
    return False


if __name__ == "__main__":
    main()
