"""The write that one stored item needs to be as its class declares it."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from singletable.errors import SingletableError
from singletable.foundation import (
    GUARD_TYPE,
    MIGRATION_TYPES,
    Finding,
    Move,
    Table,
    model_of,
    move_of,
    place_in,
    refresh_keys,
    type_in,
    upgrade,
    upgrade_if_needed,
)
from singletable.operations import Item, UpdateItem


class Unknown(Struct, frozen=True):
    """No class of this program has the item's type."""

    type: str


def needed(table: Table, item: Item, now: float = 0.0) -> UpdateItem[Any] | Move | Finding | Unknown | None:
    """The write; None where there is nothing to do; a finding where the item can't be read as its class.

    A `Move` for an item under the key that its class had before: one transaction, which brings it to the current schema
    version as well. `now` is the time by which what lies under the new key has expired.
    """
    type_name = type_in(table, item)
    model = table.model_here(type_name)
    if model is None:
        return None if type_name == GUARD_TYPE or type_name in MIGRATION_TYPES else Unknown(type_name)
    try:
        version = model.version_of(item)
        if model.load(item) is None:  # it is being deleted
            return None
        if (model.is_leaving or model.key.was is not None) and (move := move_of(model, item, now)) is not None:
            return move
        if model.is_in_two_forms:
            return upgrade_if_needed(model, item, version)
        return upgrade(model, item, version) if version < model.version else refresh_keys(model, item)
    except SingletableError as error:
        return Finding("item.unreadable", error.what, type_name, place_in(table, item))


def declaration_of(table: Table) -> dict[str, Any]:
    """What decides how items are stored: each class's version, the templates of its index keys, and its older key."""
    return {
        model.type: {
            "version": model.version,
            **({"stored_as": model.stored_as} if model.is_in_two_forms else {}),
            "indexes": {name: [t.shown for t in captured.templates] for name, captured in model.indexes.items()},
            **({} if model.key.was is None else {"was": [t.shown for t in model.key.was.templates]}),
            **({"to": model_of(model.kind).table.name} if model.is_leaving else {}),
        }
        for model in (*table.models, *table.leaving)
    }
