"""A table's life: programs of one application, each a change after the one before, and what its processes do.

Functions that are children's entries take texts. A program is named by its place in `PROGRAMS`.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from random import Random
from types import new_class
from typing import Any

from singletable import ANY, Database, Entity, Key, Table, attr, connect
from singletable.errors import AlreadyExists, Corrupt, NotFound
from singletable.migrations import Migrations, apply_lease, leased_port
from singletable.tables import Index, TableSettings
from tests.support.children import mortal

CITIES = ("Bern", "Oslo", "Rome")
_GSI1, _GSI2 = Index("gsi1pk", "gsi1sk"), Index("gsi2pk", "gsi2sk")


@dataclass(frozen=True)
class Program:
    """One version of the application."""

    table: Table
    person: Any
    version: int
    place: str
    """The attribute that holds the city."""


def _declared(
    version: int,
    by_place: bool = False,
    by_name: bool = False,
    narrow: bool = False,
    moves: bool = False,
    **options: Any,
) -> Program:
    """A program: the schema version of its person, and the indexes that it has."""
    indexes = {"gsi1": _GSI1} if by_place else {}
    if by_name:
        indexes |= {"gsi2": Index("gsi2pk", "gsi2sk", ("id", "visits")) if narrow else _GSI2}
    table = Table("life", indexes=indexes, **options)
    place = "town" if version == 3 else "city"
    attributes: dict[str, Any] = {"id": int, "visits": int, place: str}
    attributes |= {"name": str} if version == 1 else {"first": str, "last": str}
    key: Any = table.key(was=_by_id)(_by_number) if moves else table.key(_by_id)
    body: dict[str, Any] = {"__annotations__": attributes, "__module__": __name__, "by_id": key}
    if by_place:
        body["by_place"] = table.index("gsi1")(_by_town if version == 3 else _by_city)
    if by_name:
        body["by_last"] = table.index("gsi2")(_by_last)
    options = {"table": table, "type": "person", "version": version}
    person: Any = new_class("Person", (Entity,), options, lambda namespace: namespace.update(body))
    if version > 1:
        person.upcast(1)(_name_in_two)
    if version > 2:
        person.upcast(2)(_town)
    return Program(table, person, version, place)


def _by_id(id: int) -> Key:
    """One."""
    return f"person#{id}", "person"


def _by_number(id: int) -> Key:
    """One, under its new key."""
    return f"human#{id}", "human"


def _by_city(city: str, id: int = ANY) -> Key:
    """Who lives in a city."""
    return f"city#{city}", f"{id}"


def _by_town(town: str, id: int = ANY) -> Key:
    """Who lives in a town."""
    return f"town#{town}", f"{id}"


def _by_last(last: str, id: int = ANY) -> Key:
    """By name."""
    return f"last#{last}", f"{id}"


def _name_in_two(item: dict[str, Any]) -> dict[str, Any]:
    first, _, last = item.pop("name").partition(" ")
    return {**item, "first": first, "last": last}


def _town(item: dict[str, Any]) -> dict[str, Any]:
    return {**item, "town": item.pop("city")}


PROGRAMS = (
    _declared(1),
    _declared(1, by_place=True),
    _declared(2, by_place=True),
    _declared(2, by_place=True, by_name=True),
    _declared(2, by_name=True),
    _declared(3, by_name=True),
    _declared(3, by_name=True, narrow=True),
    _declared(3, by_place=True),
    _declared(3, by_place=True, stream="keys", settings=TableSettings(tags={"team": "life"})),
    _declared(3, by_place=True, moves=True, stream="keys", settings=TableSettings(tags={"team": "life"})),
)


def person(program: Program, id: int, place: str, visits: int) -> Any:
    """A person as a program writes it."""
    name = {"name": f"Ada L{id}"} if program.version == 1 else {"first": "Ada", "last": f"L{id}"}
    return program.person(id=id, visits=visits, **name, **{program.place: place})


# --- entries of children ----------------------------------------------------------------------------------------------
def apply(target: str, number: str) -> None:
    """Bring the table to a program. It may be killed at one of its requests."""
    setattr(apply_lease, "LEASE_SECONDS", 1.0)  # noqa: B010  (final elsewhere)
    setattr(leased_port, "BEAT_SECONDS", 0.2)  # noqa: B010
    program = PROGRAMS[int(number)]
    with mortal(target, program.table) as db:
        Migrations(db, program.table).apply(by=f"program {number}")


def work(target: str, number: str, kept: str, stop: str, seed: str) -> None:
    """Write as a program does until told to stop, to the items of a file, which then has what they are."""
    program, file = PROGRAMS[int(number)], Path(kept)
    items: dict[str, list[Any]] = json.loads(file.read_text())
    random = Random(seed)
    with connect(target) as db:
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        while not Path(stop).exists():
            _write(db, program, items, random)
    file.write_text(json.dumps(items))


def _write(db: Database, program: Program, items: dict[str, list[Any]], random: Random) -> None:
    """One write. Where an older program finds what the newer one wrote or moved, it writes nothing."""
    do: Callable[[Database, Program, dict[str, list[Any]], Random], None] = random.choice(
        (_visit, _visit, _visit, _move, _create, _delete)
    )
    with suppress(Corrupt, NotFound):
        do(db, program, items, random)


def _visit(db: Database, program: Program, items: dict[str, list[Any]], random: Random) -> None:
    id = random.choice(list(items))
    db.update(program.person.by_id(int(id)), attr(program.person.visits).add(1))
    items[id][1] += 1


def _move(db: Database, program: Program, items: dict[str, list[Any]], random: Random) -> None:
    id, place = random.choice(list(items)), random.choice(CITIES)
    db.update(program.person.by_id(int(id)), attr(getattr(program.person, program.place)).set(place))
    items[id][0] = place


def _create(db: Database, program: Program, items: dict[str, list[Any]], random: Random) -> None:
    id, place = random.randrange(10**9), random.choice(CITIES)
    with suppress(AlreadyExists):
        db.create(person(program, id, place, 0))
        items[str(id)] = [place, 0]


def _delete(db: Database, program: Program, items: dict[str, list[Any]], random: Random) -> None:
    if len(items) > 50:
        id = random.choice(list(items))
        if db.delete(program.person.by_id(int(id))) is not None:  # the older program doesn't find what was moved
            del items[id]
