"""What is waited for, and for how long: conflicts, transactions in progress, and connections that were idle."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from singletable import OutcomeUnknown, attr
from singletable.errors import Throttled, TransactionConflict
from tests.faults.actions import ApplyThen500, Conflict, Throttle, TransactionInProgress
from tests.faults.proxy import FaultProxy
from tests.faults.rules import Match, Rule
from tests.rules.bench import Bench
from tests.rules.models import Counted, Named, Plain
from tests.support.shells import Shell

KEY = Plain.by_id("1")
WRITES: dict[str, tuple[str, Callable[[Shell], Awaitable[Any]]]] = {
    "put": ("PutItem", lambda s: s.put(Plain(id="1", text="b"))),
    "update": ("UpdateItem", lambda s: s.update(KEY, attr(Plain.count).add(1))),
    "delete": ("DeleteItem", lambda s: s.delete(KEY)),
    "unique": ("TransactWriteItems", lambda s: s.create(Named(id="1", email="a@x"))),
}


@pytest.mark.parametrize("verb", WRITES)
async def test_a_conflict_is_tried_again_until_it_passes(bench: Bench, verb: str) -> None:
    operation, write = WRITES[verb]
    await bench.shell.put(Plain(id="1"))
    bench.start()
    for _ in range(3):
        bench.lose(operation, Conflict())
    await write(bench.shell)
    assert bench.faults.seen[operation] == 4
    assert len(bench.clock.slept) == 3


@pytest.mark.parametrize("verb", WRITES)
async def test_a_lasting_conflict_is_raised_and_nothing_is_written(bench: Bench, verb: str) -> None:
    operation, write = WRITES[verb]
    await bench.shell.put(Plain(id="1"))
    bench.faults.add(Rule(Match(operation), Conflict()))
    with pytest.raises(TransactionConflict):
        await write(bench.shell)
    bench.faults.clear()
    assert await bench.shell.get(KEY) == Plain(id="1")
    assert await bench.raw(Named.by_id("1")) is None
    assert sum(bench.clock.slept) < 20


async def test_a_transaction_in_progress_is_waited_for(bench: Bench) -> None:
    bench.lose("TransactWriteItems", ApplyThen500())
    for _ in range(12):
        bench.lose("TransactWriteItems", TransactionInProgress())
    await bench.shell.create(Named(id="1", email="a@x"))
    assert len(set(bench.faults.bodies("TransactWriteItems"))) == 1
    assert await bench.guards() == {"a@x"}


async def test_a_transaction_in_progress_for_good_is_of_unknown_outcome(bench: Bench) -> None:
    bench.faults.add(Rule(Match("TransactWriteItems"), TransactionInProgress()))
    with pytest.raises(OutcomeUnknown):
        await bench.shell.create(Named(id="1", email="a@x"))
    assert 10 < sum(bench.clock.slept) < 20


async def test_throttling_for_good_ends_with_the_retries_and_the_deadline(bench: Bench) -> None:
    bench.faults.add(Rule(Match("PutItem"), Throttle()))
    with pytest.raises(Throttled):
        await bench.shell.put(Plain(id="1"))
    assert bench.faults.seen["PutItem"] == 10
    assert sum(bench.clock.slept) < 20


async def test_retries_have_a_budget(bench: Bench) -> None:
    bench.faults.add(Rule(Match("PutItem"), Throttle()))
    counts = []
    for _ in range(20):
        bench.start()
        with pytest.raises(Throttled):
            await bench.shell.put(Plain(id="1"))
        counts.append(bench.faults.seen["PutItem"])
    assert (counts[0], counts[-1]) == (10, 1)


@pytest.mark.parametrize(("idle_seconds", "opened"), [(14, 0), (16, 1)])
async def test_a_write_that_cannot_be_repeated_uses_no_connection_that_was_idle_for_long(
    bench: Bench, proxy: FaultProxy, idle_seconds: float, opened: int
) -> None:
    await bench.shell.put(Plain(id="1"))
    before = proxy.connections
    bench.clock.advance(idle_seconds)
    await bench.shell.update(KEY, attr(Plain.count).add(1))
    assert proxy.connections - before == opened


async def test_others_use_it(bench: Bench, proxy: FaultProxy) -> None:
    await bench.shell.create(Counted(id="1"))
    before = proxy.connections
    writes: tuple[Callable[[], Awaitable[Any]], ...] = (
        lambda: bench.shell.put(Plain(id="1")),
        lambda: bench.shell.update(KEY, attr(Plain.count).set(1)),
        lambda: bench.shell.update(KEY, attr(Plain.count).add(1), exactly_once=True),
        lambda: bench.shell.get(KEY),
        lambda: bench.shell.delete(KEY),
    )
    for write in writes:
        bench.clock.advance(16)
        await write()
    assert proxy.connections == before
