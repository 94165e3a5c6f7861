"""A class whose key was another: each verb, wherever the item lies, in both shells."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from datetime import datetime, timedelta, timezone
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
    key_of,
)
from singletable.errors import TransactionConflict
from singletable.foundation import catalogue, model_of
from singletable.operations import Reason, ReasonedCancellation, TransactWriteItems
from tests.migrations.moving import Line, OldLine, OldOrder, OldUser, Order, User, as_new, new, old
from tests.support.raw import all_items
from tests.support.shells import KINDS, Shell, opened

OLD = OldOrder(number=7, customer="ada", total=3)
ORDER = Order(number=7, customer="ada", total=3)
KEY = Order.of_customer("ada", 7)


@pytest.fixture(params=KINDS)
async def db(request: pytest.FixtureRequest) -> AsyncIterator[Shell]:
    async with opened(request.param) as shell:
        await shell.create_table(old)
        yield shell


async def places(db: Shell) -> list[tuple[str, str]]:
    """Where the items of the table lie, but for the guards."""
    items = await db.run(all_items(db.port, "moving"))
    return sorted((i["pk"]["S"], i["sk"]["S"]) for i in items if not i["pk"]["S"].startswith("_"))


AT_OLD = (OldOrder.by_number(7).partition, "order")
AT_NEW = (KEY.partition, KEY.low)


# --- reads ------------------------------------------------------------------------------------------------------------
async def test_an_item_is_found_under_either_key(db: Shell) -> None:
    await db.create(OLD)
    with db.meter() as meter:
        assert await db.get(KEY) == ORDER
    assert meter.requests == 2
    await db.update(KEY, attr(Order.total).set(4))
    with db.meter() as meter:
        assert await db.get(KEY) == Order(number=7, customer="ada", total=4)
    assert (meter.requests, meter.read_units) == (1, 0.5)


async def test_a_missing_item_costs_one_request_more(db: Shell) -> None:
    with db.meter() as meter:
        assert await db.get(KEY) is None
    assert meter.requests == 2


async def test_another_item_under_the_old_key_is_not_it(db: Shell) -> None:
    """The new key has more attributes than the old one."""
    await db.create(OLD)
    assert await db.get(Order.of_customer("bob", 7)) is None
    with pytest.raises(NotFound):
        await db.update(Order.of_customer("bob", 7), attr(Order.total).set(1))
    assert await db.delete(Order.of_customer("bob", 7)) is None
    await db.create(Order(number=7, customer="bob"))
    await db.put(Order(number=7, customer="bob", total=2))
    assert await db.get(KEY) == ORDER
    assert await db.get(Order.of_customer("bob", 7)) == Order(number=7, customer="bob", total=2)


async def test_parts_are_read_from_either_key(db: Shell) -> None:
    await db.create(OLD)
    for _ in range(2):
        found = await db.get(KEY.only(Order.total))
        assert found is not None
        assert vars(found) == {"total": 3}
        await db.update(KEY, attr(Order.total).set(3))


async def test_many_are_found_under_either_key(db: Shell) -> None:
    for n in range(4):
        await db.create(OldOrder(number=n, customer="ada"))
    await db.update(Order.of_customer("ada", 0), attr(Order.total).set(1))
    keys = [Order.of_customer("ada", n) for n in (3, 9, 0, 1)]
    with db.meter() as meter:
        found = await db.get_many([*keys, Order.of_customer("bob", 1)])
    assert [(o.number, o.total) for o in found] == [(3, 0), (0, 1), (1, 0)]
    assert meter.round_trips == 3
    assert meter.read_units == 5 * 0.5 + 3 + 2, "the second and the third trip are consistent"
    with db.meter() as meter:
        await db.get_many(keys[2:3])
    assert meter.round_trips == 1


async def test_an_index_finds_items_under_either_key(db: Shell) -> None:
    for n in range(3):
        await db.create(OldOrder(number=n, customer="ada"))
    await db.update(Order.of_customer("ada", 1), attr(Order.total).set(1))
    assert [(o.number, o.total) for o in await db.all(Order.by_state("open"))] == [(0, 0), (1, 1), (2, 0)]
    assert {o.number async for o in db.scan(Order)} == {0, 1, 2}


# --- writes -----------------------------------------------------------------------------------------------------------
async def test_an_update_moves_the_item(db: Shell) -> None:
    await db.create(OLD)
    with db.meter() as meter:
        assert await db.update(KEY, attr(Order.total).add(1)) == Order(number=7, customer="ada", total=4)
    assert await places(db) == [AT_NEW]
    assert meter.by_operation["TransactWriteItems"].requests == 1
    with db.meter() as meter:
        await db.update(KEY, attr(Order.total).add(1))
    assert meter.requests == 1


async def test_an_update_under_a_condition(db: Shell) -> None:
    await db.create(OLD)
    with pytest.raises(ConditionFailed):
        await db.update(KEY, attr(Order.total).set(4), where=attr(Order.total) == 9)
    paid = await db.update(KEY, attr(Order.state).set("paid"), where=attr(Order.total) == 3)
    assert paid.state == "paid"
    assert await db.get(KEY) == Order(number=7, customer="ada", total=3, state="paid")


async def test_an_update_of_a_missing_item(db: Shell) -> None:
    with pytest.raises(NotFound):
        await db.update(KEY, attr(Order.total).set(4))
    assert await places(db) == []


async def test_create_refuses_where_either_exists(db: Shell) -> None:
    with db.meter() as meter:
        await db.create(ORDER)
    assert meter.requests == 1
    with pytest.raises(AlreadyExists):
        await db.create(ORDER)
    await db.delete(KEY)
    await db.create(OLD)
    with pytest.raises(AlreadyExists):
        await db.create(ORDER)
    assert await places(db) == [AT_OLD]


async def test_put_replaces_either(db: Shell) -> None:
    await db.create(OLD)
    other = Order(number=7, customer="ada", total=9)
    await db.put(other)
    assert await places(db) == [AT_NEW]
    assert await db.get(KEY) == other
    with db.meter() as meter:
        await db.put(ORDER)
    assert meter.requests == 1
    assert await db.get(KEY) == ORDER


async def test_put_under_a_condition(db: Shell) -> None:
    await db.create(OLD)
    with pytest.raises(ConditionFailed):
        await db.put(ORDER, where=attr(Order.total) == 9)
    await db.put(Order(number=7, customer="ada", total=1), where=attr(Order.total) == 3)
    assert await db.get(KEY) == Order(number=7, customer="ada", total=1)
    assert await places(db) == [AT_NEW]


async def test_upsert(db: Shell) -> None:
    await db.create(OLD)
    assert await db.upsert(Order(number=7, customer="ada", total=5)) == Order(number=7, customer="ada", total=5)
    assert await places(db) == [AT_NEW]
    await db.delete(KEY)
    await db.create(OLD)
    assert (await db.upsert(ORDER, attr(Order.total).add(2))).total == 5
    assert await places(db) == [AT_NEW]
    await db.delete(KEY)
    assert (await db.upsert(ORDER, attr(Order.total).add(2))).total == 5
    assert await places(db) == [AT_NEW]


async def test_delete_deletes_whichever_is_there(db: Shell) -> None:
    await db.create(OLD)
    assert await db.delete(KEY) == ORDER
    assert await places(db) == []
    await db.create(ORDER)
    assert await db.delete(KEY, where=attr(Order.total) == 3) == ORDER
    assert await db.delete(KEY) is None
    await db.create(OLD)
    with pytest.raises(ConditionFailed):
        await db.delete(KEY, where=attr(Order.total) == 9)
    assert await db.get(KEY) == ORDER


async def test_a_batch_of_writes_is_refused(db: Shell) -> None:
    with pytest.raises(InvalidRequest, match="was=order_by_number"):
        await db.write_many(puts=[ORDER])
    with pytest.raises(InvalidRequest, match="was=order_by_number"):
        await db.write_many(deletes=[KEY])


async def test_what_no_program_declares_moves_too(db: Shell) -> None:
    await db.create(OLD)
    item = (await db.run(all_items(db.port, "moving")))[0] | {"extra": {"L": [{"N": "1"}]}}
    from tests.support.raw import put_raw

    await put_raw(db.port, OldOrder, item)
    await db.update(KEY, attr(Order.total).set(1))
    assert (await db.run(all_items(db.port, "moving")))[0]["extra"] == {"L": [{"N": "1"}]}


# --- transactions -----------------------------------------------------------------------------------------------------
async def test_a_transaction_moves_what_it_writes(db: Shell) -> None:
    for n in range(5):
        await db.create(OldOrder(number=n, customer="ada"))
    keys = [Order.of_customer("ada", n) for n in range(5)]
    async with db.transaction() as tx:
        tx.update(keys[0], attr(Order.total).add(1))
        tx.put(Order(number=1, customer="ada", total=2))
        tx.delete(keys[2])
        tx.check(keys[3], where=attr(Order.total) == 0)
        tx.create(Order(number=9, customer="ada"))
        tx.upsert(Order(number=4, customer="ada", total=4))
    found = await db.get_many([*keys, Order.of_customer("ada", 9)])
    assert [(o.number, o.total) for o in found] == [(0, 1), (1, 2), (3, 0), (4, 4), (9, 0)]
    assert all(partition == "customer#ada" for partition, _ in await places(db))
    assert await db.check(new) == []


async def test_a_transaction_that_fails_says_why(db: Shell) -> None:
    await db.create(OLD)
    writes: list[Callable[[Any], None]] = [
        lambda tx: tx.create(ORDER),
        lambda tx: tx.update(Order.of_customer("bob", 7), attr(Order.total).set(1)),
        lambda tx: tx.check(KEY, where=attr(Order.total) == 9),
        lambda tx: tx.put(ORDER, where=attr(Order.total) == 9),
        lambda tx: tx.delete(KEY, where=attr(Order.total) == 9),
    ]
    for write in writes:
        with pytest.raises(TransactionCancelled) as caught:
            async with db.transaction() as tx:
                write(tx)
        assert isinstance(caught.value.failures[0].error, (AlreadyExists, NotFound, ConditionFailed))
        assert await db.get(KEY) == ORDER


async def test_a_transaction_that_gives_up_does_not_deny_that_it_moved_items(
    db: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    await db.create(OLD)
    send = db.port.send

    async def conflicting(operation: Any) -> Any:
        if isinstance(operation, TransactWriteItems) and await places(db) == [AT_NEW]:
            raise ReasonedCancellation((Reason("TransactionConflict", "", None),), False, "moving")
        return await send(operation)

    async def nobody_waits(seconds: float) -> None: ...

    with monkeypatch.context() as patched:
        patched.setattr(db.port, "send", conflicting)
        patched.setattr(db.port, "sleep", nobody_waits)
        with pytest.raises(TransactionConflict, match="items may have been moved to their keys"):
            async with db.transaction() as tx:
                tx.update(KEY, attr(Order.total).set(1))
    assert await db.get(KEY) == ORDER


async def test_two_items_of_one_old_key_in_a_transaction(db: Shell) -> None:
    await db.create(OLD)
    async with db.transaction() as tx:
        tx.put(Order(number=7, customer="ada", total=1))
        tx.create(Order(number=7, customer="bob"))
    assert await places(db) == [AT_NEW, ("customer#bob", AT_NEW[1])]


# --- what the library keeps besides -----------------------------------------------------------------------------------
USER = OldUser(id="u1", tenant="acme", email="ada@example.org", note="x")
UKEY = User.of_tenant("acme", "u1")


async def test_a_unique_value_follows(db: Shell) -> None:
    await db.create(USER)
    with pytest.raises(NotUnique):
        await db.create(User(id="u2", tenant="acme", email="ada@example.org"))
    await db.update(UKEY, attr(User.note).set("y"))
    assert await db.check(new) == []
    with pytest.raises(NotUnique):
        await db.create(User(id="u2", tenant="acme", email="ada@example.org"))
    with pytest.raises(NotUnique):  # the older program's, where it would make a second one
        await db.create(OldUser(id="u1", tenant="acme", email="ada@example.org"))
    await db.delete(UKEY)
    await db.create(User(id="u2", tenant="acme", email="ada@example.org"))
    assert await db.check(new) == []


@pytest.mark.parametrize("verb", ["put", "upsert", "delete", "update"])
async def test_each_verb_with_a_unique_value(db: Shell, verb: str) -> None:
    await db.create(USER)
    user = User(id="u1", tenant="acme", email="new@example.org", revision=1)
    if verb == "put":
        await db.put(user)
    elif verb == "upsert":
        await db.upsert(user)
    elif verb == "delete":
        assert await db.delete(UKEY) == User(id="u1", tenant="acme", email="ada@example.org", note="x", revision=1)
    else:
        await db.update(UKEY, attr(User.email).set("new@example.org"))
    assert await db.check(new) == []
    found = await db.get(UKEY)
    assert (None if found is None else found.email) == (None if verb == "delete" else "new@example.org")
    await db.create(User(id="u3", tenant="acme", email="ada@example.org"))


async def test_the_count_of_writes_is_kept(db: Shell) -> None:
    await db.create(USER)
    read = await db.get(UKEY)
    assert read is not None
    assert read.revision == 1
    changed = await db.update(read, attr(User.note).set("y"))
    assert changed.revision == 2
    with pytest.raises(VersionMoved):
        await db.update(read, attr(User.note).set("z"))
    await db.put(changed)
    assert changed.revision == 3


async def test_an_expired_item_under_the_old_key(db: Shell) -> None:
    past = datetime.now(timezone.utc) - timedelta(hours=1)
    await db.create(OldUser(id="u1", tenant="acme", ends=past))
    assert await db.get(UKEY) is None
    with pytest.raises(NotFound):
        await db.update(UKEY, attr(User.note).set("y"))
    later = datetime.now(timezone.utc).replace(microsecond=0) + timedelta(hours=1)
    await db.create(User(id="u1", tenant="acme", ends=later))
    assert await places(db) == [(UKEY.partition, UKEY.low)]


async def test_an_expiry_moves_with_its_item(db: Shell) -> None:
    later = datetime.now(timezone.utc).replace(microsecond=0) + timedelta(hours=1)
    await db.create(OldUser(id="u1", tenant="acme", ends=later, email="a@b"))
    assert (await db.update(UKEY, attr(User.note).set("y"))).ends == later
    guards = [i for i in await db.run(all_items(db.port, "moving")) if i["pk"]["S"].startswith("_")]
    assert [guard["ends"]["N"] for guard in guards] == [str(int(later.timestamp()))]


# --- under both keys --------------------------------------------------------------------------------------------------
async def test_an_item_under_both_keys(db: Shell) -> None:
    """A program that knows only the old key wrote it again."""
    await db.create(ORDER)
    await db.put(OldOrder(number=7, customer="ada", total=50))
    assert await db.get(KEY) == ORDER
    assert [(f.code, f.key) for f in await db.check(new)] == [("key.twice", AT_OLD)]
    assert (await db.update(KEY, attr(Order.total).add(1))).total == 4
    assert await places(db) == [AT_NEW, AT_OLD]
    await db.put(ORDER)
    assert await places(db) == [AT_NEW]
    assert await db.check(new) == []


async def test_delete_deletes_both(db: Shell) -> None:
    await db.create(ORDER)
    await db.put(OldOrder(number=7, customer="ada", total=50))
    assert await db.delete(KEY) == ORDER
    assert await places(db) == []


# --- lists ------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("moved", [(), (0, 3, 4), range(12)])
async def test_a_partition_lists_each_item_once(db: Shell, moved: Any) -> None:
    for n in range(12):
        await db.create(OldLine(cart="a", number=n * 5))
    for n in moved:
        await db.update(Line.of_cart("a", n * 5), attr(Line.text).set("m"))
    wanted = [n * 5 for n in range(12)]
    assert [line.number for line in await db.all(Line.of_cart("a"))] == wanted
    assert [line.number async for line in db.iter(Line.of_cart("a").newest_first())] == wanted[::-1]
    for limit in (1, 2, 5, 12):
        for query in (Line.of_cart("a"), Line.of_cart("a").newest_first()):
            seen: list[int] = []
            after = None
            while True:
                page = await db.page(query, limit=limit, after=after)
                assert len(page) <= limit
                seen += [line.number for line in page]
                after = page.cursor
                if after is None:
                    break
            assert seen == (wanted[::-1] if query.descending else wanted)


async def test_a_page_costs_two_requests(db: Shell) -> None:
    for n in range(6):
        await db.create(OldLine(cart="a", number=n))
    await db.update(Line.of_cart("a", 1), attr(Line.text).set("m"))
    with db.meter() as meter:
        await db.page(Line.of_cart("a"), limit=3)
    assert meter.requests == 2


async def test_filters_and_parts_of_a_list(db: Shell) -> None:
    for n in range(8):
        await db.create(OldLine(cart="a", number=n, text="odd" if n % 2 else ""))
    await db.update(Line.of_cart("a", 3), attr(Line.text).set("odd"))
    query = Line.of_cart("a").where(attr(Line.text) == "odd")
    assert [line.number for line in await db.all(query)] == [1, 3, 5, 7]
    assert [vars(line) for line in (await db.page(query.only(Line.number), limit=2)).items] == [
        {"number": 1},
        {"number": 3},
    ]


async def test_what_can_not_be_listed_is_refused(db: Shell) -> None:
    from singletable import between

    with pytest.raises(InvalidRequest, match="order_by_number"):
        Order.of_customer("ada", between(1, 2))
    with pytest.raises(InvalidRequest, match="by itself"):
        await db.all(Line.of_cart("a").also(Order))


async def test_the_requests_are_told(db: Shell) -> None:
    one = db.explain(KEY)
    assert [explained.operation for explained in one] == ["GetItem", "TransactGetItems"]
    listed = db.explain(Line.of_cart("a"))
    assert [(e.operation, e.body.get("ConsistentRead")) for e in listed] == [("Query", None), ("Query", True)]
    costs = {pattern.shown.partition("(")[0]: pattern.requests for pattern in catalogue(new)}
    assert costs["Order.of_customer"] == "1 request, 2 of what lies under order_by_number"
    assert costs["Line.of_cart"] == "1 request, 2 of what lies under short_line; left open, 2 a page"
    assert costs["Order.by_state"] == "1 request a page"


def test_the_old_key_of_a_key() -> None:
    model = model_of(Order)
    assert (model.old_key(KEY).partition, model.old_key(KEY).low) == AT_OLD
    assert key_of(as_new(OLD)) == KEY
