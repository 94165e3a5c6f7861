"""Tasks of one order are run one after the other, by their times; other tasks don't wait for them."""

from __future__ import annotations

from typing import Any

import pytest

from singletable import AlreadyExists, TransactionCancelled
from singletable.operations import TransactWriteItems
from singletable.tasks import Backoff
from singletable.tasks.lease_watch import LeaseWatch
from singletable.tasks.ordered_claim import claim_first
from tests.support.workers import task_worker
from tests.tasks.bench import Bench, noting, seconds


async def test_turns_are_taken_by_time_whatever_was_scheduled_first(bench: Bench) -> None:
    note = noting(bench)
    for number in (5, 3, 9, 1, 7):
        for order in ("x", "y"):
            await bench.add(bench.tasks.at(bench.at(number), note(f"{order}{number}"), order=order))
    bench.clock.advance(10)
    assert (await bench.drain()).done == 10
    for order in ("x", "y"):
        assert [what for what in bench.ran if what[0] == order] == [f"{order}{n}" for n in (1, 3, 5, 7, 9)]
    assert await bench.findings() == []


async def test_one_that_fails_holds_up_its_own_order_only(bench: Bench) -> None:
    @bench.task(backoff=Backoff(first_seconds=10, longest_seconds=10))
    async def note(what: str) -> None:
        bench.ran.append(what)
        if what == "x1" and bench.tasks.running().tries < 3:
            raise ValueError

    for number, what in enumerate(("x1", "x2", "y1", "y2")):
        await bench.add(bench.tasks.at(bench.at(number - 5), note(what), order=what[0]))
    await bench.add(bench.tasks.after(seconds(0), note("z")))
    await bench.drain()
    assert [what for what in bench.ran if what[0] == "x"] == ["x1"]
    assert {"y1", "y2", "z"} <= set(bench.ran)
    for _ in range(2):
        bench.clock.advance(10)
        await bench.drain()
    assert [what for what in bench.ran if what[0] == "x"] == ["x1", "x1", "x1", "x2"]
    assert await bench.findings() == []


async def test_one_that_is_dead_lets_the_others_pass(bench: Bench) -> None:
    heals: list[bool] = []

    @bench.task(tries=1)
    async def note(what: str) -> None:
        if what == "x1" and not heals:
            raise ValueError
        bench.ran.append(what)

    for number in (1, 2):
        await bench.add(bench.tasks.at(bench.at(-3 + number), note(f"x{number}"), order="x", key=f"k{number}"))
    await bench.drain()
    assert bench.ran == ["x2"]
    (letter,) = await bench.dead()
    assert (letter.key, letter.arguments) == ("k1", {"what": "x1"})
    assert await bench.findings() == []
    heals.append(True)
    await task_worker(bench.shell, bench.tasks).retry("k1")
    await bench.drain()
    assert bench.ran == ["x2", "x1"]
    assert await bench.findings() == []


async def test_a_cancelled_turn_is_passed_over(bench: Bench) -> None:
    note = noting(bench)
    for number in range(4):
        await bench.add(bench.tasks.at(bench.at(number), note(str(number)), order="x", key=str(number)))
    await bench.add(bench.tasks.cancel("0"), bench.tasks.cancel("2"))
    bench.clock.advance(10)
    assert (await bench.drain()).done == 2
    assert bench.ran == ["1", "3"]
    assert [turn async for turn in bench.shell.scan(bench.tasks.entities.ordered)] == []
    assert await bench.findings() == []


async def test_a_cancelled_head_that_waits_to_be_retried_makes_way(bench: Bench) -> None:
    @bench.task(backoff=Backoff(first_seconds=10_000, longest_seconds=10_000))
    async def note(what: str) -> None:
        bench.ran.append(what)
        if what == "bad":
            raise ValueError

    await bench.add(bench.tasks.at(bench.at(-2), note("bad"), order="x", key="bad"))
    await bench.add(bench.tasks.at(bench.at(-1), note("good"), order="x"))
    await bench.drain()
    await bench.add(bench.tasks.cancel("bad"))
    bench.clock.advance(60)
    await bench.drain()
    assert bench.ran == ["bad", "good"]
    assert await bench.findings() == []


async def test_an_ordered_task_cancelled_while_it_runs_frees_its_lane(bench: Bench) -> None:
    @bench.task
    async def note(what: str) -> None:
        bench.ran.append(what)
        if what == "first":
            await bench.add(bench.tasks.cancel("first"))

    await bench.add(bench.tasks.at(bench.at(-2), note("first"), order="x", key="first"))
    await bench.add(bench.tasks.at(bench.at(-1), note("second"), order="x"))
    await bench.drain()
    assert bench.ran == ["first", "second"]
    assert await bench.findings() == []


