"""Writes whose texts are made once for each class and shape: a request has a new key and new values only.

A text hangs on the class, on the verb's *recipe* (a function of `conditions`), and on the shapes of what the caller
changes and compares: see `expressions.shapes`. The texts of the last 512 are kept, so that a program whose shapes come
from its users' data does not grow. What has no shape, and a value that does not fit its type, is rendered anew.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

from msgspec import Struct

from singletable.errors import SingletableError
from singletable.expressions import (
    AttributeChange,
    Blanks,
    BlankValues,
    Expressions,
    Handle,
    Parted,
    Shape,
    Unshaped,
    Update,
    parted_condition,
    parted_updates,
)
from singletable.operations import Item, RawCondition, UpdateItem
from singletable.records.conditions import Facts, Recipe, guard, guard_in, update_condition, upsert_condition
from singletable.records.guarded_write import update_if
from singletable.records.index_keys import check_updates
from singletable.records.write import counted
from singletable.schema import KeyOf, Model
from singletable.values import AttributeValue

KEPT: Final = 512
_NOW, _GONE, _COUNT, _WRITE_ID, _CALLER = range(5)
"""The numbers of the values in a text, those of the caller last."""


class _Texts(Struct, frozen=True):
    """The texts of one shape, with the places of its values."""

    update: str
    condition: str | None
    names: Mapping[str, str]
    values: BlankValues

    def guard(self, facts: Facts, given: Sequence[Any]) -> RawCondition | None:
        """The condition of one write, with the values of all texts; None for a value that does not fit."""
        try:
            values = self.values.filled((facts.now, facts.gone_until, facts.count, facts.write_id, *given))
        except Exception:  # also from the class's own code: rendered anew, it says which attribute it is
            return None
        return RawCondition(self.condition, self.names, values)


def guard_of(recipe: Recipe, model: Model[Any], facts: Facts) -> RawCondition:
    """The condition of a write, as a request takes it."""
    parted = parted_condition(facts.where) if facts.held is None else None
    if parted is not None:
        where, values = parted
        texts = texts_of(model, recipe, (), (), (), where, facts.count and 1, bool(facts.write_id))
        held = None if texts is None else texts.guard(facts, values)
        if held is not None:
            return held
    return guard(model, recipe(model, facts))


def update_of(
    key: KeyOf[Any],
    updates: tuple[Update, ...],
    parted: Parted | None,
    changes: tuple[AttributeChange, ...],
    facts: Facts,
    repeatable: bool,
) -> UpdateItem[Any]:
    """An update of an item: the caller's `updates`, with their shape if they have one, and `changes` of index keys."""
    model = key.model
    if parted is not None:
        whole = _whole_of(changes) if changes else _NO_CHANGES
        update = _compiled(key, update_condition, parted, whole, facts, repeatable)
        if update is not None:
            return update
    if model.counter is not None:
        changes = (*changes, *counted(model, facts.write_id))
    condition = update_condition(model, facts)
    return update_if(key, changes, condition, updates=updates, repeatable=repeatable, reader=model)


def upsert_of(key: KeyOf[Any], item: Item, stays: Iterable[str], facts: Facts) -> UpdateItem[Any]:
    """An update that sets what an item has, and removes what its class may have and the item has not. What `stays` is
    undeclared, and the stored item may have a newer value of it."""
    model = key.model
    names, removed = _names_of(model, tuple(item), frozenset(stays))
    values = [item[name] for name in names]
    whole = WholeChanges(names, values, removed)
    update = _compiled(key, upsert_condition, _NO_UPDATES, whole, facts, repeatable=True)
    if update is not None:
        return update
    changes = [*map(AttributeChange, names, values), *(AttributeChange(name, None) for name in removed)]
    if model.counter is not None:
        changes += counted(model, facts.write_id)
    return update_if(key, changes, upsert_condition(model, facts), reader=model)


class WholeChanges(Struct, frozen=True):
    """Attributes that are set to values as they are stored, or removed."""

    names: tuple[str, ...] = ()
    values: Sequence[AttributeValue] = ()
    removed: tuple[str, ...] = ()


_NO_CHANGES: Final = WholeChanges()
_NO_UPDATES: Final[Parted] = ((), [])


