"""Bringing an item of an older schema version up to date, before a write that needs its current form."""

from __future__ import annotations

from typing import Any

from singletable.expressions import Expressions
from singletable.operations import Guard, Item, PutItem, Refused
from singletable.records.models import Model
from singletable.records.planning import UNREAD
from singletable.wire.port import Port


async def rewrite(port: Port, model: Model[Any], stored: Item, version: int) -> Any:
    """Write an older item whole as the current version stores it, under its old version; gives the entity.

    Where another writer was first, the write that follows sees what it wrote.
    """
    entity: Any = model.load(stored)
    kept = {n: v for n, v in model.upcast(stored, version).items() if n not in model.table.definition.reserved}
    expressions = Expressions()
    name = expressions.name(model.table.definition.version_attribute)
    if model.table.definition.version_attribute in stored:
        condition = f"{name} = {expressions.value({'N': str(version)})}"
    else:
        condition = f"attribute_not_exists({name})"
    guarded = Guard(condition, expressions.names, expressions.values)
    try:
        await port.send(PutItem(model.table.name, {**kept, **model.item(entity)}, guarded))
    except Refused:
        return UNREAD
    return entity
