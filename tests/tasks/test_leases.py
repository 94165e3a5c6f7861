"""Leases of what runs, by a real clock: extended while it takes its time, and lost where it was cancelled."""

from __future__ import annotations

import asyncio  # noqa: TID251
import threading  # noqa: TID251
import time
from typing import Any

import pytest

from singletable.errors import Denied
from tests.faults.actions import Refuse
from tests.faults.port import make_faulty
from tests.faults.rules import Faults, Match, Rule
from tests.support.workers import task_worker
from tests.tasks.bench import Bench, Stop, seconds


async def test_a_long_task_keeps_its_lease(real: Bench) -> None:
    async def wait(rest: float) -> None:
        await asyncio.sleep(rest)

    @real.task
    async def long() -> None:
        real.ran.append(real.tasks.running().tries)
        if real.kind == "awaiting":
            await wait(2.0)
        else:
            threading.Event().wait(2.0)

    await real.add(real.tasks.after(seconds(0), long()))
    begun = time.monotonic()
    counts = await task_worker(real.shell, real.tasks).run(
        stop=lambda: time.monotonic() - begun > 1.5,
        signals=False,
        poll_seconds=0.1,
        lease_seconds=0.5,
    )
    assert (counts.done, real.ran) == (1, [1])
    assert await real.findings() == []


async def test_the_worker_is_silent_about_leases_of_what_has_ended(
    real: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    @real.task
    async def lingers() -> None:
        await real.add(real.tasks.done())
        real.ran.append("ended")
        if real.kind == "awaiting":
            await asyncio.sleep(1.0)
        else:
            threading.Event().wait(1.0)

    await real.add(real.tasks.after(seconds(0), lingers()))
    options: dict[str, Any] = {"signals": False, "poll_seconds": 0.1, "lease_seconds": 0.6}
    counts = await task_worker(real.shell, real.tasks).run(stop=Stop(real, 1), **options)
    assert (counts.done, counts.begun) == (1, 1)
    assert [record.getMessage() for record in caplog.records] == []


async def test_a_cancelled_tasks_lost_claim_is_logged_once(real: Bench, caplog: pytest.LogCaptureFixture) -> None:
    @real.task
    async def cancelled() -> None:
        await real.add(real.tasks.cancel("one"))
        real.ran.append("cancelled")
        if real.kind == "awaiting":
            await asyncio.sleep(1.0)
        else:
            threading.Event().wait(1.0)
        raise ConnectionError("after it was cancelled")

    await real.add(real.tasks.after(seconds(0), cancelled(), key="one"))
    options: dict[str, Any] = {"signals": False, "poll_seconds": 0.1, "lease_seconds": 0.6}
    counts = await task_worker(real.shell, real.tasks).run(stop=Stop(real, 1), **options)
    assert (counts.lost, counts.begun) == (1, 1)
    assert [record.getMessage() for record in caplog.records] == [
        "task cancelled: cancelled while it ran, or claimed by another worker"
    ]
    assert await real.findings() == []


async def test_a_heartbeat_that_is_refused_ends_the_worker(real: Bench, faults: Faults) -> None:
    """Else it went on, and each long task would be run by others too."""

    @real.task
    async def long() -> None:
        if real.kind == "awaiting":
            await asyncio.sleep(1.0)
        else:
            threading.Event().wait(1.0)

    await real.add(real.tasks.after(seconds(0), long()))
    make_faulty(real.shell.port, faults)
    faults.add(Rule(Match("UpdateItem", nth=2), Refuse("AccessDeniedException")))  # the first is its claim
    begun = time.monotonic()
    with pytest.raises(Denied):
        await task_worker(real.shell, real.tasks).run(
            stop=Stop(real, 1), signals=False, poll_seconds=0.1, lease_seconds=0.6
        )
    assert time.monotonic() - begun < 10
    assert await real.findings() == []
