"""Items with masks instead of personal values: in attributes, in keys and index keys, in guards.

An item is read as its class declares it, and all that its personal attributes make is rewritten. What of an undeclared
attribute is personal is not known: it is masked whole, and left out where it lies inside an attribute. An item that
can't be read is not masked, and so not copied.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from functools import cache
from typing import Any

from singletable.errors import InvalidRequest, InvalidValue, SingletableError
from singletable.exchange.masks import Mask, masked
from singletable.foundation import (
    KeyOf,
    Model,
    Table,
    claims_of,
    guard_actions,
    personal_names,
    shared_key,
    type_in,
    untold_of,
)
from singletable.operations import Item, PutItem, encode, read_item
from singletable.values import (
    AttributeValue,
    FreePlan,
    from_attribute_value,
    in_declared_forms,
    only_declared,
    to_attribute_value,
)

_MOST_STEPS = 100
"""Masks of one value until a key's form takes it."""
_KEPT_ROLES = ("expires", "version")
"""The roles of attributes by which the library counts and expires items: they name nobody."""


class ItemMask:
    """Masks the items of one table."""

    def __init__(self, table: Table, mask: Mask) -> None:
        self.table, self.mask, self.names = table, mask, cache(masked_names)
        self._hides = has_personal(table)

    def item(self, item: Item) -> Item | None:
        """An item with masks; None for one that can't be read, whose personal values are unknown."""
        model = self.table.model_here(type_in(self.table, item))
        if model is None:
            return None if has_personal(self.table) else item
        names = self.names(model)
        if not (names or self._hides):
            return item
        try:
            entity: Any = model.load_anywhere(item)
            return None if entity is None else self._masked(model, item, entity, names)
        except SingletableError:
            return None

    def _masked(self, model: Model[Any], item: Item, entity: Any, names: tuple[str, ...]) -> Item:
        after = copy(entity)
        for name in names:
            setattr(after, name, self._value(model, name, getattr(entity, name)))
        old = read_item(encode(model.item(in_declared_forms(entity))))  # as `new` is: what is the same stays as stored
        with only_declared():
            new = read_item(encode(self._item(model, after)))
        version = model.version_of(item)
        kept = model.upcast(item, version) if version < model.version else item
        more = kept.keys() - model.codec.known - model.beside
        new |= {name: self._undeclared(kept[name]) for name in more if not _is_count(model, name, kept[name])}
        if version < model.version:
            reserved = self.table.definition.reserved
            return {**{name: value for name, value in kept.items() if name not in reserved}, **new}
        definition = self.table.definition  # an index key that is stale may have a value of before
        keys = {*definition.key, *(name for index in definition.indexes for name in definition.index_keys(index))}
        changed = {name for name in (*old, *new) if old.get(name) != new.get(name)} | keys
        return {
            **{name: value for name, value in item.items() if name not in changed},
            **{name: value for name, value in new.items() if name in changed},
        }

    def _item(self, model: Model[Any], after: Any) -> Item:
        """The item of masked values. A mask that the form of a key does not take, as seconds of ten digits, is masked
        again: a permutation leads back to the value itself, which it takes. Raises what `model.item` does."""
        for _ in range(_MOST_STEPS):
            try:
                return model.item(after)
            except InvalidValue as error:
                name = (error.attribute or "").rpartition(".")[2]
                if name not in self.names(model) or isinstance(getattr(after, name), str):
                    raise
                setattr(after, name, self._value(model, name, getattr(after, name)))
        return model.item(after)

    def _undeclared(self, value: AttributeValue) -> AttributeValue:
        return to_attribute_value(masked(self.mask, FreePlan(), from_attribute_value(value)))

    def _value(self, model: Model[Any], name: str, value: Any) -> Any:
        if isinstance(value, KeyOf):
            return self._end(value)
        return masked(self.mask, model.by_name[name].plan, value)

    def _end(self, key: KeyOf[Any]) -> KeyOf[Any]:
        """The key of a node whose id is masked."""
        kind: Any = key.model.kind
        if "id" not in self.names(key.model):
            return key
        found: KeyOf[Any] = kind.by_id(masked(self.mask, key.model.by_name["id"].plan, key.model.key_values(key)["id"]))
        return found


def _is_count(model: Model[Any], name: str, value: AttributeValue) -> bool:
    """Whether a layer counts in an attribute that no class declares, as a node counts its edges."""
    return bool(model.prefix) and name.startswith(model.prefix) and "N" in value


def masked_names(model: Model[Any]) -> tuple[str, ...]:
    """The attributes of a class that are masked; an edge's ends where its nodes' ids are."""
    return tuple(sorted(n for n in personal_names(model.kind) if model.by_name[n].role not in _KEPT_ROLES))


def has_personal(table: Table) -> bool:
    """Whether any class of a table has attributes that are masked."""
    return any(map(masked_names, table.models))


def check_apart(table: Table) -> None:
    """Raise InvalidRequest for a table in which two masked items could have one key, so that one would replace the
    other: masks differ as values do, and texts of a form that several values share, as days of times, need not."""
    for model in filter(masked_names, table.models):
        in_key = {name for template in model.key.templates for name in template.names}
        hidden = in_key.intersection(masked_names(model))
        others = [each for each in table.models if each is not model] if hidden and table.guards_overlap else []
        if shared := hidden & untold_of(model.key.templates):
            why = f"its key does not tell values of {min(shared)} apart"
        elif other := next((each for each in others if shared_key(model, each)), None):
            why = f"{min(hidden)} is in its key, which items of {other.kind.__name__} could have"
        else:
            continue
        raise InvalidRequest(
            f"two items of {model.kind.__name__} could have one key with masks: {why}",
            table=table.name,
            operation="copy",
            hint="Copy with keep_personal=True (--keep-personal); or export, and import the rows that have a key each.",
        )


def guards_of(table: Table, item: Item, now: float) -> Iterator[Item]:
    """The attached items of one, as a write of it puts them: guards, words. An expired item has none."""
    model = table.model_here(type_in(table, item))
    if model is None or not model.has_claims:
        return
    try:
        entity: Any = model.load(item)
    except SingletableError:
        return
    if entity is None or model.is_expired(entity, now):
        return
    expires = None if model.expires is None else item.get(model.expires.stored)
    owner = model.key_of(entity)
    for _, action, _ in guard_actions(claims_of(model, owner, None, entity, expires), now):
        if isinstance(action, PutItem):
            yield action.item
