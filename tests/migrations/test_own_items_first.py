"""A table whose first items by key are the library's own: it is judged by the application's."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from singletable import Database, Entity, InvalidRequest, Key, Table, field
from singletable.exchange import TableCopy
from singletable.foundation import delete_if
from singletable.migrations import Migrations, PlanRefused
from singletable.migrations.items import ModelRecord
from singletable.operations import PutItem
from singletable.schema.tool_items import ITEMS
from tests.migrations.own_items import FIRST, MANY, OldUser, User, app, old_users, put
from tests.migrations.watching import killed_at_every_request
from tests.support.engines import fresh
from tests.support.raw import all_items

by_kind = pytest.mark.parametrize("kind", FIRST)
ONE = "_apply", "_hold", "_plan", "_restore"
"""Kinds of which a table has one item."""


@pytest.fixture
def db() -> Iterator[Database]:
    """Its table was made by hand: no record says whose it is."""
    with fresh() as made:
        made.create_table(app)
        yield made


def test_every_kind_of_the_librarys_own_is_here() -> None:
    assert ITEMS.own.keys() - {"_model"} <= FIRST.keys()


@by_kind
def test_a_table_is_its_own_programs(db: Database, kind: str) -> None:
    FIRST[kind](db)
    put(db, list(old_users(3)))
    first = db.run(all_items(db.port, app.name))
    if kind not in ONE and db.port.traits.scans_by_key:
        assert {item["_type"]["S"] for item in first[:MANY]} == {kind}
    plan = Migrations(db, app).plan()
    outcome = Migrations(db, app).apply(plan)
    assert [done.step.name for done in outcome.done] == [step.name for step in plan.steps] == ["fill own", "record own"]
    assert [user.email for user in db.scan(User) if user.id < 3] == [f"{n}@example.org" for n in range(3)]
    with pytest.raises(PlanRefused, match="was brought to a model with the types user"):
        Migrations(db, stranger).plan()


@by_kind
def test_a_table_of_the_librarys_items_alone_is_anybodys(db: Database, kind: str) -> None:
    FIRST[kind](db)
    assert Migrations(db, app).apply().done


stranger = Table("own")


class Car(Entity, table=stranger, type="car"):
    id: int
    plate: str = field(unique=True)

    @stranger.key
    @staticmethod
    def by_id(id: int) -> Key:
        """One."""
        return f"car#{id}", "car"


@by_kind
def test_the_table_of_another_model_is_refused(db: Database, kind: str) -> None:
    """By the guards that come first, which name the type of their owners, or by the items behind the library's own."""
    FIRST[kind](db)
    put(db, list(old_users(3)))
    with db.meter() as meter:
        for attempt in (Migrations(db, stranger).plan, Migrations(db, stranger).apply):
            with pytest.raises(PlanRefused, match="has items of the types user, and this program") as refused:
                attempt()
            assert refused.value.reason == "foreign table"
    assert meter.write_units == 0
    assert meter.count_of("Scan").requests <= 4


def test_guards_alone_say_whose_table_it_is(db: Database) -> None:
    """They name the type of their owners."""
    for n in range(3):
        db.create(User(id=n, email=f"{n}@example.org"))
    db.run(db.port.send_all([delete_if(OldUser.by_id(n), None) for n in range(3)]))
    assert {item["_type"]["S"] for item in db.run(all_items(db.port, app.name))} == {"_unique"}
    with pytest.raises(PlanRefused, match="has items of the types user, and this program"):
        Migrations(db, stranger).apply()
    assert Migrations(db, app).apply().done


def test_items_of_a_class_that_is_gone_may_come_first(db: Database) -> None:
    gone = [{"pk": {"S": f"audit#{n}"}, "sk": {"S": "x"}, "_type": {"S": "audit"}} for n in range(MANY)]
    db.run(db.port.send_all([PutItem(app.name, item) for item in gone]))
    put(db, list(old_users(3)))
    assert Migrations(db, app).plan().left == (f"{MANY} items of a type that no class here has",)
    assert Migrations(db, app).apply().unknown == MANY


@pytest.mark.timeout(120)
def test_an_apply_that_adds_a_unique_attribute_is_killed_at_every_request(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a kill the guards that were made are the first items, and no record is there."""
    put(db, list(old_users(120)))
    kills = killed_at_every_request(db, monkeypatch, lambda n: Migrations(db, app).apply())
    assert kills > 10
    assert db.get(ModelRecord.of(app).only()) is not None
    assert db.check(app) == []
    assert len(list(db.scan(OldUser))) == 120
    assert Migrations(db, app).apply().done == ()


@pytest.mark.parametrize("kind", sorted(ITEMS.own.keys() - {"_model", "_apply"}))
def test_a_copy_finds_the_items_behind_them(db: Database, kind: str) -> None:
    """It would put its own over them."""
    with fresh() as source:
        source.create_table(app)
        FIRST[kind](db)
        db.create(User(id=1, email="here@example.org"))
        with pytest.raises(InvalidRequest, match="the target has items"):
            TableCopy(source, db, app).run(keep_personal=True)
