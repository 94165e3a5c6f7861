"""What waits, and who has it: the lag of a table's tasks, its workers' leases, and a lease that a person takes."""

from __future__ import annotations

from datetime import timedelta

import pytest

from singletable import Meter, NotFound
from singletable.errors import NotSupported
from singletable.tasks import ClaimLost, TaskLag
from singletable.tasks.outcomes import apply, finish_writes
from tests.support.workers import task_worker
from tests.tasks.bench import Bench, noting, seconds


async def lag_of(bench: Bench) -> TaskLag:
    return await task_worker(bench.shell, bench.tasks).lag()


async def test_what_is_due_is_counted_with_its_age(bench: Bench) -> None:
    note = noting(bench)
    assert await lag_of(bench) == TaskLag(0.0, None, 0, True, ())
    await bench.add(*[bench.tasks.after(seconds(n), note(str(n))) for n in (10, 20, 500)])
    oldest = bench.at(10)
    assert (await lag_of(bench)).due == 0
    bench.clock.advance(30)
    with Meter() as meter:
        assert await lag_of(bench) == TaskLag(20.0, oldest, 2, True, ())
    assert (meter.requests, meter.round_trips, meter.read_units, meter.write_units) == (8, 1, 4.0, 0.0)


async def test_a_claim_is_shown_with_its_last_beat(bench: Bench) -> None:
    await bench.add(bench.tasks.after(seconds(0), noting(bench)("a"), key="k"))
    began = bench.at(0)
    await bench.claim("k", 30)
    bench.clock.advance(12)
    (lease,) = (await lag_of(bench)).leases
    assert (lease.key, lease.beat_at, lease.beat_seconds) == ("k", began, 12.0)
    assert (lease.until, lease.is_over) == (began + timedelta(seconds=30), False)
    bench.clock.advance(18)
    lag = await lag_of(bench)
    assert (lag.due, [each.is_over for each in lag.leases]) == (0, [True])


async def test_leases_that_nobody_takes_over_are_a_lag(bench: Bench) -> None:
    """Every worker died in its task: what they left behind waits, though it is claimed."""
    await bench.add(bench.tasks.after(seconds(0), noting(bench)("a"), key="k"))
    await bench.claim("k", 30)
    over = bench.at(30)
    bench.clock.advance(7230)
    lag = await lag_of(bench)
    assert (lag.seconds, lag.oldest, lag.due) == (7200.0, over, 0)


async def test_a_long_backlog_says_that_there_is_more(bench: Bench) -> None:
    note = noting(bench)
    for first in range(0, 900, 90):
        await bench.add(*[bench.tasks.after(seconds(0), note(str(n))) for n in range(first, first + 90)])
    lag = await lag_of(bench)
    assert not lag.is_all
    assert 700 < lag.due <= 800


async def test_a_released_task_runs_at_once_and_its_worker_is_refused(bench: Bench) -> None:
    await bench.add(bench.tasks.after(seconds(0), noting(bench)("a"), key="k"))
    hangs = await bench.claim("k", 3600)
    with Meter() as meter:
        await task_worker(bench.shell, bench.tasks).release("k")
    assert meter.requests == 2
    with pytest.raises(ClaimLost):
        await bench.shell.run(apply(bench.shell.port, finish_writes(bench.tasks.entities, hangs)))
    assert (await bench.drain()).done == 1
    assert bench.ran == ["a"]


async def test_the_last_try_is_not_lost_by_a_release(bench: Bench) -> None:
    await bench.add(bench.tasks.after(seconds(0), noting(bench, tries=1)("a"), key="k"))
    await bench.claim("k", 3600)
    await task_worker(bench.shell, bench.tasks).release("k")
    assert (await bench.drain()).done == 1
    assert bench.ran == ["a"]


async def test_what_nobody_has_claimed_is_not_released(bench: Bench) -> None:
    note, worker = noting(bench), task_worker(bench.shell, bench.tasks)
    await bench.add(bench.tasks.after(seconds(0), note("a"), key="k"))
    await bench.add(bench.tasks.after(seconds(0), note("b"), key="o", order="one"))
    for key in ("k", "missing"):
        with pytest.raises(NotFound, match="claimed"):
            await worker.release(key)
    with pytest.raises(NotSupported, match="order"):
        await worker.release("o")
    assert (await bench.drain()).done == 2
