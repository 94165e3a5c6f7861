from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from singletable import connect, connect_async
from tests.faults.clock import Clock
from tests.faults.fixtures import clock, engine_url, faults, kind, pytest_runtest_makereport
from tests.faults.opening import opened_at
from tests.support.emulators import aws_emulator
from tests.support.shells import disguised
from tests.tasks.bench import LOCAL, Bench, make_bench

__all__ = ["aws_emulator", "bench", "clock", "engine_url", "faults", "kind", "pytest_runtest_makereport"]


@pytest.fixture
async def bench(kind: str, engine_url: str, clock: Clock) -> AsyncIterator[Bench]:
    """Tasks in an empty table, in either shell."""
    async with opened_at(kind, engine_url, clock=clock) as shell:
        yield make_bench(kind, shell, clock)


@pytest.fixture
async def real(kind: str, engine_url: str) -> AsyncIterator[Bench]:
    """Tasks by the real clock."""
    shell: Any = connect_async(engine_url) if kind == "awaiting" else disguised(connect(engine_url))
    shell.port.traits = LOCAL
    try:
        yield make_bench(kind, shell, Clock())
    finally:
        await shell.close()
