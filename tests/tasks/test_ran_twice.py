"""A plain task that two workers ran is told of: by the one that takes it over, and by the one that ends too late."""

from __future__ import annotations

import logging

import pytest

from singletable.tasks.execution import ClaimTime, Execution
from singletable.tasks.worker_options import Counts
from tests.tasks.bench import Bench, seconds

LEASE = 30.0


@pytest.mark.parametrize("how", ["paused", "cancelled"])
async def test_a_worker_that_ends_after_another_says_so(
    bench: Bench, how: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Its function is paused for longer than the lease; meanwhile the other claims the task, runs it and ends it."""
    tasks, port, paused = bench.tasks, bench.shell.port, [True]

    @bench.task
    async def work() -> None:
        bench.ran.append("ran")
        if paused.pop():
            paused.append(False)
            if how == "cancelled":
                await bench.add(tasks.cancel("k"))
                return
            bench.clock.advance(LEASE + 1)
            item = await bench.claim("k", LEASE)
            other = Execution(port, tasks.entities, tasks.functions, LEASE, bench.at(0))
            await bench.shell.run(other.run(item, ClaimTime.now(port), Counts()))
        else:
            paused.append(False)

    await bench.add(tasks.after(seconds(0), work(), key="k"))
    now = ClaimTime.now(port)
    claimed = await bench.claim("k", LEASE)
    counts, execution = Counts(), Execution(port, tasks.entities, tasks.functions, LEASE, bench.at(0))
    await bench.shell.run(execution.run(claimed, now, counts))
    lines = [record for record in caplog.records if record.levelno >= logging.WARNING]
    if how == "paused":
        assert (bench.ran, counts.lost, counts.done, len(lines)) == (["ran", "ran"], 1, 0, 1)
    else:
        assert (bench.ran, counts.lost, counts.done, len(lines)) == (["ran"], 0, 1, 0)


async def test_a_takeover_is_told(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    @bench.task
    async def work() -> None:
        bench.ran.append("ran")

    await bench.add(bench.tasks.after(seconds(0), work(), key="k"))
    await bench.claim("k", LEASE)
    bench.clock.advance(LEASE + 1)
    assert (await bench.drain()).done == 1
    assert "took over the lease of work" in caplog.text
