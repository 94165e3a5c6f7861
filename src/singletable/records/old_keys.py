"""Reads of classes whose key was another, `@app.key(was=old_key)`: what is not under its key may lie under the old one.

An item moves from its old key to its new one, and never back. So what is seen under neither key in this order, old then
new, doesn't exist; in the other order it may have moved in between. One item is read under both keys by one
TransactGetItems, at one point in time.
"""

from __future__ import annotations

from typing import Any, TypeVar

from singletable.flow.port import Port
from singletable.operations import GetItem, Item, TransactGetItems
from singletable.operations.answers import RAW
from singletable.records.readers import reader_of
from singletable.schema.models import Model
from singletable.schema.patterns import KeyOf

T = TypeVar("T")

NEEDED_BY = "a key that was another"


async def find(port: Port, key: KeyOf[T]) -> T | None:
    """The entity of a key, under that key or under the one that it was. One request; four units for each 4 KB."""
    model: Model[Any] = key.model
    port.traits.check("transactions", NEEDED_BY)
    for item in await port.send(both_keys(key)):
        if item is not None and (entity := own(model, key, item)) is not None:
            if model.is_expired(entity, port.now()):
                continue
            return entity if not key.attributes else reader_of(key.kinds, key.attributes).load(item)
    return None


def both_keys(key: KeyOf[Any]) -> TransactGetItems[Item]:
    """The request for what lies under a key and under the one that it was."""
    model = key.model
    names = (key, model.old_key(key))
    return TransactGetItems([GetItem(model.table.name, model.key_item(name), RAW) for name in names])


def own(model: Model[Any], key: KeyOf[Any], item: Item) -> Any:
    """The entity of an item if it is the one of a key, under whichever of its two keys it lies; None for another's.

    Raises Corrupt where the item can't be read.
    """
    entity = model.load(item)
    return entity if entity is not None and model.place_of(entity) == (key.partition, key.low) else None
