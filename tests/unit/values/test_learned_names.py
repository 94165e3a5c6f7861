"""Undeclared attributes of a foreign class: a name that was met once is read in the compiled way, and carried."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import msgspec
import pytest

from singletable import Entity, Key, Table
from singletable.flow import Response
from singletable.operations import BatchGetItem, GetItem, RawCondition, Scan, Selection, UpdateItem, read_one
from singletable.records.readers import placed_reader_of, reader_of
from singletable.schema import Model, model_of
from singletable.values import as_read_of, undeclared_in
from singletable.values.stored_forms import MOST_LEARNED

ITEM: dict[str, Any] = {"pk": {"S": "held#i"}, "sk": {"S": "held"}, "id": {"S": "i"}, "count": {"N": "2"}}
ALL = Selection(None, None, None, {}, {}, None, None, False)
MORE = {"note": {"S": "x"}, "gsi9pk": {"S": "day#3"}}


def declared(*, foreign: bool = True) -> Model[Any]:
    """A new class, which has met nothing."""
    table = Table("held", foreign=foreign)

    class Held(Entity, table=table, type="held"):
        id: str
        count: int = 0

        @table.key
        @staticmethod
        def of(id: str) -> Key:
            return f"held#{id:raw}", "held"

    return model_of(Held)


def read(model: Model[Any], item: dict[str, Any]) -> Any:
    return read_one(msgspec.json.encode(item), model)


def compiled(model: Model[Any], item: dict[str, Any]) -> Any:
    """The object of the compiled reader alone; raises where it can't read the item."""
    return model.build(msgspec.json.decode(msgspec.json.encode(item), type=model.wire, strict=False))


def test_names_that_were_met_are_read_in_the_compiled_way() -> None:
    model = declared()
    with pytest.raises(msgspec.ValidationError):
        compiled(model, ITEM | MORE)
    assert undeclared_in(read(model, ITEM | MORE)) == MORE
    entity = compiled(model, ITEM | MORE)
    assert undeclared_in(entity) == MORE
    assert model.item(entity) == ITEM | MORE
    part = {"note": {"S": "y"}}
    assert undeclared_in(compiled(model, ITEM | part)) == part
    assert compiled(model, ITEM).__undeclared__ is None
    many = model.build_all([msgspec.json.decode(msgspec.json.encode(ITEM | MORE), type=model.wire, strict=False)] * 2)
    assert [undeclared_in(one) for one in many] == [MORE, MORE]


def test_an_attribute_that_lacks_is_carried_beside_it() -> None:
    model = declared()
    item = {name: value for name, value in (ITEM | MORE).items() if name != "count"}
    for entity in (read(model, item), compiled(model, item)):
        assert (entity.count, undeclared_in(entity), [*as_read_of(entity)]) == (0, MORE, ["count"])
        assert model.item(entity) == item


def test_a_reader_and_a_wire_type_of_two_times_lose_nothing() -> None:
    """As where another thread has learned a name in between: the pair is refused, and the item read by itself."""
    model = declared()
    wire, build = model.wire, model.build
    read(model, ITEM | MORE)
    assert model.wire is not wire
    with pytest.raises(AttributeError):
        model.build(msgspec.json.decode(msgspec.json.encode(ITEM), type=wire, strict=False))
    with pytest.raises(msgspec.ValidationError):
        build(msgspec.json.decode(msgspec.json.encode(ITEM | MORE), type=wire, strict=False))


class Interrupted:
    """A reader with another thread, which learns names whenever one of its parts is asked for."""

    def __init__(self, model: Model[Any], part: str) -> None:
        self._model, self._part, self.load = model, part, model.load

    def __getattr__(self, name: str) -> Any:
        if name == self._part:
            read(self._model, ITEM | MORE)
        return getattr(self._model, name)


def answered(operation: Any, **body: Any) -> Any:
    return operation.answer(Response(200, msgspec.json.encode(body)))[0]


READS: dict[str, Callable[[Any], Any]] = {
    "one": lambda reader: read_one(msgspec.json.encode(ITEM | MORE), reader),
    "get": lambda reader: answered(GetItem("held", {}, reader), Item=ITEM | MORE),
    "scan": lambda reader: answered(Scan("held", ALL, reader), Items=[ITEM | MORE]).items[0],
    "long scan": lambda reader: answered(Scan("held", ALL, reader), Items=[ITEM | MORE] * 9).items[8],
    "batch": lambda reader: answered(BatchGetItem("held", [], reader), Responses={"held": [ITEM | MORE]}).items[0],
    "write": lambda reader: answered(UpdateItem("held", {}, "", RawCondition(), reader), Attributes=ITEM | MORE),
}


@pytest.mark.parametrize("part", ["wire", "build", "build_all"])
@pytest.mark.parametrize("verb", READS)
def test_a_read_while_another_thread_learns_loses_nothing(verb: str, part: str) -> None:
    model = declared()
    assert undeclared_in(READS[verb](Interrupted(model, part))) == MORE


@pytest.mark.parametrize(
    "make", [placed_reader_of, partial(reader_of, tells=True), partial(placed_reader_of, tells=True)]
)
def test_a_reader_that_was_made_before_a_name_was_met_reads_it_compiled(make: Callable[[Any], Any]) -> None:
    """Of keys with their items, as get_many() reads, and of those that tell what can't be read."""
    model = declared()
    reader = make((model.kind,))
    assert undeclared_in(read(model, ITEM | MORE)) == MORE
    built = reader.build(msgspec.json.decode(msgspec.json.encode(ITEM | MORE), type=reader.wire, strict=False))
    place, entity = built if isinstance(built, tuple) else (("held#i", "held"), built)
    assert (place, undeclared_in(entity)) == (("held#i", "held"), MORE)


def test_names_without_end_are_carried_and_not_learned() -> None:
    model = declared()
    for number in range(MOST_LEARNED + 10):
        more = {f"name {number}": {"L": [{"N": "1"}, {"NULL": True}]}}
        assert undeclared_in(read(model, ITEM | more)) == more
    wire = model.wire
    assert len(msgspec.structs.fields(wire)) == MOST_LEARNED + len(msgspec.structs.fields(declared().wire))
    read(model, ITEM | {"one more": {"S": "x"}})
    assert model.wire is wire


@pytest.mark.parametrize("name", ['a"b', "a\\b", "a\nb", "\u2028", "é", "w", "o"])
def test_a_name_of_any_signs_is_carried(name: str) -> None:
    model, more = declared(), {name: {"S": "x"}}
    for _ in range(2):
        assert undeclared_in(read(model, ITEM | more)) == more
    assert model.item(read(model, ITEM | more)) == ITEM | more


def test_a_class_of_ones_own_learns_nothing() -> None:
    model = declared(foreign=False)
    item = {**ITEM, "_type": {"S": "held"}, "_v": {"N": "1"}}
    wire = model.wire
    assert undeclared_in(read(model, item | MORE)) == MORE
    assert model.wire is wire
