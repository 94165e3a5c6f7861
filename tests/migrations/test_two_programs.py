"""The old program, which knows only the old key, beside the new one: the table in docs/how-to/migrate.md."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from singletable import AlreadyExists, Database, NotFound, NotUnique, VersionMoved, attr
from singletable.errors import Corrupt
from tests.migrations.moving import OldOrder, OldUser, Order, User, new, old
from tests.support.engines import fresh

OLD_KEY, KEY = OldOrder.by_number(7), Order.of_customer("ada", 7)
OLD_USER, USER = OldUser.by_id("u1"), User.of_tenant("acme", "u1")


@pytest.fixture
def db() -> Iterator[Database]:
    with fresh() as made:
        made.create_table(old)
        made.create(OldOrder(number=7, customer="ada", total=3))
        made.create(OldUser(id="u1", tenant="acme", email="ada@example.org"))
        yield made


@pytest.fixture
def moved(db: Database) -> Database:
    db.update(KEY, attr(Order.total).set(3))
    db.update(USER, attr(User.note).set("moved"))
    return db


# --- the item has not moved -------------------------------------------------------------------------------------------
def test_the_old_program_on_an_item_that_has_not_moved(db: Database) -> None:
    assert db.get(OLD_KEY) == OldOrder(number=7, customer="ada", total=3)
    db.update(OLD_KEY, attr(OldOrder.total).add(1))
    assert db.get(KEY) == Order(number=7, customer="ada", total=4)
    db.put(OldOrder(number=7, customer="ada", total=5))
    assert db.get(KEY) == Order(number=7, customer="ada", total=5)
    with pytest.raises(AlreadyExists):
        db.create(OldOrder(number=7, customer="ada"))
    assert len(db.all(OldOrder.by_state("open"))) == 1
    assert db.delete(OLD_KEY) is not None
    assert db.get(KEY) is None
    assert db.check(new) == []


# --- the item has moved -----------------------------------------------------------------------------------------------
def test_it_reads_nothing_and_updates_nothing(moved: Database) -> None:
    assert moved.get(OLD_KEY) is None
    with pytest.raises(NotFound):
        moved.update(OLD_KEY, attr(OldOrder.total).add(1))
    assert moved.delete(OLD_KEY) is None
    assert moved.get(KEY) == Order(number=7, customer="ada", total=3)


def test_its_put_makes_a_second_one(moved: Database) -> None:
    moved.put(OldOrder(number=7, customer="ada", total=50))
    assert moved.get(KEY) == Order(number=7, customer="ada", total=3)
    assert [finding.code for finding in moved.check(new)] == ["key.twice"]


def test_its_create_makes_a_second_one(moved: Database) -> None:
    moved.create(OldOrder(number=7, customer="ada", total=50))
    assert [finding.code for finding in moved.check(new)] == ["key.twice"]


def test_a_unique_value_prevents_a_second_one(moved: Database) -> None:
    with pytest.raises(NotUnique):
        moved.put(OldUser(id="u1", tenant="acme", email="ada@example.org"))
    with pytest.raises(NotUnique):
        moved.create(OldUser(id="u1", tenant="acme", email="ada@example.org"))
    assert moved.check(new) == []


def test_a_version_that_was_read_prevents_a_second_one(db: Database) -> None:
    db.create(OldUser(id="u2", tenant="acme"))
    read = db.get(OldUser.by_id("u2"))
    assert read is not None
    db.update(User.of_tenant("acme", "u2"), attr(User.note).set("moved"))
    with pytest.raises(VersionMoved):
        db.put(read)
    assert db.check(new) == []


def test_it_can_not_list_it(moved: Database) -> None:
    with pytest.raises(Corrupt):
        moved.all(OldOrder.by_state("open"))
