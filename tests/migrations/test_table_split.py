"""Items that move to another table: `@orders.key(was=shop.key(old_key))`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from msgspec.structs import replace

from singletable import AlreadyExists, Database, Entity, Key, NotFound, Table, at_least, attr
from singletable.errors import DeclarationError, NotUnique, SingletableError
from singletable.migrations import ApplyRefused, Migrations
from singletable.migrations.model_document import document_of
from tests.migrations.splitting import (
    Card,
    Customer,
    OldCard,
    OldCustomer,
    OldOrder,
    Order,
    as_new,
    order_of_customer,
    orders,
    shop,
    together,
)
from tests.migrations.watching import Killed, before_each
from tests.support.engines import again, fresh
from tests.support.raw import all_items


@pytest.fixture
def db() -> Iterator[Database]:
    with fresh() as db:
        db.create_table(together)
        yield db


def old_order(number: int, customer: str = "ada", **more: Any) -> OldOrder:
    return OldOrder(customer=customer, number=number, **more)


def in_table(db: Database, table: str) -> set[tuple[str, str]]:
    return {(item["pk"]["S"], item["sk"]["S"]) for item in db.run(all_items(db.port, table))}


# --- reads ------------------------------------------------------------------------------------------------------------
def test_a_get_looks_in_the_new_table_then_in_both(db: Database) -> None:
    db.create(old_order(1))
    key = Order.of_customer("ada", 1)
    assert db.get(key) == as_new(old_order(1))
    with db.meter() as meter:
        assert db.get(key) == Order(customer="ada", number=1)
    assert meter.by_operation.keys() == {"GetItem", "TransactGetItems"}
    assert db.get(Order.of_customer("ada", 2)) is None
    part = db.get(key.only(Order.state))
    assert part is not None
    assert part.state == "open"
    assert not hasattr(part, "total")
    db.create(OldCard(id="c", tenant="t", note="n"))
    noted = db.get(Card.of_tenant("t", "c").only(Card.note))
    assert noted is not None
    assert noted.note == "n"
    assert db.get(Card.of_tenant("u", "c")) is None


def test_many_are_read_from_both_tables_in_order(db: Database) -> None:
    for number in range(5):
        db.create(old_order(number))
    for number in (1, 3):
        db.update(Order.of_customer("ada", number), attr(Order.total).add(number))
    keys = [Order.of_customer("ada", number) for number in (4, 1, 9, 0, 3)]
    assert [(o.number, o.total) for o in db.get_many(keys)] == [(4, 0), (1, 1), (0, 0), (3, 3)]


def test_a_partition_gives_each_item_once(db: Database) -> None:
    db.create(OldCustomer(id="ada", name="Ada"))
    for number in range(7):
        db.create(old_order(number))
    for moved in range(8):
        assert [o.number for o in db.all(Order.of_customer("ada"))] == list(range(7))
        assert [o.number for o in db.all(Order.of_customer("ada").newest_first())] == [6, 5, 4, 3, 2, 1, 0]
        assert [o.number for o in db.all(Order.of_customer("ada", at_least(4)))] == [4, 5, 6]
        assert [o.state for o in db.all(Order.of_customer("ada").only(Order.state))] == ["open"] * 7
        pages: list[int] = []
        cursor = None
        while True:
            page = db.page(Order.of_customer("ada"), limit=2, after=cursor)
            pages += [o.number for o in page]
            cursor = page.cursor
            if cursor is None:
                break
        assert pages == list(range(7))
        assert sorted(o.number for o in db.scan(Order, segments=2)) == list(range(7))
        assert db.all(Customer.by_id("ada")) == [Customer(id="ada", name="Ada")]
        if moved < 7:
            db.update(Order.of_customer("ada", (moved * 3) % 7), attr(Order.total).add(1))
    assert in_table(db, "together") == {("customer#ada", "customer")}


# --- writes -----------------------------------------------------------------------------------------------------------
def test_each_write_moves_its_item(db: Database) -> None:
    for number in range(6):
        db.create(old_order(number))
    updated = db.update(Order.of_customer("ada", 0), attr(Order.total).set(10))
    assert updated == Order(customer="ada", number=0, total=10)
    db.put(Order(customer="ada", number=1, total=11))
    db.upsert(Order(customer="ada", number=2, total=12))
    assert db.delete(Order.of_customer("ada", 3)) == Order(customer="ada", number=3)
    with db.transaction() as tx:
        tx.update(Order.of_customer("ada", 4), attr(Order.total).set(14))
        tx.delete(Order.of_customer("ada", 5))
    assert in_table(db, "together") == set()
    assert in_table(db, "orders") == {("customer#ada", f"order#a{n}") for n in (0, 1, 2, 4)}
    assert [o.total for o in db.all(Order.of_customer("ada"))] == [10, 11, 12, 14]
    assert [o.number for o in db.all(Order.by_state("open"))] == [0, 1, 2, 4]
    for table in (shop, orders):
        assert db.check(table) == []


def test_a_create_sees_what_has_not_moved(db: Database) -> None:
    db.create(old_order(1))
    with pytest.raises(AlreadyExists):
        db.create(Order(customer="ada", number=1))
    with pytest.raises(NotFound):
        db.update(Order.of_customer("ada", 2), attr(Order.total).set(1))


def test_a_move_leaves_the_old_tables_index_keys(db: Database) -> None:
    db.create(old_order(1))
    db.update(Order.of_customer("ada", 1), attr(Order.total).set(1))
    (item,) = db.run(all_items(db.port, "orders"))
    assert item["gsi1pk"] == {"S": "state#open"}


def test_a_unique_value_is_one_in_both_tables(db: Database) -> None:
    ends = datetime.now(timezone.utc).replace(microsecond=0) + timedelta(days=1)
    db.create(OldCard(id="a", tenant="t", code="x", ends=ends))
    with pytest.raises(NotUnique):
        db.create(Card(id="b", tenant="t", code="x"))
    db.create(Card(id="b", tenant="t", code="y"))
    with pytest.raises(NotUnique):
        db.update(Card.of_tenant("t", "b"), attr(Card.code).set("x"))
    card = db.get(Card.of_tenant("t", "a"))
    assert card is not None
    assert (card.code, card.revision, card.ends) == ("x", 1, ends)
    card.code = "z"
    db.put(card)  # gives up x, in the new table
    db.update(Card.of_tenant("t", "b"), attr(Card.code).set("x"))
    assert in_table(db, "together") == set()
    for table in (shop, orders):
        assert db.check(table) == []


# --- the fill, the plan -----------------------------------------------------------------------------------------------
def test_an_apply_moves_the_rest_and_says_so(db: Database) -> None:
    Migrations(db, together).apply()
    for number in range(30):
        db.create(old_order(number))
    for n in range(5):
        db.create(OldCard(id=f"c{n}", tenant="t", code=f"x{n}"))
    db.create(OldCustomer(id="ada"))
    made = Migrations(db, orders).plan()
    assert [step.name for step in made.steps] == ["create table orders", "record orders"]
    Migrations(db, orders).apply(made)
    assert db.check(shop) == []
    plan = Migrations(db, shop).plan()
    assert [step.name for step in plan.steps] == ["fill together", "record together"]
    assert plan.steps[0].what == "rewrite items: card moves to table orders, order moves to table orders"
    outcome = Migrations(db, shop).apply(plan)
    taken = [(done.requests, done.write_units) for done in outcome.done]
    assert taken == [(step.takes.requests, step.takes.write_units) for step in plan.steps]
    assert {key for key in in_table(db, "together") if key[0] != "_migration"} == {("customer#ada", "customer")}
    assert len(list(db.iter(Order.by_state("open")))) == 30
    for table in (shop, orders):
        assert db.check(table) == []
        with db.meter() as meter:
            assert Migrations(db, table).apply().done == ()
        assert meter.write_units == 0
    assert Migrations(db, shop).plan().is_empty
    assert [left.partition(":")[0] for left in Migrations(db, shop).plan().left] == [
        "Order.of_customer(was=together.key(order_of_customer))",
        "Card.of_tenant(was=together.key(card_by_id))",
    ]
    assert Migrations(db, orders).plan().left == ()
    assert Migrations(db, shop).fill().obsolete == (
        "Order.of_customer(was=together.key(order_of_customer))",
        "Card.of_tenant(was=together.key(card_by_id))",
    )


def test_an_apply_without_the_new_table_is_refused(db: Database) -> None:
    db.create(old_order(1))
    with again(db) as other:
        other.port.traits = replace(other.port.traits, creates_tables=False)
        with pytest.raises(ApplyRefused) as refused:
            Migrations(other, shop).apply()
        assert refused.value.reason == "missing table"
        Migrations(other, orders).apply()
        assert [done.step.name for done in Migrations(other, shop).apply().done] == ["fill together", "record together"]
    assert db.check(shop) == db.check(orders) == []


def test_a_table_of_nothing_else_is_still_its_own(db: Database) -> None:
    """The record has only types that leave: it is not somebody else's table."""
    db.create(old_order(1))
    alone = Table("together", indexes=["gsi1"], ttl_attribute="ends")
    moving_in = Table("apart", ttl_attribute="ends")

    class Alone(Entity, table=moving_in, type="order"):
        customer: str
        number: int
        state: str = "open"
        total: int = 0

        @moving_in.key(was=alone.key(order_of_customer))
        @staticmethod
        def of_customer(customer: str, number: int) -> Key:
            return f"customer#{customer}", f"order#{number}"

    Migrations(db, together).apply()
    Migrations(db, moving_in).apply()
    Migrations(db, alone).apply()
    assert [order.number for order in db.scan(Alone)] == [1]


