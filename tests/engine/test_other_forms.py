"""Keys in other forms on an engine: rewritten at each update, ranges exact, no item replaced by one of other values."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any

import pytest

from singletable import (
    ANY,
    AlreadyExists,
    Entity,
    InvalidRequest,
    Key,
    NotFound,
    Table,
    TransactionCancelled,
    after,
    at_least,
    at_most,
    attr,
    before,
    between,
    key_of,
)
from tests.support.raw import stored
from tests.support.shells import Shell

orders = Table("orders", indexes=["gsi1", "gsi2"])


class Order(Entity, table=orders, type="order"):
    email: str
    number: int
    placed_at: datetime

    @orders.key
    @staticmethod
    def of(email: str, number: int = ANY) -> Key:
        """A customer's orders."""
        return f"customer#{email}", f"order#{number:raw}"

    @orders.index("gsi1")
    @staticmethod
    def of_day(placed_at: datetime, number: int = ANY) -> Key:
        """The orders of a day."""
        return f"day#{placed_at:%Y-%m-%d}", f"{number:06}"

    @orders.index("gsi2")
    @staticmethod
    def by_email(email: str, placed_at: datetime = ANY) -> Key:
        """The orders of an address in any case, by month."""
        return f"email#{email:lower}", f"{placed_at:%Y-%m}"


TIMES = [datetime(2026, month, day, 12, tzinfo=timezone.utc) for month in (1, 2, 3) for day in (1, 15)]
EVERY = [Order(email="Ada@x.org", number=number, placed_at=at) for number, at in enumerate(TIMES)]


async def test_a_derived_key_follows_its_attribute(shell: Shell) -> None:
    await shell.put(EVERY[0])
    with shell.meter() as meter:
        moved = await shell.update(key_of(EVERY[0]), attr(Order.placed_at).set(TIMES[3]))
    assert meter.requests == 1
    assert await shell.all(Order.of_day(TIMES[0])) == []
    assert await shell.all(Order.of_day(TIMES[3].replace(hour=23, minute=59))) == [moved]
    assert await shell.all(Order.by_email("ADA@X.ORG", TIMES[2])) == [moved]


async def test_a_range_reads_whole_periods_and_leaves_out_the_rest(shell: Shell) -> None:
    await shell.write_many(puts=EVERY)
    low, high = TIMES[1], TIMES[4]
    with shell.meter() as meter:
        assert await shell.all(Order.by_email("ada@x.org", between(low, high))) == EVERY[1:5]
    assert meter.requests == 1
    assert await shell.all(Order.by_email("ada@x.org", after(TIMES[0]))) == EVERY[1:]
    assert await shell.all(Order.by_email("ada@x.org", before(TIMES[3]))) == EVERY[:3]
    assert await shell.all(Order.by_email("ada@x.org", at_least(high))) == EVERY[4:]
    assert await shell.all(Order.by_email("ada@x.org", at_most(low))) == EVERY[:2]


async def test_a_text_in_another_case_is_found_and_kept(shell: Shell) -> None:
    await shell.put(EVERY[0])
    (found,) = await shell.all(Order.by_email("aDA@x.org"))
    assert found == EVERY[0]
    before_ = await stored(shell.port, key_of(found))
    await shell.put(found)
    assert await stored(shell.port, key_of(found)) == before_


async def test_digits_without_a_width_are_listed_and_take_no_range(shell: Shell) -> None:
    await shell.write_many(puts=EVERY)
    assert {order.number for order in await shell.all(Order.of("Ada@x.org"))} == {0, 1, 2, 3, 4, 5}
    with pytest.raises(InvalidRequest, match=r"Order\.of: number takes no range: .*10 is before 9"):
        Order.of("Ada@x.org", between(1, 3))


tags = Table("tags", indexes=["gsi1"])


class Tag(Entity, table=tags, type="tag", ambiguous=True):
    group: str
    name: str
    text: str = ""

    @tags.key
    @staticmethod
    def of(group: str, name: str = ANY) -> Key:
        """A group's tags."""
        return "tags", f"{group:raw}__{name:raw}"