def _whole_of(changes: Sequence[AttributeChange]) -> WholeChanges:
    """The changes of index keys: where the item leaves an index, its key is removed."""
    kept = [(change.name, change.value) for change in changes if change.value is not None]
    removed = tuple(change.name for change in changes if change.value is None)
    return WholeChanges(tuple(name for name, _ in kept), [value for _, value in kept], removed)


@lru_cache(KEPT)
def _names_of(
    model: Model[Any], there: tuple[str, ...], stays: frozenset[str]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The attributes that the upsert of an item sets, and those that it removes; both by name."""
    definition = model.table.definition
    own = {*definition.key, definition.write_id_attribute, definition.context_attribute}
    if model.counter is not None:
        own.add(model.counter.stored)
    declared = {f.stored for f in model.fields if f.is_written}
    names = sorted((declared | {*model.reserved, *there} - stays) - own)
    return tuple(n for n in names if n in there), tuple(n for n in names if n not in there)


def _compiled(
    key: KeyOf[Any], recipe: Recipe, parted: Parted, whole: WholeChanges, facts: Facts, repeatable: bool
) -> UpdateItem[Any] | None:
    """An update by the texts of its shape; None where it has none, or a value does not fit."""
    where = parted_condition(facts.where) if facts.held is None else None
    if where is None:
        return None
    model = key.model
    count, has_write_id = facts.count and 1, bool(facts.write_id)
    texts = texts_of(model, recipe, parted[0], whole.names, whole.removed, where[0], count, has_write_id)
    held = None if texts is None else texts.guard(facts, (*parted[1], *where[1], *whole.values))
    if texts is None or held is None:
        return None
    return UpdateItem(model.table.name, model.key_item(key), texts.update, held, model, repeatable, key.captured)


@lru_cache(KEPT)
def texts_of(
    model: Model[Any],
    recipe: Recipe,
    changed: Shape,
    names: tuple[str, ...],
    removed: tuple[str, ...],
    where: Shape,
    count: int | None,
    has_write_id: bool,
) -> _Texts | None:
    """The texts of a shape, rendered with blanks; None where a type leaves it to a value which text is made, and where
    a text is refused: rendered with the values, it says why."""
    try:
        return _rendered(model, recipe, changed, names, removed, where, count, has_write_id)
    except (Unshaped, SingletableError):
        return None


def _rendered(
    model: Model[Any],
    recipe: Recipe,
    changed: Shape,
    names: tuple[str, ...],
    removed: tuple[str, ...],
    where: Shape,
    count: int | None,
    has_write_id: bool,
) -> _Texts:
    blanks, expressions = Blanks((model.kind,)), Expressions((model.kind,))
    compared = _CALLER + len(changed)
    updates, condition = blanks.updates(changed, _CALLER), blanks.condition(where, compared)
    facts = Facts(
        blanks.blank(_NOW, _second),
        blanks.blank(_GONE, _second),
        blanks.blank(_COUNT, _whole) if count else None if count is None else 0,  # False is found as 0 is
        blanks.blank(_WRITE_ID, _text) if has_write_id else "",
        condition,
    )
    update = ""
    if changed or names or removed:
        last = compared + max(0, len(where) - 1)  # its first part joins the others
        whole = [AttributeChange(name, blanks.blank(n, None).value) for n, name in enumerate(names, last)]
        whole += [AttributeChange(name, None) for name in removed]
        update = expressions.update(updates, [*whole, *(counted(model, facts.write_id) if model.counter else ())])
    held = guard_in(expressions, recipe(model, facts))
    return _Texts(update, held.condition, held.names, blanks.values_in(expressions))


def checked_parts(model: Model[Any], updates: tuple[Update, ...]) -> Parted | None:
    """The shape and values of updates that a class allows; None where they have none. Raises as `check_updates`."""
    parted = parted_updates(updates)
    if parted is None or not parted[0]:
        check_updates(model, updates)
        return None
    _check_shape(model, parted[0])
    return parted


@lru_cache(KEPT)
def _check_shape(model: Model[Any], shape: Shape) -> None:
    check_updates(model, tuple(Update(verb, Handle(owner, name)) for verb, owner, name in shape))


def _second(now: float) -> AttributeValue:
    return {"N": str(int(now))}


def _whole(count: int) -> AttributeValue:
    return {"N": str(count)}


def _text(text: str) -> AttributeValue:
    return {"S": text}
