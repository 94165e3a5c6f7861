"""An index that lags, and clocks that differ: late, never wrong."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest

from singletable import Meter, TransactionCancelled
from singletable.flow.port import instant
from singletable.operations import Query
from singletable.records.send import send_alone
from singletable.tasks import ClaimLost
from singletable.tasks.writes import TaskClaim
from tests.tasks.bench import Bench, noting, seconds


def lag(bench: Bench, looks: int) -> None:
    """Let the index answer what it would have answered some looks ago."""
    port: Any = bench.shell.port
    send_all, earlier = port.send_all, deque[Any]()

    async def lagging(operations: Sequence[Any]) -> list[Any]:
        answers: list[Any] = await send_all(operations)
        if not all(isinstance(operation, Query) for operation in operations):
            return answers
        earlier.append(answers)
        seen: list[Any] = earlier.popleft() if len(earlier) > looks else earlier[0]
        return seen

    port.send_all = lagging


@pytest.mark.parametrize("order", [None, "o"])
async def test_an_index_that_lags_makes_tasks_late_and_no_more(bench: Bench, order: str | None) -> None:
    note = noting(bench)
    lag(bench, looks=3)
    for number in range(30):
        await bench.add(bench.tasks.at(bench.at(-40 + number), note(str(number)), order=order))
    for _ in range(60):
        await bench.drain(at_once=3)
        bench.clock.advance(1)
    assert sorted(bench.ran, key=int) == [str(number) for number in range(30)]
    if order is not None:
        assert bench.ran == [str(number) for number in range(30)]


async def test_a_worker_passes_over_what_it_has_claimed(bench: Bench) -> None:
    note = noting(bench)
    for number in range(20):
        await bench.add(bench.tasks.after(seconds(0), note(str(number))))
    lag(bench, looks=1)
    with Meter() as meter:
        counts = await bench.drain()
    assert counts.done == 20
    assert meter.by_operation["UpdateItem"].requests == 20  # no claim in vain


async def test_a_claim_decides_on_the_item_not_on_what_was_seen(bench: Bench) -> None:
    note = noting(bench)
    await bench.add(bench.tasks.after(seconds(60), note("a"), key="a"))
    tasks, port = bench.tasks.entities, bench.shell.port
    item = await bench.shell.get(tasks.by_id("a").consistent())
    assert item is not None

    def claim(plus: float, seen: int | None) -> TaskClaim:
        now = instant(bench.clock.at + plus)
        return TaskClaim(tasks, tasks.by_id("a"), now, now + timedelta(seconds=60), seen)

    for early in (0.0, 59.999_999):
        with pytest.raises(ClaimLost):
            await bench.shell.run(send_alone(port, claim(early, item.fence)))
    with pytest.raises(ClaimLost):
        await bench.shell.run(send_alone(port, claim(60, item.fence - 1)))
    claimed = await bench.shell.run(send_alone(port, claim(60, item.fence)))
    assert (claimed.fence, claimed.tries) == (item.fence + 1, 1)
    for late in (60, 119.9):
        with pytest.raises(ClaimLost):
            await bench.shell.run(send_alone(port, claim(late, None)))


async def test_a_clock_that_is_put_back_leaves_tasks_late_not_lost(bench: Bench) -> None:
    note = noting(bench)
    await bench.add(bench.tasks.after(seconds(10), note("a")))
    bench.clock.set_back(3600)
    assert (await bench.drain()).begun == 0
    bench.clock.advance(3611)
    assert (await bench.drain()).done == 1


async def test_an_end_is_refused_while_another_worker_holds_the_task(bench: Bench) -> None:
    """The other has claimed it and runs: it is there still, under another fence."""
    refused: list[object] = []

    @bench.task
    async def count() -> None:
        bench.clock.advance(61)
        await bench.claim(bench.tasks.running().key, 60)
        try:
            async with bench.shell.transaction() as tx:
                tx.update(*bench.plus("a"))
                tx.add(bench.tasks.done())
        except TransactionCancelled as cancelled:
            refused.append(cancelled.failures[-1].error)

    await bench.shell.create(bench.counter(id="a"))
    await bench.add(bench.tasks.after(seconds(0), count()))
    assert (await bench.drain()).lost == 1  # nor can it end by itself
    assert [type(error) for error in refused] == [ClaimLost]
    assert await bench.count("a") == 0
    assert len([item async for item in bench.shell.scan(bench.tasks.entity)]) == 1
