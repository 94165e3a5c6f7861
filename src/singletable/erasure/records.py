"""The deletion of an entity's item, and the clearing of a mention in one that stays.

A deletion holds as long as the item is of its class, belongs to the same subject, and has the same unique values, whose
guards go in the same transaction. A clearing holds as long as the attributes are as they were read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from singletable.errors import ConditionFailed, NotFound
from singletable.expressions import attr
from singletable.flow import Port
from singletable.foundation import (
    WORD_TYPE,
    AttachedChange,
    Belonging,
    KeyOf,
    Model,
    Reference,
    claims_of,
    delete_if,
    entity_name,
    flows,
    guard_actions,
    is_type,
    place_in,
    subject_of,
    value_as_read,
)
from singletable.operations import Item, ReasonedCancellation, RefusedWrite, TransactWriteItems
from singletable.tables import Projected, write_units
from singletable.values import changed


def deletion(
    model: Model[Any], item: Item, entity: Any, indexes: Sequence[Projected], by: Reference | None = None
) -> Belonging:
    """The deletion of an item with the guards of its unique values."""
    key = model.key_at(place_in(model.table, item))
    held = is_type(model)
    names: list[str] = [] if by is None else list(by.names)
    for name in dict.fromkeys([*names, *(field.name for field in model.claimed)]):
        if name not in model.identity:
            held = held & value_as_read(model.by_name[name].stored, item)
    claims = [*claims_of(model, key, entity, None)]
    guards = sum(1 for claim in claims for _ in claim.given_up())
    units = write_units(indexes, item, None, transaction=guards > 0) + 2.0 * guards
    return Belonging(
        entity_name(model.kind),
        (key.partition, key.low),
        partial(_delete, delete_if(key, held), claims),
        write_units=units,
        what=_attached(claims),
        subject=subject_of(model, entity, (key.partition, key.low)),
    )


def _attached(claims: Sequence[AttachedChange]) -> str:
    """The items that are deleted with one, in words."""
    keys = [key.model.type for claim in claims for key in claim.given_up()]
    words, guards = keys.count(WORD_TYPE), len(keys) - keys.count(WORD_TYPE)
    uniques = f"{guards} unique values" if guards > 1 else "its unique value" if guards else ""
    parts = [*([uniques] if uniques else []), *([f"{words} words of searches"] if words else [])]
    return f"with {' and '.join(parts)}" if parts else ""


def clearing(
    model: Model[Any], item: Item, entity: Any, indexes: Sequence[Projected], wanted: Mapping[str, Any]
) -> Belonging:
    """An update of the attributes that mention somebody."""
    after = model.item(changed(entity, **wanted))
    updates = [attr(getattr(model.kind, name)).set(value) for name, value in wanted.items()]
    where = None
    for name in wanted:
        same = value_as_read(model.by_name[name].stored, item)
        where = same if where is None else where & same
    key = model.key_of(entity)
    return Belonging(
        entity_name(model.kind),
        (key.partition, key.low),
        partial(_clear, key, tuple(updates), where),
        does="clear",
        write_units=write_units(indexes, item, after),
        what=", ".join(wanted),
    )


async def _delete(action: Any, claims: Sequence[AttachedChange], port: Port) -> bool:
    guards = [guard for _, guard, _ in guard_actions(claims, port.now())]
    try:
        if guards:
            await port.send(TransactWriteItems((action, *guards), port.token()))
        else:
            await port.send(action)
    except ReasonedCancellation:
        return False
    except RefusedWrite as refused:
        return refused.unsettled and refused.stored is None  # an earlier try of this request deleted it
    return True


async def _clear(key: KeyOf[Any], updates: tuple[Any, ...], where: Any, port: Port) -> bool:
    try:
        await flows.update(port, key, updates, where=where)
    except (ConditionFailed, NotFound):
        return False
    return True
