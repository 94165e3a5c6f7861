"""What another worker has claimed is taken over once its lease is seen to be over, and not before."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from singletable import Meter, attr
from singletable.flow import UNGATED, drive
from singletable.queues import Queue
from singletable.records.send import send_alone
from singletable.tables import Index
from singletable.tasks import dispatch, due, worker as worker_module
from singletable.tasks.dispatch import NotDue, TaskPointer, run_pointer, send_due
from singletable.tasks.due import wake_text
from singletable.tasks.worker import WorkerSlots
from singletable.tasks.worker_options import Counts, TaskWorkerOptions
from singletable.tasks.writes import ClaimLost, TaskClaim
from tests.faults.clock import Clock
from tests.faults.opening import opened_at
from tests.tasks.bench import Bench, make_bench, noting, seconds

LEASE = 60.0
HOUR = 3600.0


def slots(bench: Bench, at_once: int = 8) -> WorkerSlots:
    """A worker over the port of a blocking bench."""
    options = TaskWorkerOptions(at_once=at_once, lease_seconds=LEASE)
    return WorkerSlots(bench.shell.port, UNGATED, bench.tasks.entities, bench.tasks.functions, options, lambda: False)


@pytest.fixture
async def one(engine_url: str, clock: Clock) -> AsyncIterator[Bench]:
    """Tasks in an empty table, in the blocking shell."""
    async with opened_at("blocking", engine_url, clock=clock) as shell:
        yield make_bench("blocking", shell, clock)


@pytest.mark.parametrize("order", [None, "o"])
async def test_a_worker_ahead_leaves_a_running_task_to_its_worker(one: Bench, order: str | None) -> None:
    """It looks again and again while the task runs for minutes, under a lease that is extended every 20 seconds."""
    first, ahead = slots(one), slots(one)

    @one.tasks.task
    def long() -> None:
        one.ran.append(one.tasks.running().tries)
        (claimed,) = first.execution.held
        for _ in range(12):
            one.clock.advance(LEASE / 3)
            drive(first.execution.extend(claimed))
            one.clock.at += HOUR
            assert drive(ahead._work(Counts())) is False
            drive(ahead._rest())
            one.clock.at -= HOUR

    await one.add(one.tasks.after(seconds(0), long(), order=order))
    assert drive(first.drain()).done == 1
    assert one.ran == [1]
    assert await one.findings() == []


@pytest.mark.parametrize("order", [None, "o"])
async def test_a_drain_does_not_wait_for_a_worker_that_lives(one: Bench, order: str | None) -> None:
    first, ahead = slots(one), slots(one)
    looks: list[float] = []

    @one.tasks.task
    def long() -> None:
        (claimed,) = first.execution.held

        def stop() -> bool:
            """Asked before each wait: meanwhile the owner extends."""
            looks.append(one.clock.monotonic())
            one.clock.at -= HOUR
            drive(first.execution.extend(claimed))
            one.clock.at += HOUR
            return False

        one.clock.advance(1)
        one.clock.at += HOUR
        ahead.stop = stop
        assert drive(ahead.drain()).begun == 0
        one.clock.at -= HOUR

    await one.add(one.tasks.after(seconds(0), long(), order=order))
    assert drive(first.drain()).done == 1
    assert len(looks) == 1


@pytest.mark.parametrize("drains", [False, True])
async def test_what_a_dead_worker_left_is_taken_over_after_one_lease(one: Bench, drains: bool) -> None:
    """By a worker that begins after the crash; beside them are tasks of another day, which no look reads."""
    note = noting(one)
    for number in range(12):
        await one.add(one.tasks.after(seconds(0), note(f"{number}"), key=f"{number}"))
        await one.claim(f"{number}", LEASE)
        one.clock.advance(0.5)
    worker, began = slots(one, at_once=1), one.clock.monotonic()
    if drains:
        one.clock.at += LEASE  # its leases' ends have come
        assert drive(worker.drain()).done == 12
    else:
        work_until(one, worker, 12)
    assert sorted(one.ran, key=int) == [f"{number}" for number in range(12)]
    assert LEASE - 6 <= one.clock.monotonic() - began <= LEASE + 3
    assert await one.findings() == []


async def test_a_look_at_leases_does_not_read_what_is_due_another_day(one: Bench) -> None:
    note = noting(one)
    for day in range(40):
        await one.add(*(one.tasks.after(seconds(86_400.0 * (day + 1)), note("later" * 100)) for _ in range(8)))
    await one.add(one.tasks.after(seconds(0), note("runs"), key="runs"))
    await one.claim("runs", LEASE)
    worker, counts = slots(one), Counts()
    assert drive(worker._work(counts)) is False
    one.clock.sleep(1)
    with Meter() as meter:
        drive(worker._work(counts))
    assert (meter.requests, meter.read_units) == (8, 4.0)


@pytest.mark.parametrize("projection", ["all", "keys"])
async def test_leases_that_have_ended_do_not_hide_what_is_due(
    engine_url: str, clock: Clock, projection: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """More than a look shows of each shard. They are taken over when they are seen to be over."""
    monkeypatch.setattr(worker_module, "_WINDOW", 3)
    monkeypatch.setattr(due, "_PAGE_READ_ON", 2)
    async with opened_at("blocking", engine_url, clock=clock) as shell:
        bench = make_bench("blocking", shell, clock, indexes={"gsi1": Index("p1", "s1", projection)})
        note = noting(bench)
        for number in range(60):
            await bench.add(bench.tasks.after(seconds(0), note("left"), key=f"left {number}"))
            await bench.claim(f"left {number}", LEASE)
        clock.advance(LEASE + 1)
        await bench.add(*(bench.tasks.after(seconds(0), note("new")) for _ in range(20)))
        clock.advance(1)
        worker, began = slots(bench, at_once=1), clock.monotonic()
        work_until(bench, worker, 20)
        assert bench.ran == ["new"] * 20
        assert clock.monotonic() - began < LEASE / 2
        work_until(bench, worker, 80)
        assert bench.ran[20:] == ["left"] * 60
        assert LEASE <= clock.monotonic() - began <= 1.5 * LEASE
        assert await bench.findings() == []


def work_until(bench: Bench, worker: WorkerSlots, tasks: int) -> None:
    """Work, for five leases at most, until so many tasks have run."""
    until = bench.clock.monotonic() + 5 * LEASE
    while len(bench.ran) < tasks and bench.clock.monotonic() < until:
        if not drive(worker._work(Counts())):
            before = bench.clock.monotonic()
            drive(worker._rest())
            bench.clock.at += bench.clock.monotonic() - before


@pytest.mark.parametrize("projection", ["all", "keys"])
async def test_a_claim_of_an_older_program_is_watched_for_the_workers_own_lease(
    kind: str, engine_url: str, clock: Clock, projection: Any
) -> None:
    """It stores no length. In an index that shows the keys only, the item is read."""
    async with opened_at(kind, engine_url, clock=clock) as shell:
        bench = make_bench(kind, shell, clock, indexes={"gsi1": Index("p1", "s1", projection)})
        note = noting(bench)
        await bench.add(bench.tasks.after(seconds(0), note("x"), key="x"))
        await bench.claim("x", LEASE)
        task: Any = bench.tasks.entity
        await shell.update(task.by_id("x"), attr(task.lease).remove())
        clock.advance(LEASE)
        began = clock.monotonic()
        assert (await bench.drain(lease_seconds=30)).done == 1
        assert 30 <= clock.monotonic() - began <= 33


@pytest.mark.parametrize("tries", [0, 1])
async def test_a_retry_of_any_program_is_nobodys(bench: Bench, tries: int) -> None:
    """No lease is waited for where a try has ended."""
    note = noting(bench)
    await bench.add(bench.tasks.after(seconds(0), note("x"), key="x"))
    task: Any = bench.tasks.entity
    await bench.shell.update(task.by_id("x"), attr(task.tries).set(tries), attr(task.sent).set(tries == 0))
    began = bench.clock.monotonic()
    assert (await bench.drain()).done == 1
    assert bench.clock.monotonic() == began


# --- messages ---------------------------------------------------------------------------------------------------------
@pytest.fixture
async def left(one: Bench) -> Any:
    """A task whose worker is gone, and whose lease's end has come."""
    note = noting(one)
    await one.add(one.tasks.after(seconds(0), note("x"), key="x"))
    item = await one.claim("x", LEASE)
    one.clock.advance(LEASE)
    return item


