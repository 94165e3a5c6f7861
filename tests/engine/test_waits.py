"""What waits says so: for the rest of a batch, a lost race, a rate, an apply that was killed."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from singletable import Entity, Key, Table
from singletable.events import LeaseLost, LeaseTaken, WaitBegun
from singletable.flow import Race, Rate
from singletable.migrations import ApplyRefused
from singletable.migrations.apply_lease import Held, beat, release, take
from singletable.operations import BatchGetItem, BatchWriteItem
from tests.support.shells import KINDS, opened

table = Table("orders")


class Order(Entity, table=table, type="order"):
    customer: str

    @table.key
    @staticmethod
    def by_customer(customer: str) -> Key:
        return f"customer#{customer}", "order"


def waits_in(heard: list[Any]) -> list[WaitBegun]:
    return [event for event in heard if isinstance(event, WaitBegun)]


def set_clock(port: Any) -> None:
    """Time passes by the port's waits alone."""
    now = port.monotonic()

    async def sleep(seconds: float) -> None:
        nonlocal now
        now += seconds

    port.monotonic, port.sleep = lambda: now, sleep


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


async def test_a_batch_that_was_done_in_part_is_told(
    kind: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """As where a partition is throttled: the service answers, and leaves a part of the batch undone."""
    heard: list[Any] = []
    caplog.set_level(logging.INFO, "singletable.waits")
    left = iter([True, False, True, False])

    def in_part(real: Any) -> Any:
        def answer(self: Any, response: Any) -> Any:
            value, consumed = real(self, response)
            if not next(left):
                return value, consumed
            return (self.writes if isinstance(self, BatchWriteItem) else type(value)([], [*self.keys])), consumed

        return answer

    async with opened(kind, listeners=[heard.append]) as shell:
        await shell.create_table(table)
        for operation in (BatchWriteItem, BatchGetItem):
            monkeypatch.setattr(operation, "answer", in_part(operation.answer))
        heard.clear()
        orders = [Order(customer="the-canary"), Order(customer="the-other")]
        await shell.write_many(puts=orders)
        assert len(await shell.get_many([Order.by_customer("the-canary"), Order.by_customer("the-other")])) == 2
    written, read = waits_in(heard)
    assert (written.table, written.level, written.seconds > 0) == ("orders", logging.INFO, True)
    assert ("a part of a batch write undone" in written.text, "a batch get undone" in read.text) == (True, True)
    assert [record.levelname for record in caplog.records] == ["INFO", "INFO"]
    assert "the-" not in caplog.text


async def test_a_race_that_is_lost_again_is_told(kind: str) -> None:
    heard: list[Any] = []
    async with opened(kind, listeners=[heard.append]) as shell:
        race = Race(shell.port, "tag", "a garbage collection began", table="orders")
        heard.clear()
        await shell.run(race.lost())
        assert waits_in(heard) == []
        await shell.run(race.lost())
    (wait,) = waits_in(heard)
    assert (wait.level, wait.table, wait.why) == (logging.DEBUG, "orders", "a garbage collection began meanwhile")


async def test_a_rate_that_is_reached_is_told(kind: str) -> None:
    heard: list[Any] = []
    async with opened(kind, listeners=[heard.append]) as shell:
        await shell.create_table(table)
        await shell.write_many(puts=[Order(customer=str(number)) for number in range(60)])
        set_clock(shell.port)
        heard.clear()
        assert await shell.check(table, rate=Rate(read_units=1)) == []
    waits = waits_in(heard)
    assert {(wait.why, wait.level) for wait in waits} == {("the rate that was given is reached", logging.DEBUG)}


async def test_an_apply_that_was_killed_is_waited_for_and_taken_over(kind: str) -> None:
    heard: list[Any] = []
    async with opened(kind, listeners=[heard.append]) as shell:
        await shell.create_table(table)
        port: Any = shell.port
        killed: Held = await shell.run(take(port, table, "ada"))
        set_clock(port)
        heard.clear()
        held: Held = await shell.run(take(port, table, "bob"))
        with pytest.raises(ApplyRefused, match="lost to bob"):
            await shell.run(beat(port, table, killed, 1, "filling"))
        await shell.run(release(port, table, held))
    waits, told = waits_in(heard), [event for event in heard if isinstance(event, (LeaseTaken, LeaseLost))]
    assert len(waits) == 30
    assert "ada has the lease of the apply of orders" in waits[0].text
    taken, lost = told
    assert isinstance(taken, LeaseTaken)
    assert (taken.is_takeover, taken.fence, taken.level) == (True, held.fence, logging.WARNING)
    assert taken.holder == "ada"
    assert lost.text.endswith("lost the lease of the apply of orders: it was cancelled, or another worker has it")
