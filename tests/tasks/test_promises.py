"""One of a lane at a time, and retries stay: what comes late changes nothing of what others have written since."""

from __future__ import annotations

import asyncio  # noqa: TID251
from datetime import timedelta
from typing import Any

import pytest

from singletable import AsyncDatabase, Database, Table
from singletable.flow.port import instant
from singletable.foundation import send_alone
from singletable.tasks import Backoff, Tasks
from singletable.tasks.due import wake_text
from singletable.tasks.execution import ClaimTime, Execution
from singletable.tasks.items import OrderedTask
from singletable.tasks.lease_watch import LeaseWatch
from singletable.tasks.ordered_claim import claim_first, read_lane
from singletable.tasks.outcomes import apply, extend_writes
from singletable.tasks.worker_options import Counts
from singletable.tasks.writes import ClaimLost, TaskClaim
from tests.faults.clock import Clock
from tests.support.engines import fresh, fresh_async


def made(name: str) -> Tasks:
    return Tasks(Table(name, indexes=["gsi1"]), index="gsi1")


def claim(db: Database, tasks: Tasks, until: float) -> OrderedTask:
    entities = tasks.entities
    item: Any = next(iter(db.scan(entities.ordered)))
    key = entities.by_place("o", item.due, item.id)
    lane = db.run(read_lane(db.port, entities, "o")).runs
    watch = LeaseWatch(0.0)
    if lane is not None:  # seen long ago, and not extended since
        watch.left(key.partition, wake_text(entities, lane.until), None, -1000.0)
    claimed = db.run(claim_first(db.port, entities, key, instant(until), watch))
    assert claimed is not None
    return claimed


def test_who_lost_the_lane_does_not_extend_it(clock: Clock) -> None:
    """Its own item is as it was: an earlier task of the order, which came late, has the lane."""
    tasks = made("one-lane")

    @tasks.task
    def work(n: int) -> None: ...

    with fresh(clock=clock.now) as db:
        with db.transaction() as tx:
            tx.add(tasks.at(instant(clock.now()), work(1), key="later", order="o"))
        late = claim(db, tasks, clock.now() + 10)
        clock.advance(11)
        with db.transaction() as tx:
            tx.add(tasks.at(instant(clock.now() - 60), work(0), key="earlier", order="o"))
        owner = claim(db, tasks, clock.now() + 10)
        assert (late.id, owner.id) == ("later", "earlier")
        lane = db.run(read_lane(db.port, tasks.entities, "o")).runs
        with pytest.raises(ClaimLost):
            db.run(apply(db.port, extend_writes(tasks.entities, late, instant(clock.now() + 99))))
        assert db.run(read_lane(db.port, tasks.entities, "o")).runs == lane
        db.run(apply(db.port, extend_writes(tasks.entities, owner, instant(clock.now() + 99))))
        extended = db.run(read_lane(db.port, tasks.entities, "o")).runs
        assert extended is not None
        assert (extended.turn, extended.until) == (getattr(lane, "turn", ""), instant(clock.now() + 99))


async def test_an_extension_that_arrives_late_leaves_the_time_of_the_retry(clock: Clock) -> None:
    """The heartbeat's write is under way when the function fails: what decides is the retry, which comes after it."""
    tasks, arrives = made("late-extension"), asyncio.Event()

    @tasks.task(backoff=Backoff(first_seconds=10))
    async def work() -> None:
        extensions.append(asyncio.create_task(beat()))
        await began.wait()
        raise ValueError("bad")

    async def beat() -> None:
        (claimed,) = execution.held
        await execution.extend(claimed)

    began, extensions = asyncio.Event(), list[asyncio.Task[None]]()
    async with fresh_async(clock=clock.now) as db:
        async with db.transaction() as tx:
            tx.add(tasks.after(timedelta(0), work(), key="k"))
        execution = Execution(db.port, tasks.entities, tasks.functions, 1000.0, instant(clock.now()))
        now, key = ClaimTime.now(db.port), tasks.entities.by_id("k")
        item: Any = await db.get(key)
        taken = TaskClaim(tasks.entities, key, instant(now.wall), instant(now.wall + 1000), item.fence)
        claimed: Any = await db.run(send_alone(db.port, taken))
        hold_first_write(db, began, arrives)
        counts = Counts()
        await db.run(execution.run(claimed, now, counts))
        arrives.set()
        await asyncio.gather(*extensions)
        found: Any = await db.get(key.consistent())
    assert counts.failed == 1
    assert (found.error, found.sent) == ("ValueError: bad", False)
    assert found.wake < instant(now.wall + 11)


def hold_first_write(db: AsyncDatabase, began: asyncio.Event, arrives: asyncio.Event) -> None:
    """The first request waits on its way until somebody waits for it, or has gone on without it."""
    port: Any = db.port
    send, sleep = port.send, port.sleep

    async def held(operation: Any) -> Any:
        if not began.is_set():
            began.set()
            await arrives.wait()
        return await send(operation)

    async def waits(seconds: float) -> None:
        arrives.set()
        await sleep(seconds)

    port.__dict__.update(send=held, sleep=waits)
