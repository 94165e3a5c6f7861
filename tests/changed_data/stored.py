"""Items that a program of a drawn declaration stores in an engine: values from the corners of every type."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timezone
from random import Random
from typing import Any

from singletable import Database, SingletableError
from singletable.errors import Conflict, InvalidValue
from singletable.graph import Graph
from singletable.operations import Item
from singletable.values import plan_for
from tests.changes.declared import ClassFacts, TableFacts
from tests.changes.oracle import Program, Written, written
from tests.changes.shapes import CONTAINERS, SCALARS, Attribute, Shape, python_type, values_of
from tests.doors.drawn import CORNERS
from tests.support.raw import all_items, put_raw

OBJECTS = 3
"""The items of a class."""
_TRIES = 8
_LASTING = [datetime(year, 12, 31, 23, 59, 59, 999_999, timezone.utc) for year in (2100, 2300, 9999)]
"""Times of expiry that are far off."""


@dataclass(frozen=True)
class Stored:
    """A stored item, with what its program writes beside it."""

    type: str
    written: Written


class DrawnProgram(Program):
    """A program whose objects have drawn values."""

    def __init__(self, facts: TableFacts, random: Random) -> None:
        super().__init__(facts)
        self.random = random

    def drawn(self, facts: ClassFacts, number: int, refused: set[str]) -> Any:
        """An entity with drawn values, but for those of attributes whose drawn ones were refused."""
        plain = self.entity(facts, number)
        own = [each for each in facts.attributes if each.role != "version" and each.name not in refused]
        for each in own:
            setattr(plain, each.name, drawn_value(each, self.random))
        return plain


def drawn_value(attribute: Attribute, random: Random) -> Any:
    """A value of an attribute."""
    if attribute.is_optional and random.randrange(3) == 0:
        return None
    if attribute.role == "expires" and random.randrange(4):
        return random.choice(_LASTING)
    return drawn_of(attribute.shape, random)


def drawn_of(shape: Shape, random: Random) -> Any:
    """A value of a shape."""
    made = python_type(shape)
    if shape.kind == "maybe":
        return None if random.randrange(3) == 0 else drawn_of(shape.of[0], random)
    if shape.kind == "object":
        return made(**{each.name: drawn_value(each, random) for each in shape.of})
    if shape.kind in CONTAINERS:
        values = [drawn_of(shape.of[0], random) for _ in range(random.randrange(4))]
        if shape.kind == "dict":
            return {drawn_text(random): value for value in values}
        return CONTAINERS[shape.kind](values)
    if shape.kind in SCALARS:
        return _scalar(made, shape, random)
    return random.choice(values_of(shape))


def _scalar(made: Any, shape: Shape, random: Random) -> Any:
    plan: Any = plan_for(made)
    for _ in range(_TRIES):
        value = random.choice(CORNERS.get(made, values_of(shape)))
        if made is str and random.randrange(2):
            value = drawn_text(random)
        try:
            plan.check(value)
        except SingletableError:
            continue
        return value
    return random.choice(values_of(shape))


def drawn_text(random: Random) -> str:
    """A text of all Unicode, without the halves of pairs."""
    points = [random.choice([0x80, 0x800, 0xD800, 0x110000]) for _ in range(random.randrange(1, 4))]
    return "".join(chr(random.randrange(point)) for point in points)


def store(db: Database, program: DrawnProgram) -> list[Stored]:
    """Write items of each class, as the program does; each as it is stored then. A value that is refused by name gives
    way to another one."""
    for facts in program.facts.classes:
        for number in range(OBJECTS):
            _write(db, program, facts, number)
    for one in stored_by(db, program):
        kind = program.kinds[one.type]
        for less in program.less(kind.__model__, one.written, program.random.randrange(12)):
            own = {each.stored or each.name for each in program.by_type[one.type].attributes}
            lacking = one.written.item.keys() - less.item.keys()  # as a program wrote it that did not know it
            if lacking <= own and program.random.randrange(2):
                db.run(put_raw(db.port, kind, less.item))
    return list(stored_by(db, program))


def _write(db: Database, program: DrawnProgram, facts: ClassFacts, number: int) -> None:
    refused = set[str]()
    for _ in range(_TRIES):
        entity = program.drawn(facts, number, refused)
        try:
            Graph(db).link(entity) if facts.mirrors is not None else db.create(entity)
        except InvalidValue as error:
            refused.add((error.attribute or "").rpartition(".")[2])
        except Conflict:  # the key of another one, or its unique value
            return
        else:
            return


def stored_by(db: Database, program: Program) -> Iterator[Stored]:
    """The items of the classes of a program, with what it would write beside them."""
    types = program.table.definition.type_attribute
    for item in items_of(db):
        type_name = item[types]["S"]
        if type_name in program.kinds:
            model = program.kinds[type_name].__model__
            again = written(model, model.load(item))
            yield Stored(type_name, Written(item, again.guards, again.beside))


def items_of(db: Database) -> list[Item]:
    """Each item of the table."""
    return [*db.run(all_items(db.port, "shop"))]
