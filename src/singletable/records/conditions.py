"""The conditions of every write, and what its refusal means: the write rules, in one place.

create  missing: writes. Other type: AlreadyExists. Version: 1. Unique: a guard item in the same transaction. Expired:
        overwritten, as if absent. Answer lost: settled by a write id on the item.
put     missing: writes. Other type: refused. Version: must equal the entity's. Unique: reads the old value, then a
        transaction. Expired: overwritten. Answer lost: repeated, the last writer wins.
update  missing, other type, expired: NotFound, never a ghost. Version: one more always; compared when an entity or
        `expected=` is given. Unique: reads the old value when that attribute changes. Answer lost: `set` of constants
        is repeated; `add` and `append` are OutcomeUnknown, or `exactly_once=True`.
upsert  missing, expired: writes whole, all keys. Other type: refused. The rest as update; unique as put.
delete  missing, other type, expired: None. Version: compared when given. Unique: reads the value, removes the guard.
        Answer lost: repeated.
write_many  refused for entities with a version or unique attributes, overlap="guard", or ambiguous=True; in a foreign
        table for those with a type, a version or a stamp. Answer lost: repeated.

A class with ambiguous=True: each write holds the values of its key as a condition. An item of other values under the
key is one of another type to create, put and upsert, and missing to the other verbs.

An item without a type attribute is of another type, and an expired item of another type is not absent.
A repeat whose condition is refused after a lost answer can't distinguish its own effect from another writer's, unless
the item carries its write id: OutcomeUnknown.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from msgspec import Struct

from singletable.errors import (
    AlreadyExists,
    ConditionFailed,
    InvalidRequest,
    MissingPath,
    NotFound,
    OutcomeUnknown,
    SingletableError,
    VersionMoved,
)
from singletable.expressions import Condition, Expressions, Given, Parent, Stored, stored_texts, words
from singletable.operations import Item, RawCondition
from singletable.schema import AskedKey, KeyOf, Model
from singletable.values import Field

CHANGED = "another writer changed the item"
"""The winner when a write of one item loses, for `Race`."""


def check_verb(model: Model[Any], verb: str) -> None:
    """Raises InvalidRequest for a verb that would break what a layer above stores in the item."""
    instead = model.refuses.get(verb)
    if instead is not None:
        what = "refused: the table is read only" if model.table.read_only else f"not for a {model.kind.__name__}"
        raise InvalidRequest(f"{verb} is {what}", table=model.table.name, operation=verb, hint=instead)


def guard(model: Model[Any], condition: Condition | None) -> RawCondition:
    """A condition in the form that a request takes."""
    if condition is None:
        return RawCondition()
    texts = stored_texts((), condition)
    if texts is None:
        return guard_in(Expressions((model.kind,)), condition)
    return RawCondition(texts.condition, texts.names, texts.values)


def guard_in(expressions: Expressions, condition: Condition | None) -> RawCondition:
    """A condition in a request that has other expressions: they share its names and values."""
    text = None if condition is None else expressions.condition(condition)
    return RawCondition(text, expressions.names, expressions.values)


def both(one: Condition | None, other: Condition | None) -> Condition | None:
    """Both conditions, where there are two."""
    if one is None or other is None:
        return one if other is None else other
    return one & other


@cache
def is_type(model: Model[Any]) -> Condition:
    """The item exists and has this type; in a foreign table, none but a class's own key shows it."""
    if model.table.definition.foreign:
        return _is_foreign_type(model)
    return Condition("=", (Stored(model.table.definition.type_attribute), Given({"S": model.type})))


@cache
def is_schema(model: Model[Any]) -> Condition:
    """The item has the schema version that this class stores. An item without one has version 1."""
    attribute = Stored(model.table.definition.version_attribute)
    same = Condition("=", (attribute, Given({"N": str(model.stored_as)})))
    return same | _missing(attribute) if model.stored_as == 1 else same