def test_twice_the_same_is_one_and_what_differs_is_told(db: Database) -> None:
    for number in range(3):
        db.create(old_order(number))
        db.update(Order.of_customer("ada", number), attr(Order.total).set(0))
        db.create(old_order(number, total=number))  # the old program doesn't see that it has moved
    filled = Migrations(db, shop).fill()
    assert [finding.code for finding in filled.twice] == ["key.twice", "key.twice"]
    assert filled.obsolete == ("Card.of_tenant(was=together.key(card_by_id))",)
    assert {finding.code for finding in db.check(shop)} == {"key.twice"}
    assert db.check(orders) == []
    for number in range(3):
        db.put(Order(customer="ada", number=number, total=7))
    assert db.check(shop) == []


# --- refused by name --------------------------------------------------------------------------------------------------
def order_key(number: int) -> Key:
    return f"order#{number}", "order"


def moving(old: Table, new: Table) -> type[Any]:
    class Moving(Entity, table=new, type="moving"):
        number: int

        @new.key(was=old.key(order_key))
        @staticmethod
        def by_number(number: int) -> Key:
            return f"order#{number}", "order"

    return Moving


@pytest.mark.parametrize(
    ("old", "named"),
    [
        ({"key": ("PK", "SK")}, "key=('pk', 'sk'), which is ('PK', 'SK') in old"),
        ({"type_attribute": "kind"}, "type_attribute='_type', which is 'kind' in old"),
        ({"separator": "/"}, "separator='#', which is '/' in old"),
        ({"ttl_attribute": "ends"}, "ttl_attribute='_ttl', which is 'ends' in old"),
        ({"overlap": "guard"}, 'a table with overlap="guard"'),
    ],
)
def test_tables_of_another_form_are_refused(old: dict[str, Any], named: str) -> None:
    with pytest.raises(DeclarationError) as raised:
        moving(Table("old", **old), Table("new"))
    assert named in str(raised.value)
    assert "Moving.by_number(was=old.key(order_key))" in str(raised.value)


