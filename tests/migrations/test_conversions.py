"""A class in two, two in one: items are converted in a fill, at the plan's price, and nothing is lost."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timezone
from typing import Any

import pytest

from singletable import ANY, AsyncDatabase, Database, Entity, Key, Table, attr, copy_of, field
from singletable.errors import DeclarationError, NotFound, NotUnique
from singletable.graph import GraphTable, Node
from singletable.migrations import ApplyRefused, AsyncMigrations, Migrations, Outcome, Plan, PlanRefused, two_versions
from singletable.migrations.fill import segments_of
from tests.migrations.converting import Crm, back, company, contact, merging, new, old, person, splitting_off
from tests.migrations.watching import before_each, killed_at_every_request
from tests.support.engines import again, fresh
from tests.support.raw import all_items, put_raw
from tests.support.shells import opened


@pytest.fixture
def db() -> Iterator[Database]:
    with fresh() as made:
        yield made


def filled(db: Database, count: int = 30, companies: int = 20, *, shared: int = 10**6) -> Crm:
    """Contacts, each with a mail; the first `companies` of them work for one of `shared` companies."""
    crm = old()
    Migrations(db, crm.table).apply()
    for n in range(count):
        name = f"c{n % shared}" if n < companies else ""
        db.create(crm.Contact(id=n, mail=f"{n}@example.org", company=name, note=name and f"of {name}"))
    return crm


def types_in(db: Database) -> dict[str, int]:
    types = [item["_type"]["S"] for item in db.run(all_items(db.port, "crm"))]
    return {name: types.count(name) for name in types if name not in ("_apply", "_model")}


def as_planned(plan: Plan, outcome: Outcome, *, looks: int = 0) -> None:
    """The fill took what the plan said, with up to so many looks for guards fewer: of items that are read again."""
    (done,) = (done for done in outcome.done if done.step.kind == "fill")
    (step,) = (step for step in plan.steps if step.kind == "fill")
    assert (done.read_units, done.write_units) == (step.takes.read_units, step.takes.write_units)
    assert step.takes.requests - looks <= done.requests <= step.takes.requests


def is_split(db: Database, crm: Crm, count: int = 30, companies: int = 20) -> None:
    """Every contact is a person, with its company."""
    assert types_in(db) == {"person": count, "company": companies, "_unique": count}
    for n in range(count):
        name = f"c{n}" if n < companies else ""
        assert db.get(crm.Person.by_id(n)) == crm.Person(id=n, mail=f"{n}@example.org", company=name)
    assert db.get(crm.Company.by_name("c3")) == crm.Company(name="c3", note="of c3")
    assert (db.check(crm.table), Migrations(db, crm.table).plan().is_empty) == ([], True)


def test_a_class_becomes_two(db: Database) -> None:
    filled(db)
    crm = new()
    plan = Migrations(db, crm.table).plan()
    assert [step.name for step in plan.steps] == ["fill crm", "record crm"]
    assert plan.steps[0].what == "rewrite items: contact becomes person, company"
    assert plan.steps[0].takes.items == 30
    as_planned(plan, Migrations(db, crm.table).apply(plan))
    is_split(db, crm)
    assert [one.id for one in db.all(crm.Person.of_company("c7"))] == [7]
    with pytest.raises(NotUnique):
        db.create(crm.Person(id=99, mail="3@example.org"))


@pytest.mark.parametrize("shared", [10**6, 3])
def test_a_table_of_several_pages(db: Database, monkeypatch: pytest.MonkeyPatch, shared: int) -> None:
    """Persons lie after the contacts, so that they are read again; companies before them."""
    monkeypatch.setattr("singletable.migrations.fill.PAGE", 10)
    filled(db, 35, 25, shared=shared)
    plan = Migrations(db, new().table).plan(segments=3)  # one, as the engine's segments shift while items are put
    as_planned(plan, Migrations(db, new().table).apply(plan, segments=3), looks=1)
    assert segments_of(db.port, new().table, 3) == 1
    assert types_in(db) == {"person": 35, "company": min(25, shared), "_unique": 35}


def test_items_that_several_become(db: Database) -> None:
    """Contacts of one company make it once; the price of the others is that of a comparison."""
    filled(db, 12, 12, shared=3)
    crm = new()
    plan = Migrations(db, crm.table).plan()
    as_planned(plan, Migrations(db, crm.table).apply(plan))
    assert types_in(db) == {"person": 12, "company": 3, "_unique": 12}
    assert db.check(crm.table) == []


def test_different_items_under_one_key_are_counted(db: Database) -> None:
    crm = filled(db, 12, 12, shared=3)
    db.update(crm.Contact.by_id(7), attr(crm.Contact.note).set("another"))
    with pytest.raises(PlanRefused) as refused:
        Migrations(db, new().table).plan()
    (counted,) = refused.value.counted
    assert (refused.value.reason, counted.items, counted.keys) == ("items not converted", 1, ("contact#a7 / contact",))


def test_a_class_merges_into_one_that_is_there(db: Database) -> None:
    table = Table("crm", indexes=["gsi1"])
    Contact, Person = contact(table), person(table)
    Migrations(db, table).apply()
    for n in range(10):
        db.create(Contact(id=n, mail=f"{n}@example.org"))
        db.create(Person(id=100 + n, mail=f"p{n}@example.org"))
    crm = merging()
    plan = Migrations(db, crm.table).plan()
    assert {each.rule for each in plan.differences} == {"class.converted", "class.made"}
    as_planned(plan, Migrations(db, crm.table).apply(plan))
    assert types_in(db) == {"person": 20, "_unique": 20}
    assert db.check(crm.table) == []


def test_what_lies_there_and_differs_ends_the_apply(db: Database) -> None:
    filled(db, 5, 0)
    crm = merging()
    db.put(crm.Person(id=1, company="another"))
    db.create(crm.Person(id=90, mail="2@example.org"))
    with pytest.raises(ApplyRefused, match="2 items can't be moved"):
        Migrations(db, crm.table).apply()
    assert types_in(db) == {"person": 5, "contact": 2, "_unique": 6}
    db.delete(crm.Person.by_id(1))
    db.delete(crm.Person.by_id(90))
    Migrations(db, crm.table).apply()
    assert types_in(db) == {"person": 5, "_unique": 5}
    assert db.check(crm.table) == []


def test_a_part_is_split_off(db: Database) -> None:
    """The contact stays, with another mail, and the second fill has nothing to do."""
    filled(db, 12, 6)
    crm = splitting_off()
    plan = Migrations(db, crm.table).plan()
    assert plan.steps[0].takes.items == 6
    as_planned(plan, Migrations(db, crm.table).apply(plan))
    assert types_in(db) == {"contact": 12, "company": 6, "_unique": 12}
    assert db.get(crm.Contact.by_id(3)) == crm.Contact(id=3, mail="new3@example.org", company="c3")
    assert db.get(crm.Contact.by_id(9)) == crm.Contact(id=9, mail="9@example.org")
    assert db.check(crm.table) == []
    again = Migrations(db, crm.table).fill()
    assert (again.written, again.obsolete) == (0, ("Contact.becomes(Company)",))


def test_the_old_class_can_go_afterwards(db: Database) -> None:
    filled(db, 3)
    crm = new()
    assert Migrations(db, crm.table).fill().obsolete == ()
    assert Migrations(db, crm.table).fill().obsolete == ("Contact.becomes(Person, Company)",)
    Migrations(db, crm.table).apply()
    table = Table("crm", indexes=["gsi1"])
    person(table)
    company(table)
    assert [step.kind for step in Migrations(db, table).plan().steps] == ["record"]


async def test_in_both_shells() -> None:
    async with opened("awaiting") as shell:
        assert isinstance(shell, AsyncDatabase)
        crm = new()
        await shell.create_table(old().table)
        await shell.create(old().Contact(id=1, company="c"))
        assert (await AsyncMigrations(shell, crm.table).fill()).moved == 1
        assert await shell.get(crm.Person.by_id(1)) is not None


# --- killed, and beside others --------------------------------------------------------------------------------------
def test_killed_at_every_request(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("singletable.migrations.fill.PAGE", 4)
    filled(db, 8, 5)
    crm = new()

    def run(kills: int) -> None:
        types = types_in(db)
        assert types.get("contact", 0) + types.get("person", 0) == types["_unique"] == 8
        Migrations(db, crm.table).apply()

    assert killed_at_every_request(db, monkeypatch, run) > 20
    is_split(db, crm, 8, 5)


@pytest.mark.parametrize("at", [2, 6, 15])
def test_two_fills_at_once(db: Database, monkeypatch: pytest.MonkeyPatch, at: int) -> None:
    filled(db)
    crm, left = new(), at
    with again(db) as other:

        def fill_too(operation: Any) -> None:
            nonlocal left
            left -= 1
            if left == 0:
                Migrations(other, new().table).fill()

        with monkeypatch.context() as patched:
            before_each(db, patched, fill_too)
            Migrations(db, crm.table).fill()
    Migrations(db, crm.table).apply()
    is_split(db, crm)


def test_an_old_program_writes_meanwhile(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """No update that was acknowledged is lost: it is in the person, or the old program saw that the contact is gone."""
    before, crm = filled(db, 30, 0), new()
    names = dict.fromkeys(range(30), "")
    number = lost = 0
    with again(db) as other:

        def write(operation: Any) -> None:
            nonlocal number, lost
            number = (number + 7) % 30
            try:
                other.update(before.Contact.by_id(number), attr(before.Contact.company).set(f"x{number}"))
                names[number] = f"x{number}"
            except NotFound:
                lost += 1

        with monkeypatch.context() as patched:
            before_each(db, patched, write)
            filled_items = Migrations(db, crm.table).fill()
    assert (filled_items.contended, filled_items.twice, filled_items.unreadable) == (0, (), ())
    assert lost
    assert any(names.values())
    assert {one.id: one.company for one in db.scan(crm.Person)} == names
    assert {one.name for one in db.scan(crm.Company)} == {*names.values()} - {""}
    db.create(before.Contact(id=77))  # the old program's last word
    assert Migrations(db, crm.table).fill().moved == 1
    assert db.check(crm.table) == []


# --- what can't be converted ----------------------------------------------------------------------------------------
@pytest.mark.parametrize("wrong", ["raised LookupError", "returned nothing", "returned str", "another key", "one key"])
def test_a_function_that_fails_for_an_item(db: Database, wrong: str) -> None:
    filled(db, 4, 0)
    crm: Crm

    def function(one: Any) -> Any:
        if one.id != 2:
            return crm.Person(id=one.id, mail=one.mail)
        if wrong == "raised LookupError":
            raise LookupError(one.mail)
        person = crm.Person(id=one.id)
        answers: dict[str, Any] = {
            "returned nothing": None,
            "returned str": ["a"],
            "another key": [person, crm.Contact(id=77)],
            "one key": [person, person],
        }
        return answers[wrong]

    crm = new(function)
    with pytest.raises(PlanRefused) as refused:
        Migrations(db, crm.table).plan()
    (counted,) = refused.value.counted
    assert (counted.difference.place, counted.items) == (("class.converted", "Contact"), 1)
    with pytest.raises(ApplyRefused, match=wrong):
        Migrations(db, crm.table).apply(accept=[("class.converted", "Contact")])
    (finding,) = Migrations(db, crm.table).fill().unreadable
    assert wrong in finding.what
    assert "example.org" not in finding.what
    assert types_in(db)["contact"] == 1


def test_an_attribute_that_the_function_would_not_see(db: Database) -> None:
    filled(db, 2, 0)
    (item,) = (i for i in db.run(all_items(db.port, "crm")) if i["pk"] == {"S": "contact#a1"})
    db.run(put_raw(db.port, old().Contact, {**item, "phone": {"S": "+44"}}))
    with pytest.raises(PlanRefused, match="1 item that can't become what the function says: Contact") as refused:
        Migrations(db, new().table).plan()
    assert "#a1" not in str(refused.value), "the text of an error holds no key"
    assert refused.value.counted[0].keys == ("contact#a1 / contact",)
    assert "as contact#a1 / contact: Contact" in str(refused.value.counted[0])
    (finding,) = Migrations(db, new().table).fill().unreadable
    assert finding.what == "the function that converts Contact doesn't see the attribute 'phone'"
    assert types_in(db)["contact"] == 1


def test_an_expired_item_stays_for_dynamodb(db: Database) -> None:
    def declared(*, is_converted: bool) -> tuple[Table, Any, Any]:
        table = Table("crm", indexes=["gsi1"])

        class Visit(Entity, table=table, type="visit"):
            id: int
            ends: datetime = field(expires=True)

            @table.key
            @staticmethod
            def by_id(id: int = ANY) -> Key:
                return "visits", f"{id}"

        Person = person(table)
        if is_converted:
            Visit.becomes(Person)(lambda one: Person(id=one.id))
        return table, Visit, Person

    table, Visit, _ = declared(is_converted=False)
    Migrations(db, table).apply()
    now = datetime.now(timezone.utc).replace(microsecond=0)
    db.put(Visit(id=1, ends=now.replace(year=now.year - 1, day=1)))
    db.put(Visit(id=2, ends=now.replace(year=now.year + 1, day=1)))
    table, _, Person = declared(is_converted=True)
    Migrations(db, table).apply()
    assert types_in(db) == {"visit": 1, "person": 1}
    assert [one.id for one in db.scan(Person)] == [2]


def test_what_can_not_be_declared() -> None:
    table = Table("crm", indexes=["gsi1"])
    Contact, Person, other = contact(table), person(table), company(Table("other"))
    net = GraphTable("net", indexes=["gsi0"])

    class Knot(Node, table=net, type="KNOT"):
        name: str

    Contact.becomes(Person)(lambda one: one)
    Contact.becomes(Person)(lambda one: one)  # declared again, as in a notebook
    Visit, moving = person(Table("crm", indexes=["gsi1"], overlap="guard")), moved()
    for kind, into, why in (
        (Person, [Contact], "not converted themselves"),
        (Contact, [], "not converted themselves"),
        (Contact, [Contact], "not converted themselves"),
        (Contact, [other], "Company is not an entity of table crm"),
        (Contact, [str], "str is not an entity of table crm"),
        (Knot, [Knot], "Knot is written by its layer alone"),
        (Visit, [company(Visit.__table__)], 'overlap="guard"'),
        (moving, [company(moving.__table__)], "a key that was another"),
    ):
        with pytest.raises(DeclarationError, match=why):
            kind.becomes(*into)


def moved() -> Any:
    table = Table("moved", indexes=["gsi1"])

    def by_number(id: int) -> Key:
        return f"visit#{id}", "visit"

    class Visit(Entity, table=table, type="visit"):
        id: int

        @table.key(was=by_number)
        @staticmethod
        def by_id(id: int) -> Key:
            return f"v#{id}", "visit"

    return Visit


def test_copies_are_declared_in_a_second_step() -> None:
    table = Table("crm", indexes=["gsi1"])

    class Firm(Entity, table=table, type="firm"):
        name: str
        revision: int = field(version=True, default=0)

        @table.key
        @staticmethod
        def by_name(name: str) -> Key:
            return f"firm#{name}", "firm"

    class Visit(Entity, table=table, type="visit"):
        id: int
        firm: str = copy_of(Firm.name)

        @table.key
        @staticmethod
        def by_id(id: int) -> Key:
            return f"visit#{id}", "visit"

    for kind, into in ((Firm, company(table)), (contact(table), Visit)):
        with pytest.raises(DeclarationError, match="Visit has attributes that repeat another class's"):
            kind.becomes(into)


# --- two versions, and back -----------------------------------------------------------------------------------------
def test_what_programs_see_and_the_way_back(db: Database) -> None:
    before, crm, later = filled(db, 5, 2), new(), back()
    versions = two_versions(before.table, crm.table)
    assert versions.order[0].startswith("end the programs of the old version")
    assert "Contact" in versions.order[0]
    assert versions.order[1:] == ("apply the new declaration (fill)", "deploy the programs of the new version")
    (cell,) = versions.of("old", "after fill", "update", "Contact")
    assert cell.sees == ("NotFound (items written by the new version or the fill)",)
    (cell,) = versions.of("new", "before any step", "get", "Person")
    assert cell.sees == ("None (items written by the old version)",)
    assert any("a conversion the other way" in lost for lost in versions.lost)
    Migrations(db, crm.table).apply()
    assert db.get(before.Contact.by_id(1)) is None
    assert db.all(before.Contact.of_company("c1")) == []
    plan = Migrations(db, later.table).plan(purge=["company"])
    assert [step.kind for step in plan.steps] == ["fill", "purge", "record"]
    as_planned(plan, Migrations(db, later.table).apply(plan))
    assert db.get(before.Contact.by_id(1)) == before.Contact(id=1, mail="1@example.org", company="c1")
    assert types_in(db) == {"contact": 5, "_unique": 5}
    assert [step.kind for step in Migrations(db, before.table).plan().steps] == ["record"]
    assert db.check(before.table) == []
