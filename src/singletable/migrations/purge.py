"""Purge: what removed classes and indexes left in a table is deleted, because a person asked for it by name.

Of a class that no program declares any more its items, their guards, words and members of edge sets go; of a declared
one the guards and words that it declares no more, or by another name; of an index its keys, out of the items of all
classes. It is a fill with other writes: the same pages, conditions, rate and progress.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from hashlib import sha256
from typing import Any

from msgspec import Struct

from singletable.errors import InvalidRequest
from singletable.expressions import AttributeChange, Condition, Expressions
from singletable.foundation import (
    ATTACHED_TYPES,
    Model,
    Table,
    attached_prefixes,
    entity_name,
    owner_type,
    place_in,
    type_in,
    value_as_read,
)
from singletable.migrations.item_writes import ItemDelete, ItemUpdate, ItemWrite, key_in
from singletable.migrations.model_document import ModelDocument
from singletable.operations import RAW, DeleteItem, Item, RawCondition, UpdateItem
from singletable.values import AttributeValue


class Purge(Struct, frozen=True):
    """The types whose items are deleted, and the attributes that are taken out of others' items."""

    types: tuple[str, ...] = ()
    attributes: tuple[str, ...] = ()

    @property
    def digest(self) -> str:
        """The same for purges of the same."""
        return sha256(repr((sorted(self.types), sorted(self.attributes))).encode()).hexdigest()[:16]

    def needed(self, table: Table, item: Item, now: float) -> ItemWrite | None:
        """The write for one item; None for one that stays as it is."""
        type_name = type_in(table, item)
        model = table.model_here(type_name)
        if type_name in ATTACHED_TYPES:
            return _delete(table, item) if self._is_left(table, item) else None
        if model is None:
            return _delete(table, item) if type_name in self.types else None
        names = [name for name in self.attributes if name in item and name not in _own_names(model)]
        changes = {**dict.fromkeys(names), **table.remains(item, self.types)}
        return _update(table, item, changes) if changes else None

    def _is_left(self, table: Table, item: Item) -> bool:
        """Whether an item beside another is of a type that goes, and not of what its class declares."""
        partition = place_in(table, item)[0]
        owner = owner_type(table, type_in(table, item), partition)
        model = None if owner is None else table.model_here(owner)
        is_declared = model is not None and any(map(partition.startswith, attached_prefixes(model)))
        return owner in self.types and not is_declared


def purge_of(table: Table, former: Sequence[ModelDocument], names: Sequence[str], live: Collection[str]) -> Purge:
    """The deletions for classes and indexes, by their names. A name that no record has is taken for both: an apply
    before this one may have forgotten it. InvalidRequest for an index that stays, of the `live` ones, and for the
    library's own items."""
    types, attributes = list[str](), list[str]()
    for name in names:
        model = next((m for m in table.models if name in (m.type, entity_name(m.kind))), None)
        indexes = [document.indexes[name] for document in former if name in document.indexes]
        stays = name in table.definition.indexes or (name in live and not indexes)
        if stays or name.startswith("_"):
            why = "an index that stays" if stays else "the library's own"
            raise InvalidRequest(
                f"{name} can't be purged: it is {why}",
                table=table.name,
                hint="Name a class by its stored type, or an index, that is not declared any more.",
            )
        is_known = model is not None or any(name in document.entities for document in former)
        if indexes or not is_known:
            attributes += indexes[0].key if indexes else (f"{name}pk", f"{name}sk")
        if not indexes:
            types.append(name if model is None else model.type)
    return Purge(tuple(dict.fromkeys(types)), tuple(dict.fromkeys(attributes)))


def _own_names(model: Model[Any]) -> set[str]:
    return {*model.beside, *(field.stored for field in model.fields)}


def _delete(table: Table, item: Item) -> ItemDelete:
    """The deletion of an item that is of its type still; of a guard, if it is unchanged."""
    type_attribute = table.definition.type_attribute
    is_guard = type_in(table, item) in ATTACHED_TYPES
    names = [name for name in item if name not in table.definition.key] if is_guard else [type_attribute]
    delete = DeleteItem(table.name, key_in(table, item), _unchanged(Expressions(), names, item), RAW)
    return ItemDelete(delete, "" if is_guard else type_in(table, item))


def _update(table: Table, item: Item, changes: Mapping[str, AttributeValue | None]) -> ItemUpdate:
    expressions = Expressions()
    update = expressions.update((), [AttributeChange(name, value) for name, value in changes.items()])
    guard = _unchanged(expressions, [table.definition.type_attribute, *changes], item)
    return ItemUpdate(UpdateItem(table.name, key_in(table, item), update, guard, RAW, repeatable=True))


def _unchanged(expressions: Expressions, names: Sequence[str], item: Item) -> RawCondition:
    condition = Condition("AND", tuple(value_as_read(name, item) for name in names))
    return RawCondition(expressions.condition(condition), expressions.names, expressions.values)
