"""A shard that a killed process had: who takes it over names that process."""

from __future__ import annotations

import asyncio  # noqa: TID251
from typing import Any

import pytest

from singletable.events import LeaseTaken
from singletable.streams import AsyncChangeWorker
from tests.situations.program import Program, running
from tests.situations.shop import make_shop
from tests.support.engines import fresh

pytestmark = pytest.mark.embedded("its streams are pruned by their file")
LEASE_SECONDS = 12.0


def test_a_takeover_names_the_process_that_had_the_shard() -> None:
    shop, heard = make_shop(), list[Any]()
    shop.changes.on(shop.order).inserted(lambda change: asyncio.sleep(0))
    options: Any = {"signals": False, "stop": lambda: False, "lease_seconds": LEASE_SECONDS}

    async def run(program: Program) -> None:
        def kill(event: Any) -> None:
            if isinstance(event, LeaseTaken):
                program.kill(killed)

        killed, other = program.open(listeners=(kill,)), program.open(listeners=(heard.append,))
        await other.put(shop.order(customer="ada", number=1))
        await program.work_for(1.0, AsyncChangeWorker(killed, shop.changes).run(**options))
        await program.work_for(3 * LEASE_SECONDS, AsyncChangeWorker(other, shop.changes).run(**options))

    with fresh() as engine:
        for table in (shop.table, shop.changes.leases):
            engine.create_table(table)
        with running(engine) as program:
            program.run(run(program))
    first = next(event for event in heard if isinstance(event, LeaseTaken))
    assert (first.is_takeover, first.holder, first.seconds) == (True, "host-1, process 101", LEASE_SECONDS)
    assert any("from host-1, process 101, which has given no sign of life for 12 s" in line for line in program.lines)