def test_one_table_declared_twice_is_refused() -> None:
    with pytest.raises(DeclarationError, match="both are table new, declared twice"):
        moving(Table("new"), Table("new"))


def test_a_key_that_another_class_of_the_old_table_could_have_is_refused() -> None:
    old = Table("old")
    moving(old, Table("new"))
    with pytest.raises(DeclarationError, match="could have the same key"):
        staying(old, "other", "order")
    with pytest.raises(DeclarationError, match="both of type 'moving'"):
        staying(old, "moving", "same")
    staying(old, "other", "same")


def staying(old: Table, kind: str, word: str) -> type[Any]:
    class Staying(Entity, table=old, type=kind):
        id: str

        @old.key
        @staticmethod
        def by_id(id: str) -> Key:
            return (f"order#{id}", "order") if word == "order" else (f"same#{id}", "order")

    return Staying


def test_a_batch_without_conditions_is_refused(db: Database) -> None:
    with pytest.raises(SingletableError, match=r"was=together\.key\(order_of_customer\)"):
        db.write_many(puts=[Order(customer="ada", number=1)])


# --- two versions of the program at once ------------------------------------------------------------------------------
def test_the_old_program_on_what_has_not_moved(db: Database) -> None:
    db.create(old_order(1))
    db.update(OldOrder.of_customer("ada", 1), attr(OldOrder.total).add(1))
    assert db.get(Order.of_customer("ada", 1)) == Order(customer="ada", number=1, total=1)
    db.create(old_order(2))
    assert [o.number for o in db.all(Order.of_customer("ada"))] == [1, 2]
    assert db.delete(OldOrder.of_customer("ada", 1)) is not None
    assert [o.number for o in db.all(Order.of_customer("ada"))] == [2]