async def test_an_earlier_turn_that_comes_late_waits_for_the_one_that_runs(bench: Bench) -> None:
    @bench.task
    async def note(what: str) -> None:
        bench.ran.append(f"{what} begins")
        if what == "late":
            await bench.add(bench.tasks.at(bench.at(-9), inner("early"), order="x"))
            await bench.drain()
        bench.ran.append(f"{what} ends")

    inner = noting(bench, name="inner")
    await bench.add(bench.tasks.at(bench.at(-1), note("late"), order="x"))
    await bench.drain()
    assert bench.ran == ["late begins", "late ends", "early"]
    assert await bench.findings() == []


async def test_an_earlier_turn_that_another_worker_claims_meanwhile_keeps_the_lane(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """This worker has read the lane: it was free, and another task was its first."""
    note = noting(bench)
    await bench.add(bench.tasks.at(bench.at(-1), note("second"), order="x"))
    entities, send = bench.tasks.entities, bench.shell.port.send
    others: list[Any] = []

    async def claim_earlier_first(operation: Any) -> Any:
        if isinstance(operation, TransactWriteItems) and not others:
            others.append(None)
            await bench.add(bench.tasks.at(bench.at(-9), note("early"), key="early", order="x"))
            key = entities.by_place("x", bench.at(-9), "early")
            others[0] = await claim_first(bench.shell.port, entities, key, bench.at(60), LeaseWatch(60))
        return await send(operation)

    monkeypatch.setattr(bench.shell.port, "send", claim_earlier_first)
    await bench.drain()
    assert [task.id for task in others] == ["early"]
    assert bench.ran == []
    bench.clock.advance(61)
    await bench.drain()
    assert bench.ran == ["early", "second"]
    assert await bench.findings() == []


async def test_a_key_exists_once_with_an_order_or_without(bench: Bench) -> None:
    note = noting(bench)
    await bench.add(bench.tasks.after(seconds(1), note("a"), key="k", order="x"))
    for order in (None, "x", "y"):
        with pytest.raises(TransactionCancelled) as refused:
            await bench.add(bench.tasks.after(seconds(1), note("b"), key="k", order=order))
        assert isinstance(refused.value.failures[0].error, AlreadyExists)
    await bench.add(bench.tasks.cancel("k"))
    await bench.add(bench.tasks.after(seconds(1), note("c"), key="k", order="x"))
    bench.clock.advance(2)
    await bench.drain()
    assert bench.ran == ["c"]
    assert await bench.findings() == []


async def test_a_lane_whose_worker_is_gone_goes_on_after_the_lease(bench: Bench) -> None:
    class PowerCut(BaseException):
        pass

    @bench.task
    async def note(what: str) -> None:
        bench.ran.append(what)
        if bench.ran == ["first"]:
            raise PowerCut

    await bench.add(bench.tasks.at(bench.at(-2), note("first"), order="x"))
    await bench.add(bench.tasks.at(bench.at(-1), note("second"), order="x"))
    with pytest.raises(PowerCut):
        await bench.drain(lease_seconds=60)
    await bench.drain()
    assert bench.ran == ["first"]
    bench.clock.advance(61)
    await bench.drain()
    assert bench.ran == ["first", "first", "second"]
    assert await bench.findings() == []


async def test_a_long_lane_does_not_keep_others_from_the_workers(bench: Bench) -> None:
    """A head that waits to be retried, and more turns behind it than a look shows."""

    @bench.task(backoff=Backoff(first_seconds=500, longest_seconds=500))
    async def note(what: str) -> None:
        bench.ran.append(what)
        if what == "0":
            raise ValueError

    for first in range(0, 80, 40):
        await bench.add(*(bench.tasks.at(bench.at(n / 100), note(str(n)), order="x") for n in range(first, first + 40)))
    bench.clock.advance(1)
    await bench.add(*(bench.tasks.after(seconds(0), note(f"other {n}")) for n in range(40)))
    for _ in range(6):
        await bench.drain()
    assert {f"other {n}" for n in range(40)} <= set(bench.ran)
    assert await bench.findings() == []


async def test_many_orders_are_drained_whole(bench: Bench) -> None:
    """Eight lanes that meet in four orders: each turn that is put off is looked at again within the drain."""
    note = noting(bench)
    for number in range(60):
        await bench.add(bench.tasks.at(bench.at(-100 + number), note(f"{number}"), order=f"o{number % 4}"))
    assert (await bench.drain(at_once=8)).done == 60
    for order in range(4):
        mine = [int(what) for what in bench.ran if int(what) % 4 == order]
        assert mine == list(range(order, 60, 4))
    assert await bench.findings() == []


async def test_a_claim_returns_the_task_as_it_is_stored(bench: Bench) -> None:
    note = noting(bench)
    await bench.add(bench.tasks.at(bench.at(0), note("x"), key="a", order="x"))
    tasks, port = bench.tasks.entities, bench.shell.port
    key = tasks.by_place("x", bench.at(0), "a")
    claimed = await bench.shell.run(claim_first(port, tasks, key, bench.at(30), LeaseWatch(30)))
    assert claimed is not None
    assert (claimed.tries, claimed.sent) == (1, True)
    assert await bench.shell.get(key.consistent()) == claimed
