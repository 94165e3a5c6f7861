"""What programs of two declarations make of each other's items: by bytes written and read, without `differences`.

`failures` tells which attributes of an item that one program wrote the other reads otherwise, or not at all. `laws`
compares this with what `differences` and `ItemCounts` say.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from typing import Any

from singletable import SingletableError
from singletable.errors import InvalidValue
from singletable.graph.mirrors import mirrors_of
from singletable.operations import Item, encode, read_item
from singletable.schema import KeyOf, Model, guard_key
from singletable.values import METADATA, plan_for, writer_of
from tests.changes.declared import ClassFacts, TableFacts, made
from tests.changes.shapes import value_of

OBJECTS = 2
MADE = "made"
"""The form of a default that a function of the application makes: the record doesn't know its value."""


@dataclass(frozen=True)
class Written:
    """An item as a program wrote it, with the keys of the guards of its unique values and the members of edge sets."""

    item: Item
    guards: dict[str, str]
    beside: tuple[str, ...]


@dataclass(frozen=True)
class Failure:
    """Something that another program does not read as it was written."""

    attribute: str
    """Its stored name; empty for the whole item."""
    what: str
    is_index: bool = False


class Program:
    """A program with one declaration."""

    def __init__(self, facts: TableFacts, first: int = 0) -> None:
        """`first` says which of the values of each type its objects have."""
        self.facts, self.first = facts, first
        self.table, self.kinds = made(facts)
        self.by_type = {each.type: each for each in facts.classes}

    def model(self, type_name: str) -> Model[Any] | None:
        kind = self.kinds.get(type_name)
        return None if kind is None else kind.__model__

    def written(self, type_name: str) -> Iterator[Written]:
        """Some items of a class; then the same as an older program wrote them, that did not know some attributes."""
        model = self.kinds[type_name].__model__
        for number in range(self.first, self.first + OBJECTS):
            try:
                one = written(model, self.entity(self.by_type[type_name], number))
            except InvalidValue:
                continue  # refused by name, as an empty text where a key has no literal
            yield one
            yield from self.less(model, one, number)

    def less(self, model: Model[Any], whole: Written, number: int) -> Iterator[Written]:
        """The item without an attribute that may be absent, if there is one."""
        absent = [f for f in model.fields if f.may_be_absent and f.form.get("default") != MADE]
        droppable = [f.stored for f in absent if f.stored in whole.item and not f.role]
        used = {n for captured in (model.key, *model.indexes.values()) for t in captured.templates for n in t.names}
        free = [stored for stored in droppable if not any(f.stored == stored and f.name in used for f in model.fields)]
        if free and not model.is_in_two_forms:
            stored = free[number % len(free)]
            yield Written({n: v for n, v in whole.item.items() if n != stored}, whole.guards, whole.beside)

    def entity(self, facts: ClassFacts, number: int) -> Any:
        values = {each.name: value_of(each, number + n) for n, each in enumerate(facts.attributes)}
        for each in facts.attributes:
            if each.role == "version":
                values[each.name] = 1
            if each.name == "number" and each.shape.kind == "int":
                values[each.name] = 1_234_567_890 + number
        for name, _ in facts.copies:
            values[name] = f"title {number}"
        if facts.is_node:
            values["id"] = f"n{number}"
        if facts.mirrors is not None:
            values |= {end: self.entity(self.by_type["person"], number) for end in ("source", "target")}
        return self.kinds[facts.type](**values)


def written(model: Model[Any], entity: Any) -> Written:
    """What a put of an entity writes."""
    guards = {
        each.stored: guard_key(model, each.name, getattr(entity, each.name)).partition
        for each in model.uniques
        if getattr(entity, each.name) is not None
    }
    return Written(read_item(encode(model.item(entity))), guards, beside_of(entity))


def beside_of(entity: Any) -> tuple[str, ...]:
    """The member of an edge in its source's edge set, without what a link adds."""
    kind: Any = type(entity)
    if getattr(kind, "__mirrors__", None) is None:
        return ()
    return tuple(f"{name}={mirror.write(getattr(entity, name))}" for name, mirror in mirrors_of(kind).items())


