"""A search that a class has anew, changes or loses, on items that are there: the plan, the fill, and two programs."""

from __future__ import annotations

import types
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import pytest

from singletable import ANY, Database, Entity, Key, Table, attr, field, starting_with
from singletable.migrations import Migrations
from singletable.records.flows import repair
from tests.migrations.watching import Killed, before_each
from tests.support.engines import fresh
from tests.support.raw import all_items


def declared(search: Callable[..., Key] | None = None) -> tuple[Table, Any]:
    """People, with a search or without."""
    table = Table("people")
    more = {} if search is None else {"by_word": table.search(staticmethod(search))}

    def by_id(id: int) -> Key:
        return f"person#{id}", "person"

    names: dict[str, Any] = {
        "__annotations__": {"id": int, "team": str, "name": str},
        "name": "",
        "by_id": table.key(staticmethod(by_id)),
        **more,
    }
    return table, types.new_class(
        "Person", (Entity,), {"table": table, "type": "person"}, lambda body: body.update(names)
    )


def of_team(team: str, name: str = ANY) -> Key:
    return f"{team}", f"{name:words(3)}"


def of_all(name: str = ANY) -> Key:
    return "all", f"{name:words(2)}"


def made(table: Table, names: dict[str, Any]) -> Any:
    keywords = {"table": table, "type": "person"}
    return types.new_class("Person", (Entity,), keywords, lambda body: body.update(names))


@pytest.fixture
def db() -> Iterator[Database]:
    with fresh() as db:
        table, person = declared()
        db.create_table(table)
        Migrations(db, table).apply()
        db.write_many(puts=[person(id=n, team=f"t{n % 2}", name=f"Ada {n:02} King") for n in range(20)])
        yield db


def found(db: Database, person: Any, *asked: Any) -> list[int]:
    return sorted(one.id for one in db.all(person.by_word(*asked)))


def words(db: Database) -> int:
    return sum(item["_type"] == {"S": "_word"} for item in all_of(db))


def all_of(db: Database) -> list[Any]:
    return db.run(all_items(db.port, "people"))


def test_a_new_search_is_a_fill_at_its_price(db: Database) -> None:
    table, person = declared(of_team)
    plan = Migrations(db, table).plan()
    assert [step.name for step in plan.steps] == ["fill people", "record people"]
    assert plan.steps[0].what == "rewrite items: person with search by_word in {team} (text) of name (words 3 1)"
    filled, _ = Migrations(db, table).apply(plan).done
    takes = filled.step.takes
    assert (filled.requests, filled.read_units, filled.write_units) == (
        takes.requests,
        takes.read_units,
        takes.write_units,
    )
    assert (words(db), db.check(table)) == (60, [])
    assert found(db, person, "t0", starting_with("kin")) == [*range(0, 20, 2)]
    assert found(db, person, "t1", starting_with("ad 07")) == [7]
    assert Migrations(db, table).apply().done == ()


def test_another_scope_or_count_is_another_search(db: Database) -> None:
    Migrations(db, declared(of_team)[0]).apply()
    table, person = declared(of_all)
    plan = Migrations(db, table).plan()
    assert {difference.rule for difference in plan.differences} == {"beside.added", "beside.removed"}
    Migrations(db, table).apply(plan)
    assert found(db, person, starting_with("ad")) == [*range(20)]
    orphans = db.check(table)
    assert {finding.code for finding in orphans} == {"word.orphan"}
    assert len(orphans) == 60
    assert {one.outcome for one in repaired(db, table, orphans)} == {"mended"}
    assert (words(db), db.check(table)) == (40, [])


def repaired(db: Database, table: Table, findings: Any) -> Any:
    return db.run(repair(db.port, table, findings))


def test_a_search_that_goes_leaves_words_which_a_purge_deletes(db: Database) -> None:
    Migrations(db, declared(of_team)[0]).apply()
    table, person = declared()
    plan = Migrations(db, table).plan()
    assert [difference.rule for difference in plan.differences] == ["beside.removed"]
    Migrations(db, table).apply()
    assert words(db) == 60
    Migrations(db, table).apply(purge=["person"])
    assert (words(db), sum(1 for _ in db.scan(person))) == (0, 20)


