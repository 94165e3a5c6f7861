"""Each type of the library, and an Enum, through everything that handles types: one that lacks a fact fails by name."""

from __future__ import annotations

import datetime as datetime_module
import types
from datetime import time, timezone
from decimal import Decimal
from enum import Enum
from typing import Any
from uuid import UUID

import msgspec
import pytest

from singletable import ANY, Entity, Table
from singletable.errors import InvalidValue
from singletable.exchange.cells import cell_of, cell_of_text
from singletable.exchange.columns import column_of
from singletable.exchange.datasets import datasets_of
from singletable.exchange.formats import csv_schema
from singletable.exchange.masks import Mask, masked
from singletable.expressions import encoded
from singletable.operations.answers import encode
from singletable.pattern_calls import Pattern, argument_of, patterns_of
from singletable.schema import model_of
from singletable.studio.edits import VALUE, changed, fields_of
from singletable.studio.pattern_forms import field_of
from singletable.tasks import Tasks
from singletable.values import VALUE_TYPES, Kind, ValueType, value_type_of
from singletable_deploy.key_patterns import covers, key_patterns
from singletable_mcp.schema import arguments_in, schema_of
from singletable_mcp.tools import CallLimits
from singletable_mcp.writes import write_tools


class Shift(Enum):
    EARLY = "early"
    LATE = "late"


def _of_enum() -> ValueType:
    found = value_type_of(Shift)
    assert found is not None
    return msgspec.structs.replace(found, sample=Shift.LATE)


EVERY = {kind.__name__: value_type for kind, value_type in VALUE_TYPES.items()} | {"Enum": _of_enum()}
IN_KEYS = {name: value_type for name, value_type in EVERY.items() if value_type.key}
every_type = pytest.mark.parametrize("value_type", EVERY.values(), ids=EVERY)
every_key_type = pytest.mark.parametrize("value_type", IN_KEYS.values(), ids=IN_KEYS)


def declared(value_type: ValueType) -> tuple[Table, Any]:
    """A class with an attribute of a type, in its sort key where a key can hold it."""
    table = Table("shifts", indexes=["gsi1"])

    def of(who: str, value: Any = ANY) -> Any:
        """A person's values."""
        return f"who#{who}", f"at#{value}"

    def alone(who: str) -> Any:
        """One person."""
        return f"who#{who}", "alone"

    function = of if value_type.key else alone
    function.__annotations__ = {"who": str}
    names = {"__annotations__": {"who": str, "value": value_type.type}, "of": table.key(staticmethod(function))}
    return table, types.new_class("Held", (Entity,), {"table": table, "type": "held"}, lambda body: body.update(names))


def as_stored(item: Any) -> Any:
    """An item, or a value in it, as a response has it."""
    return msgspec.json.decode(encode(item))


def pattern_of(value_type: ValueType) -> Pattern:
    table, _ = declared(value_type)
    return next(iter(patterns_of(table)))


@every_type
def test_an_item_holds_it_and_gives_it_back(value_type: ValueType) -> None:
    _, held = declared(value_type)
    model = model_of(held)
    stored = as_stored(model.item(held(who="ada", value=value_type.sample)))
    assert stored["value"].keys() == {value_type.plan.tag}
    loaded: Any = model.load(stored)
    for value in (loaded.value, value_type.plan.load(stored["value"])):
        assert (value, type(value)) == (value_type.sample, value_type.type)
    with pytest.raises(InvalidValue, match=f"{held.__name__}.value|is expected"):
        model.item(held(who="ada", value=object()))


@every_type
def test_a_person_can_type_it(value_type: ValueType) -> None:
    assert value_type.typed(value_type.shown(value_type.sample)) == value_type.sample
    assert value_type.hint in value_type.wanted
    if value_type.type is not str:
        with pytest.raises(InvalidValue, match=f"it is {value_type.wanted}"):
            value_type.typed("no such value")


@every_type
def test_it_can_be_written_as_python(value_type: ValueType) -> None:
    if value_type.choices and value_type.type is not bool:
        return  # by the name of its member, which is the studio's own way
    names = {**vars(datetime_module), "Decimal": Decimal, "UUID": UUID}
    assert eval(value_type.python(value_type.sample), names) == value_type.sample


@every_type
def test_what_has_a_shape_is_written_in_it(value_type: ValueType) -> None:
    text = value_type.plan.check(value_type.sample)
    assert len(value_type.plan.shape) == (len(text) if value_type.plan.shape else 0)
    assert value_type.plan.shape or value_type.kind is not Kind.FORMATTED, "columns, masks and keys are made by it"


@every_type
def test_a_column_holds_it_and_gives_it_back(value_type: ValueType) -> None:
    table, held = declared(value_type)
    dataset = datasets_of(table)[0]
    item = model_of(held).item(held(who="ada", value=value_type.sample))
    batch, slow = dataset.decode([msgspec.Raw(encode(item))])
    assert slow == []
    (again,) = dataset.items(batch)
    assert as_stored(again) == as_stored(item)
    column, stored = column_of(value_type.plan), as_stored(item)["value"]
    assert column.load(stored) == batch.column("value").to_pylist()[0]


