"""Tools that write, for a server that was told so: create, update and delete one item of a class."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

import click
from pydantic import TypeAdapter, ValidationError

from singletable.cli import output
from singletable.cli.mcp_schema import arguments_in, schema_of
from singletable.cli.mcp_tools import AgentTool, Limits, tool_name
from singletable.database_async import AsyncDatabase
from singletable.expressions import Handle, attr
from singletable.foundation import KeyOf, Model, Table, entity_name, models_of
from singletable.pattern_calls import Pattern, patterns_of

_VERBS = ("create", "update", "delete")


def write_tools(tables: Sequence[Table], limits: Limits) -> list[AgentTool]:
    """For each class of the application: `User_create`, `User_update`, `User_delete`, without what a layer refuses."""
    found: list[AgentTool] = []
    for table in tables:
        patterns = list(patterns_of(table))
        for model in models_of(table):
            if model.is_system:
                continue
            key = next(p for p in patterns if p.captured is model.key)
            made = (_create(model), _update(model, key, limits), _delete(model, key, limits))
            found += [tool for tool, verb in zip(made, _VERBS, strict=True) if verb not in model.refuses]
    return found


def _create(model: Model[Any]) -> AgentTool:
    kind: Any = model.kind
    attributes: TypeAdapter[Any] = TypeAdapter(kind)

    async def call(db: AsyncDatabase, given: Mapping[str, Any]) -> Any:
        if unknown := sorted(given.keys() - model.types.keys()):
            raise click.UsageError(f"{kind.__name__} has no attribute {unknown[0]!r}; it has {', '.join(model.types)}.")
        await db.create(_valid(attributes, given))
        return {"created": True}

    schema = {**attributes.json_schema(), "additionalProperties": False}
    description = f"Creates one {kind.__name__}; an error where it is there already. 1 request, 1 write unit a KB."
    return AgentTool(tool_name(entity_name(kind), "create"), description, schema, call, writes=True)


def _update(model: Model[Any], key: Pattern, limits: Limits) -> AgentTool:
    kind: Any = model.kind
    fixed = model.identity | model.roles.keys()
    changing = {name: type for name, type in model.types.items() if name not in fixed}
    adapters: dict[str, TypeAdapter[Any]] = {name: TypeAdapter(type) for name, type in changing.items()}

    async def call(db: AsyncDatabase, given: Mapping[str, Any]) -> Any:
        values = given.get("set")
        if not isinstance(values, dict) or not values:
            raise click.UsageError("set is an object: the attributes to change, with their new values.")
        changes = cast("dict[str, Any]", values)
        if unknown := sorted(changes.keys() - changing.keys()):
            raise click.UsageError(f"{kind.__name__}.{unknown[0]} can't be changed; {', '.join(changing)} can.")
        updates = [attr(cast("Any", Handle(kind, n))).set(_valid(adapters[n], value)) for n, value in changes.items()]
        changed = await db.update(_whole(key, {n: value for n, value in given.items() if n != "set"}), *updates)
        return {"item": output.plain(changed, personal=limits.personal)}

    schema = _one_key(key)
    properties = {name: adapter.json_schema() for name, adapter in adapters.items()}
    schema["properties"]["set"] = {"type": "object", "properties": properties, "additionalProperties": False}
    schema["required"] = [*schema["required"], "set"]
    description = f"Changes attributes of one {kind.__name__}, named by its key; an error where it is missing."
    return AgentTool(tool_name(entity_name(kind), "update"), description, schema, call, writes=True)


def _delete(model: Model[Any], key: Pattern, limits: Limits) -> AgentTool:
    async def call(db: AsyncDatabase, given: Mapping[str, Any]) -> Any:
        return {"deleted": output.plain(await db.delete(_whole(key, given)), personal=limits.personal)}

    description = f"Deletes one {model.kind.__name__}, named by its key; returns what it was, or null."
    return AgentTool(tool_name(entity_name(model.kind), "delete"), description, _one_key(key), call, writes=True)


def _one_key(key: Pattern) -> dict[str, Any]:
    """The schema of a key whose every argument is one value."""
    schema = schema_of(key)
    properties = {n: one["anyOf"][0] if "anyOf" in one else one for n, one in schema["properties"].items()}
    return {**schema, "properties": properties, "required": list(properties)}


def _whole(key: Pattern, given: Mapping[str, Any]) -> KeyOf[Any]:
    asked = key.call(**arguments_in(key, given))
    if not isinstance(asked, KeyOf) or not asked.is_one_key:
        raise click.UsageError(f"{key.shown}: give each argument one value: {', '.join(key.captured.parameters)}.")
    return asked


def _valid(adapter: TypeAdapter[Any], given: Any) -> Any:
    """UsageError says where and why, without the value."""
    try:
        return adapter.validate_python(given)
    except ValidationError as error:
        first = error.errors(include_input=False)[0]
        where = ".".join(map(str, first["loc"])) or "the value"
        raise click.UsageError(f"{where}: {first['msg']}.") from None
