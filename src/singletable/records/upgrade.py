"""Upgrades an item of an older schema version, before a write that needs its current form."""

from __future__ import annotations

from typing import Any

from singletable.expressions import Expressions
from singletable.flow.port import Port
from singletable.operations import Guard, Item, PutItem, Refused
from singletable.records.conditions import is_there
from singletable.records.verbs import UpdateWrite
from singletable.records.write import UNREAD, Write
from singletable.schema.models import Model


async def rewrite(port: Port, model: Model[Any], stored: Item, version: int) -> Any:
    """Write an older item whole in the current version's form, on condition of its old version. Returns the entity.

    If another writer was first, the write that follows sees what that one wrote.
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


class _Settled:
    def __repr__(self) -> str:
        return "NOT_STALE"


NOT_STALE: Any = _Settled()
"""The write was not planned with stale values: its refusal stands."""


async def fresh_after(port: Port, write: Write, current: Any, stored: Item | None, now: float) -> Any:
    """The item to plan a refused write with again, if what was read before was out of date or the item has an older
    schema version, which is then upgraded; else NOT_STALE."""
    there = stored is not None and is_there(write.model, stored, now)
    if stored is not None and there and isinstance(write, UpdateWrite):
        version = write.model.version_of(stored)
        if version < write.model.version:
            return await rewrite(port, write.model, stored, version)
    if not write.is_stale(current, stored, now):
        return NOT_STALE
    return write.model.load(stored) if stored is not None and there else None
