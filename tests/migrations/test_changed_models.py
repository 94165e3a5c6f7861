"""A model that changes on live data: what a plan counts, refuses, and goes on with."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import date, datetime, timezone
from decimal import Decimal
from enum import Enum
from typing import Any

import msgspec
import pytest

from singletable import ANY, Database, Key, Table, field
from singletable.graph import Edge, Graph, GraphTable, Node
from singletable.graph.members import members_of
from singletable.migrations import Migrations, PlanRefused, two_versions
from singletable.migrations.items import ModelRecord
from singletable.migrations.model_document import document_of
from tests.migrations.changing import order, refused
from tests.support.engines import fresh
from tests.support.raw import all_items, put_raw

NOON = datetime(2026, 11, 26, 12, tzinfo=timezone.utc)


class State(Enum):
    OPEN = "open"
    SHIPPED = "shipped"


class Renamed(Enum):
    OPEN = "open"
    SHIPPED = "sent"


class More(Enum):
    OPEN = "open"
    SHIPPED = "shipped"
    PAID = "paid"


class Swapped(Enum):
    OPEN = "shipped"
    SHIPPED = "open"


class Spelled(Enum):
    OPEN = "open"
    SHIPPED = "shipped"

    def key_text(self) -> str:
        return self.value.upper()


ATTRIBUTES: dict[str, Any] = {
    "number": int,
    "state": State,
    "total": Decimal,
    "placed": datetime,
    "note": (str | None, None),
}


def by_bill(number: int) -> Key:
    return f"bill#{number}", "bill"


def in_state(state: Any, number: int = ANY) -> Key:
    """The orders of a state."""
    return f"state#{state}", f"{number}"


@pytest.fixture
def db() -> Iterator[Database]:
    """A recorded table with 20 orders: half of them are shipped, and have a note."""
    table, kind = order(ATTRIBUTES, patterns={"gsi1": in_state})
    with fresh() as made:
        Migrations(made, table).apply()
        made.write_many(puts=[_order(kind, n) for n in range(20)])
        yield made


def _order(kind: Any, n: int) -> Any:
    is_sent = n % 2 == 0
    facts = {"state": State.SHIPPED if is_sent else State.OPEN, "note": "by hand" if is_sent else None}
    return kind(number=n, total=Decimal(n) / 2, placed=NOON, **facts)


def changed(**attributes: Any) -> Table:
    """The same with other attributes; None takes one away."""
    merged = {**ATTRIBUTES, **attributes}
    return order({n: t for n, t in merged.items() if t is not None}, patterns={"gsi1": in_state})[0]


def test_a_width_in_the_key_that_changes(db: Database) -> None:
    def lines(width: str) -> tuple[Table, Any]:
        def three(customer: str, number: int = ANY) -> Key:
            return f"customer#{customer}", f"line#{number:03}"

        def five(customer: str, number: int = ANY) -> Key:
            return f"customer#{customer}", f"line#{number:05}"

        def none(customer: str, number: int = ANY) -> Key:
            return f"customer#{customer}", f"line#{number}"

        key = {"three": three, "five": five, "none": none}[width]
        return order({"customer": str, "number": int}, key=key)

    with fresh() as own:
        table, kind = lines("three")
        Migrations(own, table).apply()
        assert Migrations(own, lines("five")[0]).plan().steps[-1].kind == "record"  # no item lies under the former key
        own.write_many(puts=[kind(customer="ada", number=n) for n in range(7)])
        for other in ("five", "none"):
            assert refused(own, lines(other)[0]) == ("changed key", [("key.changed", "Order", 7)])
        assert Migrations(own, table).plan().is_empty


@pytest.mark.parametrize(
    ("kind", "rule", "items"),
    [(Renamed, "enum.lost", 10), (Swapped, "enum.changed", 20)],
)
def test_a_member_whose_value_changes(db: Database, kind: Any, rule: str, items: int) -> None:
    assert refused(db, changed(state=kind)) == ("items unreadable", [(rule, "Order.state", items)])


def test_a_member_that_is_new_is_ordered(db: Database) -> None:
    plan = Migrations(db, changed(state=More)).plan()
    assert [(each.rule, each.kind, each.subject) for each in plan.differences] == [
        ("enum.gained", "ordered", "Order.state")
    ]
    assert [step.kind for step in plan.steps] == ["record"]
    assert "deploy programs that read it, then programs that write it" in plan.differences[0].means


def test_a_key_text_that_changes_rewrites_the_index_keys(db: Database) -> None:
    table, kind = order({**ATTRIBUTES, "state": Spelled}, patterns={"gsi1": in_state})
    plan = Migrations(db, table).plan()
    assert [step.kind for step in plan.steps] == ["fill", "record"]
    assert plan.steps[0].takes.items == 20
    Migrations(db, table).apply(plan)
    assert len(db.all(kind.in_gsi1(Spelled.SHIPPED))) == 10
    assert db.check(table) == []


@pytest.mark.parametrize("is_taken_off", [False, True])
def test_expiry_that_is_put_on_or_taken_off(is_taken_off: bool) -> None:
    plain = {"number": int, "ends": (datetime | None, None)}
    expiring = {"number": int, "ends": (datetime | None, field(default=None, expires=True))}
    before, after = (expiring, plain) if is_taken_off else (plain, expiring)
    with fresh() as db:
        table, kind = order(before)
        Migrations(db, table).apply()
        ends = datetime.now(timezone.utc).replace(year=2090)
        db.write_many(puts=[kind(number=n, ends=ends if n else None) for n in range(4)])
        assert refused(db, order(after)[0]) == ("items unreadable", [("attribute.removed", "Order.ends", 3)])


@pytest.mark.parametrize(
    ("before", "after"),
    [(("kind",), ("kind", "since")), (("kind", "since"), ("since",)), (("kind",), ()), ((), ("kind",))],
)
def test_mirrors_that_change(before: tuple[str, ...], after: tuple[str, ...]) -> None:
    """The fill writes the edge sets in the new form. A set lists 100 edges: it takes three transactions."""
    with fresh() as db:
        table, person, follow = _net(*before)
        Migrations(db, table).apply()
        people = [person(id=f"p{n}", name=f"p{n}") for n in range(121)]
        for each in people:
            db.create(each)
        for each in people[1:]:
            Graph(db).link(follow(source=people[0], target=each, since=NOON))
        table, person, follow = _net(*after)
        plan = Migrations(db, table).plan()
        assert [(each.rule, each.kind) for each in plan.differences] == [("mirrors.changed", "fill")]
        assert [step.kind for step in plan.steps] == ["fill", "record"]
        Migrations(db, table).apply(plan)
        assert db.check(table) == []
        node: Any = db.get(person.by_id("p0"))
        members = list(members_of(node, [follow]))
        assert len(members) == 100
        wanted = {"kind": State.OPEN, "since": NOON}
        assert {name: members[0].values[name] for name in after} == {name: wanted[name] for name in after}
        assert Migrations(db, table).plan().is_empty


def test_edges_that_no_set_lists_any_more() -> None:
    """Their members are remains: a purge of the class takes them, and leaves those of listed classes."""
    with fresh() as db:
        table, person, follow = _net("kind")
        Migrations(db, table).apply()
        ada, bob = (person(id=name, name=name) for name in ("ada", "bob"))
        db.create(ada)
        db.create(bob)
        Graph(db).link(follow(source=ada, target=bob, since=NOON))
        assert Migrations(db, table).plan(purge=["Follow"]).is_empty
        table, person, follow = _net(None)
        Migrations(db, table).apply()
        assert [each.code for each in db.check(table)] == ["edge-set.wrong"]
        Migrations(db, table).apply(purge=["Follow"])
        assert db.check(table) == []
        assert [
            item["target"]["S"] for item in db.run(all_items(db.port, "net")) if item["_type"] == {"S": "FOLLOW"}
        ] == ["FOLLOW-PERSON-bob"]


def _net(*mirrors: Any) -> tuple[Table, Any, Any]:
    table = GraphTable("net", indexes=["gsi0"])

    class Person(Node, table=table, type="PERSON"):
        name: str

    class Follow(Edge[Person, Person], table=table, type="FOLLOW", mirrors=None if mirrors == (None,) else mirrors):
        since: datetime
        kind: State = State.OPEN

        @table.index("gsi0")
        @staticmethod
        def by_since(since: datetime = ANY) -> str:
            return f"{since}"

    return table, Person, Follow


@pytest.mark.parametrize(
    ("attributes", "rule", "subject", "items"),
    [
        ({"total": int}, "type.changed", "Order.total", 10),
        ({"placed": date}, "type.changed", "Order.placed", 20),
        ({"currency": str}, "attribute.required", "Order.currency", 20),
        ({"note": str}, "attribute.required", "Order.note", 10),
        ({"note": (str, "none")}, "default.changed", "Order.note", 10),
        ({"note": None, "remark": (str | None, None)}, "attribute.removed", "Order.note", 10),
        ({"note": (str | None, field(default=None, name="remark"))}, "attribute.removed", "Order.note", 10),
    ],
)
def test_an_attribute_that_changes(db: Database, attributes: Any, rule: str, subject: str, items: int) -> None:
    assert refused(db, changed(**attributes)) == ("items unreadable", [(rule, subject, items)])


@pytest.mark.parametrize(
    "attributes",
    [
        {"priority": (int, 3)},
        {"priority": (int | None, None)},
        {"note": None, "remark": (str | None, field(default=None, name="note"))},
    ],
)
def test_what_both_programs_read_is_free(db: Database, attributes: Any) -> None:
    """Nothing is counted, so the table is not read."""
    with db.meter() as meter:
        plan = Migrations(db, changed(**attributes)).plan()
    assert {each.kind for each in plan.differences} == {"free"}
    assert [step.kind for step in plan.steps] == ["record"]
    assert "Scan" not in meter.by_operation


NAMED = ["a"]


def nothing() -> list[str]:
    """As `lambda: []`."""
    return []


@pytest.mark.parametrize(
    ("was", "now", "rules"),
    [
        (list, nothing, []),
        (nothing, list, []),
        (lambda: ["a"], lambda: ["a"], []),
        (nothing, lambda: ["a"], ["default.changed"]),
        (list, lambda: ["a"], ["default.changed"]),
        (list, lambda: [*NAMED], ["default.changed"]),  # a name may be another thing each time
        (lambda: [*NAMED], nothing, []),  # the same in a record of an older library: it lacks what is made
        (nothing, lambda: [*NAMED], ["default.changed"]),
        (lambda: [*NAMED], lambda: [NAMED[0]], []),
        (list, lambda: (lambda: [*NAMED])(), ["default.changed"]),
    ],
)
def test_a_default_by_a_function(was: Any, now: Any, rules: list[str]) -> None:
    old, new = (order({"number": int, "tags": (list[str], field(default_factory=make))})[0] for make in (was, now))
    assert [difference.rule for difference in two_versions(old, new).differences] == rules


def test_what_a_function_makes_is_unknown_to_an_older_record() -> None:
    table, _ = order({"number": int, "tags": (list[str], field(default_factory=nothing))})
    document = document_of(table)
    stored = {name: dict(facts) for name, facts in (document.entities["order"].stored or {}).items()}
    del stored["tags"]["makes"]
    older = msgspec.structs.replace(document.entities["order"], stored=stored)
    was = msgspec.structs.replace(document, entities={"order": older})
    assert was != document
    assert two_versions(was, table).differences == ()


def test_an_upcaster_says_what_becomes_of_a_value(db: Database) -> None:
    attributes = {n: t for n, t in ATTRIBUTES.items() if n != "note"} | {"remark": (str | None, None)}
    table, kind = order(attributes, patterns={"gsi1": in_state}, version=2)
    kind.upcast(1)(lambda item: {**item, "remark": item.pop("note", None)})
    plan = Migrations(db, table).plan()
    assert ("fill", "attribute.upcast", "Order.note") in [(e.kind, e.rule, e.subject) for e in plan.differences]
    Migrations(db, table).apply(plan)
    assert {each.remark for each in db.scan(kind)} == {"by hand", None}


def test_what_is_accepted_is_in_the_plan(db: Database) -> None:
    table = changed(note=None)
    with pytest.raises(PlanRefused, match=r"--accept attribute\.removed Order\.note"):
        Migrations(db, table).plan()
    for subject in ("Order.note", "order.note"):
        plan = Migrations(db, table).plan(accept=[("attribute.removed", subject)])
    assert [text.partition(":")[0] for text in plan.accepted] == ["attribute.removed Order.note"]
    Migrations(db, table).apply(plan)
    assert Migrations(db, table).plan().is_empty


def test_a_pattern_in_another_index_and_one_that_goes(db: Database) -> None:
    """The former keys are removed with the fill that writes the new ones."""
    for patterns in ({"gsi2": in_state}, {}):
        table, _ = order(ATTRIBUTES, patterns=patterns)
        plan = Migrations(db, table).plan()
        assert [step.kind for step in plan.steps] == ["fill", "record"]
        Migrations(db, table).apply(plan)
        assert db.check(table) == []


def test_a_class_that_goes(db: Database) -> None:
    table, _ = order({"number": int}, type="bill")
    with pytest.raises(PlanRefused):
        Migrations(db, table).plan()
    both, kind = order({"number": int}, type="bill", key=by_bill)
    order(ATTRIBUTES, patterns={"gsi1": in_state}, table=both)
    Migrations(db, both).apply()
    db.create(kind(number=1))
    alone, _ = order(ATTRIBUTES, patterns={"gsi1": in_state})
    assert refused(db, alone) == ("items left behind", [("class.removed", "bill", 1)])
    Migrations(db, alone).apply(accept=[("class.removed", "bill")])
    assert Migrations(db, alone).plan().is_empty
    again, _ = order({"number": int, "total": int}, type="bill", key=by_bill)
    order(ATTRIBUTES, patterns={"gsi1": in_state}, table=again)
    assert refused(db, again)[1] == [("attribute.required", "Order.total", 1)]  # it is compared with its former form
    db.delete(kind.by_key(1))
    assert [step.kind for step in Migrations(db, again).plan().steps] == ["record"]


def test_values_that_are_not_unique(db: Database) -> None:
    table = changed(note=(str | None, field(default=None, unique=True)))
    assert refused(db, table) == ("values not unique", [("unique.added", "Order.note", 9)])
    with pytest.raises(PlanRefused, match=r"9 items whose value an earlier item has: Order\.note: "):
        Migrations(db, table).plan()
    assert db.check(changed()) == []


def test_a_unique_value_that_is_a_stored_null(db: Database) -> None:
    """It reads as None, which no guard holds."""
    table = changed(note=(str | None, field(default=None, unique=True)))
    (model,) = table.models
    for item in db.run(all_items(db.port, "shop")):
        if item["_type"] == {"S": "order"} and item["number"] != {"N": "0"}:
            db.run(put_raw(db.port, model.kind, {**item, "note": {"NULL": True}}))
    assert "fill" in [step.kind for step in Migrations(db, table).plan().steps]


@dataclass
class Home:
    city: str
    flat: int | None = None


@dataclass
class Bare:
    city: str


def test_an_attribute_inside_of_one_that_goes(db: Database) -> None:
    """An object carries it, and its class reads it no more."""
    table, kind = order({"number": int, "home": Home}, type="visit")
    order({"number": int, "home": Bare}, type="visit", table=(later := Table("shop", indexes=["gsi1", "gsi2"])))
    order(ATTRIBUTES, patterns={"gsi1": in_state}, table=table)
    order(ATTRIBUTES, patterns={"gsi1": in_state}, table=later)
    Migrations(db, table).apply()
    db.write_many(puts=[kind(number=100 + n, home=Home("Rome", n or None)) for n in range(3)])
    assert refused(db, later)[1] == [("type.changed", "Order.home", 2)]


def test_a_table_without_a_record_that_a_class_cannot_read() -> None:
    with fresh() as db:
        table, kind = order({"number": int, "total": int})
        db.create_table(table)
        db.write_many(puts=[kind(number=n, total=n) for n in range(50)])
        other, _ = order({"number": int, "total": str})
        assert refused(db, other) == ("items unreadable", [("unreadable", "Order.total", 50)])
        plan = Migrations(db, other).plan(accept=[("unreadable", "Order.total")])
        assert plan.steps[-1].kind == "record"


def test_a_move_that_was_refused_at_its_end_and_is_rolled_back(db: Database) -> None:
    def in_customer(customer: str, number: int) -> Key:
        return f"customer#{customer}", f"{number}"

    def before(customer: str, number: int) -> Key:
        return f"order#{customer}", f"{number}"

    with fresh() as own:
        attributes = {"customer": str, "number": int, "note": (str, "")}
        old, old_kind = order(attributes, key=before)
        new, kind = order(attributes, key=in_customer, was=before)
        Migrations(own, old).apply()
        own.write_many(puts=[old_kind(customer="ada", number=n) for n in range(10)])
        own.put(kind(customer="ada", number=5, note="moved"))
        own.put(old_kind(customer="ada", number=5))
        with pytest.raises(Exception, match="can't be moved"):
            Migrations(own, new).apply()
        assert refused(own, old)[1] == [("key.changed", "Order", 10)]
        own.delete(old_kind.by_key("ada", 5))
        Migrations(own, new).apply()
        assert Migrations(own, new).plan().is_empty


# --- records ----------------------------------------------------------------------------------------------------------
def _older(table: Table) -> str:
    """The record as a library wrote it that knew no forms."""
    tree = msgspec.json.decode(document_of(table).text)
    for form in tree["entities"].values():
        for name in ("stored", "slots", "beside", "is_system"):
            form.pop(name, None)
    return msgspec.json.encode({name: each for name, each in tree.items() if name not in ("names", "layers")}).decode()


def _write_record(db: Database, table: Table, **facts: Any) -> None:
    record: Any = db.get(ModelRecord.of(table).only())
    db.put(replace(record, **facts))


def test_a_record_without_forms_is_read(db: Database) -> None:
    """What it lacks is unknown: the table is read once, and what it has is compared."""
    table = changed()
    _write_record(db, table, model=_older(table))
    with db.meter() as meter:
        plan = Migrations(db, table).plan()
    assert ([step.kind for step in plan.steps], plan.differences) == (["record"], ())
    assert meter.by_operation["Scan"].requests > 0
    for attributes, rule, items in (({"total": int}, "type.changed", 10), ({"note": None}, "attribute.removed", 10)):
        (subject,) = attributes
        assert refused(db, changed(**attributes))[1] == [(rule, f"Order.{subject}", items)]
    unique = changed(note=(str | None, field(default=None, unique=True)))
    assert refused(db, unique)[1] == [("unique.added", "Order.note", 9)]
    Migrations(db, table).apply()
    assert Migrations(db, table).plan().is_empty


def test_a_large_model_is_stored_compressed() -> None:
    """An item has 400 KB: 300 classes of 40 attributes take part of it."""
    table = Table("wide")
    for number in range(300):
        names = {f"attribute_{n}_of_class_{number}": (str | None, None) for n in range(40)}
        text = f"def key(number):\n    return f'c{number}#{{number}}', 'one'"
        scope: dict[str, Any] = {}
        exec(text, scope)
        order({"number": int, **names}, key=scope["key"], type=f"type_{number}", table=table)
    assert len(document_of(table).text) > 1_000_000
    with fresh() as db:
        Migrations(db, table).apply()
        assert Migrations(db, table).plan().is_empty
        record: Any = db.get(ModelRecord.of(table).only())
        assert record.model == ""
        assert len(record.packed) < 100_000
