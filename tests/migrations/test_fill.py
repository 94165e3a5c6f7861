"""A fill: index keys that items lack and older schema versions, beside writers of two programs, killed anywhere."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from random import Random
from typing import Any

import pytest

from singletable import AsyncDatabase, Database, InvalidRequest, attr
from singletable.errors import Corrupt, Throttled
from singletable.flow import Rate
from singletable.migrations import AsyncMigrations, Filled, Migrations
from singletable.migrations.items import FillPart
from singletable.operations import PutItem, Query
from singletable.tables.admin import add_index
from tests.migrations.models import OldPerson, OldPlace, Person, Place, new, old, written
from tests.support.engines import again, fresh
from tests.support.raw import all_items, put_raw
from tests.support.sampling import sampled
from tests.support.shells import opened

CITIES = (None, "Bern", "Oslo")


def people(count: int) -> list[OldPerson]:
    return [OldPerson(id=n, name=f"Ada L{n}", city=CITIES[n % 3], visits=n) for n in range(count)]


def places(count: int) -> list[OldPlace]:
    return [OldPlace(id=n, kind="park" if n % 2 else "café") for n in range(count)]


@pytest.fixture
def db() -> Iterator[Database]:
    with fresh() as made:
        made.create_table(old)
        made.write_many(puts=places(60))
        for person in people(60):
            made.create(person)
        made.run(add_index(made.port, new.definition, "gsi1"))
        yield made


def is_filled(db: Database, expected: list[Person]) -> None:
    assert db.check(new) == []
    assert sorted(db.scan(Person), key=lambda p: p.id) == expected
    for city in CITIES[1:]:
        there = {p.id for p in expected if p.city == city}
        assert {p.id for p in db.iter(Person.by_city(city))} == there
    assert len(db.all(Place.by_kind("park"))) + len(db.all(Place.by_kind("café"))) == 60
    second = Migrations(db, new).fill()
    assert (second.written, second.contended, second.examples) == (0, 0, ())


def test_every_item_is_brought_to_its_declaration(db: Database) -> None:
    expected = [written(person) for person in db.scan(OldPerson)]
    assert len(db.check(new)) == 120  # two keys of each place; of the older version nothing is said
    rounds: list[Filled] = []
    with db.meter() as meter:
        filled = Migrations(db, new).fill(segments=4, progress=rounds.append)
    assert (filled.seen, filled.written, filled.unknown, filled.unreadable) == (120, 120, 0, ())
    assert rounds[-1] == filled
    assert len(filled.examples) == 5
    assert meter.by_operation["UpdateItem"].requests == 120
    assert meter.by_operation["PutItem"].requests == 4  # where each segment is
    is_filled(db, sorted(expected, key=lambda p: p.id))
    assert list(db.scan(FillPart.of(new))) == []


async def test_in_both_shells() -> None:
    async with opened("awaiting") as shell:
        assert isinstance(shell, AsyncDatabase)
        await shell.create_table(new)
        await put_raw(shell.port, Place, {k: v for k, v in _raw_place(1).items() if not k.startswith("gsi")})
        assert (await AsyncMigrations(shell, new).fill(segments=2)).written == 1
        assert await shell.check(new) == []


def _raw_place(id: int) -> dict[str, Any]:
    return dict(Place.__model__.item(Place(id=id)))  # type: ignore[union-attr]


def test_a_dry_run_writes_nothing(db: Database) -> None:
    before = db.run(all_items(db.port, "people"))
    with db.meter() as meter:
        filled = Migrations(db, new).fill(dry_run=True)
    assert (filled.seen, filled.written) == (120, 120)
    assert meter.write_units == 0
    assert db.run(all_items(db.port, "people")) == before


class Killed(BaseException):
    """Ends the process, as far as a flow can tell."""


def before_each(db: Database, monkeypatch: pytest.MonkeyPatch, happens: Callable[[Any], None]) -> None:
    """Call a function with each request before it is sent."""
    send, send_all = db.port.send, db.port.send_all

    async def watched(operation: Any) -> Any:
        happens(operation)
        return await send(operation)

    async def watched_all(operations: Any) -> list[Any]:
        for operation in operations:
            happens(operation)
        return await send_all(operations)

    monkeypatch.setattr(db.port, "send", watched)
    monkeypatch.setattr(db.port, "send_all", watched_all)


def test_killed_anywhere_it_goes_on(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = sorted((written(person) for person in db.scan(OldPerson)), key=lambda p: p.id)
    monkeypatch.setattr("singletable.migrations.fill.PAGE", 10)
    random, kills, writes = Random(7), 0, 0
    with db.meter() as meter:
        while True:
            left = random.randint(1, 40)

            def kill(operation: Any) -> None:
                nonlocal left
                left -= 1
                if left == 0:
                    raise Killed

            with monkeypatch.context() as patched:
                before_each(db, patched, kill)
                try:
                    filled = Migrations(db, new).fill(segments=3)
                except Killed:
                    kills += 1
                    assert [f for f in db.check(new) if f.code not in ("index-key.stale",)] == []
                    continue
            break
    writes = meter.by_operation["UpdateItem"].requests
    assert kills > 3
    assert writes == 120  # what is written needs no write again
    assert filled.written <= 120
    is_filled(db, expected)


@pytest.mark.parametrize("seed", sampled(range(5), 2))
def test_no_concurrent_write_is_lost(db: Database, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    """Writers of both programs between each two requests; the model is what their writes add up to."""
    random = Random(seed)
    visits = {person.id: person.visits for person in db.scan(OldPerson)}
    cities = {person.id: person.city for person in db.scan(OldPerson)}
    with again(db) as other:

        def write(operation: Any) -> None:
            for _ in range(random.randint(0, 3)):
                id, program = random.randrange(60), random.choice((OldPerson, Person))
                city = random.choice(CITIES)
                with suppress(Corrupt):  # the older program can't write what the newer one wrote
                    other.update(program.by_id(id), attr(program.visits).add(1), attr(program.city).set(city))
                    visits[id] += 1
                    cities[id] = city

        with monkeypatch.context() as patched:
            before_each(db, patched, write)
            filled = Migrations(db, new).fill(segments=2)
    assert (filled.contended, filled.unreadable) == (0, ())
    assert {p.id: p.visits for p in db.scan(Person)} == visits
    assert {p.id: p.city for p in db.scan(Person)} == cities
    is_filled(db, sorted(db.scan(Person), key=lambda p: p.id))


@pytest.mark.parametrize("at", [2, 5, 40])
def test_two_fills_at_once_do_no_harm(db: Database, monkeypatch: pytest.MonkeyPatch, at: int) -> None:
    """A second one runs whole between two requests of the first."""
    expected = sorted((written(person) for person in db.scan(OldPerson)), key=lambda p: p.id)
    left = at
    with again(db) as other:

        def fill_too(operation: Any) -> None:
            nonlocal left
            left -= 1
            if left == 0:
                Migrations(other, new).fill(segments=2)

        with monkeypatch.context() as patched:
            before_each(db, patched, fill_too)
            Migrations(db, new).fill(segments=3)
    assert left < 0
    is_filled(db, expected)
    assert list(db.scan(FillPart.of(new))) == []


def test_what_two_fills_left_is_not_mixed(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both began at once, in another number of segments, and were killed: a part of each is stored."""
    monkeypatch.setattr("singletable.migrations.fill.PAGE", 5)
    expected = sorted((written(person) for person in db.scan(OldPerson)), key=lambda p: p.id)

    def die(filled: Filled) -> None:
        raise Killed

    def parts() -> list[Any]:
        found = db.run(all_items(db.port, "people"))
        return [item for item in found if item["_type"]["S"] == "_migration"]

    for segments in (2, 4):
        with suppress(Killed):
            Migrations(db, new).fill(segments=segments, anew=True, progress=die)
        if segments == 2:
            first = min(parts(), key=lambda item: item["sk"]["S"])
    db.run(put_raw(db.port, Place, first))
    assert [item["segments"]["N"] for item in sorted(parts(), key=lambda item: item["sk"]["S"])] == ["2", "4", "4", "4"]
    Migrations(db, new).fill()
    is_filled(db, expected)


