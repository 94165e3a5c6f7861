"""Brings a stored item into the current form: an older schema version before a write that needs it, and index keys.

An older program may write the item at any moment, and its write leaves the version alone. So the upgrade holds only for
the item that was read: each attribute is compared, and each that the class declares and the item lacks has to be
missing still. It changes only what differs, so an attribute that neither program declares stays.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

from singletable.errors import InvalidRequest
from singletable.expressions import AttributeChange, Condition, Expressions, Given, Stored
from singletable.flow import Port
from singletable.operations import Item, RefusedWrite, UpdateItem
from singletable.records.conditions import guard_in, is_current, is_there
from singletable.records.write import UNREAD, Presence, Write
from singletable.schema import Model
from singletable.values import AttributeValue, in_declared_forms

MOST_ATTRIBUTES = 150
"""A condition has at most 300 operators, and takes two for each attribute."""


async def rewrite(port: Port, model: Model[Any], stored: Item, version: int) -> Any:
    """Bring an older item into the current version's form. Returns the entity, UNREAD if another writer was first."""
    try:
        return await port.send(upgrade(model, stored, version))
    except RefusedWrite:
        return UNREAD


def upgrade(model: Model[Any], stored: Item, version: int) -> UpdateItem[Any]:
    """The write that brings an older item into the current form, if it is unchanged. Repeatable: it matches once.

    Raises Corrupt if an upcaster is missing or its result can't be read, InvalidRequest for too many attributes.
    """
    expressions = Expressions()
    update = expressions.update((), changes_to(model, stored, version, model.load(stored)))
    guard = guard_in(expressions, as_read(model, stored))
    key = {name: stored[name] for name in model.key_attributes if name}
    return UpdateItem(model.table.name, key, update, guard, model, repeatable=True, pattern=model.key)


def upgrade_if_needed(model: Model[Any], stored: Item, version: int) -> UpdateItem[Any] | None:
    """The same for an item that may be in the current form already: None then."""
    is_current = not any(True for _ in changes_to(model, stored, version, model.load(stored)))
    return None if is_current else upgrade(model, stored, version)


def changes_to(model: Model[Any], stored: Item, version: int, entity: Any) -> Iterator[AttributeChange]:
    """The changes that turn a stored item of a version into that of an entity. An undeclared attribute stays."""
    reserved = model.reserved
    kept = {name: value for name, value in model.upcast(stored, version).items() if name not in reserved}
    return _changes(model, stored, {**kept, **model.item(in_declared_forms(entity))})


def refresh_keys(model: Model[Any], stored: Item) -> UpdateItem[Any] | None:
    """The write that makes the index keys of an item of the current version match its attributes; None if they do. Its
    condition is that the attributes that the keys are made of are unchanged. Keys in an index that its class is not in
    any more are removed."""
    wanted = model.item(model.load(stored))
    changes: dict[str, AttributeChange] = {}
    held = is_current(model)
    for index, captured in model.indexes.items():
        names = model.table.definition.index_keys(index)
        if all(stored.get(name) == wanted.get(name) for name in names):
            continue
        changes |= {n: AttributeChange(n, wanted.get(n)) for n in names if n not in model.key_attributes}
        for attribute in sorted({n for template in captured.templates for n in template.names} - model.identity):
            held = held & value_as_read(model.by_name[attribute].stored, stored)
    others = (model.table.definition.index_keys(name) for name in model.own_indexes)
    left = {n for names in others for n in names if n in stored and n not in wanted}
    changes |= {name: AttributeChange(name, None) for name in sorted(left)} if not model.is_leaving else {}
    if not changes:
        return None
    expressions = Expressions()
    update = expressions.update((), changes.values())
    key = {name: stored[name] for name in model.key_attributes if name}
    return UpdateItem(model.table.name, key, update, guard_in(expressions, held), model, True, model.key)


def as_read(model: Model[Any], stored: Item) -> Condition:
    """A condition that the item is unchanged: the same values, and no new attribute among the declared ones."""
    compared = [name for name in stored if name not in model.key_attributes]
    lacking = [field.stored for field in model.fields if field.is_written and field.stored not in stored]
    if len(compared) + len(lacking) > MOST_ATTRIBUTES:
        raise InvalidRequest(
            f"an item of {model.kind.__name__} has {len(compared)} attributes; one of an older schema version can be "
            f"upgraded with up to {MOST_ATTRIBUTES}, as each is compared",
            table=model.table.name,
            hint="Read it, and put() it whole.",
        )
    return Condition("AND", tuple(value_as_read(name, stored) for name in (*compared, *lacking)))


def value_as_read(name: str, stored: Item) -> Condition:
    """A stored attribute is what it was; missing still, where it was missing."""
    if name not in stored:
        return Condition("attribute_not_exists", (Stored(name),))
    return Condition("=", (Stored(name), Given(stored[name])))


def _changes(model: Model[Any], stored: Item, wanted: Item) -> Iterator[AttributeChange]:
    """The differing attributes, without the key, which is the same, and what the library keeps of the last write."""
    definition = model.table.definition
    for name, value in wanted.items():
        if name not in stored or not is_same(stored[name], value):
            yield AttributeChange(name, value)
    for name in stored.keys() - wanted.keys() - {definition.write_id_attribute, definition.context_attribute}:
        yield AttributeChange(name, None)


def is_same(one: AttributeValue, other: AttributeValue) -> bool:
    """Compare two attribute values, in their stored or sent form: sets in any order, numbers in any
    form, bytes in base64 or not."""
    return one == other or _comparable(one) == _comparable(other)


def is_same_item(one: Item, other: Item) -> bool:
    return one.keys() == other.keys() and all(is_same(one[name], other[name]) for name in one)


def _comparable(value: AttributeValue) -> Any:
    ((kind, held),) = value.items()
    if kind in ("SS", "NS", "BS"):
        return kind, frozenset(_comparable({kind[0]: member})[1] for member in held)
    if kind == "N":
        return kind, Decimal(held)
    if kind == "B":
        return kind, b64encode(held).decode() if isinstance(held, bytes) else held
    if kind == "L":
        return kind, [_comparable(member) for member in held]
    return kind, {name: _comparable(member) for name, member in held.items()} if kind == "M" else held


class _Settled:
    def __repr__(self) -> str:
        return "NOT_STALE"


NOT_STALE: Any = _Settled()
"""The write was not planned with stale values: its refusal stands."""


async def fresh_after(port: Port, write: Write, current: Any, stored: Item | None, now: float) -> Any:
    """The item to plan a refused write with again, if what was read before was out of date or the item has an older
    schema version, which is then upgraded; else NOT_STALE."""
    there = stored is not None and is_there(write.model, stored, now)
    holds_claims = write.model.has_claims and write.presence is Presence.EITHER  # their values as read, from an upcast
    if stored is not None and there and (write.upgrades_item or holds_claims):
        version = write.model.version_of(stored)
        if version < write.model.stored_as:
            return await rewrite(port, write.model, stored, version)
    if not write.is_stale(current, stored, now):
        return NOT_STALE
    return write.model.load(stored) if stored is not None and there else None
