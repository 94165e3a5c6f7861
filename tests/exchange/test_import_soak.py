"""100,000 rows, 1 % of them bad, imported by processes that are killed: good ones in once, each bad one named once."""

from __future__ import annotations

import random
import subprocess
from contextlib import suppress
from pathlib import Path

import pytest

from examples_shared.testing.nursery import Process
from singletable import connect
from tests.exchange import importing
from tests.exchange.importing import check_orders, write_orders
from tests.support.children import child
from tests.support.engines import fresh_url
from tests.support.traits import LOCAL

COUNT = 100_000
KILLS = 5


@pytest.mark.soak
@pytest.mark.timeout(900)
def test_killed_processes_double_nothing(tmp_path: Path) -> None:
    path, told = tmp_path / "orders.jsonl", tmp_path / "bad.jsonl"
    write_orders(path, COUNT)
    bad_rows = COUNT // 100
    with fresh_url() as url:
        for named in sorted(random.Random(5).sample(range(bad_rows * 9 // 10), KILLS)):
            with child(importing.run, url, str(path), str(told)) as process:
                _wait_for(process, told, named)
        with child(importing.run, url, str(path), str(told)) as process:
            assert process.wait(timeout=500) == 0
        with connect(url, traits=LOCAL) as db:
            check_orders(db, told, COUNT)


def _wait_for(process: Process, told: Path, named: int) -> None:
    """Return once the import has named so many bad rows, however long it takes; it has not ended then."""
    while not told.exists() or told.read_bytes().count(b"\n") < named:
        with suppress(subprocess.TimeoutExpired):
            pytest.fail(f"it ended by itself: {process.wait(timeout=0.05)}")
