"""A check of a big table: a sample of 400,000 items, killed and resumed, finds in proportion; memory does not grow."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random

import pytest

from tests.e2e.cli.conftest import Folder
from tests.e2e.cli.many_items import EVERY, make_many, run_and_kill

PARTITIONS, EACH = 4_000, 100
MOST_BYTES = 16_000_000
"""How much more a check of 200,000 items may hold than one of 2,000."""
_MEASURED = f"""
import atexit, sys
sys.path.insert(0, {str(Path(__file__).parents[3])!r})
from benchmarks.memory import peak_bytes
from singletable.cli import main
atexit.register(lambda: print(peak_bytes(), file=sys.stderr))
main()
"""

pytestmark = [pytest.mark.soak, pytest.mark.embedded("it writes the engine's own file")]


@pytest.mark.timeout(600)
def test_a_sample_of_many_items(folder: Folder) -> None:
    spoiled = make_many(folder, PARTITIONS, EACH)
    path = folder.path / "sample.jsonl"
    kills = run_and_kill(folder, path, Random(3), 1_000, "--sample", "1%")
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    seen = lines[-1]["checkpoint"]["seen"]
    keys = [tuple(line["key"]) for line in lines if "code" in line]
    assert kills > 1
    assert len(set(keys)) == len(keys)
    assert set(keys) <= set(spoiled)
    assert 0.5 < seen / (PARTITIONS * EACH / 100) < 1.5
    assert 0.5 < len(keys) / (seen / EACH / EVERY) < 1.5
    whole = folder.run("check", "readings", "--sample", "1%", "--json")
    assert sorted(tuple(json.loads(line)["key"]) for line in whole.out.splitlines()) == sorted(keys)


@pytest.mark.timeout(600)
def test_memory_does_not_grow_with_the_table(folder: Folder) -> None:
    spoiled = make_many(folder, 2_000, EACH)
    some, all_of_it = peak(folder, "--sample", "1%"), peak(folder, "--to", "all.jsonl")
    found = [line for line in map(json.loads, (folder.path / "all.jsonl").read_text().splitlines()) if "code" in line]
    assert sorted(tuple(line["key"]) for line in found) == spoiled
    assert all_of_it < some + MOST_BYTES


def peak(folder: Folder, *options: str) -> int:
    """The most memory that a check held, in bytes."""
    ran = folder.python("-c", _MEASURED, "check", "readings", *options)
    assert ran.code == 1, ran.err
    return int(ran.err.splitlines()[-1])
