"""Reads of classes whose key was another, `@app.key(was=old_key)`: what is not under its key may lie under the old one.

An item moves from its old key to its new one, and never back. So what is seen under neither key in this order, old then
new, doesn't exist; in the other order it may have moved in between. One item is read under both keys by one
TransactGetItems, at one point in time.
"""

from __future__ import annotations

from typing import Any, TypeVar

from singletable.flow.port import Port
from singletable.operations import GetItem, Item, Reader, TransactGetItems
from singletable.operations.answers import RAW
from singletable.records.readers import reader_of
from singletable.records.unreadable import OnUnreadable, load_or_tell
from singletable.schema.models import Model
from singletable.schema.patterns import KeyOf

T = TypeVar("T")

NEEDED_BY = "a key that was another"


async def find(port: Port, key: KeyOf[T], unreadable: OnUnreadable = None) -> T | None:
    """The entity of a key, under that key or under the one that it was. One request; four units for each 4 KB."""
    model: Model[Any] = key.model
    port.traits.check("transactions", NEEDED_BY)
    there, old = await port.send(both_keys(key))
    for lies_in, item in ((model, there), (model.before, old)):
        if item is not None and (entity := own(lies_in, key, item, unreadable)) is not None:
            if model.is_expired(entity, port.now()):
                continue
            if not key.attributes:
                return entity  # type: ignore[no-any-return]
            reader: Reader[T] = reader_of(key.kinds, key.attributes)
            return load_or_tell(reader, at_new_key(lies_in, key, item), unreadable, "TransactGetItems")
    return None


def both_keys(key: KeyOf[Any]) -> TransactGetItems[Item]:
    """The request for what lies under a key and under the one that it was."""
    model = key.model
    names = (key, model.old_key(key))
    return TransactGetItems([GetItem(each.model.table.name, model.key_item(each), RAW) for each in names])


def own(lies_in: Model[Any], key: KeyOf[Any], item: Item, unreadable: OnUnreadable = None) -> Any:
    """The entity of an item if it is the one of a key, under whichever of its two keys it lies; None for another's.
    `lies_in` is the model of the table where the item lies: that of the key, or the one `before`.

    Without `unreadable`, raises Corrupt where the item can't be read.
    """
    entity = load_or_tell(lies_in, item, unreadable, "TransactGetItems")
    return entity if entity is not None and key.model.place_of(entity) == (key.partition, key.low) else None


def at_new_key(lies_in: Model[Any], key: KeyOf[Any], item: Item) -> Item:
    """An item of another table as the class's readers take it: with the key that it is to have."""
    return {**item, **key.model.key_item(key)} if lies_in.is_leaving else item
