"""Who has a task: the process of a claim is stored with it, shown by the lag, and named when another takes over."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from singletable.events import Listeners
from singletable.flow import UNGATED, drive
from singletable.tables import Index
from singletable.tasks.dispatch import NotDue, TaskPointer, run_pointer
from singletable.tasks.items import recurring_key
from singletable.tasks.lease_watch import LeaseWatch
from singletable.tasks.ordered_claim import claim_first
from singletable.tasks.worker import WorkerSlots
from singletable.tasks.worker_options import Counts, TaskWorkerOptions
from tests.faults.clock import Clock
from tests.faults.opening import opened_at
from tests.support.workers import task_worker
from tests.tasks.bench import Bench, make_bench, noting, seconds

LEASE = 60.0
FIRST, SECOND = "host-1, process 1", "host-2, process 2"


@pytest.fixture
def on(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """What follows happens in that process."""

    def set_process(name: str) -> None:
        monkeypatch.setattr(Listeners, "process", name)

    set_process(FIRST)
    return set_process


@pytest.fixture(params=["all", "keys"])
async def one(engine_url: str, clock: Clock, request: pytest.FixtureRequest) -> AsyncIterator[Bench]:
    """Tasks in an empty table, in the blocking shell, whose index has all of them, or only their keys."""
    indexes: Any = {"gsi1": Index("p1", "s1", request.param)}
    async with opened_at("blocking", engine_url, clock=clock) as shell:
        yield make_bench("blocking", shell, clock, indexes=indexes)


def slots(bench: Bench) -> WorkerSlots:
    options = TaskWorkerOptions(at_once=2, lease_seconds=LEASE)
    return WorkerSlots(bench.shell.port, UNGATED, bench.tasks.entities, bench.tasks.functions, options, lambda: False)


async def claim(bench: Bench, order: str | None) -> Any:
    """Claim the task `k` as a worker that is killed then."""
    if order is None:
        return await bench.claim("k", LEASE)
    tasks, port = bench.tasks.entities, bench.shell.port
    key = tasks.by_place(order, bench.at(0), "k")
    return await bench.shell.run(claim_first(port, tasks, key, bench.at(LEASE), LeaseWatch(LEASE)))


async def process_of(bench: Bench, key: Any) -> str | None:
    item: Any = await bench.shell.get(key)
    process: str | None = item.process
    return process


def takeovers(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if "took over" in record.getMessage()]


@pytest.mark.parametrize("order", [None, "o"])
async def test_a_takeover_names_the_process_that_had_it(
    one: Bench, order: str | None, on: Callable[[str], None], caplog: pytest.LogCaptureFixture
) -> None:
    await one.add(one.tasks.at(one.at(0), noting(one)("a"), key="k", order=order))
    await claim(one, order)
    on(SECOND)
    worker, counts = slots(one), Counts()
    for _ in range(2):  # an index of keys does not show the lease of an order, so a drain does not wait for it
        one.clock.advance(LEASE + 1)
        counts += drive(worker.drain())
    assert (counts.done, one.ran) == (1, ["a"])
    (line,) = takeovers(caplog)
    assert f"from {FIRST}, which has given no sign of life for 60 s" in line


@pytest.mark.parametrize("order", [None, "o"])
async def test_a_takeover_through_a_queue_does_too(
    one: Bench, order: str | None, on: Callable[[str], None], caplog: pytest.LogCaptureFixture
) -> None:
    await one.add(one.tasks.at(one.at(0), noting(one)("a"), key="k", order=order))
    claimed, worker = await claim(one, order), slots(one)
    on(SECOND)
    one.clock.advance(LEASE + 1)
    pointer = TaskPointer("k", claimed.fence, "")
    assert isinstance(drive(run_pointer(worker, pointer, Counts())), NotDue), "its lease is watched first"
    assert takeovers(caplog) == []
    one.clock.advance(LEASE + 1)
    assert not isinstance(drive(run_pointer(worker, pointer, Counts())), NotDue) or order
    assert one.ran == ["a"]
    (line,) = takeovers(caplog)
    assert f"from {FIRST}, which" in line


@pytest.mark.parametrize("order", [None, "o"])
async def test_a_first_claim_takes_nothing_over(
    one: Bench, order: str | None, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    for key in ("k", "through a queue"):
        await one.add(one.tasks.at(one.at(0), noting(one)(key), key=key, order=order and key))
    tasks: Any = one.tasks.entities
    name: Any = (
        tasks.by_place("through a queue", one.at(0), "through a queue") if order else tasks.by_id("through a queue")
    )
    item: Any = await one.shell.get(name.consistent())
    drive(run_pointer(slots(one), TaskPointer("through a queue", item.fence, ""), Counts()))
    assert one.ran == ["through a queue"]
    assert drive(slots(one).drain()).done == 1
    assert takeovers(caplog) == []


@pytest.mark.parametrize("order", [None, "o"])
async def test_the_lag_names_the_task_and_its_process(
    bench: Bench, order: str | None, on: Callable[[str], None]
) -> None:
    await bench.add(bench.tasks.at(bench.at(0), noting(bench)("a"), key="k", order=order))
    await claim(bench, order)
    on(SECOND)
    (lease,) = (await task_worker(bench.shell, bench.tasks).lag()).leases
    assert (lease.key, lease.task, lease.process) == ("k", "note", FIRST)


@pytest.mark.parametrize("order", [None, "o"])
async def test_a_task_that_waits_for_its_next_try_has_no_process(bench: Bench, order: str | None) -> None:
    """A worker of a program that stores none may claim it next: it must not stand under another's name."""

    @bench.task(tries=2)
    async def fail() -> None:
        raise KeyError("iban")

    await bench.add(bench.tasks.at(bench.at(0), fail(), key="k", order=order))
    assert (await bench.drain()).failed == 1
    tasks = bench.tasks.entities
    key: Any = tasks.by_place("o", bench.at(0), "k") if order else tasks.by_id("k")
    item: Any = await bench.shell.get(key.consistent())
    assert (item.tries, item.process) == (1, None)


@pytest.mark.parametrize("order", [None, "o"])
async def test_a_dead_task_has_the_process_of_its_last_try(
    bench: Bench, order: str | None, on: Callable[[str], None]
) -> None:
    """So its traceback can be looked up; none once it is due again."""

    @bench.task(tries=1)
    async def fail() -> None:
        raise KeyError("iban")

    await bench.add(bench.tasks.at(bench.at(0), fail(), key="k", order=order))
    await bench.drain()
    on(SECOND)
    (letter,) = await bench.dead()
    assert letter.process == FIRST
    await bench.retry("k")
    item: Any = await bench.shell.get(bench.tasks.entities.by_id("k").consistent())
    assert item.process is None


async def test_a_release_and_the_next_run_forget_the_process(one: Bench) -> None:
    @one.tasks.recurring(every=seconds(60))
    def sweep() -> None:
        one.ran.append("swept")

    drive(slots(one).drain())
    one.clock.advance(61)
    key = recurring_key("sweep")
    by_id: Any = one.tasks.entities.by_id(key).consistent()
    await one.claim(key)
    await task_worker(one.shell, one.tasks).release(key)
    assert await process_of(one, by_id) is None
    assert drive(slots(one).drain()).done == 1
    assert await process_of(one, by_id) is None
