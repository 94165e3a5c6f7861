"""A table's first use on a local engine: done once however many come at the same time, and in no budget."""

from __future__ import annotations

import asyncio  # noqa: TID251
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier  # noqa: TID251
from typing import Any

import pytest

from singletable import Entity, Key, Meter, Table, Unavailable, connect
from singletable.wire import RetryPolicy
from tests.faults.actions import Delay, Refuse
from tests.faults.port import make_faulty
from tests.faults.rules import Faults, Match, Rule
from tests.support.engines import fresh, fresh_async

shop = Table("shop", indexes=["gsi1"])
AT_ONCE = 12
NO_RETRIES = RetryPolicy(attempts=1)


class Order(Entity, table=shop, type="order"):
    id: str

    @shop.key
    @staticmethod
    def by_id(id: str) -> Key:
        return f"order#{id}", "order"


def use_in_threads(faults: Faults) -> list[Any]:
    """What became of reads that begin at the same time."""
    together = Barrier(AT_ONCE)

    def use(number: int) -> Any:
        together.wait(30)
        try:
            return db.get(Order.by_id(str(number)))
        except Unavailable as error:
            return error

    with fresh(retry=NO_RETRIES) as db, ThreadPoolExecutor(AT_ONCE) as pool:
        make_faulty(db.port, faults)
        return list(pool.map(use, range(AT_ONCE)))


def use_in_tasks(faults: Faults) -> list[Any]:
    async def use() -> list[Any]:
        async with fresh_async(retry=NO_RETRIES) as db:
            make_faulty(db.port, faults)
            reads = [db.get(Order.by_id(str(number))) for number in range(AT_ONCE)]
            return await asyncio.gather(*reads, return_exceptions=True)

    return asyncio.run(use())


SHELLS = pytest.mark.parametrize("use", [use_in_threads, use_in_tasks])


@SHELLS
def test_first_uses_at_once_set_the_table_up_once(use: Callable[[Faults], list[Any]]) -> None:
    faults = Faults()
    faults.add(Rule(Match("DescribeTable"), Delay(0.05)))  # so that all of them come while the first is at it
    assert use(faults) == [None] * AT_ONCE
    assert (faults.seen["CreateTable"], faults.seen["GetItem"]) == (1, AT_ONCE)


@SHELLS
def test_where_the_first_fails_the_next_one_does_it(use: Callable[[Faults], list[Any]]) -> None:
    faults = Faults()
    faults.add(Rule(Match("DescribeTable", nth=1), Refuse("InternalServerError", status=500)))
    found = use(faults)
    assert sorted(type(each).__name__ for each in found) == ["NoneType"] * (AT_ONCE - 1) + ["Unavailable"]
    assert faults.seen["CreateTable"] == 1


def test_a_first_use_is_in_no_budget() -> None:
    with fresh() as db, Meter() as meter:
        db.create(Order(id="1"))
    assert (meter.requests, meter.round_trips, list(meter.by_operation)) == (1, 1, ["PutItem"])


async def test_a_first_use_is_in_no_budget_of_a_task() -> None:
    async with fresh_async() as db:
        with Meter() as meter:
            await db.create(Order(id="1"))
            await db.get(Order.by_id("1"))
    assert (meter.requests, meter.round_trips) == (2, 2)


@pytest.mark.embedded("its data file")
def test_an_index_that_a_table_with_items_gets_is_told_of(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Its queries find nothing until a fill, which looks like an empty answer."""
    before, after = Table("growing"), Table("growing", indexes=["gsi1", "gsi2"])
    with connect(f"local:{tmp_path / 'app.db'}") as db, connect(f"local:{tmp_path / 'app.db'}") as later:
        db.put(declared(before)(id="1"))
        assert caplog.messages == []
        later.get(declared(after).by_id("1"))
    (told,) = caplog.messages
    assert told.startswith("table growing has a new index, gsi1, gsi2: ")
    assert "singletable apply" in told


@pytest.mark.embedded("its data file")
def test_an_index_of_an_empty_table_is_not_told_of(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    after = Table("growing", indexes=["gsi1"])
    with connect(f"local:{tmp_path / 'app.db'}") as db, connect(f"local:{tmp_path / 'app.db'}") as later:
        db.create_table(Table("growing"))
        later.get(declared(after).by_id("1"))
        assert later.diff_table(after) == []
    assert caplog.messages == []


def declared(table: Table) -> Any:
    class Thing(Entity, table=table, type="thing"):
        id: str

        @table.key
        @staticmethod
        def by_id(id: str) -> Key:
            return f"thing#{id}", "thing"

    return Thing
