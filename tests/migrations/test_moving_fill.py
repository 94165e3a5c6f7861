"""A fill moves what lies under the keys that classes had: beside writers of two programs, killed anywhere."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from contextlib import suppress
from random import Random
from typing import Any

import pytest

from singletable import AlreadyExists, AsyncDatabase, Database, NotFound, attr, key_of
from singletable.errors import Conflict
from singletable.migrations import AsyncMigrations, Filled, Migrations
from tests.migrations.moving import Line, OldLine, OldOrder, OldUser, Order, User, as_new, new, old
from tests.migrations.watching import Killed, before_each
from tests.support.engines import again, fresh
from tests.support.raw import all_items, put_raw
from tests.support.sampling import sampled
from tests.support.shells import opened

OBSOLETE = (
    "Order.of_customer(was=order_by_number)",
    "Line.of_cart(was=short_line)",
    "User.of_tenant(was=user_by_id)",
)
COUNT = 20


def orders() -> list[OldOrder]:
    return [OldOrder(number=n, customer="ada" if n % 2 else "bob", total=n) for n in range(COUNT)]


def lines() -> list[OldLine]:
    return [OldLine(cart=f"c{n % 3}", number=n) for n in range(COUNT)]


def users() -> list[OldUser]:
    return [OldUser(id=f"u{n}", tenant=f"t{n % 2}", email=f"{n}@example.org") for n in range(COUNT)]


@pytest.fixture
def db() -> Iterator[Database]:
    with fresh() as made:
        made.create_table(old)
        made.write_many(puts=[*orders(), *lines()])
        for user in users():
            made.create(user)
        yield made


def read(db: Database) -> dict[Any, Any]:
    found = [*db.scan(Order), *db.scan(Line), *db.scan(User)]
    return {name_of(entity): entity for entity in found}


def name_of(entity: Any) -> Any:
    return (type(entity).__name__.removeprefix("Old"), getattr(entity, "number", None) or getattr(entity, "id", 0))


def is_moved(db: Database, expected: dict[Any, Any]) -> None:
    assert db.check(new) == []
    assert read(db) == expected
    assert len(db.run(all_items(db.port, "moving"))) == 4 * COUNT  # a guard for each user
    for entity in expected.values():
        assert db.get(key_of(entity)) == entity
    second = Migrations(db, new).fill()
    assert (second.written, second.moved, second.contended, second.obsolete) == (0, 0, 0, OBSOLETE)


def written() -> dict[Any, Any]:
    return {name_of(e): as_new(e) for e in (*orders(), *lines())} | {
        name_of(e): dataclasses.replace(as_new(e), revision=1) for e in users()
    }


def test_every_item_is_moved(db: Database) -> None:
    dry = Migrations(db, new).fill(dry_run=True)
    assert (dry.seen, dry.written, dry.moved, dry.obsolete) == (4 * COUNT, 3 * COUNT, 3 * COUNT, ())
    with db.meter() as meter:
        filled = Migrations(db, new).fill()
    assert (filled.seen, filled.written, filled.moved) == (dry.seen, dry.written, dry.moved)
    assert (filled.unreadable, filled.twice, filled.contended, filled.obsolete) == ((), (), 0, ())
    assert meter.by_operation["TransactWriteItems"].requests == 3 * COUNT
    is_moved(db, written())


def test_what_a_move_costs(db: Database) -> None:
    """Two units for each of the two items, and one for the entry of each in an index."""
    for order in orders()[1:]:
        db.delete(order)
    for other in (*lines(), *users()):
        db.delete(key_of(other))
    with db.meter() as meter:
        Migrations(db, new).fill(segments=1)
    move = meter.by_operation["TransactWriteItems"]
    assert (move.requests, move.write_units) == (1, 6)


async def test_in_both_shells() -> None:
    async with opened("awaiting") as shell:
        await shell.create_table(new)
        await shell.create(OldOrder(number=1, customer="ada"))
        assert isinstance(shell, AsyncDatabase)
        assert (await AsyncMigrations(shell, new).fill(segments=2)).moved == 1
        assert await shell.check(new) == []


def test_killed_anywhere_it_goes_on(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("singletable.migrations.fill.PAGE", 10)
    random, kills = Random(7), 0
    with db.meter() as meter:
        while True:
            left = random.randint(1, 40)

            def kill(operation: Any) -> None:
                nonlocal left
                left -= 1
                if left == 0:
                    raise Killed

            with monkeypatch.context() as patched:
                before_each(db, patched, kill)
                try:
                    filled = Migrations(db, new).fill(segments=3)
                except Killed:
                    kills += 1
                    assert db.check(new) == []
                    assert read(db) == written()
                    continue
            break
    assert kills > 3
    assert meter.by_operation["TransactWriteItems"].requests == 3 * COUNT
    assert filled.moved <= 3 * COUNT
    is_moved(db, written())


@pytest.mark.parametrize("seed", sampled(range(6), 2))
def test_no_concurrent_write_is_lost(db: Database, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    """Writers of both programs between each two requests; the model is what their writes add up to."""
    random = Random(seed)
    totals = {order.number: order.total for order in orders()}
    customers = {order.number: order.customer for order in orders()}
    missed = 0
    with again(db) as other:

        def write(operation: Any) -> None:
            nonlocal missed
            for _ in range(random.randint(0, 3)):
                number = random.randrange(COUNT)
                key: Any = random.choice((OldOrder.by_number(number), Order.of_customer(customers[number], number)))
                if number not in totals:
                    with suppress(AlreadyExists):
                        other.create(Order(number=number, customer=customers[number]))
                        totals[number] = 0
                elif random.random() < 0.1 and key.model.kind is Order:
                    assert other.delete(key) is not None
                    del totals[number]
                else:
                    try:
                        other.update(key, attr(key.model.kind.total).add(1))
                        totals[number] += 1
                    except NotFound:  # the older program's, of an item that has moved
                        assert key.model.kind is OldOrder
                        missed += 1

        with monkeypatch.context() as patched:
            before_each(db, patched, write)
            filled = Migrations(db, new).fill(segments=2)
    assert (filled.contended, filled.unreadable, filled.twice) == (0, (), ())
    assert missed
    assert {order.number: order.total for order in db.scan(Order)} == totals
    assert db.check(new) == []
    assert Migrations(db, new).fill().obsolete == OBSOLETE


@pytest.mark.parametrize("at", [2, 5, 30])
def test_two_fills_at_once_do_no_harm(db: Database, monkeypatch: pytest.MonkeyPatch, at: int) -> None:
    left = at
    with again(db) as other:

        def fill_too(operation: Any) -> None:
            nonlocal left
            left -= 1
            if left == 0:
                Migrations(other, new).fill(segments=2)

        with monkeypatch.context() as patched:
            before_each(db, patched, fill_too)
            Migrations(db, new).fill(segments=3)
    is_moved(db, written())


def test_what_lies_under_both_keys_is_told_or_removed(db: Database) -> None:
    assert Migrations(db, new).fill().moved == 3 * COUNT
    db.put(OldOrder(number=3, customer="ada", total=3))  # equal
    db.put(OldOrder(number=4, customer="bob", total=44))
    filled = Migrations(db, new).fill()
    place = OldOrder.by_number(4)
    assert [(f.code, f.type, f.key) for f in filled.twice] == [("key.twice", "order", (place.partition, place.low))]
    assert filled.obsolete == OBSOLETE[1:]
    assert [f.key for f in db.check(new)] == [(place.partition, place.low)]
    assert db.get(Order.of_customer("bob", 4)) == Order(number=4, customer="bob", total=4)
    db.put(Order(number=4, customer="bob", total=44))
    assert db.check(new) == []
    assert Migrations(db, new).fill().obsolete == OBSOLETE


def test_what_has_no_place_under_its_new_key_is_told_and_left(db: Database) -> None:
    db.put(OldLine(cart="c", number=1_000_000))  # seven digits
    filled = Migrations(db, new).fill()
    assert [(f.type, f.code) for f in filled.unreadable] == [("line", "item.unreadable")]
    assert filled.obsolete == ()
    assert db.get(OldLine.of_cart("c", 1_000_000)) is not None


# --- an item that moves between the requests of another program ------------------------------------------------------
@pytest.mark.parametrize("at", sampled(range(1, 8), 2))
@pytest.mark.parametrize("verb", ["get", "get_many", "update", "put", "upsert", "delete", "create", "tx", "list"])
def test_an_item_that_moves_meanwhile(db: Database, monkeypatch: pytest.MonkeyPatch, verb: str, at: int) -> None:
    """Another process moves the item before request number `at`."""
    key, left, line = Order.of_customer("ada", 7), at, Line.of_cart("c1", 7)
    with again(db) as other:

        def move(operation: Any) -> None:
            nonlocal left
            left -= 1
            if left == 0:
                other.update(key, attr(Order.state).set("moved"))
                other.update(line, attr(Line.text).set("moved"))

        with monkeypatch.context() as patched:
            before_each(db, patched, move)
            _does(db, verb, key)
    if left > 0:
        return
    found = db.get(key)
    assert (found is None) == (verb == "delete")
    assert [f for f in db.check(new) if f.code == "key.twice"] == []
    if found is not None and verb in ("get", "get_many", "update", "create", "tx", "list"):
        assert found.state == "moved"
    assert sum(order.number == 7 for order in db.scan(Order)) == (verb != "delete")


def _does(db: Database, verb: str, key: Any) -> None:
    order = Order(number=7, customer="ada", total=7)
    match verb:
        case "get":
            found = db.get(key)
            assert found is not None
            assert found.total == 7
        case "get_many":
            assert len(db.get_many([key])) == 1
        case "update":
            assert db.update(key, attr(Order.total).add(1)).total == 8
        case "put":
            db.put(order)
        case "upsert":
            assert db.upsert(order).total == 7
        case "delete":
            assert db.delete(key) is not None
        case "create":
            with pytest.raises(AlreadyExists):
                db.create(order)
        case "tx":
            with db.transaction() as tx:
                tx.update(key, attr(Order.total).add(1))
                tx.check(Order.of_customer("ada", 9))
        case _:
            assert [n.number for n in db.all(Line.of_cart("c1"))] == [n for n in range(COUNT) if n % 3 == 1]


def test_an_answer_that_is_lost(db: Database) -> None:
    """Each request of each verb is applied, and its answer lost: the second try changes nothing."""
    from tests.faults.actions import ApplyThenCut
    from tests.faults.port import make_faulty
    from tests.faults.rules import Faults, Match, Rule

    for number, verb in enumerate(("update", "put", "upsert", "delete", "fill")):
        for at in range(1, 5):
            key = Order.of_customer("ada", 100 + number * 10 + at)
            db.put(OldOrder(number=key.model.key_values(key)["number"], customer="ada", total=1))
            with again(db) as other:
                make_faulty(other.port, Faults(rules=[Rule(Match(nth=at), ApplyThenCut())]))
                _verb(other, verb, key)
            found = db.get(key)
            assert (None if found is None else found.total) == {"update": 2, "delete": None, "fill": 1}.get(verb, 5)
    assert [f for f in db.check(new) if f.code == "key.twice"] == []


def _verb(db: Database, verb: str, key: Any) -> None:
    order = Order(number=key.model.key_values(key)["number"], customer="ada", total=5)
    match verb:
        case "update":
            db.update(key, attr(Order.total).set(2))
        case "put":
            db.put(order)
        case "upsert":
            db.upsert(order)
        case "delete":
            with suppress(Conflict):
                db.delete(key)
        case _:
            Migrations(db, new).fill()


def test_a_filled_value_is_told(db: Database) -> None:
    rounds: list[Filled] = []
    Migrations(db, new).fill(progress=rounds.append)
    assert rounds[-1].moved == 3 * COUNT
    db.run(put_raw(db.port, Order, {"pk": {"S": "z"}, "sk": {"S": "z"}, "_type": {"S": "order"}}))
    filled = Migrations(db, new).fill()
    assert filled.obsolete == OBSOLETE[1:]  # of the other one it isn't known
