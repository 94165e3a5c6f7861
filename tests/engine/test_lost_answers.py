"""Lost answers: the engine did it and nobody heard. What is repeated, what is settled, and what is unknown."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from decimal import Decimal

import pytest

from singletable import AlreadyExists, NotFound, OutcomeUnknown, TransactionCancelled, attr, key_of
from singletable.wire import RetryPolicy
from tests.faults.actions import ApplyThenCut, DropBefore
from tests.faults.proxy import FaultProxy
from tests.faults.rules import Faults, Match, Rule
from tests.support.engines import fresh_url
from tests.support.models import Membership, User, membership
from tests.support.shells import Shell, opened

ADA = User(email="ada@example.org", name="Ada", age=36)
KEY = key_of(ADA)
QUICK = RetryPolicy(base_seconds=0.001, cap_seconds=0.002)


@pytest.fixture
def faults() -> Faults:
    return Faults()


@pytest.fixture
async def shell(kind: str, faults: Faults) -> AsyncIterator[Shell]:
    with fresh_url() as url, FaultProxy(url, faults) as proxy:
        async with opened(kind, proxy.url, retry=QUICK) as made:
            await made.get(KEY)
            yield made


def lose_next(faults: Faults, operation: str, what: str = "answer") -> None:
    """Cut the connection of the next request of that operation; several calls, several losses."""
    action = ApplyThenCut() if what == "answer" else DropBefore()
    faults.add(Rule(Match(operation, nth=1), action))


async def test_a_create_is_settled_by_its_write_id(shell: Shell, faults: Faults) -> None:
    lose_next(faults, "PutItem")
    await shell.create(ADA)
    assert faults.seen["PutItem"] == 2
    assert await shell.get(KEY) == ADA
    with pytest.raises(AlreadyExists):
        await shell.create(ADA)


async def test_a_create_whose_answer_is_lost_twice(shell: Shell, faults: Faults) -> None:
    lose_next(faults, "PutItem")
    lose_next(faults, "PutItem")
    await shell.create(ADA)
    assert await shell.get(KEY) == ADA


async def test_a_create_that_lost_to_another_raises_already_exists(shell: Shell, faults: Faults) -> None:
    await shell.put(ADA)
    lose_next(faults, "PutItem")
    with pytest.raises(AlreadyExists):
        await shell.create(replace(ADA, name="Eve"))
    assert await shell.get(KEY) == ADA


async def test_a_put_is_repeated(shell: Shell, faults: Faults) -> None:
    lose_next(faults, "PutItem")
    await shell.put(ADA)
    assert (await shell.get(KEY), faults.seen["PutItem"]) == (ADA, 2)


async def test_a_put_whose_condition_fails_then_is_of_unknown_outcome(shell: Shell, faults: Faults) -> None:
    await shell.put(ADA)
    lose_next(faults, "PutItem")
    with pytest.raises(OutcomeUnknown, match="Read the item"):
        await shell.put(replace(ADA, age=50), where=attr(User.age) == 36)


async def test_a_delete_is_repeated(shell: Shell, faults: Faults) -> None:
    await shell.put(ADA)
    lose_next(faults, "DeleteItem")
    await shell.delete(KEY)
    assert (await shell.get(KEY), faults.seen["DeleteItem"]) == (None, 2)


async def test_an_update_of_constants_is_repeated(shell: Shell, faults: Faults) -> None:
    await shell.put(ADA)
    lose_next(faults, "UpdateItem")
    changed = await shell.update(KEY, attr(User.name).set("L"), attr(User.groups).include({"a"}))
    assert (changed.name, changed.groups, faults.seen["UpdateItem"]) == ("L", {"a"}, 2)


async def test_an_update_of_what_is_gone_knows_that_it_did_nothing(shell: Shell, faults: Faults) -> None:
    """With a key of parts that the entity brings too: it can't have removed the item itself."""
    lose_next(faults, "UpdateItem")
    with pytest.raises(NotFound):
        await shell.update(ADA, attr(User.age).set(40))
    assert faults.seen["UpdateItem"] == 2


async def test_a_sum_is_sent_once(shell: Shell, faults: Faults) -> None:
    await shell.put(membership(1))
    await shell.put(replace(ADA, tags=["x"]))
    for update in (attr(User.score).add(Decimal(1)), attr(User.tags).append("y")):
        lose_next(faults, "UpdateItem")
        with pytest.raises(OutcomeUnknown, match="Read what it writes"):
            await shell.update(KEY, update)
    assert faults.seen["UpdateItem"] == 2
    found = await shell.get(KEY)
    assert found is not None
    assert (found.score, found.tags) == (Decimal(1), ["x", "y"])


async def test_a_sum_whose_request_was_lost_is_of_unknown_outcome_too(shell: Shell, faults: Faults) -> None:
    await shell.put(ADA)
    lose_next(faults, "UpdateItem", "request")
    with pytest.raises(OutcomeUnknown):
        await shell.update(KEY, attr(User.tags).append("y"))
    found = await shell.get(KEY)
    assert found is not None
    assert found.tags == []


async def test_exactly_once_is_once(shell: Shell, faults: Faults) -> None:
    await shell.put(ADA)
    lose_next(faults, "TransactWriteItems")
    lose_next(faults, "TransactWriteItems")
    changed = await shell.update(KEY, attr(User.tags).append("y"), exactly_once=True)
    assert (changed.tags, faults.seen["TransactWriteItems"]) == (["y"], 3)
    assert len(set(faults.bodies("TransactWriteItems"))) == 1


async def test_a_transaction_is_repeated_with_the_same_bytes(shell: Shell, faults: Faults) -> None:
    await shell.put(ADA)
    lose_next(faults, "TransactWriteItems")
    async with shell.transaction() as tx:
        tx.create(membership(1))
        tx.update(KEY, attr(User.tags).append("y"))
    assert faults.seen["TransactWriteItems"] == 2
    assert len(set(faults.bodies("TransactWriteItems"))) == 1
    found = await shell.get(KEY)
    assert found is not None
    assert found.tags == ["y"]
    assert await shell.all(Membership.of_user(ADA.email)) == [membership(1)]


async def test_two_transactions_have_tokens_of_their_own(shell: Shell, faults: Faults) -> None:
    await shell.put(ADA)
    for _ in range(2):
        async with shell.transaction() as tx:
            tx.update(KEY, attr(User.tags).append("y"))
    assert len(set(faults.bodies("TransactWriteItems"))) == 2
    with pytest.raises(TransactionCancelled):
        async with shell.transaction() as tx:
            tx.create(ADA)


async def test_a_batch_is_repeated(shell: Shell, faults: Faults) -> None:
    lose_next(faults, "BatchWriteItem")
    await shell.write_many(puts=[membership(n) for n in range(30)])
    assert len(await shell.all(Membership.of_user(ADA.email))) == 30


@pytest.mark.parametrize("what", ["answer", "request"])
async def test_reads_are_repeated(shell: Shell, faults: Faults, what: str) -> None:
    await shell.put(ADA)
    for operation, read in (
        ("GetItem", shell.get(KEY)),
        ("Query", shell.all(KEY)),
        ("BatchGetItem", shell.get_many([KEY])),
    ):
        lose_next(faults, operation, what)
        found = await read
        assert found in (ADA, [ADA])
