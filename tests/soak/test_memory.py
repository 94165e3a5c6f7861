"""Nothing in memory grows with requests, streamed items or dropped connections: 100,000 requests in both shells."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MOST_MEGABYTES = 4.0
MOST_BLOCKS = 3_000
"""Of Python's allocator. A leak of one object for every tenth request would be more."""
MOST_FILES = 4


@pytest.mark.soak
@pytest.mark.timeout(600)
def test_nothing_grows_over_many_requests() -> None:
    # In a process of its own: what other tests left behind is none of it.
    command = [sys.executable, "-m", "benchmarks.soak_memory", "--requests", "100000", "--json"]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    told = json.loads(ran.stdout)
    assert told["notes"][-1]["requests"] >= 100_000
    grown = told["grown"]
    assert grown["resident MB"] < MOST_MEGABYTES, told
    assert grown["blocks"] < MOST_BLOCKS, told
    assert grown["files"] <= MOST_FILES, told


_BULK = """
import gc
from benchmarks.libraries.ours import make, table
from benchmarks.memory import forget_peak, held_bytes, peak_bytes
from singletable import connect

with connect("local") as db:
    db.create_table(table)
    db.write_many(puts=(make("warm", number) for number in range(1000)))
    gc.collect()
    forget_peak()
    before = held_bytes()
    db.write_many(puts=(make(f"customer-{number // 1000:04}", number % 1000) for number in range(100_000)))
    print(peak_bytes() - before)
"""


@pytest.mark.soak
@pytest.mark.timeout(600)
def test_a_generator_is_written_in_flat_memory() -> None:
    command = [sys.executable, "-c", _BULK]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert int(ran.stdout) < 30e6  # all of it at once would take 480 MB
