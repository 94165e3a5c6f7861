"""100,000 rows, 1 % of them bad, imported by processes that are killed: good ones in once, each bad one named once."""

from __future__ import annotations

import random
import subprocess
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
    rng = random.Random(5)
    with fresh_url() as url:
        for _ in range(KILLS):
            with child(importing.run, url, str(path), str(told)) as process:
                assert _is_running_after(process, rng.uniform(1.0, 4.0))
        with child(importing.run, url, str(path), str(told)) as process:
            assert process.wait(timeout=500) == 0
        with connect(url, traits=LOCAL) as db:
            check_orders(db, told, COUNT)


def _is_running_after(process: Process, seconds: float) -> bool:
    try:
        process.wait(timeout=seconds)
    except subprocess.TimeoutExpired:
        return True
    return False
