"""Tasks when requests and answers are lost: never early, at least once, one end, one effect, and the order kept."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from itertools import count, product
from typing import Any, cast

import pytest

from singletable import SingletableError
from tests.faults.actions import Action, ApplyThen500, ApplyThenCut, DropBefore
from tests.faults.clock import Clock
from tests.faults.opening import opened_at
from tests.faults.port import make_faulty
from tests.faults.rules import Faults, Match, Rule
from tests.support.ports import wrap_exchanges
from tests.support.sampling import strides, wider_elsewhere
from tests.tasks.bench import Bench, make_bench, seconds


@asynccontextmanager
async def faulty_bench(kind: str, engine_url: str, clock: Clock, faults: Faults) -> AsyncIterator[Bench]:
    async with opened_at(kind, engine_url, clock=clock) as shell:
        bench = make_bench(kind, shell, clock)
        await bench.shell.create(bench.counter(id="warm"))  # the table is there
        make_faulty(shell.port, faults)
        yield bench


async def prepare(bench: Bench, run: int, order: str | None) -> None:
    """Three tasks that each count once, in the transaction of their end; the third is cancelled."""

    @bench.task
    async def step(id: str, number: int) -> None:
        bench.ran.append(number)  # before its end is written, after which the next may begin
        async with bench.shell.transaction() as tx:
            tx.update(*bench.plus(id))
            tx.add(bench.tasks.done())

    await bench.shell.create(bench.counter(id=f"c{run}"))
    for number in range(3):
        due = bench.at(number - 5)
        await bench.add(bench.tasks.at(due, step(f"c{run}", number), key=f"{run}-{number}", order=order))
    await bench.add(bench.tasks.cancel(f"{run}-2"))


async def work_until_quiet(bench: Bench) -> None:
    """Drain, whatever goes wrong, past every lease and retry."""
    for _ in range(4):
        with suppress(SingletableError):  # as a worker that goes on
            await bench.drain(at_once=2)
        bench.clock.advance(61)


USUAL = {(None, DropBefore(), 1), (None, ApplyThenCut(), 30), ("o", DropBefore(), 30), ("o", ApplyThenCut(), 1)}
"""Each two of order, loss and times meet in one of them."""
LOSSES = [
    pytest.param(
        *case,
        id=f"{'ordered' if case[0] else 'plain'}-{'once' if case[2] == 1 else 'for good'}-{type(case[1]).__name__}",
        marks=() if case in USUAL else pytest.mark.soak,
    )
    for case in product((None, "o"), (DropBefore(), ApplyThenCut(), ApplyThen500()), (1, 30))
]


@pytest.mark.parametrize(("order", "loss", "times"), LOSSES)
async def test_a_loss_at_every_request_of_a_worker(
    kind: str, engine_url: str, clock: Clock, faults: Faults, order: str | None, loss: Action, times: int
) -> None:
    """The n-th request is lost, once, or with all its repeats; for every n."""
    async with faulty_bench(kind, engine_url, clock, faults) as bench:
        for n in count(1, wider_elsewhere(1)):
            faults.clear()
            bench.ran.clear()
            await prepare(bench, n, order)
            hit = Rule(Match(("UpdateItem", "DeleteItem", "TransactWriteItems"), nth=tuple(range(n, n + times))), loss)
            faults.forget()
            faults.add(hit)
            await work_until_quiet(bench)
            was_hit = loss in faults.actions
            faults.clear()
            assert await bench.count(f"c{n}") == 2, f"request {n}"
            if order is not None:
                assert bench.ran == sorted(bench.ran), f"request {n}"
                assert set(bench.ran) == {0, 1}, f"request {n}"
            assert await bench.dead() == []
            assert await bench.findings() == [], f"request {n}"
            if not was_hit:
                assert n > 3
                return


async def test_a_schedule_whose_answer_is_lost_is_made_once(
    kind: str, engine_url: str, clock: Clock, faults: Faults
) -> None:
    async with faulty_bench(kind, engine_url, clock, faults) as bench:

        @bench.task
        async def step() -> None:
            bench.ran.append(1)

        faults.add(Rule(Match("TransactWriteItems", nth=1), ApplyThenCut()))
        await bench.add(bench.tasks.after(seconds(0), step(), key="k"))
        assert faults.actions == [ApplyThenCut()]
        await bench.drain()
        assert bench.ran == [1]
        assert await bench.findings() == []


@pytest.mark.parametrize("operation", ["UpdateItem", "DeleteItem"])
async def test_a_lost_answer_is_settled_at_once(
    kind: str, engine_url: str, clock: Clock, faults: Faults, operation: str
) -> None:
    """Of a claim, of an end: what was done is known for one's own, and the task runs once."""
    async with faulty_bench(kind, engine_url, clock, faults) as bench:

        @bench.task
        async def step() -> None:
            bench.ran.append(bench.tasks.running().tries)

        await bench.add(bench.tasks.after(seconds(0), step(), key="k"))
        faults.add(Rule(Match(operation, nth=1), ApplyThenCut()))
        assert (await bench.drain()).done == 1
        assert faults.actions == [ApplyThenCut()]
        assert bench.ran == [1]


class PowerCut(BaseException):
    """Ends a worker as nothing else does: no handler, no cleanup, what it holds stays held."""


class Mortal:
    """A transport that ends its worker before or after its n-th request."""

    def __init__(self, inner: Any, dies: Dies) -> None:
        self._inner, self._dies = inner, dies

    async def exchange(self, *given: Any) -> Any:
        self._dies.passed += 1
        here = self._dies.passed == self._dies.at
        if here and self._dies.before:
            raise PowerCut
        answer = await self._inner.exchange(*given)
        if here:
            raise PowerCut
        return answer

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


@dataclass
class Dies:
    """At which request; 0 for none."""

    before: bool
    at: int = 0
    passed: int = 0


@strides(5)
@pytest.mark.parametrize("before", [True, False], ids=["before", "after"])
@pytest.mark.parametrize("order", [None, "o"], ids=["plain", "ordered"])
async def test_a_worker_that_is_killed_at_any_request_leaves_nothing_undone(
    kind: str, engine_url: str, clock: Clock, order: str | None, before: bool, stride: int
) -> None:
    async with opened_at(kind, engine_url, clock=clock) as shell:
        bench, dies, port = make_bench(kind, shell, clock), Dies(before), cast("Any", shell.port)
        await shell.create(bench.counter(id="warm"))
        wrap_exchanges(port, lambda inner: Mortal(inner, dies))
        for n in count(1, wider_elsewhere(stride)):
            dies.at = 0
            await prepare(bench, n, order)
            dies.at, dies.passed = n, 0
            killed = False
            try:
                await bench.drain(at_once=1)
            except PowerCut:
                killed = True
            dies.at = 0
            await work_until_quiet(bench)
            assert await bench.count(f"c{n}") == 2, f"request {n}"
            assert await bench.findings() == [], f"request {n}"
            if not killed:
                assert n > 12
                return
