"""Transactions: all or nothing, and an error that names which of your operations failed, and why."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from singletable import (
    ANY,
    AlreadyExists,
    ConditionFailed,
    Entity,
    InvalidRequest,
    Key,
    NotFound,
    Table,
    TransactionCancelled,
    attr,
    key_of,
)
from singletable.errors import Failure, TooLarge
from singletable.operations import TransactWriteItems
from singletable.records import Transaction
from singletable.records.entity_writes import CreateWrite
from singletable.records.flows import commit
from singletable.records.send import send_alone
from singletable.records.write import Moment, Write
from tests.support.models import Invoice, Membership, Photo, User, membership
from tests.support.raw import put_raw, stored
from tests.support.shells import Shell

ADA = User(email="ada@example.org", name="Ada", age=36, phone="12")
EVE = User(email="eve@example.org")
KEY = key_of(ADA)


async def send(shell: Shell, fill: Callable[[Any], object]) -> None:
    async with shell.transaction() as tx:
        fill(tx)


async def cancelled(shell: Shell, fill: Callable[[Any], object]) -> TransactionCancelled:
    with pytest.raises(TransactionCancelled) as caught:
        await send(shell, fill)
    return caught.value


def puts(entities: Iterable[Entity]) -> Callable[[Any], object]:
    return lambda tx: [tx.put(entity) for entity in entities]


def summary(failures: Sequence[Failure]) -> list[tuple[int, str, type[Exception]]]:
    return [(f.number, f.verb, type(f.error)) for f in failures]


archive = Table("archive")


class OldUser(Entity, table=archive, type="user"):
    """Under the key of a user, in another table."""

    email: str
    name: str = ""

    @archive.key
    @staticmethod
    def by_email(email: str) -> Key:
        return f"user#{email}", "user"


async def test_two_changes_of_one_attribute_are_refused_with_their_numbers(shell: Shell) -> None:
    await shell.put(ADA)

    def add_twice(tx: Any) -> None:
        tx.put(EVE)
        tx.update(KEY, attr(User.age).add(1), attr(User.name).set("A"))
        tx.update(KEY, attr(User.age).add(1))

    with shell.meter() as meter, pytest.raises(InvalidRequest) as caught:
        await send(shell, add_twice)
    assert caught.value.what == "operations 2 and 3 both change User.age of one item"
    where = caught.value.operation, caught.value.table
    assert (where, meter.requests) == (("transaction", KEY.model.table.name), 0)


async def test_a_put_under_a_condition_says_that_nothing_is_there(shell: Shell) -> None:
    with pytest.raises(ConditionFailed) as caught:
        await shell.put(ADA, where=attr(User.age) < 40)
    assert (caught.value.stored, caught.value.hint) == (None, "Use create() for a new item.")
    assert caught.value.what == "the condition does not hold: there is no item with this key"
    await shell.create(ADA)
    with pytest.raises(ConditionFailed) as caught:
        await shell.put(ADA, where=attr(User.age) < 30)
    assert (caught.value.stored, caught.value.what) == (ADA, "the condition does not hold")


async def test_items_of_one_key_in_two_tables_are_two(shell: Shell) -> None:
    old = OldUser(email=ADA.email, name="Ada")
    assert (key_of(old).partition, key_of(old).low) == (KEY.partition, KEY.low)
    await send(shell, puts([ADA, old]))
    async with shell.transaction() as tx:
        tx.update(KEY, attr(User.name).set("new"))
        tx.update(key_of(old), attr(OldUser.name).set("old"))
    assert await shell.get(KEY) == replace(ADA, name="new")
    assert await shell.get(key_of(old)) == replace(old, name="old")
    async with shell.transaction() as tx:
        tx.delete(KEY)
        tx.check(key_of(old), where=attr(OldUser.name) == "old")
    assert (await shell.get(KEY), await shell.get(key_of(old))) == (None, replace(old, name="old"))


async def test_every_verb_at_once(shell: Shell) -> None:
    await shell.write_many(puts=[ADA, membership(1), membership(2), membership(3)])
    with shell.meter() as meter:
        async with shell.transaction() as tx:
            tx.create(EVE)
            tx.put(replace(membership(1), role="owner"))
            tx.update(KEY, attr(User.name).set("Ada L."), where=attr(User.age) == 36)
            tx.upsert(Invoice(email=ADA.email, number=1, total=Decimal(3)))
            tx.delete(key_of(membership(2)))
            tx.delete(key_of(membership(9)))
            tx.check(key_of(membership(3)), where=attr(Membership.role) == "member")
    assert (meter.requests, meter.write_units) == (1, 2 * 7 + 1 + 1 + 1 + 1)
    assert await shell.get(key_of(EVE)) == EVE
    assert (await shell.all(Membership.of_user(ADA.email)))[0].role == "owner"
    assert (await shell.get(KEY)) == replace(ADA, name="Ada L.")
    assert await shell.all(Invoice.by_total(ADA.email)) == [Invoice(email=ADA.email, number=1, total=Decimal(3))]
    assert await shell.get(key_of(membership(2))) is None


async def test_an_error_in_the_block_sends_nothing(shell: Shell) -> None:
    await shell.get(KEY)
    with shell.meter() as meter, pytest.raises(ZeroDivisionError):
        await send(shell, lambda tx: (tx.create(ADA), 1 / 0))
    assert meter.requests == 0
    assert await shell.get(KEY) is None


async def test_an_empty_transaction_sends_nothing(shell: Shell) -> None:
    with shell.meter() as meter:
        async with shell.transaction():
            pass
    assert meter.requests == 0


async def test_failures_are_in_the_order_given_each_with_its_own_error(shell: Shell) -> None:
    await shell.put(ADA)
    await shell.put(membership(1))

    def fill(tx: Any) -> None:
        tx.create(ADA)
        tx.put(EVE)
        tx.update(User.by_email("nobody"), attr(User.name).set("x"))
        tx.put(replace(membership(1), role="owner"), where=attr(Membership.role) == "guest")
        tx.delete(key_of(membership(2)), where=attr(Membership.role) == "guest")
        tx.check(User.by_email("no one"))

    error = await cancelled(shell, fill)
    assert summary(error.failures) == [
        (1, "create", AlreadyExists),
        (3, "update", NotFound),
        (4, "put", ConditionFailed),
        (5, "delete", NotFound),
        (6, "check", NotFound),
    ]
    assert [f.key.shown for f in error.failures[:2]] == ["User.by_email user#{email} / user"] * 2
    assert error.failures[2].condition == "Membership.role == ..."
    told = error.failures[2].error
    assert isinstance(told, ConditionFailed)
    assert told.stored == membership(1)
    assert await shell.get(key_of(EVE)) is None


async def test_the_message_names_operations_and_conditions_without_values(shell: Shell) -> None:
    await shell.put(ADA)
    error = await cancelled(
        shell, lambda tx: tx.update(KEY, attr(User.name).set("secret"), where=attr(User.age) > 4711)
    )
    assert "operation 1, update" in str(error)
    assert "where User.age > ..." in str(error)
    assert not any(hidden in str(error) for hidden in ("secret", "4711", "ada@"))


async def test_an_item_of_another_class_is_not_found_or_taken(shell: Shell) -> None:
    foreign = {"pk": {"S": KEY.partition}, "sk": {"S": KEY.low}, "_type": {"S": "alien"}}
    await put_raw(shell.port, User, foreign)

    for verb, fill, kind in (
        ("create", lambda tx: tx.create(ADA), AlreadyExists),
        ("update", lambda tx: tx.update(KEY, attr(User.name).set("x")), NotFound),
        ("upsert", lambda tx: tx.upsert(ADA), AlreadyExists),
        ("delete", lambda tx: tx.delete(KEY), NotFound),
        ("check", lambda tx: tx.check(KEY), NotFound),
        ("put", lambda tx: tx.put(ADA, where=attr(User.age) == 1), AlreadyExists),
    ):
        error = await cancelled(shell, fill)
        assert summary(error.failures) == [(1, verb, kind)]
    assert await stored(shell.port, KEY) == foreign


async def test_an_update_reads_what_its_index_key_needs_and_reports_what_is_missing(shell: Shell) -> None:
    error = await cancelled(
        shell, lambda tx: (tx.put(EVE), tx.update(KEY, attr(User.age).add(1)), tx.put(membership(1)))
    )
    assert summary(error.failures) == [(2, "update", NotFound)]
    assert await shell.get(key_of(EVE)) is None


async def test_an_update_is_planned_anew_when_what_it_read_has_changed(shell: Shell) -> None:
    await shell.put(ADA)
    await shell.put(EVE)
    fresh = {"read": False}

    class Interfering:
        """A port between whose read and write another writer comes once."""

        def __getattr__(self, name: str) -> Any:
            return getattr(shell.port, name)

        async def send(self, operation: Any) -> Any:
            if isinstance(operation, TransactWriteItems) and not fresh["read"]:
                fresh["read"] = True
                await shell.update(KEY, attr(User.phone).set("99"), attr(User.age).set(50))
            return await shell.port.send(operation)

    tx = Transaction()
    tx.update(KEY, attr(User.age).add(1))
    tx.update(key_of(EVE), attr(User.name).set("Eve"))
    await shell.run(commit(Interfering(), tx.pending))
    assert [(u.phone, u.age) for u in await shell.all(User.by_phone("99"))] == [("99", 51)]
    assert await shell.all(User.by_phone("12")) == []


class Unplanned(Write):
    """Has no action, whatever is known of its item."""

    verb, key = "wait", KEY

    def main(self, current: Any, moment: Moment) -> None:
        return None


@pytest.mark.parametrize("is_alone", [True, False])
async def test_a_write_that_no_read_is_enough_for_is_neither_left_out_nor_read_for_again(
    shell: Shell, is_alone: bool
) -> None:
    writes: list[Write] = [CreateWrite(EVE), Unplanned()]
    flow = send_alone(shell.port, writes[1]) if is_alone else commit(shell.port, writes)
    with pytest.raises(AssertionError):
        await shell.run(flow)
    assert await shell.get(key_of(EVE)) is None


async def test_a_hundred_items_and_no_more(shell: Shell) -> None:
    async with shell.transaction() as tx:
        for n in range(100):
            tx.create(membership(n))
    assert len(await shell.all(Membership.of_user(ADA.email))) == 100
    with shell.meter() as meter, pytest.raises(InvalidRequest, match="101"):
        await send(shell, puts(membership(n) for n in range(101)))
    assert meter.requests == 0


async def test_what_is_counted_is_what_is_sent(shell: Shell) -> None:
    """150 operations on 50 items are 50 actions."""
    members = [membership(n) for n in range(50)]
    async with shell.transaction() as tx:
        for member in members:
            tx.create(member)
            tx.update(key_of(member), attr(Membership.role).set("lead"))
            tx.update(key_of(member), attr(Membership.role).set("owner"))
    assert [m.role for m in await shell.all(Membership.of_user(ADA.email))] == ["owner"] * 50
    with shell.meter() as meter, pytest.raises(InvalidRequest, match="101 items") as refused:
        await send(shell, lambda tx: [tx.check(key_of(membership(n))) for n in (*range(101), *range(101))])
    assert "202 operations" in refused.value.what
    assert meter.requests == 0


async def test_two_writes_of_one_item_that_no_action_can_say_are_refused(shell: Shell) -> None:
    await shell.get(KEY)
    with shell.meter() as meter, pytest.raises(InvalidRequest, match="put and delete of the same item"):
        await send(shell, lambda tx: (tx.put(ADA), tx.put(EVE), tx.delete(KEY)))
    assert meter.requests == 0


async def test_two_updates_of_one_item_become_one(shell: Shell) -> None:
    await shell.put(ADA)
    async with shell.transaction() as tx:
        tx.update(KEY, attr(User.name).set("Ada L."))
        tx.create(EVE)
        tx.update(KEY, attr(User.age).add(1), where=attr(User.age) == 36)
        tx.check(KEY, where=attr(User.phone) == "12")
    assert await shell.get(KEY) == replace(ADA, name="Ada L.", age=37)
    error = await cancelled(
        shell, lambda tx: (tx.update(KEY, attr(User.age).set(1)), tx.check(KEY, where=attr(User.phone) == "77"))
    )
    assert len(error.failures) == 1
    assert "User.phone" in error.failures[0].condition
    assert await shell.all(User.by_phone("12")) == [replace(ADA, name="Ada L.", age=37)]


async def test_four_megabytes_and_no_more(shell: Shell) -> None:
    photos = [Photo(email=f"{n}@example.org", content=b"x" * 390_000) for n in range(11)]
    async with shell.transaction() as tx:
        for photo in photos[:10]:
            tx.put(photo)
    with shell.meter() as meter, pytest.raises(TooLarge, match="a transaction of"):
        await send(shell, puts(photos))
    assert meter.requests == 0


async def test_keys_in_it_are_whole(shell: Shell) -> None:
    async with shell.transaction() as tx:
        for verb in (tx.check, tx.delete):
            with pytest.raises(InvalidRequest, match="of its key is missing"):
                verb(Membership.of_user("a", ANY))
        with pytest.raises(InvalidRequest, match="at least one attribute"):
            tx.update(KEY)


async def test_any_value_with_writes_joins(shell: Shell) -> None:
    class Signup:
        def writes(self) -> Sequence[Any]:
            tx = Transaction()
            tx.create(ADA)
            tx.put(membership(1))
            return tx.pending

    async with shell.transaction() as tx:
        tx.add(Signup())
        tx.create(EVE)
    assert await shell.get(KEY) == ADA
    error = await cancelled(shell, lambda tx: (tx.put(membership(2)), tx.add(Signup())))
    assert summary(error.failures) == [(2, "create", AlreadyExists)]