async def test_a_message_that_was_held_back_for_the_lease_takes_it_over(one: Bench, left: Any) -> None:
    end = wake_text(one.tasks.entities, left.wake)
    assert drive(run_pointer(slots(one), TaskPointer("x", left.fence, end), Counts())) is None
    assert one.ran == ["x"]


async def test_a_message_is_dropped_where_the_lease_was_extended_since(one: Bench, left: Any) -> None:
    end = wake_text(one.tasks.entities, left.due)
    assert drive(run_pointer(slots(one), TaskPointer("x", left.fence, end), Counts())) is None
    assert one.ran == []


async def test_a_message_without_the_leases_end_is_received_again_until_it_was_watched(one: Bench, left: Any) -> None:
    """As from a program that sent none to a fifo queue."""
    worker, pointer = slots(one), TaskPointer("x", left.fence)
    assert drive(run_pointer(worker, pointer, Counts())) == NotDue(LEASE)
    one.clock.advance(LEASE - 1)
    assert drive(run_pointer(worker, pointer, Counts())) == NotDue(1.0)
    assert one.ran == []
    one.clock.advance(1)
    assert drive(run_pointer(worker, pointer, Counts())) is None
    assert one.ran == ["x"]


@pytest.mark.parametrize("length", [60.0, 900.0, 3600.0])
@pytest.mark.parametrize("name", ["tasks", "tasks.fifo"])
async def test_what_a_dead_worker_left_comes_back_through_a_queue(
    one: Bench, name: str, length: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One lease after it is sent again, whichever of several workers receives the message; the owner of another, who
    lives, keeps it."""
    sent: list[tuple[float, Any]] = []

    async def deliver(port: Any, queue: Any, messages: Any) -> None:
        sent.extend((one.clock.at + (message.delay_seconds or 0), message.body) for message in messages)

    monkeypatch.setattr(dispatch, "send", deliver)  # the queue is this test's list, and its time the clock's
    note, tasks, queue = noting(one), one.tasks.entities, Queue(f"https://q/{name}", object)
    for key in ("dead", "lives"):
        await one.add(one.tasks.after(seconds(0), note(key), key=key))
        await one.claim(key, length)
    one.clock.advance(length + 121)
    began = one.clock.at
    while not one.ran and one.clock.at < began + 3 * length:
        drive(send_due(one.shell.port, UNGATED, tasks, queue, 60.0))
        if abs(one.clock.at - began - length / 2) <= 10:
            await one.shell.update(tasks.by_id("lives"), attr(one.tasks.entity.wake).set(one.at(length)))
        for message in [message for message in sent if message[0] <= one.clock.at]:
            sent.remove(message)
            early = drive(run_pointer(slots(one), message[1], Counts()))  # another process each time
            if early is not None:
                sent.append((one.clock.at + early.seconds, message[1]))
        one.clock.advance(20)
    assert one.ran == ["dead"]
    assert length <= one.clock.at - began <= length + 40


@pytest.mark.parametrize("order", [None, "o"])
@pytest.mark.parametrize("is_known", [True, False])
async def test_a_later_try_waits_for_no_lease(bench: Bench, order: str | None, is_known: bool) -> None:
    """Neither of a task that failed, nor of one that was given back for a program that has its function."""

    @bench.task(tries=5)
    async def fail_once(what: str) -> None:
        bench.ran.append(what)
        if len(bench.ran) == 1 and is_known:
            raise ValueError("bad")

    functions, call = bench.tasks.functions, bench.tasks.functions["fail_once"]
    await bench.add(bench.tasks.after(seconds(0), fail_once("x"), order=order))
    if not is_known:
        del functions["fail_once"]
    assert (await bench.drain()).failed == 1
    functions["fail_once"] = call
    bench.clock.advance(5)
    began = bench.clock.monotonic()
    assert (await bench.drain()).done == 1
    assert bench.clock.monotonic() == began


async def test_a_lease_that_was_extended_since_the_look_is_not_taken(one: Bench, left: Any) -> None:
    tasks, now = one.tasks.entities, one.at(0)
    earlier = wake_text(tasks, one.at(-1))
    with pytest.raises(ClaimLost):
        await one.shell.run(
            send_alone(one.shell.port, TaskClaim(tasks, tasks.by_id("x"), now, now + seconds(60), left.fence, earlier))
        )