@cache
def is_current(model: Model[Any]) -> Condition:
    """The item exists, has this type, and the schema version that this class stores."""
    return is_type(model) & is_schema(model) if model.table.definition.version_attribute else is_type(model)


@cache
def is_known(model: Model[Any]) -> Condition:
    """The item exists, has this type, and a schema version that this class can read."""
    return is_type(model) & is_schema_or_older(model) if model.table.definition.version_attribute else is_type(model)


@cache
def is_schema_or_older(model: Model[Any]) -> Condition:
    """The item's schema version is this class's or an older one: an overwrite never replaces a newer one."""
    attribute = Stored(model.table.definition.version_attribute)
    return _missing(attribute) | Condition("<=", (attribute, Given({"N": str(model.version)})))


def is_alive(model: Model[Any], now: float | Given) -> Condition | None:
    """The item has not expired, and is not being deleted."""
    if model.tombstone:
        return _missing(Stored(model.tombstone))
    if model.expires is None:
        return None
    attribute = Stored(model.expires.stored)
    return _missing(attribute) | Condition(">", (attribute, _second(now)))


@cache
def is_own_or_absent(model: Model[Any]) -> Condition | None:
    """The item is missing, or has this type and a known schema version: nobody else's item is overwritten or deleted,
    nor what a newer program wrote. None where classes are known by their keys alone: no other item can lie there."""
    known = is_known(model)
    return None if known == _exists(model) else is_absent(model) | known


@cache
def plain_guard(model: Model[Any], condition: Callable[[Model[Any]], Condition | None]) -> RawCondition:
    """The condition of a write without a condition of the caller: the same for every item of a class."""
    return guard(model, condition(model))


@cache
def is_absent(model: Model[Any]) -> Condition:
    return _missing(Stored(model.key_attributes[0]))


def is_absent_or(model: Model[Any], condition: Condition | None) -> Condition | None:
    """The item is missing, or meets a condition."""
    return None if condition is None else is_absent(model) | condition


def is_gone(model: Model[Any], now: float | Given) -> Condition:
    """The item is missing, or is of this type and has expired."""
    absent = is_absent(model)
    if model.expires is None:
        return absent
    expired = Condition("<=", (Stored(model.expires.stored), _second(now)))
    return absent | (is_type(model) & expired)


def is_count(model: Model[Any], expected: int | Given | None) -> Condition | None:
    """The item's count of writes is the expected one. An item without a count has 0."""
    if model.counter is None or expected is None:
        return None
    attribute = Stored(model.counter.stored)
    count = expected if isinstance(expected, Given) else Given({"N": str(expected)})
    same = Condition("=", (attribute, count))
    return same | _missing(attribute) if expected == 0 else same


def is_as_read(field: Field, model: Model[Any], read: Any) -> Condition:
    """An attribute has the value that was read, also where that is what its absence is read as."""
    handle, value = getattr(model.kind, field.name), getattr(read, field.name)
    same = Condition("=", (handle, value))
    if value is None or not field.may_be_absent or value != field.absent():
        return same
    return same | Condition("=", (handle, None))


def is_as_asked(key: KeyOf[Any], model: Model[Any], stored: Item | None) -> bool:
    """Whether a stored item has the values that its key was asked with, where other values may share the key."""
    if not isinstance(key, AskedKey) or stored is None or not model.is_mine(stored):
        return True
    entity = loaded(model, stored)
    return entity is not None and key.is_of(entity, exactly=True)


def is_answer(key: KeyOf[Any], entity: Any) -> bool:
    """Whether an entity that was read has the values that its key was asked with, as far as a key's texts tell them."""
    return not isinstance(key, AskedKey) or key.is_of(entity)


def held_values(key: KeyOf[Any]) -> Condition | None:
    """The item has the values that its key was asked with, where other values may share the key."""
    return key.held if isinstance(key, AskedKey) and key.given else None


