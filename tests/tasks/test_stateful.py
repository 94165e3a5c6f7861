"""Several workers, a clock that jumps, lost answers and kills, as hypothesis likes it best.

A task notes each run and counts in the transaction of its end. Whatever happened, at the end: no run was early, every
task that was not cancelled has ended once, or is dead; none ran after it ended; turns of an order ended by their times;
nothing is left over, and `check` has nothing to say.
"""

from __future__ import annotations

import asyncio  # noqa: TID251
from collections.abc import Coroutine
from contextlib import AsyncExitStack
from dataclasses import dataclass
from itertools import count
from typing import Any

import pytest
from hypothesis import HealthCheck, settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

from singletable import SingletableError
from singletable.tasks import Backoff
from singletable.tasks.items import TaskState
from tests.faults.actions import ApplyThen500, ApplyThenCut, DropBefore
from tests.faults.clock import Clock
from tests.faults.opening import opened_at
from tests.faults.port import make_faulty
from tests.faults.rules import Faults, Match, Rule
from tests.support.sampling import fewer_elsewhere
from tests.tasks.bench import Bench, make_bench

WORKERS = 2
ORDERS = (None, None, "x", "y")
LEASE = 30.0
WRITES = ("UpdateItem", "DeleteItem", "TransactWriteItems")


class PowerCut(BaseException):
    """Ends a worker as nothing else does."""


@dataclass
class Known:
    """What the test knows of a task."""

    due: float
    order: str | None
    runs: int = 0
    ended: int = 0
    cancelled: bool = False


