"""Plans an update: the caller's changes, and the index keys that must change with them.

Each index key is a function of some attributes. If one of them changes, the whole key has a new text, so its other
parts must be known: from the primary key, from the change itself, or from the item that was read. Values that were
read become conditions, so that a key is never written from stale values.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from msgspec import Struct

from singletable.errors import InvalidRequest, InvalidValue
from singletable.expressions import AttributeChange, Condition, Update, first_name, is_element, is_whole, owner_of
from singletable.records.conditions import both, is_as_read
from singletable.schema import Captured, KeyOf, Model, check_update
from singletable.values import changed as entity_with, name_owner


class KeysNeeded(Struct, frozen=True):
    """The attributes whose stored values an update needs, to write an index key whole."""

    names: frozenset[str]


class Planned(Struct, frozen=True):
    """The changes of index keys in an update, and the conditions under which they are correct."""

    changes: tuple[AttributeChange, ...] = ()
    held: Condition | None = None
    held_names: frozenset[str] = frozenset()


def plan_keys(
    model: Model[Any], key: KeyOf[Any], updates: tuple[Update, ...], current: Any | None
) -> Planned | KeysNeeded:
    """The index keys after an update. `current` is the item that was read, or None if none was."""
    changed = {name: u for u in updates if (name := first_name(u.path)) in model.feeds} if model.feeds else None
    if not changed:
        return _NOTHING
    values, held = _known(model, key, changed, current)
    affected = dict.fromkeys(c for name in changed for c in model.feeds[name])
    missing = {n for c in affected for n in _parts_needed(model, c, changed, values) if n not in values}
    if missing:
        return KeysNeeded(frozenset(missing))
    rewritten = {change.name: change for c in affected for change in _rewrite(model, c, changed, values)}
    used = {n for c in affected for n in _parts_needed(model, c, changed, values)} & held
    conditions = None
    for name in sorted(used):
        conditions = both(conditions, is_as_read(model.by_name[name], model, current))
    return Planned(tuple(rewritten.values()), conditions, frozenset(used))


def check_updates(model: Model[Any], updates: tuple[Update, ...]) -> None:
    """Raises InvalidRequest for an update of another class's attribute, or of an attribute of the primary key."""
    if not updates:
        raise InvalidRequest("an update changes at least one attribute", hint="As in attr(User.name).set(...).")
    for update in updates:
        check_update(update)
        owner = owner_of(update.path)
        if owner is not model.kind and not issubclass(model.kind, owner):
            raise InvalidRequest(f"{update.path} is not an attribute of {model.kind.__name__}")
        if first_name(update.path) in model.identity:
            raise InvalidRequest(
                f"{update.path} is part of the primary key, which never changes",
                attribute=str(update.path),
                hint="Create an item under the new key and delete the old one, in one transaction.",
            )
        if model.roles.get(first_name(update.path)) == "version":
            raise InvalidRequest(f"{update.path} is counted by the library", attribute=str(update.path))


def is_repeatable(updates: tuple[Update, ...]) -> bool:
    """Whether applying the updates twice has the same result: constants and members of sets, no sums, no appends.

    Removing an element of a list is not repeatable: the second time it would remove the next element.
    """
    for update in updates:
        verb = update.verb
        if verb == "APPEND" or (verb == "ADD" and not update.is_of_members):
            return False
        if verb == "REMOVE" and is_element(update.path):
            return False
    return True


def applied(model: Model[Any], entity: Any, updates: tuple[Update, ...]) -> Any:
    """The entity after the updates, computed here. Only for whole attributes."""
    check_updates(model, updates)
    values: dict[str, Any] = {}
    for update in updates:
        name = first_name(update.path)
        if not is_whole(update.path):
            raise InvalidRequest(f"{update.path}: an upsert changes whole attributes", attribute=str(update.path))
        values[name] = _after(getattr(entity, name), update)
    return entity_with(entity, **values)


def _after(value: Any, update: Update) -> Any:
    if update.verb == "SET":
        return update.value
    if update.verb == "REMOVE":
        return None
    if update.verb == "APPEND":
        return [*(value or ()), *update.value]
    if update.is_of_members:
        members: set[Any] = set(value)
        return members | update.value if update.verb == "ADD" else members - update.value
    return update.value if value is None else value + update.value


_NOTHING = Planned()


def _known(
    model: Model[Any], key: KeyOf[Any], changed: Mapping[str, Update], current: Any | None
) -> tuple[dict[str, Any], set[str]]:
    """The known values of attributes after the update, and the names of those taken from `current`."""
    values, held = model.key_values(key), set[str]()
    if current is not None:
        feeding = {n for n in model.feeds if n not in values}
        values |= {n: getattr(current, n) for n in feeding}
        held = feeding - {n for n, u in changed.items() if u.verb in ("SET", "REMOVE")}
    for name, update in changed.items():
        if not is_whole(update.path):
            raise InvalidRequest(f"{update.path} lies inside an attribute that a key is made of", attribute=name)
        if update.verb == "SET":
            values[name] = update.value
        elif update.verb == "REMOVE":
            values[name] = None
        elif name in values:
            values[name] = _after(values[name], update)
    return values, held


def _parts_needed(
    model: Model[Any], captured: Captured, changed: Mapping[str, Update], values: Mapping[str, Any]
) -> Iterator[str]:
    """The attributes that must be known to rewrite an index key: those of the texts a change touches.

    If an attribute may be None, the item can leave or enter the index, and both texts are needed.
    """
    for text in model.derived[captured.index]:
        if not changed.keys().isdisjoint(text.touched_by) and not _is_absent(text.gate & changed.keys(), values):
            yield from text.needed


def _rewrite(
    model: Model[Any], captured: Captured, changed: Mapping[str, Update], values: Mapping[str, Any]
) -> Iterator[AttributeChange]:
    kinds = model.table.definition.kinds
    for text in model.derived[captured.index]:
        if changed.keys().isdisjoint(text.touched_by):
            continue
        name = text.attribute
        if _is_absent(text.gate, values):
            yield AttributeChange(name, None)
        else:
            yield AttributeChange(name, {kinds.get(name, "S"): _text(captured, text.template, values)})


def _is_absent(names: Iterable[str], values: Mapping[str, Any]) -> bool:
    """Whether one of some attributes is known to be None."""
    return any(name in values and values[name] is None for name in names)


def _text(captured: Captured, template: Any, values: Mapping[str, Any]) -> str:
    try:
        return str(template.write(values))
    except InvalidValue as error:
        error.operation = captured.shown
        name_owner(error, captured.model.kind)
        raise
