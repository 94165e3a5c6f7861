"""A plain task that two workers ran is told of: by the one that takes it over, and by the one that ends too late."""

from __future__ import annotations

import logging

import pytest

from singletable.errors import Throttled
from singletable.tasks.execution import ClaimTime, Execution
from singletable.tasks.worker_options import Counts
from tests.faults.actions import Throttle
from tests.faults.port import make_faulty
from tests.faults.rules import Faults, Match, Rule
from tests.tasks.bench import Bench, seconds

LEASE = 30.0


@pytest.mark.parametrize("how", ["paused", "throttled", "cancelled"])
async def test_a_worker_that_ends_after_another_says_so(
    bench: Bench, how: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Its function is paused for longer than the lease; meanwhile the other claims the task, runs it and ends it. Or
    every renewal was throttled, the last one just now."""
    tasks, port, paused, faults = bench.tasks, bench.shell.port, [True], Faults()
    make_faulty(port, faults)

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
            if how == "throttled":
                faults.add(Rule(Match("UpdateItem"), Throttle()))
                with pytest.raises(Throttled):
                    await bench.shell.run(execution.extend(next(iter(execution.held))))
        else:
            paused.append(False)

    await bench.add(tasks.after(seconds(0), work(), key="k"))
    now = ClaimTime.now(port)
    claimed = await bench.claim("k", LEASE)
    counts, execution = Counts(), Execution(port, tasks.entities, tasks.functions, LEASE, bench.at(0))
    await bench.shell.run(execution.run(claimed, now, counts))
    levels = [record.levelno for record in caplog.records if record.name == "singletable.tasks"]
    lines = [level for level in levels if level >= logging.WARNING]
    assert ("it has run twice" in caplog.text) == (how != "cancelled")
    if how != "cancelled":
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
