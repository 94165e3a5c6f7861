"""Ways for the changes that people make: an attribute that has another name, values, type, or begins to expire."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from enum import Enum
from types import new_class
from typing import Any

import pytest

from singletable import ANY, Database, Key, attr, field
from singletable.errors import Corrupt, DeclarationError, NotUnique
from singletable.graph import Edge, Graph, GraphTable, Node
from singletable.migrations import Migrations
from tests.migrations.changing import order, refused
from tests.support.engines import fresh
from tests.support.raw import all_items

SOON = datetime.now(timezone.utc).replace(microsecond=0) + timedelta(days=400)


class State(Enum):
    OPEN = "open"
    SHIPPED = "shipped"


class Sent(Enum):
    OPEN = "open"
    SHIPPED = "sent"


class Swapped(Enum):
    OPEN = "shipped"
    SHIPPED = "open"


def cents(total: Decimal) -> int:
    return int(total * 100)


def euros(total: int) -> Decimal:
    return Decimal(total) / 100


def by_note(note: str, number: int = ANY) -> Key:
    return f"note#{note}", f"{number}"


def by_remark(remark: str, number: int = ANY) -> Key:
    return f"note#{remark}", f"{number}"


def in_state(state: Any, number: int = ANY) -> Key:
    return f"state#{state}", f"{number}"


Change = tuple[dict[str, Any], dict[str, Any], Any, Any, tuple[Any, Any]]
"""The attributes of both programs, and the key functions; the values of item 1 before and after."""
CHANGES: dict[str, Change] = {
    "name": ({"note": str}, {"remark": (str, field(was="note", since=2))}, by_note, by_remark, ("hello", "hello")),
    "stored name": (
        {"note": (str, field(name="n"))},
        {"note": (str, field(name="remark", was="n", since=2))},
        by_note,
        by_note,
        ("hello", "hello"),
    ),
    "enum": (
        {"state": State},
        {"state": (Sent, field(was={"shipped": Sent.SHIPPED}, since=2))},
        in_state,
        in_state,
        (State.SHIPPED, Sent.SHIPPED),
    ),
    "swapped enum": (
        {"state": State},
        {"state": (Swapped, field(was={"shipped": Swapped.SHIPPED, "open": Swapped.OPEN}, since=2))},
        in_state,
        in_state,
        (State.SHIPPED, Swapped.SHIPPED),
    ),
    "enums in a list": (
        {"states": list[State]},
        {"states": (list[Sent], field(was={"shipped": Sent.SHIPPED}, since=2))},
        None,
        None,
        ([State.OPEN, State.SHIPPED], [Sent.OPEN, Sent.SHIPPED]),
    ),
    "type": (
        {"total": Decimal},
        {"total": (int, field(was=(cents, euros), since=2))},
        None,
        None,
        (Decimal("1.25"), 125),
    ),
    "expiry on": (
        {"ends": datetime | None},
        {"ends": (datetime | None, field(expires=True, was="ends", since=2))},
        None,
        None,
        (SOON, SOON),
    ),
    "expiry off": (
        {"ends": (datetime | None, field(expires=True))},
        {"ends": (datetime | None, field(was="_ttl", since=2))},
        None,
        None,
        (SOON, SOON),
    ),
}


class Programs:
    """The old program and the new one of a change."""

    def __init__(self, change: str, *, stored_as: int = 2) -> None:
        old, new, old_key, new_key, self.values = CHANGES[change]
        self.names = next(iter(old)), next(iter(new))
        common = {"number": int, "count": (int, 0)}
        patterns = [{} if key is None else {"gsi1": key} for key in (old_key, new_key)]
        self.old, self.old_kind = order({**common, **old}, patterns=patterns[0])
        self.new, self.kind = order({**common, **new}, patterns=patterns[1], version=2, stored_as=stored_as)
        self.is_indexed = old_key is not None

    def old_item(self, number: int, **facts: Any) -> Any:
        return self.old_kind(number=number, **{self.names[0]: self.values[0], **facts})

    def item(self, number: int, **facts: Any) -> Any:
        return self.kind(number=number, **{self.names[1]: self.values[1], **facts})

    def found(self, db: Database) -> list[int]:
        return [each.number for each in db.all(self.kind.in_gsi1(self.values[1]))]


def items_of(db: Database) -> list[dict[str, Any]]:
    """The orders as they are stored."""
    items: list[dict[str, Any]] = db.run(all_items(db.port, "shop"))
    return [item for item in items if item["_type"] == {"S": "order"}]


def loaded(db: Database, key: Any) -> Any:
    """The entity under a key."""
    return db.get(key)


@pytest.fixture
def db() -> Iterator[Database]:
    with fresh() as made:
        yield made


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_is_read_planned_filled_and_checked(db: Database, change: str) -> None:
    its = Programs(change)
    Migrations(db, its.old).apply()
    db.write_many(puts=[its.old_item(n) for n in range(10)])
    db.delete(its.old_kind.by_key(9))
    assert loaded(db, its.kind.by_key(1)) == its.item(1)
    db.put(loaded(db, its.kind.by_key(2)))
    with db.meter() as meter:
        assert db.update(its.kind.by_key(3), attr(its.kind.count).add(1)) == its.item(3, count=1)
    assert meter.requests == 3, "an older item is read and rewritten once"
    with db.meter() as meter:
        db.update(its.kind.by_key(3), attr(its.kind.count).add(-1))
    assert meter.requests == 1
    plan = Migrations(db, its.new).plan()
    assert [step.kind for step in plan.steps if step.kind not in ("set", "unset")] == ["fill", "record"]
    outcome = Migrations(db, its.new).apply(plan)
    predicted = {step.kind: (step.takes.items, step.takes.write_units) for step in plan.steps}
    assert predicted["fill"][0] == 7, "two of nine were written by the new program"
    done = {each.step.kind: each.write_units for each in outcome.done}
    assert done["fill"] == predicted["fill"][1]
    assert [loaded(db, its.kind.by_key(n)) for n in range(9)] == [its.item(n) for n in range(9)]
    assert not its.is_indexed or its.found(db) == list(range(9))
    assert db.check(its.new) == []
    assert Migrations(db, its.new).plan().is_empty
    db.put(its.item(20))
    written = {frozenset(item) - {"_w"} for item in items_of(db)}
    assert len(written) == 1, "a filled item has the attributes of a new one"


@pytest.mark.parametrize("change", CHANGES)
def test_both_programs_run_at_once(db: Database, change: str) -> None:
    """`stored_as=1`: each reads what the other writes, and a value that one of them takes away stays away."""
    its = Programs(change, stored_as=1)
    Migrations(db, its.old).apply()
    db.put(its.old_item(1))
    assert loaded(db, its.kind.by_key(1)) == its.item(1)
    db.create(its.item(2))
    assert loaded(db, its.old_kind.by_key(2)) == its.old_item(2)
    db.update(its.kind.by_key(1), attr(its.kind.count).add(1))
    read = loaded(db, its.old_kind.by_key(1))
    assert read == its.old_item(1, count=1)
    read.count = 2
    db.put(read)
    assert loaded(db, its.kind.by_key(1)) == its.item(1, count=2)
    Migrations(db, its.new).apply()
    assert db.check(its.new) == []
    last = Programs(change)
    Migrations(db, last.new).apply()
    assert [loaded(db, last.kind.by_key(n)) for n in (1, 2)] == [last.item(1, count=2), last.item(2)]
    assert db.check(last.new) == []
    with pytest.raises(Corrupt, match="this program knows version 1"):
        loaded(db, its.old_kind.by_key(1))


def test_an_old_program_that_takes_a_value_away_takes_it_from_both(db: Database) -> None:
    old, old_kind = order({"number": int, "note": (str | None, None)})
    new = {"number": int, "remark": (str | None, field(default=None, was="note", since=2))}
    _, kind = order(new, version=2, stored_as=1)
    db.create_table(old)
    db.create(kind(number=1, remark="hello"))
    db.update(old_kind.by_key(1), attr(old_kind.note).remove())
    assert loaded(db, kind.by_key(1)) == kind(number=1)
    read = loaded(db, old_kind.by_key(1))
    db.put(read)
    assert loaded(db, kind.by_key(1)) == kind(number=1)


def test_names_that_are_exchanged(db: Database) -> None:
    old, old_kind = order({"number": int, "one": str, "two": str})
    new, kind = order(
        {"number": int, "one": (str, field(was="two", since=2)), "two": (str, field(was="one", since=2))}, version=2
    )
    Migrations(db, old).apply()
    db.create(old_kind(number=1, one="1", two="2"))
    assert loaded(db, kind.by_key(1)) == kind(number=1, one="2", two="1")
    Migrations(db, new).apply()
    assert loaded(db, kind.by_key(1)) == kind(number=1, one="2", two="1")


def test_a_later_version_keeps_what_an_earlier_one_was(db: Database) -> None:
    """The step belongs to its version: an item of version 2 has the new name, and loses nothing on its way to 3."""
    first, kind1 = order({"number": int, "note": str})
    _, kind2 = order({"number": int, "remark": (str, field(was="note", since=2))}, version=2)
    remark = (str, field(was="note", since=2))
    count = (int, field(default=0, was="n", since=3))
    third, kind3 = order({"number": int, "remark": remark, "count": count}, version=3)
    Migrations(db, first).apply()
    db.create(kind1(number=1, note="one"))
    db.create(kind2(number=2, remark="two"))
    assert [loaded(db, kind3.by_key(n)).remark for n in (1, 2)] == ["one", "two"]
    Migrations(db, third).apply()
    assert [loaded(db, kind3.by_key(n)).remark for n in (1, 2)] == ["one", "two"]


def test_a_step_of_attributes_and_of_a_function(db: Database) -> None:
    """The attributes come first, so that the function sees the new names; down it is the other way round."""
    old, old_kind = order({"number": int, "note": str, "name": str})
    attributes = {"number": int, "remark": (str, field(was="note", since=2)), "first": str, "last": str}
    _, kind = order(attributes, version=2, stored_as=1)

    def split(item: dict[str, Any]) -> dict[str, Any]:
        assert "remark" in item
        first, _, last = item.pop("name").partition(" ")
        return {**item, "first": first, "last": last}

    def join(item: dict[str, Any]) -> dict[str, Any]:
        assert "remark" in item
        return {**item, "name": f"{item.pop('first')} {item.pop('last')}"}

    kind.upcast(1)(split)
    kind.downcast(2)(join)
    db.create_table(old)
    db.create(kind(number=1, remark="hello", first="Ada", last="King"))
    assert loaded(db, old_kind.by_key(1)) == old_kind(number=1, note="hello", name="Ada King")
    assert loaded(db, kind.by_key(1)) == kind(number=1, remark="hello", first="Ada", last="King")


def test_members_that_a_new_version_does_not_speak_of_are_counted(db: Database) -> None:
    old, old_kind = order({"number": int, "state": State})
    attributes = {"number": int, "state": Swapped, "remark": (str, field(default="", was="note", since=2))}
    raised, _ = order(attributes, version=2)
    Migrations(db, old).apply()
    db.create(old_kind(number=1, state=State.OPEN))
    assert refused(db, raised) == ("items unreadable", [("enum.changed", "Order.state", 1)])


def test_an_update_of_the_renamed_attribute_and_a_condition_on_it(db: Database) -> None:
    its = Programs("name")
    Migrations(db, its.old).apply()
    db.write_many(puts=[its.old_item(n) for n in range(3)])
    with db.meter() as meter:
        db.update(its.kind.by_key(0), attr(its.kind.remark).set("other"), where=attr(its.kind.remark) == "hello")
    assert meter.requests == 3
    assert loaded(db, its.kind.by_key(0)).remark == "other"
    with db.transaction() as tx:
        tx.update(its.kind.by_key(1), attr(its.kind.remark).set("third"))
    assert loaded(db, its.kind.by_key(1)).remark == "third"
    assert [sorted(item.keys() & {"note", "remark"}) for item in items_of(db)].count(["remark"]) == 2


def test_a_unique_attribute_with_another_name(db: Database) -> None:
    """Its guards lie under its name: the fill writes the new ones; the old ones are of nobody."""
    old, old_kind = order({"number": int, "mail": (str, field(unique=True))})
    new, kind = order({"number": int, "email": (str, field(unique=True, was="mail", since=2))}, version=2)
    Migrations(db, old).apply()
    for n in range(3):
        db.create(old_kind(number=n, mail=f"{n}@example.org"))
    Migrations(db, new).apply()
    assert [each.code for each in db.check(new)] == ["guard.orphan"] * 3
    with pytest.raises(NotUnique):
        db.create(kind(number=9, email="1@example.org"))


def test_a_node_with_an_attribute_of_another_name(db: Database) -> None:
    def net(version: int, **attributes: Any) -> tuple[Any, Any, Any]:
        table = GraphTable("net", indexes=["gsi0"])
        body = {"__module__": __name__, "__annotations__": dict.fromkeys(attributes, str)}
        body |= {name: value for name, value in attributes.items() if value is not None}
        options = {"table": table, "type": "PERSON", "version": version}
        person: Any = new_class("Person", (Node,), options, lambda namespace: namespace.update(body))

        class Follow(Edge[person, person], table=table, type="FOLLOW", mirrors=("since",)):
            since: str

            @table.index("gsi0")
            @staticmethod
            def by_since(since: str = ANY) -> str:
                return f"{since}"

        return table, person, Follow

    old, old_person, old_follow = net(1, name=None)
    new, person, _ = net(2, label=field(was="name", since=2))
    Migrations(db, old).apply()
    ada, bob = (old_person(id=name, name=name) for name in ("ada", "bob"))
    db.create(ada)
    db.create(bob)
    Graph(db).link(old_follow(source=ada, target=bob, since="1843"))
    assert loaded(db, person.by_id("ada")).label == "ada"
    Migrations(db, new).apply()
    assert loaded(db, person.by_id("ada")).label == "ada"
    assert db.check(new) == []


@pytest.mark.parametrize("is_wider", [False, True])
def test_a_width_in_the_key_moves_the_items(db: Database, is_wider: bool) -> None:
    def three(customer: str, number: int = ANY) -> Key:
        return f"customer#{customer}", f"line#{number:03}"

    def five(customer: str, number: int = ANY) -> Key:
        return f"customer#{customer}", f"line#{number:05}"

    before, after = (three, five) if is_wider else (five, three)
    attributes = {"customer": str, "number": int}
    old, old_kind = order(attributes, key=before)
    new, kind = order(attributes, key=after, was=before)
    Migrations(db, old).apply()
    db.write_many(puts=[old_kind(customer="ada", number=n) for n in range(12)])
    assert loaded(db, kind.by_key("ada", 7)) == kind(customer="ada", number=7)
    assert [each.number for each in db.all(kind.by_key("ada"))] == list(range(12))
    plan = Migrations(db, new).plan()
    outcome = Migrations(db, new).apply(plan)
    assert outcome.done[0].write_units == plan.steps[0].takes.write_units
    last, last_kind = order(attributes, key=after)
    assert [step.kind for step in Migrations(db, last).plan().steps] == ["record"]
    assert [each.number for each in db.all(last_kind.by_key("ada"))] == list(range(12))
    assert db.check(last) == []


@pytest.mark.parametrize("since", [1, 3])
def test_a_version_that_no_step_leads_to_is_refused(since: int) -> None:
    with pytest.raises(DeclarationError, match=f"Order.note is otherwise since version {since}"):
        order({"number": int, "note": (str, field(was="n", since=since))}, version=2)


def test_a_former_name_without_its_version_is_refused() -> None:
    for given in ({"was": "note"}, {"since": 2}):
        with pytest.raises(DeclarationError, match="was= and since= go together"):
            field(**given)


def test_a_former_name_inside_an_attribute_is_refused() -> None:
    @dataclass
    class Address:
        street: str = field(was="road", since=2)

    with pytest.raises(DeclarationError, match="declared with was=, which does nothing"):
        order({"number": int, "home": Address}, version=2)


def test_a_time_that_expires_is_rewritten_with_its_table(db: Database) -> None:
    """Until the fill, an older item has no time of expiry for DynamoDB; for the program it has one."""
    its = Programs("expiry on")
    Migrations(db, its.old).apply()
    db.create(its.old_item(1))
    (first,) = items_of(db)
    db.create(its.old_item(2, ends=datetime.now(timezone.utc) - timedelta(days=1)))
    assert loaded(db, its.kind.by_key(2)) is None
    Migrations(db, its.new).apply()
    (item,) = (i for i in items_of(db) if i["pk"] == first["pk"])
    assert (item["_ttl"], "ends" in item) == ({"N": str(int(SOON.timestamp()))}, False)