def is_not_write(model: Model[Any], write_id: str | Given) -> Condition:
    """The item was not last written by this same write."""
    attribute = Stored(model.table.definition.write_id_attribute)
    own = write_id if isinstance(write_id, Given) else Given({"S": write_id})
    return _missing(attribute) | Condition("<>", (attribute, own))


class Facts(Struct, frozen=True):
    """The values that the condition of a write is made of, or the blanks of a text that is made once."""

    now: float | Given
    gone_until: float | Given
    count: int | Given | None = None
    """The expected count of writes."""
    write_id: str | Given = ""
    where: Condition | None = None
    """The caller's own condition."""
    held: Condition | None = None
    """The values that were read, or asked for, are so still."""
    parents: tuple[Condition, ...] = ()
    """The maps and lists of changed paths are there."""


Recipe = Callable[[Model[Any], Facts], Condition | None]


def create_condition(model: Model[Any], facts: Facts) -> Condition:
    return is_gone(model, facts.gone_until)


def put_condition(model: Model[Any], facts: Facts) -> Condition | None:
    condition = is_own_or_absent(model)
    if facts.where is not None:
        condition = both(is_known(model) & facts.where, is_alive(model, facts.now))
    same = is_count(model, facts.count)
    if same is not None:
        condition = both(condition, is_gone(model, facts.gone_until) | same if facts.count == 0 else same)
    return both(condition, facts.held)


def update_condition(model: Model[Any], facts: Facts) -> Condition:
    condition: Condition | None = is_current(model)
    count = is_count(model, facts.count)
    for more in (is_alive(model, facts.now), count, facts.held, facts.where, *facts.parents):
        condition = both(condition, more)
    if facts.write_id:
        condition = both(condition, is_not_write(model, facts.write_id))
    assert condition is not None
    return condition


def upsert_condition(model: Model[Any], facts: Facts) -> Condition | None:
    mine = both(is_known(model), is_alive(model, facts.now))
    if facts.write_id:
        mine = both(mine, is_not_write(model, facts.write_id))
    mine = both(mine, facts.held)
    assert mine is not None
    return both(is_absent(model) | mine, facts.where)


def delete_condition(model: Model[Any], facts: Facts) -> Condition | None:
    condition: Condition | None = None
    if facts.where is not None or facts.count is not None:
        condition = is_known(model)
        for more in (is_count(model, facts.count), is_alive(model, facts.now), facts.where):
            condition = both(condition, more)
    return both(is_own_or_absent(model), both(condition, facts.held))


def check_condition(model: Model[Any], facts: Facts) -> Condition | None:
    condition = both(both(is_type(model), is_alive(model, facts.now)), facts.where)
    return both(condition, facts.held)


def carries(model: Model[Any], stored: Item | None, write_id: str) -> bool:
    """Whether a stored item was last written by this same write."""
    return stored is not None and stored.get(model.table.definition.write_id_attribute) == {"S": write_id}


def already_exists(model: Model[Any], key: Any, stored: Item | None) -> AlreadyExists:
    mine = stored is None or model.is_mine(stored)
    what = "an item with this key exists already" if mine else "an item of another type has the key"
    hint = "Use put() to overwrite it, or upsert() to change it." if mine else "Give the entities different keys."
    is_other = not (mine and is_as_asked(key, model, stored))
    if is_other and mine:
        what, hint = "an item of other values has the key", "The key doesn't tell the two apart: store one of them."
    attribute = model.table.definition.type_attribute
    if stored is not None and not mine and attribute and attribute not in stored:
        what = f"an item without a type ({attribute}) has the key"
        hint = "Another program wrote it. Give it the attribute, or delete it."
    if mine and stored is not None and model.tombstone in stored:
        what = "the item of this key is being deleted"
        hint = model.tombstone_hint
    return AlreadyExists(what, of_another_type=is_other, key=key, table=model.table.name, hint=hint)


def not_found(key: Any, operation: str) -> NotFound:
    return NotFound(
        "there is no item with this key", key=key, operation=operation, hint="create() it first, or use upsert()."
    )


