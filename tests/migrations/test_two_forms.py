"""Items in two forms, while programs of two versions of a class write them: `stored_as=` and `downcast`."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from decimal import Decimal
from random import Random
from typing import Any

import pytest

from singletable import (
    ANY,
    ConditionFailed,
    Entity,
    InvalidRequest,
    InvalidValue,
    Key,
    NotFound,
    Table,
    VersionMoved,
    attr,
    field,
)
from singletable.errors import Corrupt, DeclarationError
from singletable.migrations import Migrations, PlanRefused
from singletable.migrations.fill import fill
from tests.support.engines import fresh
from tests.support.raw import all_items
from tests.support.shells import KINDS, Shell, opened

old, new, final = (Table("forms", indexes=["gsi1"]) for _ in range(3))


class OldPerson(Entity, table=old, type="person"):
    id: str
    name: str
    visits: int = 0
    revision: int = field(version=True, default=0)

    @old.key
    @staticmethod
    def by_id(id: str) -> Key:
        return f"person#{id}", "person"


class Person(Entity, table=new, type="person", version=2, stored_as=1):
    """The name in two, and the count of visits under another name."""

    id: str
    first: str
    last: str
    seen: int = 0
    revision: int = field(version=True, default=0)

    @new.key
    @staticmethod
    def by_id(id: str) -> Key:
        return f"person#{id}", "person"

    @new.index("gsi1")
    @staticmethod
    def by_last(last: str, id: str = ANY) -> Key:
        return f"last#{last}", f"{id}"


class LastPerson(Entity, table=final, type="person", version=2):
    """The same, once the older programs are gone."""

    id: str
    first: str
    last: str
    seen: int = 0
    revision: int = field(version=True, default=0)

    @final.key
    @staticmethod
    def by_id(id: str) -> Key:
        return f"person#{id}", "person"

    @final.index("gsi1")
    @staticmethod
    def by_last(last: str, id: str = ANY) -> Key:
        return f"last#{last}", f"{id}"


@Person.upcast(1)
@LastPerson.upcast(1)
def split(item: dict[str, Any]) -> dict[str, Any]:
    first, _, last = item.pop("name").partition(" ")
    seen = item.pop("visits")
    return {**item, "first": first, "last": last, "seen": seen}


@Person.downcast(2)
def join(item: dict[str, Any]) -> dict[str, Any]:
    name, seen = f"{item.pop('first')} {item.pop('last')}", item.pop("seen")
    return {**item, "name": name, "visits": seen}


KEY, OLD_KEY = Person.by_id("1"), OldPerson.by_id("1")


@pytest.fixture(params=KINDS)
async def db(request: pytest.FixtureRequest) -> AsyncIterator[Shell]:
    async with opened(request.param) as shell:
        await shell.create_table(new)
        yield shell


def ada(**changed: Any) -> Person:
    return replace(Person(id="1", first="Ada", last="Lovelace"), **changed)


async def test_both_programs_read_what_either_writes(db: Shell) -> None:
    await db.create(ada())
    assert await db.get(OLD_KEY) == OldPerson(id="1", name="Ada Lovelace", revision=1)
    assert await db.get(KEY) == ada(revision=1)
    await db.update(OLD_KEY, attr(OldPerson.name).set("Ada King"))
    assert await db.get(KEY) == ada(last="King", revision=2)
    with db.meter() as meter:
        changed = await db.update(KEY, attr(Person.first).set("Augusta"), attr(Person.seen).add(2))
    assert changed == ada(first="Augusta", last="King", seen=2, revision=3)
    assert meter.requests == 4  # the older program's write is brought into step first
    assert await db.get(OLD_KEY) == OldPerson(id="1", name="Augusta King", visits=2, revision=3)
    with db.meter() as meter:
        await db.update(KEY, attr(Person.first).set("Ada"))
    assert meter.requests == 2
    await db.put(OldPerson(id="1", name="Ada Byron", revision=4))
    await db.upsert(ada(last="Noel", revision=5))
    assert await db.get(OLD_KEY) == OldPerson(id="1", name="Ada Noel", revision=6)
    assert [person.last for person in await db.all(Person.by_last("Noel"))] == ["Noel"]
    assert await db.check(new) == []


async def test_conditions_see_the_newer_form(db: Shell) -> None:
    await db.create(ada())
    await db.update(OLD_KEY, attr(OldPerson.name).set("Ada King"))
    with pytest.raises(ConditionFailed):
        await db.update(KEY, attr(Person.seen).add(1), where=attr(Person.last) == "Lovelace")
    changed = await db.update(KEY, attr(Person.seen).add(1), where=attr(Person.last) == "King")
    assert changed.seen == 1
    with pytest.raises(VersionMoved):
        await db.update(KEY, attr(Person.seen).add(1), expected=1)
    with pytest.raises(NotFound):
        await db.update(Person.by_id("2"), attr(Person.seen).add(1))


async def test_what_can_not_be_kept_in_step_is_refused(db: Shell) -> None:
    await db.create(ada())
    with pytest.raises(InvalidRequest, match="stored_as=1"):
        async with db.transaction() as tx:
            tx.update(KEY, attr(Person.seen).add(1))
    with pytest.raises(InvalidRequest, match="stored_as=1"):
        await db.get(KEY.only(Person.last))
    with pytest.raises(InvalidValue, match="a part of it would be lost"):
        await db.create(Person(id="2", first="Ada Augusta", last="King"))
    async with db.transaction() as tx:
        tx.put(ada(revision=1, last="King"))
    assert (await db.get(OLD_KEY)) == OldPerson(id="1", name="Ada King", revision=2)


async def test_without_the_older_programs(db: Shell) -> None:
    """The fill brings the forms into step; then, without `stored_as`, it leaves the newer one alone."""
    for n in range(6):
        await db.create(OldPerson(id=str(n), name=f"Ada L{n}", visits=n))
    filled = await db.run(fill(db.port, new))
    assert (filled.written, filled.contended) == (6, 0)
    assert (await db.run(fill(db.port, new))).written == 0
    assert [p.seen for p in await db.all(Person.by_last("L3"))] == [3]
    assert await db.get(OldPerson.by_id("3")) == OldPerson(id="3", name="Ada L3", visits=3, revision=1)
    await db.update(OldPerson.by_id("3"), attr(OldPerson.visits).add(1))
    assert (await db.run(fill(db.port, new))).written == 1
    assert (await db.run(fill(db.port, final))).written == 6
    assert await db.get(LastPerson.by_id("3")) == LastPerson(id="3", first="Ada", last="L3", seen=4, revision=2)
    assert await db.get(Person.by_id("3")) == Person(id="3", first="Ada", last="L3", seen=4, revision=2)
    stored = await db.run(all_items(db.port, "forms"))
    assert not any({"name", "visits"} & item.keys() for item in stored)
    with pytest.raises(Corrupt):
        await db.get(OldPerson.by_id("3"))


def test_the_old_program_is_back_until_its_form_goes() -> None:
    with fresh() as db:
        Migrations(db, old).apply()
        db.create(OldPerson(id="0", name="Ada King", visits=1))
        Migrations(db, new).apply()
        db.create(ada())
        back = Migrations(db, old).plan()
        assert [(step.kind, step.takes.items) for step in back.steps] == [("fill", 2), ("record", 1)]  # keys in gsi1
        assert {difference.rule for difference in back.differences} >= {"version.both", "attribute.upcast"}
        Migrations(db, old).apply(back)
        assert [db.get(OldPerson.by_id(n)) for n in "01"] == [
            OldPerson(id="0", name="Ada King", visits=1, revision=1),
            OldPerson(id="1", name="Ada Lovelace", revision=1),
        ]
        Migrations(db, final).apply()
        with pytest.raises(PlanRefused, match="schema version 2; this program has 1"):
            Migrations(db, old).plan()


@pytest.mark.parametrize("seed", range(3))
async def test_no_write_of_either_is_lost(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    """The older program counts between each two requests of the newer one's updates."""
    random, counted = Random(seed), 0
    async with opened("blocking") as db, opened("blocking", db.target.endpoint.url) as other:
        await db.create(ada())
        send = db.port.send

        async def watched(operation: Any) -> Any:
            nonlocal counted
            if random.random() < 0.4:
                await other.update(OLD_KEY, attr(OldPerson.visits).add(1))
                counted += 1
            return await send(operation)

        monkeypatch.setattr(db.port, "send", watched)
        for n in range(8):
            await db.update(KEY, attr(Person.seen).add(1), attr(Person.last).set(f"L{n}"))
        monkeypatch.undo()
        assert counted
        assert await db.get(KEY) == ada(last="L7", seen=8 + counted, revision=9 + counted)
        assert await db.get(OLD_KEY) == OldPerson(id="1", name="Ada L7", visits=8 + counted, revision=9 + counted)