class Workers(RuleBasedStateMachine):
    kind = "blocking"
    url = ""

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.stack = AsyncExitStack()
        self.benches: list[Bench] = []

    def run(self, flow: Coroutine[Any, Any, Any]) -> Any:
        return self.runner.run(flow)

    @initialize(seed=st.integers(0, 2**32 - 1), losses=st.sampled_from((0.0, 0.1, 0.3)))
    def begin(self, seed: int, losses: float) -> None:
        self.run(self._begin(Faults(seed), losses))

    async def _begin(self, faults: Faults, losses: float) -> None:
        self.clock = Clock()
        self.faults, self.losses = faults, losses
        self.known: dict[str, Known] = {}
        self.fails: dict[str, int] = {}
        self.dies: set[str] = set()
        self.ends: list[str] = []
        self.began: dict[str, int] = {}
        """The number of each task's last run, by when it began."""
        self.numbers = count()
        self.early: list[str] = []
        self.after: list[str] = []
        for number in range(WORKERS + 1):
            shell = await self.stack.enter_async_context(opened_at(self.kind, self.url, clock=self.clock))
            bench = make_bench(self.kind, shell, self.clock)
            self._register(bench)
            self.benches.append(bench)
            if number < WORKERS:
                await self._wipe(bench) if number == 0 else None
                make_faulty(shell.port, faults)
        self.judge = self.benches[-1]
        self.storm()

    async def _wipe(self, bench: Bench) -> None:
        shell: Any = bench.shell
        await shell.delete_table(bench.table)
        await shell.create_table(bench.table)
        await shell.create(bench.counter(id="ends"))

    def storm(self) -> None:
        if self.losses:
            for action in (DropBefore(), ApplyThenCut(), ApplyThen500()):
                self.faults.add(Rule(Match(WRITES, probability=self.losses / 3), action))

    def _register(self, bench: Bench) -> None:
        @bench.task(tries=4, backoff=Backoff(5.0, 20.0))
        async def step(id: str) -> None:
            task = self.known[id]
            task.runs += 1
            self.began[id] = next(self.numbers)
            if self.clock.now() < task.due:
                self.early.append(id)
            if task.ended:
                self.after.append(id)
            if id in self.dies:
                self.dies.discard(id)
                raise PowerCut
            if self.fails.get(id, 0) > 0:
                self.fails[id] -= 1
                raise ValueError("told to")
            async with bench.shell.transaction() as tx:
                tx.create(bench.counter(id=f"end-{id}"))
                tx.add(bench.tasks.done())
            task.ended += 1
            self.ends.append(id)

        self.step = step

    @rule(delay=st.sampled_from((-5.0, 0.0, 1.0, 10.0, 40.0)), order=st.sampled_from(ORDERS), data=st.data())
    def schedule(self, delay: float, order: str | None, data: st.DataObject) -> None:
        id = f"t{len(self.known)}"
        due = self.clock.at + delay + len(self.known) / 1000
        self.known[id] = Known(due, order)
        self.fails[id] = data.draw(st.sampled_from((0, 0, 0, 1, 2, 9)))
        if data.draw(st.booleans()) and data.draw(st.booleans()):
            self.dies.add(id)
        bench = self.judge
        self.run(bench.add(bench.tasks.at(bench.at(due - self.clock.at), self.step(id), key=id, order=order)))

    @rule(data=st.data())
    def cancel(self, data: st.DataObject) -> None:
        waiting = [id for id, task in self.known.items() if not task.ended and not task.cancelled]
        if waiting:
            id = data.draw(st.sampled_from(waiting))
            self.known[id].cancelled = True
            self.run(self.judge.add(self.judge.tasks.cancel(id)))

    @rule(seconds=st.sampled_from((0.5, 3.0, 12.0, 31.0)))
    def wait(self, seconds: float) -> None:
        self.clock.advance(seconds)

    @rule(worker=st.integers(0, WORKERS - 1), at_once=st.sampled_from((1, 3)))
    def work(self, worker: int, at_once: int) -> None:
        self.run(self._work(self.benches[worker], at_once))

    @rule()
    def both_work(self) -> None:
        """At the same time, in the shell that can."""

        async def both() -> None:
            await asyncio.gather(*(self._work(bench, 2) for bench in self.benches[:WORKERS]))

        self.run(both())

    async def _work(self, bench: Bench, at_once: int) -> None:
        try:
            await bench.drain(at_once=at_once, lease_seconds=LEASE)
        except (SingletableError, PowerCut):
            return  # the worker is gone; what it held comes back

    def teardown(self) -> None:
        try:
            if self.benches:
                self.run(self._judge())
        finally:
            self.run(self.stack.aclose())
            self.runner.close()

    async def _judge(self) -> None:
        self.faults.clear()
        self.dies.clear()
        for _ in range(60):
            self.clock.advance(LEASE + 1)
            await self._work(self.benches[0], 3)
            if await self._is_quiet():
                break
        assert self.early == []
        assert self.after == []
        dead = {letter.key for letter in await self.judge.dead()}
        for id, task in self.known.items():
            ended = await self.judge.shell.get(self.judge.counter.by_id(f"end-{id}").consistent()) is not None
            assert ended + (id in dead) == 1 or task.cancelled, f"{id}: {task}, dead: {id in dead}"
            assert not (ended and id in dead)
        for order in ("x", "y"):
            self._judge_order(order)
        assert [item async for item in self.judge.shell.scan(self.judge.tasks.entities.ordered)] == []
        assert [item async for item in self.judge.shell.scan(self.judge.tasks.entities.lane)] == []
        left = [item.id async for item in self.judge.shell.scan(self.judge.tasks.entity)]
        assert set(left) == dead
        assert await self.judge.findings() == []

    async def _is_quiet(self) -> bool:
        """Nothing is left but what is dead."""
        shell, entities = self.judge.shell, self.judge.tasks.entities
        if [turn async for turn in shell.scan(entities.ordered)]:
            return False
        return {item.state async for item in shell.scan(entities.task)} <= {TaskState.DEAD}

    def _judge_order(self, order: str) -> None:
        """A turn that ended later than one after it was scheduled when that one could run already.

        By when the runs began: when an end is noted, the next turn may have ended as well.
        """
        ended = sorted((id for id in self.ends if self.known[id].order == order), key=self.began.__getitem__)
        for number, id in enumerate(ended):
            for other in ended[number + 1 :]:
                assert self.known[other].due > self.known[id].due or self._came_late(other, id), (id, other)

    def _came_late(self, early: str, late: str) -> bool:
        return int(early[1:]) > int(late[1:])


def run_machine(kind: str, url: str, examples: int, length: int, *, derandomize: bool) -> None:
    machine = type("WorkersOf" + kind, (Workers,), {"kind": kind, "url": url})
    chosen = settings(
        max_examples=examples,
        stateful_step_count=length,
        deadline=None,
        derandomize=derandomize,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    run_state_machine_as_test(machine, settings=chosen)


@pytest.mark.timeout(600)  # for making a failure small; sound ones take seconds
def test_workers_stay_sound(kind: str, engine_url: str) -> None:
    run_machine(kind, engine_url, examples=fewer_elsewhere(7), length=30, derandomize=True)


@pytest.mark.soak
@pytest.mark.timeout(600)
def test_workers_stay_sound_for_long(kind: str, engine_url: str) -> None:
    run_machine(kind, engine_url, examples=30, length=50, derandomize=False)
