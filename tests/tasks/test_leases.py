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

LEASE_SECONDS = 1.5
"""No stall of a busy machine is as long: a worker may run again what it has not extended in time."""
LONGER_THAN_A_LEASE = 2.2


async def test_a_long_task_keeps_its_lease(real: Bench) -> None:
    @real.task
    async def long() -> None:
        real.ran.append(real.tasks.running().tries)
        if real.kind == "awaiting":
            await asyncio.sleep(LONGER_THAN_A_LEASE)
        else:
            threading.Event().wait(LONGER_THAN_A_LEASE)

    await real.add(real.tasks.after(seconds(0), long()))
    begun = time.monotonic()
    counts = await task_worker(real.shell, real.tasks).run(
        stop=lambda: time.monotonic() - begun > LEASE_SECONDS,
        signals=False,
        poll_seconds=0.1,
        lease_seconds=LEASE_SECONDS,
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
            await asyncio.sleep(LONGER_THAN_A_LEASE)
        else:
            threading.Event().wait(LONGER_THAN_A_LEASE)

    await real.add(real.tasks.after(seconds(0), lingers()))
    options: dict[str, Any] = {"signals": False, "poll_seconds": 0.1, "lease_seconds": LEASE_SECONDS}
    counts = await task_worker(real.shell, real.tasks).run(stop=Stop(real, 1), **options)
    assert (counts.done, counts.begun) == (1, 1)
    assert [record.getMessage() for record in caplog.records] == []


async def test_a_cancelled_tasks_lost_claim_is_logged_once(real: Bench, caplog: pytest.LogCaptureFixture) -> None:
    @real.task
    async def cancelled() -> None:
        await real.add(real.tasks.cancel("one"))
        real.ran.append("cancelled")
        if real.kind == "awaiting":
            await asyncio.sleep(LONGER_THAN_A_LEASE)
        else:
            threading.Event().wait(LONGER_THAN_A_LEASE)
        raise ConnectionError("after it was cancelled")

    await real.add(real.tasks.after(seconds(0), cancelled(), key="one"))
    options: dict[str, Any] = {"signals": False, "poll_seconds": 0.1, "lease_seconds": LEASE_SECONDS}
    counts = await task_worker(real.shell, real.tasks).run(stop=Stop(real, 1), **options)
    assert (counts.lost, counts.begun) == (1, 1)
    (lost,) = [record.getMessage() for record in caplog.records if record.name == "singletable.tasks"]
    assert lost.startswith("task cancelled (")
    assert ": try 1 of 8, lost after" in lost
    assert await real.findings() == []


async def test_a_heartbeat_that_is_refused_ends_the_worker(real: Bench, faults: Faults) -> None:
    """Else it went on, and each long task would be run by others too."""

    @real.task
    async def long() -> None:
        if real.kind == "awaiting":
            await asyncio.sleep(LONGER_THAN_A_LEASE)
        else:
            threading.Event().wait(LONGER_THAN_A_LEASE)

    await real.add(real.tasks.after(seconds(0), long()))
    make_faulty(real.shell.port, faults)
    faults.add(Rule(Match("UpdateItem", nth=2), Refuse("AccessDeniedException")))  # the first is its claim
    begun = time.monotonic()
    with pytest.raises(Denied):
        await task_worker(real.shell, real.tasks).run(
            stop=Stop(real, 1), signals=False, poll_seconds=0.1, lease_seconds=LEASE_SECONDS
        )
    assert time.monotonic() - begun < 10
    assert await real.findings() == []
