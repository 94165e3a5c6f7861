"""Two writers with stale copies, a clock that jumps, transactions and faults, as hypothesis likes it best.

The rules are the steps of `tests.faults.steps`, the judge is the model of `tests.faults.world`; what hypothesis adds is
the search for a short run that breaks it.
"""

from __future__ import annotations

import asyncio  # noqa: TID251
from collections.abc import Coroutine, Sequence
from contextlib import AsyncExitStack
from typing import Any

import pytest
from hypothesis import HealthCheck, settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from tests.faults import steps
from tests.faults.clock import Clock
from tests.faults.opening import opened_at
from tests.faults.port import make_faulty
from tests.faults.rules import Faults
from tests.faults.storms import PATIENT, everything_goes_wrong
from tests.faults.verbs import wipe
from tests.faults.world import World
from tests.rules.models import Named, Ranked, guarded, shop

TABLES = (shop, guarded)


class Records(RuleBasedStateMachine):
    """One table, two writers, and whatever hypothesis wants to happen."""

    kind = "blocking"
    url = ""

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.stack = AsyncExitStack()
        self.world: World | None = None

    def run(self, flow: Coroutine[Any, Any, Any]) -> Any:
        return self.runner.run(flow)

    @initialize(seed=st.integers(0, 2**32 - 1), calm=st.sampled_from((False, False, True)))
    def begin(self, seed: int, calm: bool) -> None:
        """A database with nothing in it, and the faults of a seed, or none."""
        self.run(self._begin(Faults(seed), calm))

    async def _begin(self, faults: Faults, calm: bool) -> None:
        clock = Clock()
        judge, one, two = [
            await self.stack.enter_async_context(
                opened_at(self.kind, self.url, clock=clock, tables=TABLES, retry=PATIENT)
            )
            for _ in range(3)
        ]
        await wipe(judge)
        if not calm:
            faults.add(*everything_goes_wrong(hangs=True))
            for writer in (one, two):
                make_faulty(writer.port, faults)
        self.world = World((one, two), judge, clock, overtaken=() if calm else (Named, Ranked))

    @rule(data=st.data(), step=st.sampled_from(steps.STEPS), writer=st.sampled_from((0, 1)))
    def step(self, data: st.DataObject, step: Any, writer: int) -> None:
        """Any verb, by either writer."""

        def choose(options: Sequence[Any]) -> Any:
            return data.draw(st.sampled_from(list(options)))

        assert self.world is not None
        self.run(step(self.world, choose, writer))

    @invariant()
    def only_those_are_unknown(self) -> None:
        assert self.world is None or self.world.unknown <= steps.MAY_BE_UNKNOWN

    def teardown(self) -> None:
        """Whatever happened: every item is as the model has it, and `db.check` has nothing to say."""
        try:
            if self.world is not None:
                self.run(self.world.hold())
        finally:
            self.run(self.stack.aclose())
            self.runner.close()


def run_machine(kind: str, engine_url: str, examples: int, length: int, *, derandomize: bool) -> None:
    machine = type("RecordsOf" + kind, (Records,), {"kind": kind, "url": engine_url})
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
def test_records_stay_sound(kind: str, engine_url: str) -> None:
    run_machine(kind, engine_url, examples=14, length=40, derandomize=True)


@pytest.mark.soak
@pytest.mark.timeout(600)
def test_records_stay_sound_for_long(kind: str, engine_url: str) -> None:
    run_machine(kind, engine_url, examples=150, length=60, derandomize=False)