def refused(
    model: Model[Any], key: Any, operation: str, where: Condition | None, expected: int | None, stored: Item | None
) -> SingletableError:
    """The error of a failed condition on an existing item of the type that has not expired."""
    version = model.version_of(stored) if stored is not None else 0
    if version > model.version:
        newer = model.newer(version)
        newer.key, newer.operation = key, operation
        return newer
    entity: Any = loaded(model, stored)
    counter = model.counter
    if counter is not None and expected is not None and getattr(entity, counter.name, None) != expected:
        return VersionMoved(
            f"the item was written after version {expected} was read",
            stored=entity,
            key=key,
            operation=operation,
            hint="Read it again, apply the change to the new version, and try again.",
        )
    there = "the condition does not hold", "The stored item is in the error's `stored`. Decide by it, then try again."
    missing = "the condition does not hold: there is no item with this key", "Use create() for a new item."
    what, hint = missing if stored is None else there
    return ConditionFailed(
        what,
        stored=entity,
        key=key,
        operation=operation,
        condition=words(where) if where is not None else "",
        hint=hint,
    )


def missing_path(key: Any, operation: str, parent: Parent, refusal: ConditionFailed) -> MissingPath:
    """The error of an update whose path is inside an attribute that the item lacks."""
    return MissingPath(
        "the item lacks what the changed path is inside of",
        stored=refusal.stored,
        key=key,
        attribute=str(parent.handle),
        operation=operation,
        hint=f"It has no {parent.shown}: set that as a whole first, as in attr(User.address).set(...). Nothing was "
        "written.",
    )


def outcome_unknown(key: Any, operation: str) -> OutcomeUnknown:
    return OutcomeUnknown(
        "the answer to an earlier try was lost, and the condition fails now, because of that try or of another writer",
        key=key,
        operation=operation,
        hint="Read the item, then decide; or put the write in a transaction, whose token settles a lost answer.",
    )


def loaded(model: Model[Any], stored: Item | None) -> Any:
    """The entity of a stored item for an error, or None if it can't be read as one."""
    try:
        return model.load(stored) if stored is not None else None
    except SingletableError:
        return None


def is_there(model: Model[Any], stored: Item | None, now: float) -> bool:
    """Whether a stored item is of the type and alive."""
    if stored is None or not model.is_mine(stored) or model.tombstone in stored:
        return False
    if model.expires is None or model.expires.stored not in stored:
        return True
    return int(stored[model.expires.stored].get("N", "0")) > now


def is_among(models: Sequence[Model[Any]], how: str = "IN") -> Condition | None:
    """A filter: the item is of one of these classes of a table. None in a foreign table whose items have no type: their
    reader tells them by their keys. An item that lacks the attribute passes there, too."""
    definition = models[0].table.definition
    if not definition.type_attribute:
        return None
    attribute = Stored(definition.type_attribute)
    types = tuple(Given({"S": model.type}) for model in models)
    named = Condition(how, (attribute, *types))
    return named | _missing(attribute) if definition.foreign else named


def _is_foreign_type(model: Model[Any]) -> Condition:
    """The item exists, and neither its type attribute nor a constant of the class has another value."""
    definition, condition = model.table.definition, _exists(model)
    if definition.type_attribute:
        attribute = Stored(definition.type_attribute)
        condition = Condition("=", (attribute, Given({"S": model.type})))
        if not model.table.guards_overlap:
            condition |= _missing(attribute) & _exists(model)
    for stamp in model.stamps:
        attribute = Stored(stamp.stored)
        condition &= _missing(attribute) | Condition("=", (attribute, Given(stamp.value)))
    return condition


def _second(now: float | Given) -> Given:
    return now if isinstance(now, Given) else Given({"N": str(int(now))})


def _exists(model: Model[Any]) -> Condition:
    return Condition("attribute_exists", (Stored(model.key_attributes[0]),))


def _missing(attribute: Stored) -> Condition:
    return Condition("attribute_not_exists", (attribute,))