class Person(Entity, table=tags, type="person", ambiguous=True):
    email: str
    age: int = 0

    @tags.key
    @staticmethod
    def by_email(email: str) -> Key:
        """One person."""
        return f"person#{email:lower}", "person"


ONE, OTHER = Tag(group="a_", name="b"), Tag(group="a", name="_b")


async def test_no_write_replaces_an_item_of_other_values(shell: Shell) -> None:
    assert key_of(ONE).low == key_of(OTHER).low
    await shell.put(ONE)
    for write in (shell.put, shell.create, shell.upsert):
        with pytest.raises(AlreadyExists, match="an item of other values has the key"):
            await write(OTHER)
    with shell.meter() as meter, pytest.raises(AlreadyExists, match="an item of other values has the key"):
        await shell.upsert(OTHER, attr(Tag.text).set("lost"))
    assert meter.requests == 2
    with pytest.raises(NotFound):
        await shell.update(Tag.of("a", "_b"), attr(Tag.text).set("lost"))
    with pytest.raises(NotFound):
        await shell.update(OTHER, attr(Tag.text).set("lost"))
    assert await shell.delete(Tag.of("a", "_b")) is None
    assert await shell.delete(OTHER) is None
    with pytest.raises(InvalidRequest, match="ambiguous=True"):
        await shell.write_many(puts=[OTHER])
    assert await shell.get(Tag.of("a_", "b")) == ONE


async def test_no_transaction_replaces_an_item_of_other_values(shell: Shell) -> None:
    await shell.put(ONE)
    for verb in ("put", "create", "upsert"):
        with pytest.raises(TransactionCancelled, match="an item of other values has the key"):
            async with shell.transaction() as tx:
                getattr(tx, verb)(OTHER)
    with pytest.raises(TransactionCancelled, match="no item with this key"):
        async with shell.transaction() as tx:
            tx.update(OTHER, attr(Tag.text).set("x"))
    with pytest.raises(TransactionCancelled, match="no item with this key"):
        async with shell.transaction() as tx:
            tx.check(Tag.of("a", "_b"))
    assert await shell.get(Tag.of("a_", "b")) == ONE


async def test_nothing_is_read_for_other_values(shell: Shell) -> None:
    await shell.put(ONE)
    with shell.meter() as meter:
        assert await shell.get(Tag.of("a", "_b")) is None
        assert await shell.get_many([Tag.of("a", "_b"), Tag.of("a_", "b")]) == [ONE]
        assert await shell.all(Tag.of("a")) == []
    assert meter.requests == 3
    assert await shell.all(Tag.of("a_")) == [ONE]
    part: Any = await shell.get(Tag.of("a_", "b").only(Tag.text))
    assert part.text == ""


async def test_the_writes_of_its_own_values_go_through(shell: Shell) -> None:
    await shell.put(ONE)
    with shell.meter() as meter:
        await shell.put(Tag(group="a_", name="b", text="1"))
        await shell.update(Tag.of("a_", "b"), attr(Tag.text).set("2"))
        await shell.upsert(Tag(group="a_", name="b", text="3"))
        async with shell.transaction() as tx:
            tx.check(Tag.of("a_", "b"), where=attr(Tag.text) == "3")
        gone = await shell.delete(Tag.of("a_", "b"))
    assert meter.requests == 5
    assert gone == Tag(group="a_", name="b", text="3")


async def test_a_key_in_lower_case_is_of_one_spelling(shell: Shell) -> None:
    ada = Person(email="Ada@x.org")
    await shell.create(ada)
    assert await shell.get(Person.by_email("ADA@x.org")) == ada
    with pytest.raises(AlreadyExists, match="other values"):
        await shell.put(Person(email="ada@x.org"))
    with pytest.raises(NotFound):
        await shell.update(Person.by_email("ada@x.org"), attr(Person.age).set(1))
    assert await shell.update(ada, attr(Person.age).set(36)) == Person(email="Ada@x.org", age=36)
