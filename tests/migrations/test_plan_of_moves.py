"""A plan of a table whose classes have new keys: it moves their items, and says when the old keys can go."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from singletable import Database, connect
from singletable.migrations import ApplyRefused, Migrations
from singletable.migrations.fill import TWICE
from tests.migrations.moving import OldLine, OldOrder, OldUser, Order, new, old
from tests.migrations.test_plan import changes_nothing, within_two_percent


@pytest.fixture
def db() -> Iterator[Database]:
    with connect("local") as made:
        Migrations(made, old).apply()
        for n in range(60):
            made.create(OldOrder(number=n, customer=f"c{n % 7}"))
            made.create(OldLine(cart=f"c{n % 3}", number=n, text="x" * 1500))
            made.create(OldUser(id=f"u{n}", tenant="t", email=f"u{n}@example.org"))
        yield made


def test_items_are_moved_as_it_was_predicted(db: Database) -> None:
    plan = Migrations(db, new).plan()
    assert [step.name for step in plan.steps] == ["fill moving", "record moving"]
    assert "order moves from order#{number} / order to customer#{customer} / order#{number}" in plan.steps[0].what
    assert within_two_percent(Migrations(db, new).apply(plan))
    assert db.check(new) == []
    assert changes_nothing(db, new)
    left = Migrations(db, new).plan().left
    assert any("Order.of_customer(was=order_by_number): an apply has moved all items" in line for line in left)


def test_an_item_under_both_keys_ends_the_apply(db: Database) -> None:
    """The record doesn't say that all were moved; with the right one put, the next apply ends."""
    db.get(Order.of_customer("c1", 1))
    db.put(Order(number=1, customer="c1", total=5))
    db.create(OldOrder(number=1, customer="c1", total=9))
    with pytest.raises(ApplyRefused, match=TWICE) as refused:
        Migrations(db, new).apply()
    assert refused.value.reason == "items not moved"
    assert not Migrations(db, new).plan().is_empty
    db.put(Order(number=1, customer="c1", total=5))
    Migrations(db, new).apply()
    assert changes_nothing(db, new)
    assert db.check(new) == []
