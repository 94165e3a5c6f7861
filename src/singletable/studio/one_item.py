"""One item, as its address names it: read, and whether it can be written here."""

from __future__ import annotations

from typing import Any

from singletable.errors import InvalidRequest, NotFound, SingletableError
from singletable.foundation import Model, Table, ready, type_in
from singletable.operations import RAW, GetItem, Item
from singletable.studio.visit import Visit

MOST_COMPARED = 150
"""Attributes that the condition of a write can compare."""


async def read_item(visit: Visit, table: Table) -> Item:
    """The item that the address names, read consistently. NotFound, also for one of a class that the user may not
    read."""
    partition, sort = visit.key
    if not sort:
        raise InvalidRequest("the address names no sort key", hint="As in ?pk=user%23ada&sk=user.")
    names = table.definition.key
    await ready(visit.db.port, table)
    key = {names[0]: {"S": partition}, names[1]: {"S": sort}}
    item = await visit.db.port.send(GetItem(table.name, key, RAW, consistent=True))
    if item is None or not visit.may_read_type(table, type_in(table, item)):
        raise NotFound("no item lies under this key", table=table.name, hint="It may have been deleted since.")
    return item


def why_fixed(model: Model[Any] | None, item: Item, verb: str = "update") -> str:
    """Why an item can't be written here; empty where it can."""
    if model is None:
        return "no class of this program has its type"
    if verb in model.refuses:
        return model.refuses[verb]
    if model.is_system:
        return "the library keeps it"
    if len(item) > MOST_COMPARED:
        return f"it has {len(item):,} attributes, and the condition of a write compares up to {MOST_COMPARED}"
    try:
        return "it is being deleted" if model.load(item) is None else ""
    except SingletableError as error:
        return error.what


def below(visit: Visit, table: Table, word: str) -> str:
    """The address of what is done with an item, without its key."""
    return visit.links.covered().of(f"/item/{table.name}/{word}")
