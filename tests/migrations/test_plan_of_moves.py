"""A plan of a table whose classes have new keys: it moves their items, and says when the old keys can go."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from msgspec.structs import replace

from singletable import ANY, Database, Entity, Key, Table, field
from singletable.migrations import ApplyRefused, Migrations
from singletable.migrations.fill import TWICE
from tests.migrations.moving import OldLine, OldOrder, OldUser, Order, new, old
from tests.migrations.test_plan import changes_nothing, within_two_percent
from tests.support.engines import fresh


@pytest.fixture
def db() -> Iterator[Database]:
    with fresh() as made:
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


def parcels(indexed: bool) -> tuple[Any, Any]:
    """A class, and the same under a key that lies behind the one before, with a unique value."""
    before, now = Table("parcels"), Table("parcels", indexes=["gsi1"] if indexed else [])

    class OldParcel(Entity, table=before, type="parcel"):
        id: str
        text: str = ""
        code: str | None = None

        @before.key
        @staticmethod
        def by_id(id: str) -> Key:
            return f"a#{id}", "parcel"

    def parcel_by_id(id: str) -> Key:
        return f"a#{id}", "parcel"

    class Parcel(Entity, table=now, type="parcel"):
        id: str
        text: str = ""
        code: str | None = field(unique=True, default=None)

        @now.key(was=parcel_by_id)
        @staticmethod
        def by_id(id: str) -> Key:
            return f"b#{id}", "parcel"

        if indexed:

            @now.index("gsi1")
            @staticmethod
            def by_code(code: str, id: str = ANY) -> Key:
                return f"code#{code}", f"{id}"

    return OldParcel, Parcel


PARCELS: dict[str, list[dict[str, Any]]] = {
    "none": [],
    "few": [{"id": f"{n}", "code": f"c{n}" if n % 3 else None} for n in range(7)],
    "full pages": [{"id": f"{n:03}"} for n in range(200)],
    "many": [{"id": f"{n:03}", "code": f"c{n}", "text": "x" * (n * 13 % 5000)} for n in range(330)],
    "large": [{"id": f"{n}", "text": "x" * 390_000, "code": f"c{n}"} for n in range(4)],
    "long keys": [{"id": f"{n:03}{'k' * 900}", "code": f"c{n}{'z' * 900}"} for n in range(150)],
}


@pytest.mark.embedded("it scans by key, and counts reads as AWS does")
@pytest.mark.parametrize("indexed", [False, True], ids=["no index", "an index"])
@pytest.mark.parametrize("items", PARCELS.values(), ids=PARCELS.keys())
def test_items_that_move_ahead_are_read_twice_as_it_was_predicted(items: list[dict[str, Any]], indexed: bool) -> None:
    """The engine scans by key: what lies behind the page before last comes again."""
    old_parcel, parcel = parcels(indexed)
    table = parcel.__model__.table
    with fresh() as db:
        Migrations(db, old_parcel.__model__.table).apply()
        for each in items:
            db.put(old_parcel(**each))
        plan = Migrations(db, table).plan()
        for done in Migrations(db, table).apply(plan).done:
            takes = done.step.takes
            assert (takes.read_units, takes.write_units) == (done.read_units, done.write_units), done.step.name
            assert takes.requests == pytest.approx(done.requests, abs=1)
        assert db.check(table) == []
        assert changes_nothing(db, table)


@pytest.mark.embedded("what it predicts is what that engine's pages cost, read by key")
def test_where_a_scan_is_by_hashes_half_is_counted_twice(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    old_parcel, parcel = parcels(False)
    table = parcel.__model__.table
    Migrations(db, old_parcel.__model__.table).apply()
    db.write_many(puts=[old_parcel(id=f"{n:03}", text="x" * 4000) for n in range(301)])
    by_key = Migrations(db, table).plan().steps[0].takes
    monkeypatch.setattr(db.port, "traits", replace(db.port.traits, scans_by_key=False))
    by_hash = Migrations(db, table).plan().steps[0].takes
    assert by_key.read_units == pytest.approx(2 * 301, rel=0.03)
    assert by_hash.read_units == pytest.approx(1.5 * 301, rel=0.03)
    assert by_hash.items == by_key.items == 301
    sampled = Migrations(db, table).plan(sample=0.2).steps[0].takes
    assert sampled.read_units == pytest.approx(1.5 * 301, rel=0.2)


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
