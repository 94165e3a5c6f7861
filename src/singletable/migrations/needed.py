"""The write that one stored item needs to be as its class declares it."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from singletable.errors import SingletableError
from singletable.foundation import GUARD_TYPE, MIGRATION_TYPE, Finding, Table, refresh_keys, upgrade
from singletable.operations import Item, UpdateItem


class Unknown(Struct, frozen=True):
    """No class of this program has the item's type."""

    type: str


def needed(table: Table, item: Item) -> UpdateItem[Any] | Finding | Unknown | None:
    """The write; None where there is nothing to do; a finding where the item can't be read as its class."""
    type_name = str(item.get(table.definition.type_attribute, {}).get("S", ""))
    model = table.model_of_type(type_name)
    if model is None:
        return None if type_name in (GUARD_TYPE, MIGRATION_TYPE) else Unknown(type_name)
    try:
        version = model.version_of(item)
        if model.load(item) is None:  # it is being deleted
            return None
        return upgrade(model, item, version) if version < model.version else refresh_keys(model, item)
    except SingletableError as error:
        partition, sort = (item[name]["S"] for name in table.definition.key)
        return Finding("item.unreadable", error.what, type_name, (partition, sort))


def declaration_of(table: Table) -> dict[str, Any]:
    """What decides how items are stored: each class's version, and the templates of its index keys."""
    return {
        model.type: {
            "version": model.version,
            "indexes": {name: [t.shown for t in captured.templates] for name, captured in model.indexes.items()},
        }
        for model in table.models
    }