@every_type
def test_a_file_holds_it_and_gives_it_back(value_type: ValueType) -> None:
    column = column_of(value_type.plan)
    stored = as_stored({"value": encoded(value_type.plan, value_type.sample)})["value"]
    cell = column.load(stored)
    assert as_stored(column.dump(cell_of(cell, column.type))) == stored
    assert csv_schema(datasets_of(declared(value_type)[0])[0].schema).field("value").type is not None
    if value_type.kind is not Kind.BYTES:
        assert cell_of_text(str(stored[value_type.plan.tag]), column.type) == cell


@every_type
def test_it_has_a_mask_of_its_type(value_type: ValueType) -> None:
    mask = Mask(b"a key of 16 bytes")
    one = masked(mask, value_type.plan, value_type.sample)
    assert type(one) is value_type.type
    assert value_type.plan.load(as_stored(encoded(value_type.plan, one))) == one
    assert one == masked(mask, value_type.plan, value_type.sample)
    assert one != value_type.sample or value_type.choices


@every_type
def test_a_task_takes_it(value_type: ValueType) -> None:
    tasks = Tasks(Table("tasks", indexes=["gsi1"]), index="gsi1")

    def run(value: Any) -> Any:
        return value

    run.__annotations__ = {"value": value_type.type}
    function = tasks.task(run)
    call = function(value_type.sample)
    assert function.bind(call.arguments)() == value_type.sample


@every_type
def test_the_studio_edits_it(value_type: ValueType) -> None:
    _, held = declared(msgspec.structs.replace(value_type, key=None))
    entity = held(who="ada", value=value_type.sample)
    (field,) = (one for one in fields_of(model_of(held), entity, covered=False) if one.name == "value")
    assert field.form != "fixed"
    assert (field.form == "json") == (value_type.kind is Kind.BYTES)
    before = held(who="ada", value=_other(value_type))
    values, fields = changed(model_of(held), before, {VALUE + "value": field.text}, covered=False)
    assert [one.problem for one in fields if one.problem] == []
    assert values == {"value": value_type.sample}


def _other(value_type: ValueType) -> Any:
    if value_type.choices:
        return next(value for value in map(value_type.read, value_type.choices) if value != value_type.sample)
    return masked(Mask(b"another key of 16 bytes"), value_type.plan, value_type.sample)


class Crossed(Enum):
    """The name of one member is the value of another one."""

    LEFT = "RIGHT"
    RIGHT = "LEFT"
    UP = "top"


def test_a_choice_is_the_member_of_that_name() -> None:
    crossed = value_type_of(Crossed)
    assert crossed is not None
    assert [crossed.typed(name) for name in ("LEFT", "RIGHT", "UP")] == list(Crossed)
    assert crossed.typed("top") is Crossed.UP
    with pytest.raises(InvalidValue, match="one of LEFT, RIGHT, UP"):
        crossed.typed("down")


@every_key_type
def test_a_key_holds_it_and_a_policy_covers_it(value_type: ValueType) -> None:
    template = pattern_of(value_type).captured.templates[1]
    text = template.write({"value": value_type.sample})
    assert template.read(text) == {"value": value_type.sample}
    (slot,) = (part.slot for part in template.parts if part.slot)
    assert any(covers(pattern.replace("?", "*"), text) for pattern in key_patterns(template, {}, "Held.of"))
    assert slot.value_type.key == slot.key_type


@every_key_type
def test_a_pattern_takes_it_as_words_a_tool_and_a_form(value_type: ValueType) -> None:
    pattern = pattern_of(value_type)
    slot, text = pattern.slots["value"], value_type.shown(value_type.sample)
    assert argument_of(slot, "exactly", [text]) == value_type.sample
    assert all(argument_of(slot, how, [text, text]) for how in pattern.ranges("value"))
    assert schema_of(pattern, {})["properties"]["value"]["anyOf"][0]["type"] in ("string", "integer")
    assert arguments_in(pattern, {"who": "ada", "value": text}, {})["value"] == value_type.sample
    form = field_of(pattern, "value", slot)
    assert form.form
    assert form.choices or form.wanted == slot.value_type.hint


@every_type
def test_a_tool_of_mcp_writes_it(value_type: ValueType) -> None:
    table, _ = declared(value_type)
    (tool,) = write_tools([table], CallLimits(10, 100.0), ["Held.create"])
    assert "value" in tool.schema["properties"]


@pytest.mark.parametrize("stored", ["09:30", "9:30:00", "09:30:00.000000Z", "09:30:00.0000001"])
def test_a_time_in_another_form_is_not_a_cell(stored: str) -> None:
    with pytest.raises(ValueError, match=r"another form|not a time of day"):
        column_of(VALUE_TYPES[time].plan).load({"S": stored})


def test_a_time_has_no_zone() -> None:
    with pytest.raises(InvalidValue, match="zone"):
        VALUE_TYPES[time].plan.check(time(9, 30, tzinfo=timezone.utc))
    assert VALUE_TYPES[time].plan.parse("09:30") == time(9, 30)
    for other in ("09:30+01:00", "24:00"):
        with pytest.raises(ValueError, match="not a time of day"):
            VALUE_TYPES[time].plan.parse(other)
