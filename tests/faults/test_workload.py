"""Random writes of two writers under random faults, against a model: nothing twice, nothing lost, nothing unsound."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import pytest

from tests.faults.clock import Clock
from tests.faults.opening import opened_at
from tests.faults.port import make_faulty
from tests.faults.proxy import FaultProxy
from tests.faults.rules import Faults
from tests.faults.steps import MAY_BE_UNKNOWN, STEPS
from tests.faults.storms import PATIENT, everything_goes_wrong
from tests.faults.world import World
from tests.rules.models import Named, Ranked, guarded, shop

SHORT_RUN, LONG_RUN = 250, 6_000


async def run(world: World, seed: int, length: int) -> None:
    """Steps drawn by a seed, then a last look at everything."""
    chance = random.Random(seed)

    def choose(options: Sequence[Any]) -> Any:
        return options[chance.randrange(len(options))]

    for _ in range(length):
        await choose(STEPS)(world, choose, choose((0, 1)))
    await world.hold()
    assert world.unknown <= MAY_BE_UNKNOWN


async def under_a_port(kind: str, engine_url: str, faults: Faults, clock: Clock, length: int) -> World:
    tables = (shop, guarded)
    async with (
        opened_at(kind, engine_url, clock=clock, tables=tables) as judge,
        opened_at(kind, engine_url, clock=clock, tables=tables, retry=PATIENT, seed=1) as one,
        opened_at(kind, engine_url, clock=clock, tables=tables, retry=PATIENT, seed=2) as two,
    ):
        for writer in (one, two):
            make_faulty(writer.port, faults)
        faults.add(*everything_goes_wrong(hangs=True))
        world = World((one, two), judge, clock, overtaken=(Named, Ranked))
        await run(world, faults.seed, length)
        return world


async def test_a_few_hundred_writes(kind: str, engine_url: str, faults: Faults, clock: Clock) -> None:
    world = await under_a_port(kind, engine_url, faults, clock, SHORT_RUN)
    assert len(faults.actions) > SHORT_RUN // 5
    assert len(world.items) > 10


async def test_a_few_hundred_writes_over_sockets(
    kind: str, engine_url: str, proxy: FaultProxy, faults: Faults, clock: Clock
) -> None:
    tables = (shop, guarded)
    async with (
        opened_at(kind, engine_url, clock=clock, tables=tables) as judge,
        opened_at(kind, proxy.url, clock=clock, tables=tables, retry=PATIENT, seed=1) as one,
        opened_at(kind, proxy.url, clock=clock, tables=tables, retry=PATIENT, seed=2) as two,
    ):
        faults.add(*everything_goes_wrong(hangs=False))
        await run(World((one, two), judge, clock, overtaken=(Named, Ranked)), faults.seed, SHORT_RUN)
    assert len(faults.actions) > SHORT_RUN // 5


@pytest.mark.soak
@pytest.mark.timeout(600)
async def test_thousands_of_writes(kind: str, engine_url: str, faults: Faults, clock: Clock) -> None:
    await under_a_port(kind, engine_url, faults, clock, LONG_RUN)