def test_what_it_can_not_read_is_told_and_left(db: Database) -> None:
    db.run(put_raw(db.port, Place, {"pk": {"S": "z"}, "sk": {"S": "z"}, "_type": {"S": "unheard"}}))
    db.run(put_raw(db.port, Place, {"pk": {"S": "place#99"}, "sk": {"S": "place"}, "_type": {"S": "place"}}))
    before = {item["pk"]["S"]: item for item in db.run(all_items(db.port, "people"))}
    filled = Migrations(db, new).fill()
    assert (filled.seen, filled.written, filled.unknown) == (122, 120, 1)
    assert [(f.code, f.type, f.key) for f in filled.unreadable] == [("item.unreadable", "place", ("place#99", "place"))]
    after = {item["pk"]["S"]: item for item in db.run(all_items(db.port, "people"))}
    assert (after["z"], after["place#99"]) == (before["z"], before["place#99"])


def test_a_throttled_table_is_waited_for(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    waits, left = list[float](), 30

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    def refuse(operation: Any) -> None:
        nonlocal left
        if left and not isinstance(operation, (PutItem, Query)):
            left -= 1
            raise Throttled("slow down")

    monkeypatch.setattr(db.port, "sleep", sleep)
    with monkeypatch.context() as patched:
        before_each(db, patched, lambda _: refuse(_) if left % 7 else None)
        assert Migrations(db, new).fill().written == 120
    assert waits
    with monkeypatch.context() as patched:
        left = 10_000
        before_each(db, patched, refuse)
        with pytest.raises(Throttled):
            Migrations(db, new).fill()


def test_a_rate(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    waited = 0.0

    async def sleep(seconds: float) -> None:
        nonlocal waited
        waited += seconds

    monkeypatch.setattr(db.port, "monotonic", lambda: waited)
    monkeypatch.setattr(db.port, "sleep", sleep)
    with db.meter() as meter:
        Migrations(db, new).fill(rate=Rate(write_units=20))
    assert meter.write_units / 20 * 0.9 <= waited + 0.5 <= meter.write_units / 20 * 1.1 + 1


def test_segments_that_are_none(db: Database) -> None:
    for segments in (0, 17):
        with pytest.raises(InvalidRequest, match="1 to 16 segments"):
            Migrations(db, new).fill(segments=segments)
