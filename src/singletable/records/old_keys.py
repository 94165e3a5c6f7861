"""The placement of a class whose key was another, `@app.key(was=old_key)`: an item lies under one of the two keys.

An item moves from its old key to its new one, and never back: see `moves`. So what is seen under neither key in this
order, old then new, doesn't exist; in the other order it may have moved in between.

* get: both keys by one TransactGetItems, at one point in time. get_many: the old keys, then the new ones again.
* page, iter, all: both partitions, merged in `both_keys`.
* update, check: as for any class. Where nothing lies under the new key, the item is moved and the write repeated.
* create, put, upsert, and any delete in a transaction: together with a condition that nothing lies under the old key,
  or with the deletion of what lies there.
* delete: the item is moved first, then deleted.

An item may lie under both keys, because a program that knows only the old one wrote it again. Then the one under the
new key is the item, and `put` and `delete` remove the other.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, TypeVar

from msgspec.structs import replace

from singletable.errors import NotFound
from singletable.flow import Port, Request
from singletable.operations import RAW, CheckItem, DeleteItem, GetItem, Item, ItemReader, TransactGetItems
from singletable.records.batches import get_at
from singletable.records.both_keys import read_both
from singletable.records.conditions import already_exists, is_absent
from singletable.records.guarded_write import check_if, delete_if
from singletable.records.moves import NEEDED_BY, at_new_key, own, read_old, remove_old, settle
from singletable.records.placement import Placement, Send
from singletable.records.readers import Place, place_in, reader_of
from singletable.records.send import send_at_its_key, transacted
from singletable.records.unreadable import OnUnreadable, load_or_tell
from singletable.records.upgrade import as_read
from singletable.records.write import UNREAD, Presence, Write, WritePart, WriteResult
from singletable.schema import KeyOf, Model, Table

T = TypeVar("T")


def placed(model: Model[Any], placement: Placement) -> Placement:
    """The placement of a class with `was=`, from the placement of items that lie under their key."""
    assert model.key.was is not None, "the kind applies"
    return replace(
        placement,
        find=find,
        find_many=find_many,
        read_parts=read_both,
        explain_find=explain_find,
        elsewhere=f"was={model.key.was.declared}",
        send=partial(_send, placement.send or send_at_its_key),
        companion=companion,
        after_companion=after_companion,
        bring=settle,
        needed_by=NEEDED_BY,
    )


# --- reads ------------------------------------------------------------------------------------------------------------
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
            reader: ItemReader[T] = reader_of(key.kinds, key.attributes)
            return load_or_tell(reader, at_new_key(lies_in, key, item), unreadable, "TransactGetItems")
    return None


def both_keys(key: KeyOf[Any]) -> TransactGetItems[Item]:
    """The request for what lies under a key and under the one that it was."""
    model = key.model
    names = (key, model.old_key(key))
    return TransactGetItems([GetItem(each.model.table.name, model.key_item(each), RAW) for each in names])


def explain_find(key: KeyOf[Any]) -> tuple[Request, str]:
    cost = "sent where nothing lies under the key: 2 read units for each 4 KB of each of two items, one at least"
    return both_keys(key).request(), cost


async def find_many(
    port: Port,
    table: Table,
    places: Mapping[Place, KeyOf[Any]],
    reader: ItemReader[Any],
    entities: dict[Place, Any],
    unreadable: OnUnreadable,
) -> None:
    """Add the items that lie under the keys that their classes had before, and the ones that have left them meanwhile.

    Two round trips more where something is missing under its key: the old keys consistently, then what is missing
    there under the new keys again.
    """
    missing = {place: key for place, key in places.items() if place not in entities and key.model.key.was is not None}
    if not missing:
        return
    by_old: dict[Table, dict[Place, list[tuple[Place, KeyOf[Any]]]]] = {}
    for place, key in missing.items():
        old = key.model.old_key(key)
        by_old.setdefault(old.model.table, {}).setdefault((old.partition, old.low), []).append((place, key))
    for lain_in, keys in by_old.items():
        first = {place: pairs[0][1] for place, pairs in keys.items()}
        for item in await get_at(port, lain_in, keys, RAW, first.__getitem__, consistent=True):
            for place, key in keys[place_in(table, item)]:
                entity = own(key.model.before, key, item, unreadable)
                if entity is not None:
                    entities[place] = entity
    again = [place for place in missing if place not in entities]
    if again:
        entities |= dict(await get_at(port, table, again, reader, places.__getitem__, consistent=True))


# --- a write alone ----------------------------------------------------------------------------------------------------
async def _send(send: Send, port: Port, write: Write, exactly_once: bool, prove_absence: bool) -> Any:
    if write.answer is WriteResult.BEFORE:
        await remove_old(port, write.key)
    elif write.presence in (Presence.ABSENT, Presence.EITHER):
        return await transacted(port, write)
    try:
        return await send(port, write, exactly_once, prove_absence)
    except NotFound:
        if not prove_absence or write.presence is not Presence.PRESENT:
            raise
    await settle(port, write.key)
    return await send(port, write, exactly_once, prove_absence)


# --- in a transaction -------------------------------------------------------------------------------------------------
def companion(write: Write, stored: Any) -> tuple[KeyOf[Any], WritePart] | None:
    """The action under the old key that goes with a write. `stored` is what is known to lie there, or UNREAD."""
    model = write.model
    if write.presence in (Presence.PRESENT, Presence.OWN):
        return None
    old = model.old_key(write.key)
    action: CheckItem | DeleteItem[Any]
    if stored is UNREAD or stored is None:
        action = check_if(old, is_absent(model))
    elif own(model.before, write.key, stored) is None:
        action = check_if(old, as_read(model.before, stored))
    else:
        action = delete_if(old, as_read(model.before, stored))
    return old, WritePart(action, lambda stored: already_exists(model, write.key, stored))


async def after_companion(port: Port, write: Write, stored: Item | None, now: float) -> Any:
    """The knowledge of the old key after a companion was refused, to plan the write with again: see `companion`.

    Moves the item where the write's own condition is about it. Raises AlreadyExists for a create.
    """
    model = write.model
    stored = stored or await read_old(port, write.key)
    entity = None if stored is None else own(model.before, write.key, stored)
    if stored is None or entity is None or model.is_expired(entity, now):
        return stored
    if write.presence is Presence.ABSENT:
        raise already_exists(model, write.key, stored)
    return stored if write.ignores_item else await settle(port, write.key, stored)