def test_the_old_program_on_what_has_moved(db: Database) -> None:
    db.create(old_order(1))
    db.update(Order.of_customer("ada", 1), attr(Order.total).set(3))
    assert db.get(OldOrder.of_customer("ada", 1)) is None
    with pytest.raises(NotFound):
        db.update(OldOrder.of_customer("ada", 1), attr(OldOrder.total).add(1))
    assert db.delete(OldOrder.of_customer("ada", 1)) is None
    assert db.all(OldOrder.by_state("open")) == []  # not Corrupt: nothing of it is left there
    db.put(old_order(1, total=50))
    assert db.get(Order.of_customer("ada", 1)) == Order(customer="ada", number=1, total=3)
    assert [finding.code for finding in db.check(shop)] == ["key.twice"]


def test_a_unique_value_that_the_old_program_takes_again_stays_there(db: Database) -> None:
    db.create(Card(id="a", tenant="t", code="x"))
    db.create(OldCard(id="b", tenant="t", code="x"))  # it knows nothing of the other table
    filled = Migrations(db, shop).fill()
    assert [finding.code for finding in filled.unreadable] == ["key.immovable"]
    db.update(OldCard.by_id("b"), attr(OldCard.code).set("y"))
    assert Migrations(db, shop).fill().moved == 1
    assert db.check(shop) == db.check(orders) == []


def test_a_write_of_the_old_program_during_a_move_is_not_lost(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(4):
        db.create(old_order(number))
    with again(db) as other:
        happened: list[str] = []

        def happens(operation: Any) -> None:
            if "MoveAttempt" in type(operation).__name__ and not happened:
                happened.append("")
                for number in range(4):
                    other.update(OldOrder.of_customer("ada", number), attr(OldOrder.total).add(1))

        before_each(db, monkeypatch, happens)
        assert Migrations(db, shop).fill().moved == 4
    assert [o.total for o in db.all(Order.of_customer("ada"))] == [1, 1, 1, 1]
    assert in_table(db, "together") == set()


@pytest.mark.parametrize("dies_at", range(1, 33))
def test_a_fill_that_is_killed_at_a_request_goes_on(
    db: Database, monkeypatch: pytest.MonkeyPatch, dies_at: int
) -> None:
    monkeypatch.setattr("singletable.migrations.fill.PAGE", 3)
    db.write_many(puts=[old_order(number) for number in range(10)])
    db.create(OldCard(id="c", tenant="t", code="x"))
    left = dies_at

    def happens(operation: Any) -> None:
        nonlocal left
        left -= 1
        if left == 0:
            raise Killed

    with monkeypatch.context() as patched, suppress(Killed):
        before_each(db, patched, happens)
        Migrations(db, shop).fill()
    assert [o.number for o in db.all(Order.of_customer("ada"))] == list(range(10))
    Migrations(db, shop).fill()
    assert in_table(db, "together") == set()
    assert db.check(shop) == db.check(orders) == []
    assert len(in_table(db, "orders")) == 12


def test_a_declaration_names_the_table_that_items_leave_for() -> None:
    """A fill that began before they were to leave is not gone on with."""
    document = document_of(shop)
    targets = {name: form.other_table for name, form in {**document.entities, **document.leaving}.items()}
    assert targets == {"customer": None, "order": "orders", "card": "orders"}
    assert document_of(orders).leaving == {}
