"""Refusals that come without the stored item, as some engines and proxies give them: the verdict is the same.

Only a consistent read can tell then whether there is an item.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import pytest

from singletable import (
    ConditionFailed,
    NotFound,
    OutcomeUnknown,
    SingletableError,
    TransactionCancelled,
    VersionMoved,
    attr,
)
from singletable.errors import Denied
from singletable.operations import GetItem, PutItem
from tests.faults.actions import ApplyThenCut, DropBefore, Refuse
from tests.faults.proxy import FaultProxy
from tests.faults.rules import Match, Rule
from tests.rules import cells_create, cells_delete, cells_put, cells_update, cells_upsert, cells_write_many
from tests.rules.bench import CELLS, Bench
from tests.rules.models import Counted, Named, Passing, Plain, Ranked
from tests.rules.table import PROMISES, Case, Verb
from tests.support.shells import KINDS

ROWS = (cells_create, cells_put, cells_update, cells_upsert, cells_delete, cells_write_many)
KEY = Plain.by_id("1")
IS_A = attr(Plain.text) == "a"


@pytest.fixture(autouse=True)
def hidden(proxy: FaultProxy) -> None:
    proxy.carrier.hides_items = True


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("verb", "case"), PROMISES, ids=["-".join(at) for at in PROMISES])
async def test_a_cell_is_kept_without_items(verb: Verb, case: Case, kind: str, bench: Bench) -> None:
    await CELLS[verb, case](bench)


# --- what is there is never said to be missing ------------------------------------------------------------------------
async def test_a_failed_condition_comes_with_the_item(bench: Bench) -> None:
    there = Plain(id="1", text="b", phone="12")
    await bench.shell.put(there)
    verbs: list[Callable[[], Awaitable[Any]]] = [
        lambda: bench.shell.delete(KEY, where=IS_A),
        lambda: bench.shell.update(KEY, attr(Plain.count).add(1), where=IS_A),
        lambda: bench.shell.update(KEY, attr(Plain.count).add(1), where=IS_A, exactly_once=True),
        lambda: bench.shell.put(replace(there, count=9), where=IS_A),
    ]
    for verb in verbs:
        with pytest.raises(ConditionFailed) as caught:
            await verb()
        assert (type(caught.value), caught.value.stored) == (ConditionFailed, there)
    assert await bench.shell.get(KEY) == there


async def test_a_missing_item_raises_as_before(bench: Bench) -> None:
    assert await bench.shell.delete(KEY, where=IS_A) is None
    for once in (False, True):
        with pytest.raises(NotFound):
            await bench.shell.update(KEY, attr(Plain.count).add(1), where=IS_A, exactly_once=once)
    assert await bench.raw(KEY) is None


async def test_absence_takes_one_read_and_an_item_none(bench: Bench, proxy: FaultProxy) -> None:
    """With DynamoDB, which sends the item: a refusal without it is a request more, any other none."""
    proxy.carrier.hides_items = False
    bench.start()
    with pytest.raises(NotFound):
        await bench.shell.update(KEY, attr(Plain.count).add(1))
    assert bench.requests == {"UpdateItem": 1, "GetItem": 1}
    bench.start()
    made = await bench.shell.upsert(Plain(id="1", text="b"), attr(Plain.count).add(1))
    assert (made.count, bench.requests) == (1, {"UpdateItem": 1, "PutItem": 1})
    bench.start()
    with pytest.raises(ConditionFailed):
        await bench.shell.update(KEY, attr(Plain.count).add(1), where=IS_A)
    assert bench.requests == {"UpdateItem": 1}


async def test_an_update_with_values_to_read_goes_on(bench: Bench) -> None:
    """What a plan was made from has changed: told by the item, read where the refusal has none."""
    await bench.shell.put(Ranked(id="1", group="a", rank=1))
    stale = await bench.shell.get(Ranked.by_id("1"))
    assert stale is not None
    await bench.shell.update(Ranked.by_id("1"), attr(Ranked.rank).set(2))
    await bench.shell.update(stale, attr(Ranked.group).set("b"))
    assert await bench.shell.all(Ranked.by_group("b")) == [Ranked(id="1", group="b", rank=2)]


# --- transactions -----------------------------------------------------------------------------------------------------
ADA = Named(id="ada", email="a@x")
OLD = Passing(id="old", text="x")
TRANSACTIONS: dict[str, Callable[[Any], Any]] = {
    "create": lambda tx: tx.create(Plain(id="1")),
    "create over another type": lambda tx: tx.create(Plain(id="alien")),
    "put where": lambda tx: tx.put(Plain(id="1", text="new"), where=IS_A),
    "put of another version": lambda tx: tx.put(Counted(id="1", revision=7)),
    "update": lambda tx: tx.update(Plain.by_id("none"), attr(Plain.text).set("new")),
    "update where": lambda tx: tx.update(KEY, attr(Plain.text).set("new"), where=IS_A),
    "update expected": lambda tx: tx.update(Counted.by_id("1"), attr(Counted.text).set("new"), expected=7),
    "update of what has expired": lambda tx: tx.update(Passing.by_id("old"), attr(Passing.text).set("new")),
    "upsert over another type": lambda tx: tx.upsert(Plain(id="alien")),
    "delete where": lambda tx: tx.delete(KEY, where=IS_A),
    "delete where none is": lambda tx: tx.delete(Plain.by_id("none"), where=IS_A),
    "check": lambda tx: tx.check(KEY, where=IS_A),
    "check of none": lambda tx: tx.check(Plain.by_id("none")),
    "unique": lambda tx: tx.create(Named(id="2", email="a@x")),
}


@pytest.mark.parametrize("name", TRANSACTIONS)
async def test_a_transaction_says_the_same_with_and_without_items(name: str, bench: Bench, proxy: FaultProxy) -> None:
    await bench.shell.put(Plain(id="1", text="b"))
    await bench.shell.create(Counted(id="1"))
    await bench.shell.create(ADA)
    await bench.shell.create(replace(OLD, ends=bench.clock.datetime(60)))
    await bench.place_foreign(Plain.by_id("alien"))
    bench.clock.advance(61)

    async def verdict() -> list[tuple[Any, ...]]:
        with pytest.raises(TransactionCancelled) as caught:
            await bench.transact(lambda tx: (tx.put(Plain(id="beside")), TRANSACTIONS[name](tx)))
        assert await bench.raw(Plain.by_id("beside")) is None
        said: list[tuple[int, SingletableError]] = [(f.number, f.error) for f in caught.value.failures]
        return [(n, type(e), str(e), getattr(e, "stored", None)) for n, e in said]

    without = await verdict()
    proxy.carrier.hides_items = False
    assert without == await verdict() != []


async def test_a_version_that_moved_is_raised(bench: Bench) -> None:
    mine = Counted(id="1")
    await bench.shell.create(mine)
    now = await bench.shell.update(Counted.by_id("1"), attr(Counted.count).add(1))
    with pytest.raises(VersionMoved) as caught:
        await bench.shell.put(mine)
    assert caught.value.stored == now
    with pytest.raises(VersionMoved) as caught:
        await bench.shell.delete(mine)
    assert caught.value.stored == now


@pytest.mark.parametrize("answer", [ApplyThenCut(), DropBefore()])
async def test_a_proof_that_fails_after_a_lost_answer_leaves_the_outcome_open(bench: Bench, answer: Any) -> None:
    """Unavailable would say that nothing was written; an earlier try may have been."""
    await bench.shell.create(Counted(id="1"))
    bench.lose("UpdateItem", answer)
    bench.faults.add(Rule(Match("GetItem"), Refuse("AccessDeniedException")))
    change = attr(Counted.text).set("new")
    if isinstance(answer, DropBefore):
        assert (await bench.shell.update(Counted.by_id("1"), change)).revision == 2
        return
    with pytest.raises(OutcomeUnknown) as caught:
        await bench.shell.update(Counted.by_id("1"), change)
    assert isinstance(caught.value.__cause__, Denied)


# --- the read comes after the refusal ---------------------------------------------------------------------------------
@pytest.mark.parametrize("name", ["update", "exactly once", "transaction"])
async def test_what_comes_between_the_refusal_and_the_read_is_written_to(
    name: str, bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Missing when the update came, there when it was looked for: NotFound and ConditionFailed would be false."""
    port, send, come = bench.shell.port, bench.shell.port.send, [Plain(id="1", count=1)]
    send_all = port.send_all

    async def arrive() -> None:
        for made in come:
            come.clear()
            await send(PutItem("shop", Plain.__model__.item(made)))  # type: ignore[union-attr]

    async def sending(operation: Any) -> Any:
        if isinstance(operation, GetItem):
            await arrive()
        return await send(operation)

    async def sending_all(operations: Any) -> Any:
        await arrive()
        return await send_all(operations)

    monkeypatch.setattr(port, "send", sending)
    monkeypatch.setattr(port, "send_all", sending_all)
    change = attr(Plain.count).add(1)
    if name == "transaction":
        await bench.transact(lambda tx: tx.update(KEY, change))
    else:
        await bench.shell.update(KEY, change, exactly_once=name == "exactly once")
    monkeypatch.undo()
    assert await bench.shell.get(KEY) == Plain(id="1", count=2)
