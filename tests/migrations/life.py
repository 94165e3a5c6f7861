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
from typing import Any, cast

from singletable import ANY, Database, Entity, Key, Table, attr, connect, field
from singletable.errors import AlreadyExists, Corrupt, NotFound, SingletableError
from singletable.flow import Rate, at_rate
from singletable.migrations import Migrations, apply_lease, leased_port
from singletable.tables import Index, TableSettings
from singletable.wire import BlockingPort
from tests.faults.actions import ApplyThen500, ApplyThenCut, DropBefore, Throttle
from tests.faults.port import make_faulty
from tests.faults.rules import Faults, Match, Rule
from tests.support.children import mortal

CITIES = ("Bern", "Oslo", "Rome")
_PLACES = {1: "city", 2: "city", 3: "town", 4: "town", 5: "town", 6: "place"}
_TAGGED: dict[str, Any] = {"stream": "keys", "settings": TableSettings(tags={"team": "life"})}


@dataclass(frozen=True)
class Program:
    """One version of the application."""

    table: Table
    person: Any
    version: int
    old_table: Table | None = None
    """The table that people move from."""

    @property
    def place(self) -> str:
        """The attribute that holds the city."""
        return _PLACES[self.version]

    @property
    def is_named(self) -> bool:
        """Whether the name is one attribute, not two."""
        return self.version in (1, 5, 6)

    @property
    def tables(self) -> list[Table]:
        """The order in which they are applied."""
        return [self.table, *([self.old_table] if self.old_table is not None else [])]


def _declared(
    version: int,
    indexes: str = "",
    *,
    key: str = "id",
    was: str = "",
    name: str = "life",
    left: str = "",
    unique: bool = False,
    **options: Any,
) -> Program:
    """A program: the schema version of its person, the indexes that it has, and the keys that it has and had."""
    narrow = Index("gsi2pk", "gsi2sk", ("id", "visits")) if "narrow" in indexes else Index("gsi2pk", "gsi2sk")
    made = {
        "place": ("gsi1", Index("gsi1pk", "gsi1sk")),
        "name": ("gsi2", narrow),
        "grade": ("gsi3", Index("g3", "s3")),
    }
    chosen = {word: made[word] for word in made if word in indexes}
    table = Table(name, indexes=dict(chosen.values()), **options)
    old_table = Table(left) if left else None
    place, is_named = _PLACES[version], version in (1, 5, 6)
    attributes: dict[str, Any] = {
        "id": int,
        "visits": int,
        place: str,
        "grade": int if version < 4 else str,
        "nick": str,
    }
    attributes |= {"name": str} if is_named else {"first": str, "last": str}
    before: Any = _KEYS[was] if was and old_table is None else old_table.key(_KEYS[was]) if old_table else None
    by_key: Any = table.key(_KEYS[key]) if before is None else table.key(was=before)(_KEYS[key])
    body: dict[str, Any] = {"__annotations__": attributes, "__module__": __name__, "by_id": by_key}
    body |= {"nick": field(unique=True)} if unique else {}
    by_place = {"city": _by_city, "town": _by_town, "place": _by_place}[place]
    functions = {"place": by_place, "name": _by_name if is_named else _by_last, "grade": _by_grade}
    body |= {f"by_{word}": table.index(index)(functions[word]) for word, (index, _) in chosen.items()}
    person: Any = new_class(
        "Person", (Entity,), {"table": table, "type": "person", "version": version}, lambda space: space.update(body)
    )
    for number, upcaster in enumerate((_name_in_two, _town, _grade_text, _name_in_one, _place)[: version - 1], 1):
        person.upcast(number)(upcaster)
    return Program(table, person, version, old_table)


def _by_id(id: int) -> Key:
    """One."""
    return f"person#{id}", "person"


def _by_number(id: int) -> Key:
    """One, under its second key."""
    return f"human#{id}", "human"


def _by_digits(id: int) -> Key:
    """One, under its third key."""
    return f"being#{id:010}", "being"


_KEYS: dict[str, Callable[..., Key]] = {"id": _by_id, "number": _by_number, "digits": _by_digits}


def _by_city(city: str, id: int = ANY) -> Key:
    """Who lives in a city."""
    return f"city#{city}", f"{id}"


def _by_town(town: str, id: int = ANY) -> Key:
    """Who lives in a town."""
    return f"town#{town}", f"{id}"


def _by_place(place: str, id: int = ANY) -> Key:
    """Who lives at a place."""
    return f"place#{place}", f"{id}"


def _by_last(last: str, id: int = ANY) -> Key:
    """By name."""
    return f"last#{last}", f"{id}"


def _by_name(name: str, id: int = ANY) -> Key:
    """By the whole name."""
    return f"name#{name}", f"{id}"


def _by_grade(grade: str, id: int = ANY) -> Key:
    """By grade."""
    return f"grade#{grade}", f"{id}"


def _name_in_two(item: dict[str, Any]) -> dict[str, Any]:
    first, _, last = item.pop("name").partition(" ")
    return {**item, "first": first, "last": last}


def _town(item: dict[str, Any]) -> dict[str, Any]:
    return {**item, "town": item.pop("city")}


def _grade_text(item: dict[str, Any]) -> dict[str, Any]:
    return {**item, "grade": f"g{item['grade']}"}


