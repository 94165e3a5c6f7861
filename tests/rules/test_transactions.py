"""Transactions: repeats, merges, refusals, versions and unique values inside them."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from singletable import (
    AlreadyExists,
    ConditionFailed,
    InvalidRequest,
    NotFound,
    NotUnique,
    TransactionCancelled,
    VersionMoved,
    attr,
)
from singletable.records import Transaction
from singletable.records.flows import commit
from tests.faults.actions import ApplyThen500ThenLateDuplicate, ApplyThenCut, CancelTransaction, Conflict, Throttle
from tests.rules.bench import Bench
from tests.rules.models import Counted, Named, Passing, Plain, Session

PLAIN = Plain(id="1", text="a", count=3, tags=["x"], phone="12")
KEY = Plain.by_id("1")


async def cancelled(bench: Bench, fill: Any) -> TransactionCancelled:
    with pytest.raises(TransactionCancelled) as caught:
        await bench.transact(fill)
    return caught.value


# --- repeats ----------------------------------------------------------------------------------------------------------
async def test_a_repeat_has_the_same_bytes_and_token(bench: Bench) -> None:
    for fault in (ApplyThenCut(), Throttle(), Conflict(), ApplyThen500ThenLateDuplicate()):
        bench.lose("TransactWriteItems", fault)
    async with bench.shell.transaction() as tx:
        tx.create(PLAIN)
        tx.upsert(Counted(id="1"))
    bodies = bench.faults.bodies("TransactWriteItems")
    assert (len(bodies), len(set(bodies))) == (5, 1)
    assert len(json.loads(bodies[0])["ClientRequestToken"]) <= 36
    assert await bench.shell.get(Counted.by_id("1").consistent()) == Counted(id="1", revision=1)


async def test_new_bytes_have_a_new_token_and_follow_a_definite_answer(bench: Bench) -> None:
    await bench.shell.create(Named(id="1", email="a@x"))
    bench.lose("TransactWriteItems", CancelTransaction(("ConditionalCheckFailed", "None", "None")))
    await bench.shell.put(Named(id="1", email="b@x"))
    bodies = bench.faults.bodies("TransactWriteItems")[1:]
    assert len({json.loads(body)["ClientRequestToken"] for body in bodies}) == len(bodies) > 1
    assert await bench.guards() == {"b@x"}


# --- merges -----------------------------------------------------------------------------------------------------------
async def test_writes_of_one_item_are_one_action(bench: Bench) -> None:
    await bench.shell.put(PLAIN)
    bench.start()
    async with bench.shell.transaction() as tx:
        tx.check(KEY, where=attr(Plain.count) == 3)
        tx.update(KEY, attr(Plain.count).add(1))
        tx.update(KEY, attr(Plain.tags).append("y"))
        tx.create(Plain(id="2"))
        tx.update(Plain.by_id("2"), attr(Plain.count).add(7))
        tx.put(Plain(id="3"), where=None)
        tx.update(Plain.by_id("3"), attr(Plain.text).set("c"))
    (body,) = bench.faults.bodies("TransactWriteItems")
    assert [next(iter(action)) for action in json.loads(body)["TransactItems"]] == ["Update", "Put", "Put"]
    assert await bench.shell.get(KEY) == replace(PLAIN, count=4, tags=["x", "y"])
    assert await bench.shell.get(Plain.by_id("2")) == Plain(id="2", count=7)
    assert await bench.shell.get(Plain.by_id("3")) == Plain(id="3", text="c")
    assert await bench.is_sound()


async def test_put_and_check_is_a_put_under_the_checks_condition(bench: Bench) -> None:
    await bench.shell.put(PLAIN)
    async with bench.shell.transaction() as tx:
        tx.put(replace(PLAIN, text="b"))
        tx.check(KEY, where=attr(Plain.count) == 3)
    error = await cancelled(
        bench, lambda tx: (tx.check(KEY, where=attr(Plain.count) == 9), tx.put(replace(PLAIN, text="c")))
    )
    assert isinstance(error.failures[0].error, ConditionFailed)
    assert await bench.shell.get(KEY) == replace(PLAIN, text="b")


async def test_check_and_delete_needs_the_item(bench: Bench) -> None:
    error = await cancelled(bench, lambda tx: (tx.check(KEY), tx.delete(KEY)))
    assert isinstance(error.failures[0].error, NotFound)


@pytest.mark.parametrize(
    ("fill", "named"),
    [
        (lambda tx: (tx.put(PLAIN), tx.delete(KEY)), "put and delete"),
        (lambda tx: (tx.delete(KEY), tx.create(PLAIN)), "delete and create"),
        (lambda tx: (tx.create(PLAIN), tx.check(KEY)), "create and check|check and create"),
        (lambda tx: (tx.update(KEY, attr(Plain.count).add(1)), tx.delete(KEY)), "update and delete"),
        (lambda tx: (tx.upsert(PLAIN), tx.put(PLAIN)), "upsert and put"),
        (lambda tx: (tx.create(PLAIN), tx.create(PLAIN)), "create and create"),
    ],
)
async def test_what_no_one_action_says_is_refused_by_name(bench: Bench, fill: Any, named: str) -> None:
    with pytest.raises(InvalidRequest, match=f"({named}) of the same item"):
        await bench.transact(fill)
    assert bench.requests == {}


async def test_two_changes_of_one_attribute_are_refused(bench: Bench) -> None:
    with pytest.raises(InvalidRequest, match=r"Plain\.count"):
        await bench.transact(
            lambda tx: (tx.update(KEY, attr(Plain.count).set(1)), tx.update(KEY, attr(Plain.count).add(1)))
        )
    assert bench.requests == {}


# --- versions ---------------------------------------------------------------------------------------------------------
async def test_targets_and_expected_counts(bench: Bench) -> None:
    mine = Counted(id="1")
    await bench.shell.create(mine)
    async with bench.shell.transaction() as tx:
        tx.update(mine, attr(Counted.count).add(1))
        tx.create(Plain(id="1"))
    async with bench.shell.transaction() as tx:
        tx.update(Counted.by_id("1"), attr(Counted.count).add(1), expected=2)
    fills = (
        lambda tx: tx.update(mine, attr(Counted.count).add(1)),
        lambda tx: tx.delete(mine),
        lambda tx: tx.delete(Counted.by_id("1"), expected=2),
        lambda tx: tx.put(mine),
    )
    for fill in fills:
        error = await cancelled(bench, lambda tx, fill=fill: (tx.create(Plain(id="never")), fill(tx)))
        assert [type(f.error) for f in error.failures] == [VersionMoved]
        assert error.failures[0].number == 2
    assert await bench.shell.get(Counted.by_id("1")) == Counted(id="1", count=2, revision=3)
    assert await bench.raw(Plain.by_id("never")) is None


async def test_two_expected_counts_of_one_item_are_refused(bench: Bench) -> None:
    with pytest.raises(InvalidRequest, match="two versions"):
        await bench.transact(
            lambda tx: (
                tx.update(Counted.by_id("1"), attr(Counted.count).add(1), expected=1),
                tx.update(Counted.by_id("1"), attr(Counted.text).set("b"), expected=2),
            )
        )


async def test_an_expected_count_is_never_dropped_by_a_merge(bench: Bench) -> None:
    mine = Counted(id="1")
    await bench.shell.create(mine)
    update = attr(Counted.text).set("b")
    key = Counted.by_id("1")
    with pytest.raises(InvalidRequest, match="put and update of the same item"):
        await bench.transact(lambda tx: (tx.put(mine), tx.update(key, update, expected=7)))
    with pytest.raises(InvalidRequest, match="upsert and update of the same item"):
        await bench.transact(lambda tx: (tx.upsert(mine), tx.update(key, update, expected=7)))
    await bench.transact(lambda tx: (tx.put(mine), tx.update(mine, attr(Counted.text).set("b"))))
    assert await bench.shell.get(Counted.by_id("1")) == Counted(id="1", text="b", revision=2)


async def test_entities_have_their_counts_after_the_transaction_and_not_before(bench: Bench) -> None:
    fresh, late = Counted(id="1"), Counted(id="2", revision=5)
    error = await cancelled(bench, lambda tx: (tx.create(fresh), tx.put(late)))
    assert [type(f.error) for f in error.failures] == [VersionMoved]
    assert (fresh.revision, late.revision) == (0, 5)
    late.revision = 0
    async with bench.shell.transaction() as tx:
        tx.create(fresh)
        tx.put(late)
    assert (fresh.revision, late.revision) == (1, 1)


# --- unique values ----------------------------------------------------------------------------------------------------
async def test_two_items_swap_their_values(bench: Bench) -> None:
    await bench.shell.create(Named(id="1", email="a@x", nick="n"))
    await bench.shell.create(Named(id="2", email="b@x"))
    async with bench.shell.transaction() as tx:
        tx.update(Named.by_id("1"), attr(Named.email).set("b@x"), attr(Named.nick).remove())
        tx.put(Named(id="2", email="a@x", nick="n"))
    assert await bench.guards() == {"a@x", "b@x", "n"}
    assert await bench.shell.get(Named.by_id("2")) == Named(id="2", email="a@x", nick="n")
    assert await bench.is_sound()


@pytest.mark.parametrize("owner", ["2", "3"])
async def test_a_value_goes_on_from_an_item_that_got_it_after_it_was_read(bench: Bench, owner: str) -> None:
    """The guard is refused beside its owner, which is planned again; it is refused again where another item has it."""
    first, second = Named(id="1", email="a@x"), Named(id="2", email="old@x")
    await bench.transact(lambda tx: (tx.create(first), tx.create(second), tx.create(Named(id="3", email="c@x"))))
    await bench.shell.update(Named.by_id("2"), attr(Named.email).set("new@x"))
    await bench.shell.update(Named.by_id(owner), attr(Named.email).set("b@x"))
    bench.start()
    tx = Transaction()
    tx.update(Named.by_id("1"), attr(Named.email).set("b@x"))
    tx.update(Named.by_id("2"), attr(Named.email).set("d@x"))
    sent = bench.shell.run(commit(bench.shell.port, tx.pending, {0: first, 1: second}))
    if owner == "2":
        await sent
        assert await bench.guards() == {"b@x", "c@x", "d@x"}
    else:
        with pytest.raises(TransactionCancelled) as caught:
            await sent
        assert [(f.number, type(f.error)) for f in caught.value.failures] == [(1, NotUnique)]
        assert await bench.guards() == {"a@x", "b@x", "new@x"}
    assert bench.requests["TransactWriteItems"] == 2
    assert await bench.is_sound()


async def test_a_value_goes_from_a_deleted_item_to_a_new_one(bench: Bench) -> None:
    await bench.shell.create(Named(id="1", email="a@x"))
    async with bench.shell.transaction() as tx:
        tx.delete(Named.by_id("1"))
        tx.create(Named(id="2", email="a@x"))
    assert await bench.shell.get(Named.by_id("1")) is None
    assert await bench.guards() == {"a@x"}
    assert await bench.is_sound()
    with pytest.raises(NotUnique):
        await bench.shell.create(Named(id="1", email="a@x"))


async def test_one_value_for_two_items_is_refused_before_sending(bench: Bench) -> None:
    with pytest.raises(NotUnique):
        await bench.transact(lambda tx: (tx.create(Named(id="1", email="a@x")), tx.create(Named(id="2", email="a@x"))))
    assert bench.requests == {}


async def test_a_taken_value_is_a_failure_of_its_operation(bench: Bench) -> None:
    await bench.shell.create(Named(id="1", email="a@x"))
    error = await cancelled(bench, lambda tx: (tx.create(PLAIN), tx.create(Named(id="2", email="a@x"))))
    assert [(f.number, f.verb, type(f.error)) for f in error.failures] == [(2, "create", NotUnique)]
    assert error.failures[0].error.attribute == "Named.email"
    assert await bench.raw(KEY) is None


async def test_mixed_reasons_are_those_of_the_operations(bench: Bench) -> None:
    await bench.shell.put(PLAIN)
    bench.lose("TransactWriteItems", CancelTransaction(("None", "ConditionalCheckFailed", "TransactionConflict")))
    error = await cancelled(
        bench, lambda tx: (tx.put(Plain(id="2")), tx.create(replace(PLAIN, id="3")), tx.put(Plain(id="4")))
    )
    assert [(f.number, type(f.error)) for f in error.failures] == [(2, AlreadyExists)]


# --- expiry -----------------------------------------------------------------------------------------------------------
async def test_an_expired_item_is_missing_in_a_transaction(bench: Bench) -> None:
    await bench.shell.create(Passing(id="1", ends=bench.clock.datetime(60)))
    await bench.shell.create(Session(id="1", token="t", ends=bench.clock.datetime(60)))
    bench.clock.advance(60)
    key = Passing.by_id("1")
    for fill in (lambda tx: tx.check(key), lambda tx: tx.update(key, attr(Passing.text).set("b"))):
        error = await cancelled(bench, fill)
        assert [type(f.error) for f in error.failures] == [NotFound]
    async with bench.shell.transaction() as tx:
        tx.create(Passing(id="1", text="new"))
        tx.create(Session(id="2", token="t"))
    assert await bench.shell.get(key) == Passing(id="1", text="new")
    assert await bench.is_sound()
