"""The write that one stored item needs to be as its class declares it."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from singletable.errors import SingletableError
from singletable.foundation import (
    ATTACHED_TYPES,
    Finding,
    Model,
    SearchPattern,
    Table,
    conversion_of,
    copies_in,
    move_of,
    owner_type,
    place_in,
    refresh_keys,
    tool_class,
    type_in,
    upgrade,
    upgrade_if_needed,
)
from singletable.migrations.item_writes import ItemMove, ItemUpdate, ItemWrite
from singletable.operations import Item


class Unknown(Struct, frozen=True):
    """No class of this program has the item's type."""

    type: str


Need = ItemWrite | Finding | Unknown | None
"""The need of one item, or the reason why it is unknown."""


def application_type(table: Table, item: Item) -> str | None:
    """The type of the application's item that one is, or is the guard of; None for others of the library's own."""
    type_name = type_in(table, item)
    if type_name in ATTACHED_TYPES:
        return owner_type(table, type_name, place_in(table, item)[0])
    return None if type_name.startswith("_") else type_name


def needed(table: Table, item: Item, now: float = 0.0) -> Need:
    """The write; None if nothing is to be done; a finding if the item can't be read as its class.

    An item of a class that is converted becomes items of others. One under the key that its class had before is moved:
    one transaction, which brings it to the current schema version as well. `now` is the time by which what lies under
    the new key has expired.
    """
    type_name = type_in(table, item)
    model = table.model_here(type_name)
    if model is None:
        is_own = type_name in ATTACHED_TYPES or tool_class(type_name) is not None
        return None if is_own else Unknown(type_name)
    try:
        version = model.version_of(item)
        if model.load(item) is None:  # it is being deleted
            return None
        if type_name in table.conversions and (converted := _converted(model, item, now)) is not None:
            return converted
        if (model.is_leaving or model.key.was is not None) and (move := move_of(model, item, now)) is not None:
            return ItemMove(move)
        if model.is_in_two_forms:
            update = upgrade_if_needed(model, item, version)
        else:
            update = upgrade(model, item, version) if version < model.version else refresh_keys(model, item)
        return None if update is None else ItemUpdate(update)
    except SingletableError as error:
        return Finding("item.unreadable", error.what, type_name, place_in(table, item))


def _converted(model: Model[Any], item: Item, now: float) -> ItemMove | Finding | None:
    try:
        conversion = conversion_of(model, item, now)
    except SingletableError as error:
        return Finding("key.immovable", error.what, model.type, place_in(model.table, item))
    return None if conversion is None else ItemMove(conversion)


def outside_of(model: Model[Any]) -> tuple[str, ...]:
    """The parts of a class's items that lie elsewhere: guards of unique values, words, copies, edge sets."""
    copies = (f"copy of {copy.source.__name__}.{copy.source_name}" for copy in copies_in(model.kind))
    beside = (f"{what} of {', '.join(parts) or 'edges'}" for what, parts in model.kind.__beside__().items())
    return (
        *(f"unique {field.name}" for field in model.uniques),
        *map(_said, model.searches.values()),
        *copies,
        *beside,
    )


def _said(search: SearchPattern) -> str:
    """A search, with all that decides its words."""
    scope, text = search.templates
    forms = f" ({scope.form})" if scope.form else ""
    return f"search {search.name} in {scope.shown}{forms} of {search.text_name} ({text.form})"