def _name_in_one(item: dict[str, Any]) -> dict[str, Any]:
    return {**item, "name": f"{item.pop('first')} {item.pop('last')}"}


def _place(item: dict[str, Any]) -> dict[str, Any]:
    return {**item, "place": item.pop("town")}


PROGRAMS = (
    _declared(1),
    _declared(1, "place"),
    _declared(2, "place"),
    _declared(2, "place name"),
    _declared(2, "name"),
    _declared(3, "name"),
    _declared(3, "name narrow"),
    _declared(3, "place"),
    _declared(3, "place", **_TAGGED),
    _declared(3, "place", key="number", was="id", **_TAGGED),
    _declared(3, "place", key="number", **_TAGGED),
    _declared(4, "place", key="number", **_TAGGED),
    _declared(4, "place grade", key="number"),
    _declared(4, "place grade", key="number", unique=True),
    _declared(4, "grade", key="digits", was="number", unique=True),
    _declared(5, "name", key="digits", unique=True),
    _declared(5, "grade", key="digits", was="digits", name="folk", left="life", unique=True),
    _declared(5, "grade", key="digits", name="folk", unique=True),
    _declared(5, "place grade", key="digits", name="folk", unique=True),
    _declared(6, "place grade", key="digits", name="folk", unique=True),
    _declared(6, "place name", key="id", was="digits", name="folk", unique=True),
)
"""Twenty changes: indexes come, go and are made anew; attributes are split, joined, renamed, and get another type; keys
move four times, once to another table; an attribute becomes unique."""


def person(program: Program, id: int, place: str, visits: int) -> Any:
    """A person as a program writes it."""
    name = {"name": f"Ada L{id}"} if program.is_named else {"first": "Ada", "last": f"L{id}"}
    grade: Any = id % 7 if program.version < 4 else f"g{id % 7}"
    return program.person(id=id, visits=visits, nick=f"n{id}", grade=grade, **name, **{program.place: place})


# --- entries of children ----------------------------------------------------------------------------------------------
def apply(target: str, number: str, faults: str) -> None:
    """Bring the tables to a program. It may be killed at one of its requests, and some of them fail, by a seed."""
    setattr(apply_lease, "LEASE_SECONDS", 1.0)  # noqa: B010  (final elsewhere)
    setattr(leased_port, "BEAT_SECONDS", 0.2)  # noqa: B010
    program = PROGRAMS[int(number)]
    with mortal(target, *program.tables) as db:
        if not faults:
            _apply_all(db, program, number)
            return
        some = [
            Rule(Match(probability=0.02), act) for act in (DropBefore(), ApplyThenCut(), ApplyThen500(), Throttle())
        ]
        make_faulty(db.port, Faults(int(faults), some))
        with suppress(SingletableError):  # the next one goes on
            _apply_all(db, program, number)


def _apply_all(db: Database, program: Program, number: str) -> None:
    for table in program.tables:
        Migrations(db, table).apply(by=f"program {number}")


def work(target: str, seed: str, units: str) -> None:
    """Write as the programs do that are named on the input, at so many units a second, to the items of a file, which
    has afterwards what they are."""
    random = Random(seed)
    with connect(target) as own:
        db = Database(cast(BlockingPort, at_rate(own.port, Rate(write_units=float(units)))), own.target)
        for line in sys.stdin:
            number, kept, stop = json.loads(line)
            file = Path(kept)
            items: dict[str, list[Any]] = json.loads(file.read_text())
            ids = list(items)
            _say("ready")
            while not Path(stop).exists():
                _write(db, PROGRAMS[number], items, ids, random)
            file.write_text(json.dumps(items))
            _say("done")


def _say(word: str) -> None:
    sys.stdout.write(f"{word}\n")
    sys.stdout.flush()


Items = dict[str, list[Any]]


def _write(db: Database, program: Program, items: Items, ids: list[str], random: Random) -> None:
    """One write. Where an older program finds what the newer one wrote or moved, it writes nothing."""
    at = random.randrange(len(ids))
    do = random.choice((_visit, _visit, _visit, _move, _create, _delete))
    with suppress(Corrupt, NotFound):
        do(db, program, items, ids, at, random)


def _visit(db: Database, program: Program, items: Items, ids: list[str], at: int, random: Random) -> None:
    db.update(program.person.by_id(int(ids[at])), attr(program.person.visits).add(1))
    items[ids[at]][1] += 1


def _move(db: Database, program: Program, items: Items, ids: list[str], at: int, random: Random) -> None:
    place = random.choice(CITIES)
    db.update(program.person.by_id(int(ids[at])), attr(getattr(program.person, program.place)).set(place))
    items[ids[at]][0] = place


def _create(db: Database, program: Program, items: Items, ids: list[str], at: int, random: Random) -> None:
    id, place = random.randrange(10**9), random.choice(CITIES)
    with suppress(AlreadyExists):
        db.create(person(program, id, place, 0))
        items[str(id)] = [place, 0]
        ids.append(str(id))


def _delete(db: Database, program: Program, items: Items, ids: list[str], at: int, random: Random) -> None:
    if len(ids) > 20 and db.delete(program.person.by_id(int(ids[at]))) is not None:  # the older one misses what moved
        del items[ids[at]]
        ids[at] = ids[-1]
        ids.pop()
