"""`db.check` sees each fault of records that is planted in an otherwise sound table, and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime, timezone
from typing import Any

import pytest

from singletable import Database, Entity, Key, Table, field
from singletable.errors import NotUnique
from singletable.migrations import Migrations
from singletable.operations import RAW, DeleteItem, RawCondition
from singletable.operations.table import TableCall
from singletable.schema import KeyOf, copy_of, model_of
from singletable.schema.guard_items import guard_key, guards_of
from singletable.schema.searches import digest_of
from singletable.tables import wait_until_active
from tests.oracle.planting import assert_command_finds, assert_found, delete, edit, put
from tests.support.engines import fresh

app = Table("oracle-records", indexes=["gsi1"])
ENDS = datetime(2100, 1, 1, tzinfo=timezone.utc)


class Person(Entity, table=app, type="person"):
    id: str
    email: str = field(unique=True)
    city: str

    @app.key
    @staticmethod
    def by_id(id: str) -> Key:
        return f"person#{id}", "person"

    @app.index("gsi1")
    @staticmethod
    def by_city(city: str, id: str) -> Key:
        return f"city#{city}", f"person#{id}"


class Place(Entity, table=app, type="place"):
    """Found by the words of its name."""

    id: str
    city: str
    name: str

    @app.key
    @staticmethod
    def by_id(id: str) -> Key:
        return f"place#{id}", "place"

    @app.search
    @staticmethod
    def by_word(city: str, name: str) -> Key:
        return f"{city}", f"{name:words(2)}"


class Team(Entity, table=app, type="team"):
    id: str
    name: str
    revision: int = field(version=True, default=0)

    @app.key
    @staticmethod
    def by_team(id: str) -> Key:
        return f"team#{id}", "team"


class Member(Entity, table=app, type="member"):
    """A copy, whose source is named by the attribute `id`."""

    id: str
    person: str
    team_name: str = copy_of(Team.name)

    @app.key
    @staticmethod
    def of_team(id: str, person: str) -> Key:
        return f"team#{id}", f"member#{person}"


class Session(Entity, table=app, type="session"):
    """Its guard and its words expire with it."""

    id: str
    device: str = field(unique=True)
    name: str
    kind: str = "web"
    ends: datetime | None = field(expires=True, default=None)

    @app.key
    @staticmethod
    def by_id(id: str) -> Key:
        return f"session#{id}", "session"

    @app.search
    @staticmethod
    def by_word(kind: str, name: str) -> Key:
        return f"{kind}", f"{name:words(2)}"


def paper_by_number(number: int) -> Key:
    """Where papers lay."""
    return f"paper#{number}", "paper"


class Paper(Entity, table=app, type="paper"):
    number: int
    author: str

    @app.key(was=paper_by_number)
    @staticmethod
    def of_author(author: str, number: int) -> Key:
        return f"author#{author}", f"paper#{number}"


@pytest.fixture
def db() -> Iterator[Database]:
    with fresh() as made:
        for id in ("a", "b"):
            made.create(Person(id=id, email=f"{id}@example.org", city="Oslo"))
            made.create(Place(id=id, city="Oslo", name=f"old {id}"))
        for id, ends in (("s", ENDS), ("t", None)):
            made.create(Session(id=id, device=id, name=f"old {id}", ends=ends))
        made.create(Team(id="t", name="Blue"))
        made.create(Member(id="t", person="a", team_name="Blue"))
        assert made.check(app) == []
        yield made


A = Person.by_id("a")


def guard_of(email: str) -> KeyOf[Any]:
    return guard_key(model_of(Person), "email", email)


def elsewhere(db: Database) -> None:
    """An item under the key of another, with a guard that names that key."""
    stray = Person(id="c", email="c@example.org", city="Oslo")
    put(db, Person, {**model_of(Person).item(stray), "pk": {"S": "person#d"}})
    guards = model_of(guards_of(app))
    made = {"type": "person", "attribute": "email", "value": "c@example.org"}
    put(db, Person, guards.item(guards.kind(**made, owner="person#d", owner_sort="person")))


def under_both_keys(db: Database) -> None:
    """As an older program leaves it that knows the old key only."""
    db.create(Paper(number=1, author="ada"))
    item = model_of(Paper).item(Paper(number=1, author="ada"))
    put(db, Person, {**item, "pk": {"S": "paper#a1"}, "sk": {"S": "paper"}})


def smaller_index(db: Database) -> None:
    """As another program makes it: without the attributes."""
    update = {"TableName": app.name, "GlobalSecondaryIndexUpdates": [{"Delete": {"IndexName": "gsi1"}}]}
    db.run(db.port.send(TableCall("UpdateTable", update)))
    db.run(wait_until_active(db.port, app.definition))
    made = {**app.definition.index_creation("gsi1"), "Projection": {"ProjectionType": "KEYS_ONLY"}}
    attributes = app.definition.creation()["AttributeDefinitions"]
    update = {**update, "AttributeDefinitions": attributes, "GlobalSecondaryIndexUpdates": [{"Create": made}]}
    db.run(db.port.send(TableCall("UpdateTable", update)))
    db.run(wait_until_active(db.port, app.definition))


GUARD_OF_NOBODY: dict[str, Any] = {
    "pk": {"S": "_unique#person#email#z@example.org"},
    "sk": {"S": "_unique"},
    "_type": {"S": "_unique"},
    "_v": {"N": "1"},
    "owner": {"S": "person#z"},
    "owner_sort": {"S": "person"},
}
WORD: dict[str, Any] = {
    "pk": {"S": "_word#place#by_word#Oslo"},
    "sk": {"S": f"_word#a#{digest_of(('place#a', 'place'))}"},
    "_type": {"S": "_word"},
    "_v": {"N": "1"},
    "owner": {"S": "place#a"},
    "owner_sort": {"S": "place"},
}


def drop_word(db: Database) -> None:
    db.run(db.port.send(DeleteItem(app.name, {name: WORD[name] for name in ("pk", "sk")}, RawCondition(), RAW)))


PLANTED: dict[str, tuple[list[str], Callable[[Database], None]]] = {
    "a type of no class": (
        ["type.unknown"],
        lambda db: put(db, Person, {"pk": {"S": "x"}, "sk": {"S": "x"}, "_type": {"S": "planet"}}),
    ),
    "no type": (["type.unknown"], lambda db: put(db, Person, {"pk": {"S": "x"}, "sk": {"S": "x"}})),
    "an attribute of another type": (["item.unreadable"], lambda db: edit(db, A, city={"N": "1"})),
    "a schema version to come": (["item.unreadable"], lambda db: edit(db, A, _v={"N": "2"})),
    "a guard without its owner": (
        ["item.unreadable"],
        lambda db: put(db, Person, {n: v for n, v in GUARD_OF_NOBODY.items() if n != "owner"}),
    ),
    "another key than the attributes make": (["key.wrong"], elsewhere),
    "an item under both of its keys": (["key.twice"], under_both_keys),
    "an index key of before": (["index-key.stale"], lambda db: edit(db, A, gsi1pk={"S": "city#Rome"})),
    "no index key": (["index-key.stale"], lambda db: edit(db, A, gsi1sk=None)),
    "a value without its guard": (["guard.missing"], lambda db: delete(db, guard_of("a@example.org"))),
    "an index that holds less": (["index.smaller"], smaller_index),
    "a copy of before": (["copy.behind"], lambda db: edit(db, Member.of_team("t", "a"), team_name={"S": "Red"})),
    "a guard without an item": (["guard.orphan"], lambda db: put(db, Person, GUARD_OF_NOBODY)),
    "an item without one of its words": (["word.missing"], drop_word),
    "a word of nobody": (
        ["word.orphan"],
        lambda db: put(db, Person, {**WORD, "sk": {"S": "_word#z#00"}, "owner": {"S": "place#z"}}),
    ),
    "a word that its item has no more": (
        ["word.orphan"],
        lambda db: put(db, Person, {**WORD, "sk": {"S": WORD["sk"]["S"].replace("#a#", "#zoe#")}}),
    ),
    "a place that a newer program wrote": (["item.unreadable"], lambda db: edit(db, Place.by_id("a"), _v={"N": "2"})),
    "a place of another name": (
        ["word.missing", "word.orphan", "word.orphan"],
        lambda db: edit(db, Place.by_id("a"), name={"S": "new"}),
    ),
    "a word of another item": (
        ["word.missing", "word.orphan"],
        lambda db: put(db, Person, {**WORD, "owner": {"S": "place#b"}}),
    ),
    "an expiry that another program wrote": (
        ["guard.expiry", "word.expiry"],
        lambda db: edit(db, Session.by_id("s"), _ttl={"N": "4102444801"}),
    ),
    "an expiry that another program took away": (
        ["guard.expiry", "word.expiry"],
        lambda db: edit(db, Session.by_id("s"), _ttl=None),
    ),
    "an expiry that another program gave": (
        ["guard.expiry", "word.expiry"],
        lambda db: edit(db, Session.by_id("t"), _ttl={"N": "4102444800"}),
    ),
    "a second guard of an item": (
        ["guard.orphan"],
        lambda db: put(db, Person, {**GUARD_OF_NOBODY, "owner": {"S": "person#a"}}),
    ),
}


@pytest.mark.parametrize("fault", PLANTED)
def test_a_planted_fault_is_found_and_nothing_else(db: Database, fault: str) -> None:
    wanted, plant = PLANTED[fault]
    plant(db)
    assert_found(lambda: db.check(app), wanted)
    assert_command_finds(db, __name__, wanted)


@pytest.mark.parametrize("ends", [None, {"N": "4102444801"}])
def test_what_expires_apart_is_repaired(db: Database, ends: Any) -> None:
    edit(db, Session.by_id("s"), _ttl=ends)
    findings = db.check(app)
    assert {repaired.outcome for repaired in Migrations(db, app).repair(findings)} == {"mended"}
    assert db.check(app) == []
    with pytest.raises(NotUnique):
        db.create(Session(id="other", device="s", name="new"))
