"""Purge: what removed classes and indexes left is deleted where it is asked for, at the plan's price."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from singletable import ANY, Database, InvalidRequest, Key, Table, field
from singletable.errors import NotUnique, Unavailable
from singletable.flow import Rate
from singletable.graph import Edge, Graph, GraphTable, Node
from singletable.migrations import Migrations, ModelDocument, Outcome, Plan, PlanRefused, two_versions
from tests.migrations.changing import order
from tests.support.engines import fresh
from tests.support.raw import all_items


def by_bill(number: int) -> Key:
    return f"bill#{number}", "bill"


def in_phone(phone: str, number: int = ANY) -> Key:
    return f"phone#{phone}", f"{number}"


ORDER: dict[str, Any] = {"number": int, "phone": str}
BILL: dict[str, Any] = {"number": int, "mail": (str, field(unique=True))}


@pytest.fixture
def db() -> Iterator[Database]:
    with fresh() as made:
        yield made


def both(*, indexes: tuple[str, ...] = ("gsi1", "gsi2")) -> tuple[Table, Any, Any]:
    """Orders in gsi2, and bills with a unique attribute."""
    table, kind = order(ORDER, patterns={"gsi2": in_phone}, indexes=indexes)
    _, bill = order(BILL, type="bill", key=by_bill, table=table)
    return table, kind, bill


def filled(db: Database, count: int = 30) -> tuple[Table, Any, Any]:
    table, kind, bill = both()
    Migrations(db, table).apply()
    db.write_many(puts=[kind(number=n, phone=f"+44{n}") for n in range(count)])
    for n in range(count):
        db.create(bill(number=n, mail=f"{n}@example.org"))
    return table, kind, bill


def alone(*, indexes: tuple[str, ...] = ("gsi1", "gsi2")) -> tuple[Table, Any]:
    """The orders without the bills; in gsi2 if there is one."""
    return order(ORDER, patterns={"gsi2": in_phone} if "gsi2" in indexes else {}, indexes=indexes)


def types_in(db: Database) -> set[str]:
    """The types of items, without what the library keeps of an apply that is over."""
    return {item["_type"]["S"] for item in db.run(all_items(db.port, "shop"))} - {"_apply"}


def as_planned(plan: Plan, outcome: Outcome) -> None:
    """The apply took what the plan said."""
    taken = {done.step.name: (done.requests, done.read_units, done.write_units) for done in outcome.done}
    for step in plan.steps:
        if step.kind in ("purge", "fill", "record"):
            assert taken[step.name] == (step.takes.requests, step.takes.read_units, step.takes.write_units)


def test_a_class_goes_with_its_items_and_guards(db: Database) -> None:
    filled(db)
    table, kind = alone()
    with pytest.raises(PlanRefused, match="To delete what is left: --purge bill"):
        Migrations(db, table).plan()
    plan = Migrations(db, table).plan(purge=["bill"])
    assert [step.name for step in plan.steps] == ["purge bill", "record shop"]
    assert plan.steps[0].takes.items == 60
    as_planned(plan, Migrations(db, table).apply(plan))
    assert types_in(db) == {"order", "_model"}
    assert db.check(table) == []
    assert len(db.all(kind.in_gsi2("+447"))) == 1
    again = Migrations(db, table)
    assert again.plan().is_empty
    assert again.plan(purge=["bill"]).is_empty
    with db.meter() as meter:
        again.apply(again.plan(purge=["bill"]))
    assert meter.write_units == 0


def test_an_index_goes_with_its_keys(db: Database) -> None:
    _, _, bill = filled(db)
    table, kind = order(ORDER, indexes=("gsi1",))
    order(BILL, type="bill", key=by_bill, table=table)
    plan = Migrations(db, table).plan(purge=["gsi2"])
    told = [str(each) for each in plan.differences if each.rule == "index.removed"]
    assert ["until --purge takes them out" in text for text in told] == [True]
    assert [step.name for step in plan.steps] == ["drop index gsi2", "purge gsi2", "record shop"]
    assert plan.steps[1].takes.items == 30
    as_planned(plan, Migrations(db, table).apply(plan))
    assert not any(name.startswith("gsi2") for item in db.run(all_items(db.port, "shop")) for name in item)
    assert db.get(kind.by_key(3)) == kind(number=3, phone="+443")
    assert (len(types_in(db)), db.check(table)) == (4, [])
    assert db.get(bill.by_key(3)) is not None


def test_an_index_that_an_apply_has_dropped_before(db: Database) -> None:
    """The record has forgotten it: its keys have the usual names."""
    filled(db, 3)
    table, _ = order(ORDER, indexes=("gsi1",))
    order(BILL, type="bill", key=by_bill, table=table)
    Migrations(db, table).apply()
    assert any("gsi2pk" in item for item in db.run(all_items(db.port, "shop")))
    Migrations(db, table).apply(purge=["gsi2"])
    assert not any("gsi2pk" in item for item in db.run(all_items(db.port, "shop")))


def test_two_at_once_with_a_fill_before_them(db: Database) -> None:
    filled(db)
    attributes = {"number": int, "mobile": (str, field(was="phone", since=2))}
    table, kind = order(attributes, indexes=("gsi1",), version=2)
    plan = Migrations(db, table).plan(purge=["bill", "gsi2"])
    assert [step.name for step in plan.steps] == ["fill shop", "drop index gsi2", "purge bill, gsi2", "record shop"]
    outcome = Migrations(db, table).apply(plan)
    taken = {done.step.kind: done.write_units for done in outcome.done}
    assert taken["purge"] == plan.steps[2].takes.write_units
    assert db.get(kind.by_key(4)) == kind(number=4, mobile="+444")
    assert db.check(table) == []


def test_it_is_priced_by_the_items_that_the_fill_leaves(db: Database) -> None:
    """They have more than a kilobyte then, and less before."""
    table, kind = order(ORDER, patterns={"gsi2": in_phone})
    Migrations(db, table).apply()
    db.write_many(puts=[kind(number=n, phone="1" * 250) for n in range(5)])
    attributes = {"number": int, "phone": (str, field(name="x" * 600, was="phone", since=2))}
    table, _ = order(attributes, indexes=("gsi1",), version=2)
    plan = Migrations(db, table).plan(purge=["gsi2"])
    outcome = Migrations(db, table).apply(plan)
    taken = {done.step.kind: done.write_units for done in outcome.done}
    assert taken["purge"] == {step.kind: step.takes.write_units for step in plan.steps}["purge"]


def test_another_purge_begins_at_the_start(db: Database) -> None:
    """One of an index was killed behind the bills: one of both finds the bills."""
    filled(db, 250)
    table, _ = alone(indexes=("gsi1",))

    def stop(doing: Any) -> None:
        if doing.step.kind == "purge" and doing.done > 20:
            raise Unavailable("killed")

    migrations = Migrations(db, table)
    with pytest.raises(Unavailable):
        migrations.apply(purge=["gsi2"], accept=[("class.removed", "bill")], progress=stop)
    migrations.apply(purge=["gsi2", "bill"])
    assert types_in(db) == {"order", "_model"}


def test_it_goes_on_where_it_was_killed(db: Database) -> None:
    filled(db, 250)
    table, _ = alone()
    migrations = Migrations(db, table)

    def stop(doing: Any) -> None:
        if doing.step.kind == "purge" and doing.done > 200:
            raise Unavailable("killed")

    with pytest.raises(Unavailable):
        migrations.apply(purge=["bill"], progress=stop)
    assert "bill" in types_in(db)
    with pytest.raises(PlanRefused):
        migrations.plan()
    told: list[str] = []
    migrations.apply(purge=["bill"], rate=Rate(write_units=100_000), progress=lambda doing: told.append(doing.said))
    assert told[1].startswith("400 items read"), "it goes on after 300"
    assert recorded(migrations).purged == {"bill": 250}
    assert types_in(db) == {"order", "_model"}
    assert db.check(table) == []


def recorded(migrations: Migrations, *, before: bool = False) -> ModelDocument:
    record = migrations.recorded(before=before)
    assert record is not None
    return record


def test_the_way_back_says_what_is_gone_for_good(db: Database) -> None:
    filled(db)
    table, _ = alone()
    migrations = Migrations(db, table)
    migrations.apply(purge=["bill"])
    back = two_versions(recorded(migrations, before=True), table)
    assert back.lost == ("bill: 30 items that a purge deleted: only a backup or an export has them",)
    assert two_versions(recorded(migrations), table).lost == ()
    again, _, _ = both()
    Migrations(db, again).apply()
    assert recorded(migrations).purged == {}, "it has items again"


def test_a_purge_alone_records_what_it_deleted(db: Database) -> None:
    *_, bill = filled(db)
    table, _ = alone()
    migrations = Migrations(db, table)
    migrations.apply(accept=[("class.removed", "bill")])
    plan = migrations.plan(purge=["bill"])
    assert [step.name for step in plan.steps] == ["purge bill"]
    as_planned(plan, migrations.apply(plan))
    assert recorded(migrations).purged == {"bill": 30}
    assert migrations.plan().is_empty
    migrations.apply(plan)  # as after a kill at its very end
    for n in range(2):  # by a program that still has the class
        db.create(bill(number=n, mail=f"{n}@example.org"))
    as_planned(plan := migrations.plan(purge=["bill"]), migrations.apply(plan))
    assert recorded(migrations).purged == {"bill": 32}
    assert two_versions(recorded(migrations, before=True), table).lost[0].startswith("bill: 32 items")
    assert migrations.plan(purge=["bill"]).is_empty


def test_the_record_is_priced_with_what_it_counts(db: Database) -> None:
    """The name of the type takes it over a kilobyte more."""
    table, _ = order(ORDER, patterns={"gsi2": in_phone})
    long = "b" * 1100
    _, bill = order(BILL, type=long, key=by_bill, table=table)
    Migrations(db, table).apply()
    db.create(bill(number=1, mail="1@example.org"))
    migrations = Migrations(db, alone()[0])
    plan = migrations.plan(purge=[long])
    recording = migrations.apply(plan).done[-1]
    assert (recording.step.kind, recording.write_units) == ("record", plan.steps[-1].takes.write_units)


def test_a_unique_attribute_with_another_name(db: Database) -> None:
    filled(db, 3)
    table, _ = order(ORDER, patterns={"gsi2": in_phone})
    attributes = {"number": int, "email": (str, field(unique=True, was="mail", since=2))}
    _, bill = order(attributes, type="bill", key=by_bill, table=table, version=2)
    Migrations(db, table).apply()
    assert [each.code for each in db.check(table)] == ["guard.orphan"] * 3
    plan = Migrations(db, table).plan(purge=["bill"])
    assert plan.steps[0].takes.items == 3
    Migrations(db, table).apply(plan)
    assert db.check(table) == []
    with pytest.raises(NotUnique):
        db.create(bill(number=9, email="1@example.org"))


@pytest.mark.parametrize("name", ["gsi1", "_unique", "_table"])
def test_what_stays_is_refused(db: Database, name: str) -> None:
    table, *_ = filled(db, 1)
    with pytest.raises(InvalidRequest, match=f"{name} can't be purged"):
        Migrations(db, table).plan(purge=[name])


def test_an_index_of_somebody_else_is_refused(db: Database) -> None:
    """It is in the table, and no record has it: it stays, with its keys."""
    other, _ = order(ORDER, indexes=("gsi1", "gsi3"))
    db.create_table(other)
    table, _ = order(ORDER, indexes=("gsi1",))
    Migrations(db, table).apply()
    with pytest.raises(InvalidRequest, match="gsi3 can't be purged: it is an index that stays"):
        Migrations(db, table).plan(purge=["gsi3"])


def test_an_attribute_of_a_class_stays_though_an_index_had_its_name(db: Database) -> None:
    table = Table("shop", indexes=["gsi2"])
    _, kind = order({"number": int, "gsi9pk": str}, table=table, indexes=())
    Migrations(db, table).apply()
    db.create(kind(number=1, gsi9pk="mine"))
    assert Migrations(db, table).plan(purge=["gsi9"]).is_empty
    assert db.get(kind.by_key(1)) == kind(number=1, gsi9pk="mine")


def net(*, has_edge: bool, has_city: bool = True) -> tuple[Table, Any, Any]:
    table = GraphTable("net", indexes=["gsi0"])

    class Person(Node, table=table, type="PERSON"):
        name: str

    follow: Any = None
    if has_edge:

        class Follow(Edge[Person, Person], table=table, type="FOLLOW", mirrors=("since",)):
            since: str

            @table.index("gsi0")
            @staticmethod
            def by_since(since: str = ANY) -> str:
                return f"{since}"

        follow = Follow
    return table, Person, follow


def test_an_edge_class_goes_with_its_edge_sets(db: Database) -> None:
    table, person, follow = net(has_edge=True)
    Migrations(db, table).apply()
    ada, bob = (person(id=name, name=name) for name in ("ada", "bob"))
    db.create(ada)
    db.create(bob)
    Graph(db).link(follow(source=ada, target=bob, since="1843"))
    later, person, _ = net(has_edge=False)
    Migrations(db, later).apply(purge=["FOLLOW"])
    assert db.check(later) == []
    assert db.get(person.by_id("ada")) is not None
    items = db.run(all_items(db.port, "net"))
    assert not any("FOLLOW" in str(item) for item in items if item["_type"] == {"S": "PERSON"})
