"""Somebody sets a worker's wall clock, on or back: leases and looks go on by the clock of intervals."""

from __future__ import annotations

import asyncio  # noqa: TID251
import threading  # noqa: TID251
import time
from datetime import timedelta
from typing import Any

import pytest

from tests.support.workers import task_worker
from tests.tasks.bench import Bench, Stop, noting, seconds

STEPS = [3600.0, -3600.0]


class SetClock:
    """The real wall clock of a database, set on by some seconds."""

    def __init__(self, bench: Bench) -> None:
        self.step = 0.0
        port: Any = bench.shell.port
        port.now = lambda: time.time() + self.step


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("order", [None, "o"])
async def test_a_lease_keeps_to_the_time_of_its_claim(real: Bench, step: float, order: str | None) -> None:
    """Else a worker whose clock is set back gives what it runs to others, and one set on holds it for an hour more."""
    clock, entities = SetClock(real), real.tasks.entities

    async def until() -> Any:
        if order is None:
            item: Any = await real.shell.get(entities.by_id("one").consistent())
            return item.wake
        lane: Any = await real.shell.get(entities.by_order("o").consistent())
        return lane.until

    @real.task
    async def long() -> None:
        first = await until()
        clock.step = step
        for _ in range(20):
            if real.kind == "awaiting":
                await asyncio.sleep(0.1)
            else:
                threading.Event().wait(0.1)
            real.ran.append(await until() - first)

    await real.add(real.tasks.after(seconds(0), long(), key="one", order=order))
    options: dict[str, Any] = {"signals": False, "poll_seconds": 0.1, "lease_seconds": 1.5}
    counts = await task_worker(real.shell, real.tasks).run(stop=Stop(real, 20), **options)
    assert (counts.done, counts.begun) == (1, 1)
    assert real.ran[-1] >= timedelta(seconds=0.5), "it was not extended"
    assert all(timedelta() <= more < timedelta(seconds=60) for more in real.ran)


@pytest.mark.parametrize("step", STEPS)
async def test_an_idle_worker_looks_on(real: Bench, step: float) -> None:
    clock, note = SetClock(real), noting(real)
    begun = time.monotonic()
    is_set: list[bool] = []

    def stop() -> bool:
        if not is_set and time.monotonic() - begun > 0.5:
            is_set.append(True)
            clock.step = step
        return bool(real.ran) or time.monotonic() - begun > 15

    due = real.clock.datetime() + timedelta(seconds=time.time() + step + 1 - real.clock.now())
    await real.add(real.tasks.at(due, note("a")))
    await task_worker(real.shell, real.tasks).run(stop=stop, signals=False, poll_seconds=0.1)
    assert real.ran == ["a"]
    assert step > 0 or time.monotonic() - begun < 10