rich = Table("rich")


@dataclass
class Place:
    name: str
    tags: set[str]


class Rich(Entity, table=rich, type="rich", version=2, stored_as=1):
    """Of every kind of value, as sets have no order and bytes are sent in base64."""

    id: str
    words: set[str]
    numbers: set[int]
    blob: bytes
    blobs: set[bytes]
    price: Decimal
    weight: float
    place: Place
    places: list[Place]

    @rich.key
    @staticmethod
    def by_id(id: str) -> Key:
        return f"rich#{id}", "rich"


@Rich.upcast(1)
def to_words(item: dict[str, Any]) -> dict[str, Any]:
    words = item.pop("texts")
    return {**item, "words": words}


@Rich.downcast(2)
def to_texts(item: dict[str, Any]) -> dict[str, Any]:
    words = item.pop("words")
    return {**item, "texts": words}


async def test_values_of_every_kind() -> None:
    place = Place("x", {"m", "k", "z"})
    made = Rich(
        id="1",
        words=set("qwertz"),
        numbers={5, 1, 100, 30},
        blob=b"\x00\xff",
        blobs={b"a", b"\xff"},
        price=Decimal("1.50"),
        weight=1e20,
        place=place,
        places=[place, Place("y", {"3", "1", "2"})],
    )
    async with opened("blocking") as db:
        await db.create(made)
        assert await db.get(Rich.by_id("1")) == made
        assert (await db.run(fill(db.port, rich))).written == 0
        with db.meter() as meter:
            updates = attr(Rich.price).set(Decimal(100)), attr(Rich.words).include({"x"})
            changed = await db.update(Rich.by_id("1"), *updates)
        assert changed == replace(made, price=Decimal(100), words={*"qwertzx"})
        assert meter.requests == 2
        stored = (await db.run(all_items(db.port, "rich")))[0]
        assert set(stored["texts"]["SS"]) == set(stored["words"]["SS"]) == changed.words


def declared(version: int, stored_as: int) -> type[Entity]:
    class Thing(Entity, table=Table("things"), type="thing", version=version, stored_as=stored_as):
        id: str

    return Thing


def test_what_is_refused_by_name() -> None:
    table = Table("things")

    class Thing(Entity, table=table, type="thing", version=3, stored_as=1):
        id: str

        @table.key
        @staticmethod
        def by_id(id: str) -> Key:
            return f"thing#{id}", "thing"

    @Thing.downcast(2)
    def second(item: dict[str, Any]) -> dict[str, Any]:
        return item

    with pytest.raises(DeclarationError, match=r"Thing has stored_as=1, and no inverse of upcast\(2\)") as caught:
        Thing.__model__.item(Thing(id="x"))  # type: ignore[union-attr]
    assert "@Thing.downcast(3)" in str(caught.value)
    for version in (1, 2, 4):
        with pytest.raises(DeclarationError, match=r"Thing\.downcast"):
            Thing.downcast(version)(second)
    for stored_as in (-1, 3):
        with pytest.raises(DeclarationError, match="is of version 2"):
            declared(2, stored_as)
