"""Each row of the table in docs/how-to/change-a-model.md, on data: the change, its deployment, and the way back."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from enum import Enum
from typing import Any

import pytest
from msgspec import Struct

from singletable import ANY, Database, Table, field
from singletable.graph import Edge, Graph, GraphTable, Node
from singletable.migrations import Migrations, PlanRefused, two_versions
from tests.docs.pages import DOCS
from tests.migrations import converting
from tests.migrations.changing import order
from tests.migrations.test_two_versions import More, State, by_bill, by_number, contact, of_city, version
from tests.support.engines import fresh

PAGE = DOCS / "how-to" / "change-a-model.md"
PLAIN: dict[str, Any] = {}
SOON = datetime.now(timezone.utc).replace(microsecond=0) + timedelta(days=400)
MAIL: dict[str, Any] = {"mail": (str | None, None)}


class Sent(Enum):
    """The states under other values."""

    OPEN = "opened"


class Row(Struct, frozen=True):
    """A change on 10 items, one of which the new program puts."""

    old: dict[str, Any]
    new: dict[str, Any]
    rules: tuple[str, ...]
    plan: tuple[str, ...] | str
    """The steps of the plan, or the rule that it is refused by."""
    first: str
    """The beginning of the deployment."""
    back: tuple[str, ...] | str
    """As `plan`, for the old declaration after that."""
    values: dict[str, Any] = {}
    """New values, which the new program puts in one item."""
    stored: dict[str, Any] = {}
    """Values that all items have before."""
    declares: dict[str, Any] = {}
    """What the old declaration says in addition, to go back."""
    upcast: Callable[[dict[str, object]], dict[str, object]] | None = None
    purge: tuple[str, ...] = ()
    """The index whose remains are deleted."""


DEPLOY, APPLY, END, READ = "deploy the programs", "apply the new", "end the programs", "deploy programs that read"
COUNT = "plan against the table"
ROWS = {
    "an attribute is new, and may be absent": Row(
        PLAIN, {"attributes": {"more": (int, 0)}}, ("attribute.added",), ("record",), DEPLOY, "attribute.removed",
        {"more": 4},
    ),
    "an attribute is new, and required": Row(
        PLAIN, {"attributes": {"more": int}}, ("attribute.required",), "attribute.required", COUNT, (),
    ),
    "an attribute has another name in Python": Row(
        {"attributes": {"note": None, "text": (str, "")}},
        {"attributes": {"note": (str, field(default="", name="text"))}},
        ("attribute.renamed",), ("record",), DEPLOY, ("record",), {"note": "new"}, {"text": "old"},
    ),
    "an attribute may be None": Row(
        {"attributes": {"text": str}}, {"attributes": {"text": (str | None, None)}}, ("attribute.optional",),
        ("record",), READ, "attribute.required", {"text": None}, {"text": "old"},
    ),
    "an enum has a member more": Row(
        PLAIN, {"attributes": {"state": More}}, ("enum.gained",), ("record",), READ, "enum.lost",
        {"state": More.PAID},
    ),
    "an attribute has another type": Row(
        {"attributes": {"text": str}}, {"attributes": {"text": int}, "version": 2},
        ("version.raised", "type.changed"), ("fill", "record"), END, "older program", {"text": 5}, {"text": "7"},
        upcast=lambda item: {**item, "text": int(str(item["text"]))},
    ),
    "an attribute has another stored name": Row(
        {"attributes": {"text": str}},
        {"attributes": {"text": None, "title": (str, field(was="text", since=2))}, "version": 2},
        ("version.raised", "attribute.upcast"), ("fill", "record"), END, "older program", {"title": "new"},
        {"text": "old"},
    ),
    "a member of an enum has another value": Row(
        PLAIN, {"attributes": {"state": (Sent, field(was={"open": Sent.OPEN}, since=2))}, "version": 2},
        ("version.raised", "enum.lost"), ("fill", "record"), END, "older program", {"state": Sent.OPEN},
    ),
    "an index is new, with a pattern": Row(
        {"patterns": {}, "indexes": ()}, PLAIN, ("index.added", "pattern.changed"), ("add index", "fill", "record"),
        APPLY, ("drop index", "record"),
    ),
    "a pattern has other keys": Row(
        PLAIN, {"patterns": {"gsi1": of_city}}, ("pattern.changed",), ("fill", "record"), APPLY, ("fill", "record"),
    ),
    "the key is another": Row(
        PLAIN, {"key": by_bill, "was": by_number}, ("key.moves", "key.declared"), ("fill", "record"), END,
        ("fill", "record"), declares={"was": by_bill},
    ),
    "an attribute begins to expire": Row(
        {"attributes": {"ends": (datetime | None, None)}},
        {"attributes": {"ends": (datetime | None, field(expires=True, was="ends", since=2))}, "version": 2},
        ("version.raised", "attribute.upcast"), ("set", "fill", "record"), END, "older program", {"ends": SOON},
        {"ends": SOON},
    ),
    "an attribute no longer expires": Row(
        {"attributes": {"ends": (datetime | None, field(default=None, expires=True))}},
        {"attributes": {"ends": (datetime | None, field(default=None, was="_ttl", since=2))}, "version": 2},
        ("version.raised", "attribute.upcast"), ("fill", "unset", "record"), END, "older program", {"ends": SOON},
        {"ends": SOON},
    ),
    "a pattern is removed": Row(
        PLAIN, {"patterns": {}}, ("pattern.removed",), ("fill", "record"), END, ("fill", "record"),
    ),
    "an index is removed": Row(
        PLAIN, {"patterns": {}, "indexes": ()}, ("index.removed",), ("drop index", "purge", "record"), END,
        ("add index", "fill", "record"), purge=("gsi1",),
    ),
    "an attribute is unique": Row(
        {"attributes": MAIL}, {"attributes": {"mail": (str | None, field(default=None, unique=True))}},
        ("unique.added",), ("fill", "record"), APPLY, ("record",), {"mail": "new@example.org"},
        {"mail": "{n}@example.org"},
    ),
}  # fmt: skip


def rows_of_the_page() -> list[str]:
    lines = [line for line in PAGE.read_text().splitlines() if line.startswith("| ")]
    return [line.split(" | ")[0].removeprefix("| ") for line in lines[1:]]


def planned(db: Database, table: Table, purge: tuple[str, ...] = ()) -> tuple[str, ...] | str:
    """The kinds of the steps, or the rule or reason of a refusal."""
    try:
        return tuple(step.kind for step in Migrations(db, table).plan(purge=purge).steps)
    except PlanRefused as error:
        return error.counted[0].difference.rule if error.counted else error.reason


@pytest.mark.parametrize("name", ROWS)
def test_a_row(name: str) -> None:
    row = ROWS[name]
    (old, Old), (new, New) = version(**row.old), version(**row.new)
    if row.upcast is not None:
        New.upcast(1)(row.upcast)
    compared = two_versions(old, new)
    assert {difference.rule for difference in compared.differences} >= {*row.rules}
    assert compared.order[0].startswith(row.first)
    with fresh() as db:
        Migrations(db, old).apply()
        stored = [
            {name: value.format(n=n) if isinstance(value, str) else value for name, value in row.stored.items()}
            for n in range(10)
        ]
        for n, values in enumerate(stored):
            db.put(Old(number=n, state=State.OPEN, city="Bern", **values))
        assert planned(db, new, row.purge) == row.plan
        if isinstance(row.plan, tuple):
            state = New.__annotations__["state"].OPEN
            db.put(New(**{"number": 3, "state": state, "city": "Rome", **row.values}))
            Migrations(db, new).apply(purge=row.purge)
            assert planned(db, new, row.purge) == ()
            assert db.check(new) == []
            assert len([db.get(New.by_key(n)) for n in range(10)]) == 10
            put = db.get(New.by_key(3))
            assert {name: getattr(put, name) for name in row.values} == row.values
        back, Back = version(**{**row.old, **row.declares})
        assert planned(db, back) == row.back
        if isinstance(row.back, tuple):
            Migrations(db, back).apply()
            assert [n for n in range(10) if db.get(Back.by_key(n)) is None] == []
            assert {finding.code for finding in db.check(back)} <= {"guard.orphan", "guard.undeclared"}


TWO_FORMS = "an attribute is split, joined or renamed"


def test_two_forms() -> None:
    old, both, only = (contact(*options) for options in ((1, None), (2, 1), (2, None)))
    kinds: list[Any] = [table.models[0].kind for table in (old, both, only)]
    assert two_versions(old, both).order[0].startswith(DEPLOY)
    with fresh() as db:
        Migrations(db, old).apply()
        db.put(kinds[0](email="ada@example.org"))
        db.put(kinds[1](email="ben@example.org"))
        Migrations(db, both).apply()
        emails = ["ada@example.org", "ben@example.org"]
        assert [email for email in emails if db.get(kinds[0].by_email(email)) is None] == []
        db.put(kinds[0](email="cyd@example.org"))
        assert planned(db, only) == ("fill", "record")
        Migrations(db, only).apply()
        assert db.get(kinds[2].by_email("cyd@example.org")) is not None
        assert (db.check(only), planned(db, old)) == ([], "older program")


REMOVED = "a class is removed"


def test_a_class_that_is_removed() -> None:
    (old, Old), (new, New) = version(), version()
    _, Bill = order({"number": int, "mail": (str, field(unique=True))}, type="bill", key=by_bill, table=old)
    compared = two_versions(old, new)
    assert [difference.rule for difference in compared.differences] == ["class.removed"]
    assert compared.order[0].startswith(DEPLOY)
    with fresh() as db:
        Migrations(db, old).apply()
        db.put(Old(number=1, state=State.OPEN, city="Bern"))
        db.create(Bill(number=1, mail="ada@example.org"))
        assert planned(db, new) == "class.removed"
        assert planned(db, new, ("bill",)) == ("purge", "record")
        Migrations(db, new).apply(purge=["bill"])
        assert (planned(db, new), db.check(new)) == ((), [])
        assert db.get(New.by_key(1)) is not None
        assert planned(db, old) == ("record",)
        assert db.get(Bill.by_key(1)) is None


MIRRORS = "the mirrors of an edge are others"


def net(*mirrors: str) -> tuple[GraphTable, Any, Any]:
    table = GraphTable("net", indexes=["gsi0"])

    class Person(Node, table=table, type="PERSON"):
        name: str

    class Follow(Edge[Person, Person], table=table, type="FOLLOW", mirrors=mirrors):
        since: str
        place: str = ""

        @table.index("gsi0")
        @staticmethod
        def by_since(since: str = ANY) -> str:
            return f"{since}"

    return table, Person, Follow


def test_other_mirrors() -> None:
    (old, Person, Follow), (new, *_), (back, *_) = net("since"), net("since", "place"), net("since")
    compared = two_versions(old, new)
    assert [difference.rule for difference in compared.differences] == ["mirrors.changed"]
    assert compared.order[0].startswith(APPLY)
    with fresh() as db:
        Migrations(db, old).apply()
        ada, bob = (Person(id=name, name=name) for name in ("ada", "bob"))
        db.create(ada)
        db.create(bob)
        Graph(db).link(Follow(source=ada, target=bob, since="1843", place="London"))
        for table in (new, back):
            assert planned(db, table) == ("fill", "record")
            Migrations(db, table).apply()
            assert (planned(db, table), db.check(table)) == ((), [])


SPLIT = "a class becomes two"


def test_a_class_that_is_split() -> None:
    before, crm, later = converting.old(), converting.new(), converting.back()
    compared = two_versions(before.table, crm.table)
    assert {d.rule for d in compared.differences} == {"class.converted", "class.made", "class.added"}
    assert compared.order[0].startswith(END)
    with fresh() as db:
        Migrations(db, before.table).apply()
        for n in range(10):
            db.create(before.Contact(id=n, mail=f"{n}@example.org", company=f"c{n}"))
        assert planned(db, crm.table) == ("fill", "record")
        Migrations(db, crm.table).apply()
        assert (planned(db, crm.table), db.check(crm.table)) == ((), [])
        assert len([*db.scan(crm.Person), *db.scan(crm.Company)]) == 20
        assert planned(db, before.table) == "class.removed"
        assert planned(db, later.table, ("company",)) == ("fill", "purge", "record")
        Migrations(db, later.table).apply(purge=["company"])
        assert db.get(before.Contact.by_id(3)) == before.Contact(id=3, mail="3@example.org", company="c3")
        assert db.check(before.table) == []


MERGED = "two classes become one"


def test_two_classes_that_are_merged() -> None:
    both, merged = converting.merging(), converting.merging()
    both.table.conversions.clear()
    compared = two_versions(both.table, merged.table)
    assert {d.rule for d in compared.differences} == {"class.converted", "class.made"}
    assert compared.order[0].startswith(END)
    with fresh() as db:
        Migrations(db, both.table).apply()
        db.create(both.Contact(id=1, mail="1@example.org"))
        db.create(both.Person(id=2))
        assert planned(db, merged.table) == ("fill", "record")
        Migrations(db, merged.table).apply()
        assert (planned(db, merged.table), db.check(merged.table)) == ((), [])
        assert sorted(one.id for one in db.scan(merged.Person)) == [1, 2]
        assert planned(db, both.table) == ("record",)
        Migrations(db, both.table).apply()
        assert db.get(both.Contact.by_id(1)) is None


def test_the_page_has_these_rows() -> None:
    assert {*ROWS, TWO_FORMS, REMOVED, MIRRORS, SPLIT, MERGED} == {*rows_of_the_page()}
