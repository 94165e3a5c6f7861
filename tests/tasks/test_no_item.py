"""The end of a task where refusals come without the stored item: what another worker holds has not ended."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from singletable.records.send import send_alone
from singletable.tasks.writes import ClaimLost, Finish
from tests.faults.clock import Clock
from tests.faults.opening import opened_at
from tests.faults.proxy import FaultProxy
from tests.faults.rules import Faults
from tests.tasks.bench import Bench, make_bench, noting, seconds


@pytest.fixture
def stripping(engine_url: str, faults: Faults) -> Iterator[FaultProxy]:
    with FaultProxy(engine_url, faults) as proxy:
        proxy.carrier.hides_items = True
        yield proxy


@pytest.fixture
async def bench(kind: str, stripping: FaultProxy, clock: Clock) -> AsyncIterator[Bench]:
    async with opened_at(kind, stripping.url, clock=clock) as shell:
        yield make_bench(kind, shell, clock)


async def test_a_worker_that_lost_its_claim_has_not_ended_the_task(bench: Bench) -> None:
    note = noting(bench)
    await bench.add(bench.tasks.after(seconds(0), note("x"), key="one"))
    tasks, port = bench.tasks.entities, bench.shell.port
    key: Any = tasks.by_id("one")

    slow = await bench.claim("one")
    bench.clock.advance(31)
    quick = await bench.claim("one")
    with pytest.raises(ClaimLost):
        await bench.shell.run(send_alone(port, Finish(slow)))
    assert await bench.shell.get(key.consistent()) == quick
    await bench.shell.run(send_alone(port, Finish(quick)))
    assert await bench.shell.get(key.consistent()) is None
    await bench.shell.run(send_alone(port, Finish(quick)))  # it is gone, as it was to be
