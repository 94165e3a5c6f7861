"""What runs for longer than its lease is told while it runs; what ends in time is not."""

from __future__ import annotations

import asyncio  # noqa: TID251
from typing import Any

import pytest

from singletable.events import TaskBegun, WorkOverran
from singletable.streams import AsyncChangeWorker, Inserted
from tests.situations.program import Program, running
from tests.situations.shop import make_shop, schedule, work
from tests.support.engines import fresh

pytestmark = pytest.mark.embedded("its streams are pruned by their file")


@pytest.mark.parametrize(("seconds", "fails", "told"), [(2.0, False, 0), (2.0, True, 0), (35.0, False, 3)])
def test_a_handler_of_a_change(seconds: float, fails: bool, told: int) -> None:
    """One that has failed, and waits for its next try, does not run."""
    shop, heard = make_shop(), list[Any]()

    @shop.changes.on(shop.order).inserted
    async def send_mail(change: Inserted[Any]) -> None:
        await asyncio.sleep(seconds)
        if fails:
            raise KeyError("iban")

    async def run(program: Program) -> None:
        db = program.open(listeners=(heard.append,))
        await db.put(shop.order(customer="ada", number=1))
        options: Any = {"signals": False, "stop": lambda: False, "lease_seconds": 10.0, "backoff_seconds": 60.0}
        await program.work_for(40.0, AsyncChangeWorker(db, shop.changes).run(**options))

    with fresh() as engine:
        for table in (shop.table, shop.changes.leases):
            engine.create_table(table)
        with running(engine) as program:
            program.run(run(program))
    overran = [event for event in heard if isinstance(event, WorkOverran)]
    assert len({round(event.seconds / 10) for event in overran}) == told
    assert {(event.worker, event.work) for event in overran} == ({("mail", "order#INSERT")} if told else set())


@pytest.mark.parametrize(("seconds", "told"), [(59.0, []), (130.0, [60, 80, 100, 120])])
def test_a_task(seconds: float, told: list[int]) -> None:
    shop, heard = make_shop(), list[Any]()

    @shop.tasks.task
    async def charge(number: int) -> None:
        await asyncio.sleep(seconds)

    async def run(program: Program) -> None:
        db = program.open(listeners=(heard.append,))
        await schedule(db, shop, charge(1))
        await program.work_for(140.0, work(db, shop))

    with fresh() as engine:
        engine.create_table(shop.table)
        with running(engine) as program:
            program.run(run(program))
    overran = [event for event in heard if isinstance(event, WorkOverran)]
    assert [round(event.seconds) for event in overran] == told
    assert {event.key_hash for event in overran} <= {e.key_hash for e in heard if isinstance(e, TaskBegun)}