def failures(one: Written, writer: Program, reader: Program, type_name: str, *, known: bool) -> Iterator[Failure]:
    """What a reader makes otherwise of an item that a writer wrote. `known` leaves out what the reader doesn't declare:
    it keeps that beside the object."""
    mine, its = writer.model(type_name), reader.model(type_name)
    assert mine is not None
    if its is None:
        yield Failure("", "its class is gone")
        return
    if writer.table.definition.key != reader.table.definition.key:
        yield Failure("", "another key of the table")
    expected = readings(mine, mine.load(one.item))
    try:
        entity = its.load(one.item)
    except SingletableError as error:
        is_of_key = error.attribute in its.key_attributes
        yield Failure("" if is_of_key else error.attribute or "", error.what)
        return
    if entity is None:
        yield Failure("", "it is of another type")
        return
    found = readings(its, entity)
    names = expected.keys() & found.keys() if known else expected.keys()
    for name in sorted(names):
        if name not in found:
            if name in one.item:
                yield Failure(name, "it is not read")
        elif not is_read_alike(expected[name], found[name], known=known):
            yield Failure(name, f"{expected[name]} is read as {found[name]}")
    yield from _kept_beside(one, its, entity)


def _kept_beside(one: Written, model: Model[Any], entity: Any) -> Iterator[Failure]:
    """What is written otherwise by the reader, beside the attributes: index keys, guards, edge sets."""
    try:
        again = written(model, entity)
    except InvalidValue as error:
        yield Failure("", error.what, is_index=True)
        return
    indexed = {name for index in model.table.definition.indexes.values() for name in (index.partition, index.sort)}
    indexed -= {*model.table.definition.key}
    for name in sorted(indexed):
        if one.item.get(name) != again.item.get(name):
            yield Failure("", f"{name} is {again.item.get(name)} now", is_index=True)
    for name in sorted(one.guards.keys() | again.guards.keys()):
        if one.guards.get(name) != again.guards.get(name):
            yield Failure(name, "its guard is another", is_index=True)
    if one.beside != again.beside:
        yield Failure("", "its member of the edge set is another", is_index=True)


def readings(model: Model[Any], entity: Any) -> dict[str, Any]:
    """The values of an object by their stored names, as they can be compared."""
    return {each.stored: reading(getattr(entity, each.name)) for each in model.fields}


@dataclass(frozen=True)
class Member:
    """A member of an enum, with the names of all."""

    name: str
    stored: str
    names: frozenset[str]


class Part(dict[str, Any]):
    """The readings of an object inside an item, by stored names."""


def reading(value: Any) -> Any:
    """A value, as it can be compared with what another type makes of the same bytes."""
    if isinstance(value, Enum):
        return Member(value.name, str(value.value), frozenset(each.name for each in type(value)))
    if is_dataclass(value) and not isinstance(value, type):
        return Part(
            (each.metadata.get(METADATA, {}).get("name") or each.name, reading(getattr(value, each.name)))
            for each in fields(value)
        )
    if isinstance(value, dict):
        return {name: reading(each) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [reading(each) for each in value]
    if isinstance(value, (set, frozenset)):
        return {"set": sorted((reading(each) for each in value), key=str)}
    if value is None or isinstance(value, KeyOf):
        return value and str(value)
    kind: Any = type(value)
    plan: Any = plan_for(kind)
    ((tag, stored),) = read_item(encode({"v": writer_of(plan)(value)}))["v"].items()
    return tag, float(stored) if tag == "N" else stored


def is_scalar(value: Any) -> bool:
    """Whether a reading is of one value: a member, or a tag with what it holds."""
    return isinstance(value, (Member, tuple))


def is_read_alike(one: Any, other: Any, *, known: bool = False) -> bool:
    """Whether two readings are of one value. A member whose name is gone is the one with its stored value; an object
    may have more attributes than the one that was written and lack a None; of those that are `known`, any."""
    if isinstance(one, Member) and isinstance(other, Member):
        return one.name == other.name or (one.stored == other.stored and one.name not in other.names)
    if isinstance(one, Member) or isinstance(other, Member):
        texts = [it.stored if isinstance(it, Member) else str(it[1]) for it in (one, other) if is_scalar(it)]
        return len(texts) == 2 and (texts[0] == texts[1] or _as_number(texts[0]) == _as_number(texts[1]))
    if isinstance(one, Part) and isinstance(other, Part):
        names = one.keys() & other.keys() if known else one.keys()
        return all(is_read_alike(one[name], other.get(name), known=known) for name in names)
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(is_read_alike(one[n], other[n], known=known) for n in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(is_read_alike(a, b, known=known) for a, b in zip(one, other, strict=True))
    return bool(one == other)


def _as_number(text: str) -> Any:
    try:
        return float(text)
    except ValueError:
        return text
