"""Tools that write, for a server that was told which: create, update and delete one item of a class."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

import click

from singletable.cli import output
from singletable.database_async import AsyncDatabase
from singletable.expressions import Handle, attr
from singletable.foundation import KeyOf, Model, Table, entity_name, models_of
from singletable.pattern_calls import Pattern, patterns_of
from singletable_mcp.attributes import all_values_in, attributes_of, object_schema, values_in
from singletable_mcp.schema import arguments_in, schema_of, value_in, whole_number
from singletable_mcp.tools import WRITE_UNITS, AgentTool, CallLimits, tool_name

_SET, _EXPECTED = "set", "expected"
VERBS = ("create", "update", "delete")


def write_tools(tables: Sequence[Table], limits: CallLimits, named: Sequence[str]) -> list[AgentTool]:
    """The tools of the named classes and verbs: `Order_update` for `Order` or `Order.update`.

    UsageError for a name of nothing, and for what a layer refuses or does not take what is bound.
    """
    offered, problems = _offered(tables, limits)
    wanted: list[str] = []
    for name in named:
        matches = [each for each in (*offered, *problems) if name in (each, each.rpartition(".")[0])]
        usable = [each for each in matches if each in offered]
        if not usable:
            known = ", ".join(dict.fromkeys(each.rpartition(".")[0] for each in offered)) or "none"
            why = (
                problems[matches[0]]
                if matches
                else f"no class of that name, with one of {', '.join(VERBS)}, can be written"
            )
            raise click.UsageError(f"--write {name}: {why}; the classes are {known}, as in Order or Order.update.")
        wanted += usable
    return [offered[each] for each in dict.fromkeys(wanted)]


def _offered(tables: Sequence[Table], limits: CallLimits) -> tuple[dict[str, AgentTool], dict[str, str]]:
    """The tool by `Order.update`, or the reason why it is missing."""
    offered: dict[str, AgentTool] = {}
    problems: dict[str, str] = {}
    for table in tables:
        patterns = list(patterns_of(table))
        for model in models_of(table):
            if model.is_system:
                continue
            key = next(p for p in patterns if p.captured is model.key)
            makers = (_create, model.types), (_update, key.slots), (_delete, key.slots)
            for verb, (make, arguments) in zip(VERBS, makers, strict=True):
                name = f"{entity_name(model.kind)}.{verb}"
                if verb in model.refuses:
                    problems[name] = model.refuses[verb]
                elif unbound := sorted(limits.bound.keys() - arguments.keys()):
                    problems[name] = f"it does not take {unbound[0]}, which is bound"
                else:
                    offered[name] = make(model, key, limits)
    return offered, problems


def _create(model: Model[Any], key: Pattern, limits: CallLimits) -> AgentTool:
    kind: Any = model.kind
    attributes = {name: one for name, one in attributes_of(model).items() if name not in limits.bound}
    slots = key.slots
    bound = {name: value_in(slots[name], text) if name in slots else text for name, text in limits.bound.items()}

    async def call(db: AsyncDatabase, given: Mapping[str, Any]) -> Any:
        values = all_values_in(attributes, given, kind.__name__, "attribute")
        await db.create(kind(**values, **bound))
        return {"created": True}

    description = f"Creates one {kind.__name__}; an error where it is there already. 1 request, 1 write unit a KB."
    name = tool_name(entity_name(kind), "create")
    return AgentTool(name, description, object_schema(attributes), call, WRITE_UNITS, writes=True)


def _update(model: Model[Any], key: Pattern, limits: CallLimits) -> AgentTool:
    kind: Any = model.kind
    fixed = model.identity | model.roles.keys()
    changing = {name: one for name, one in attributes_of(model).items() if name not in fixed}

    async def call(db: AsyncDatabase, given: Mapping[str, Any]) -> Any:
        values = given.get(_SET)
        if not isinstance(values, dict) or not values:
            raise click.UsageError("set is an object: the attributes to change, with their new values.")
        asked = cast("dict[str, Any]", values)
        if unknown := sorted(asked.keys() - changing.keys()):
            raise click.UsageError(f"{kind.__name__}.{unknown[0]} can't be changed; {', '.join(changing)} can.")
        updates = [attr(cast("Any", Handle(kind, n))).set(value) for n, value in values_in(changing, asked).items()]
        target, expected = _target(model, key, {n: value for n, value in given.items() if n != _SET}, limits)
        changed = await db.update(target, *updates, expected=expected)
        return {"item": output.plain(changed, personal=limits.personal)}

    schema = _one_key(model, key, limits)
    schema["properties"][_SET] = {**object_schema(changing), "required": []}
    schema["required"] = [*schema["required"], _SET]
    description = f"Changes attributes of one {kind.__name__}, named by its key; an error where it is missing."
    return AgentTool(tool_name(entity_name(kind), "update"), description, schema, call, WRITE_UNITS, writes=True)


def _delete(model: Model[Any], key: Pattern, limits: CallLimits) -> AgentTool:
    async def call(db: AsyncDatabase, given: Mapping[str, Any]) -> Any:
        target, expected = _target(model, key, given, limits)
        return {"deleted": output.plain(await db.delete(target, expected=expected), personal=limits.personal)}

    description = f"Deletes one {model.kind.__name__}, named by its key; returns what it was, or null."
    schema = _one_key(model, key, limits)
    return AgentTool(tool_name(entity_name(model.kind), "delete"), description, schema, call, WRITE_UNITS, writes=True)


def _one_key(model: Model[Any], key: Pattern, limits: CallLimits) -> dict[str, Any]:
    """The schema of a key whose every argument is one value; of a class that counts its writes, with the count."""
    schema = schema_of(key, limits.bound)
    properties = {n: one["anyOf"][0] if "anyOf" in one else one for n, one in schema["properties"].items()}
    if counted := _counted(model):
        said = f"{counted} when it was read: an item that was written since is left unchanged"
        properties[_EXPECTED] = {"type": "integer", "minimum": 0, "description": said}
    return {**schema, "properties": properties, "required": list(properties)}


def _target(
    model: Model[Any], key: Pattern, given: Mapping[str, Any], limits: CallLimits
) -> tuple[KeyOf[Any], int | None]:
    """One item, and the count of writes that it must have."""
    place, expected = dict(given), None
    if counted := _counted(model):
        count = place.pop(_EXPECTED, None)
        if count is None:
            raise click.UsageError(f"{_EXPECTED} is missing: the item's {counted}, as it was read.")
        expected = whole_number(_EXPECTED, count, 0)
    asked = key.call(**arguments_in(key, place, limits.bound))
    if not isinstance(asked, KeyOf) or not asked.is_one_key:
        raise click.UsageError(f"{key.shown}: give each argument one value: {', '.join(key.captured.parameters)}.")
    return asked, expected


def _counted(model: Model[Any]) -> str:
    """The attribute that counts the writes of an item; empty where none does."""
    return next((name for name, role in model.roles.items() if role == "version"), "")