def test_an_old_program_writes_no_words_and_a_check_mends_that(db: Database) -> None:
    table, person = declared(of_team)
    Migrations(db, table).apply()
    _, older = declared()
    db.update(older.by_id(0), attr(older.name).set("Zoe"))
    db.create(older(id=50, team="t0", name="Bea Bo"))
    db.delete(older.by_id(2))
    assert found(db, person, "t0", starting_with("be")) == []
    assert 0 not in found(db, person, "t0", starting_with("ada"))  # the item says who it is, not its words
    findings = db.check(table)
    assert sorted({finding.code for finding in findings}) == ["word.missing", "word.orphan"]
    repaired(db, table, findings)
    assert db.check(table) == []
    assert found(db, person, "t0", starting_with("zo")) == [0]
    assert found(db, person, "t0", starting_with("bo")) == [50]
    assert Migrations(db, table).fill().completed == 0


@pytest.mark.parametrize("dies_at", range(1, 40, 7))
def test_a_fill_that_is_killed_goes_on(db: Database, monkeypatch: pytest.MonkeyPatch, dies_at: int) -> None:
    monkeypatch.setattr("singletable.migrations.fill.PAGE", 5)
    table, person = declared(of_team)
    left = dies_at

    def happens(operation: Any) -> None:
        nonlocal left
        left -= 1
        if left == 0:
            raise Killed

    with monkeypatch.context() as patched:
        before_each(db, patched, happens)
        with suppress(Killed):
            Migrations(db, table).fill()
    Migrations(db, table).fill()
    assert (words(db), db.check(table)) == (60, [])
    assert found(db, person, "t1", starting_with("king 1")) == [11, 13, 15, 17, 19]


def by_number(id: int) -> Key:
    return f"number#{id}", "number"


def test_words_go_along_where_an_item_moves(db: Database) -> None:
    Migrations(db, declared(of_team)[0]).apply()
    table = Table("people")

    def old(id: int) -> Key:
        return f"person#{id}", "person"

    names: dict[str, Any] = {
        "__annotations__": {"id": int, "team": str, "name": str},
        "by_number": table.key(was=old)(staticmethod(by_number)),
        "by_word": table.search(staticmethod(of_team)),
    }
    person: Any = types.new_class(
        "Person", (Entity,), {"table": table, "type": "person"}, lambda body: body.update(names)
    )
    assert found(db, person, "t0", starting_with("ad 04")) == [4]  # it lies under its old key still
    db.update(person.by_number(4), attr(person.name).set("Eve"))
    assert found(db, person, "t0", starting_with("ev")) == [4]
    Migrations(db, table).apply()
    assert db.check(table) == []
    assert found(db, person, "t0", starting_with("king")) == [0, 2, *range(6, 20, 2)]
    assert words(db) == 58


def last_version() -> tuple[Table, Any]:
    """People whose second version has another attribute, which makes a guard and words."""
    table = Table("people")

    class Person(Entity, table=table, type="person", version=2):
        id: int
        called: str = field(unique=True)

        @table.key
        @staticmethod
        def by_id(id: int) -> Key:
            return f"person#{id}", "person"

        @table.search
        @staticmethod
        def by_word(called: str = ANY) -> Key:
            return "all", f"{called:words(3)}"

    @Person.upcast(1)
    def called(item: dict[str, Any]) -> dict[str, Any]:
        return {"id": item["id"], "called": item["name"]}

    return table, Person


def put_in_transaction(db: Database, entity: Any) -> None:
    with db.transaction() as tx:
        tx.put(entity)


@pytest.mark.parametrize("verb", [Database.put, Database.upsert, put_in_transaction])
def test_an_item_of_the_version_before_is_written_over_with_its_words(db: Database, verb: Callable[..., Any]) -> None:
    """What was read of it is what its upcast made: a condition on that would be refused for ever."""
    _, person = last_version()
    verb(db, person(id=3, called="Zoe Last"))
    assert [each.called for each in db.all(person.by_word(starting_with("last")))] == ["Zoe Last"]
    deleted = db.delete(person.by_id(4))
    assert deleted is not None
    assert deleted.called == "Ada 04 King"
    assert (db.get(person.by_id(4)), len(db.all(person.by_word()))) == (None, 1)
