"""What every write holds as a condition, and what its refusal means: the write rules, in one place.

| | missing item | other type | answer lost |
|---|---|---|---|
| create | writes | AlreadyExists | settled by a write id on the item |
| put | writes | refused, where key texts can meet | repeat: the last writer wins |
| update | NotFound, never a ghost | NotFound | `set` of constants: repeat; `add`, `append`: OutcomeUnknown |
| upsert | writes whole, all keys | refused | as update |
| delete | None | None | repeat |

A repeat that meets a refused `where=` after a lost answer can't tell its own effect from another writer's:
OutcomeUnknown.
"""

from __future__ import annotations

from typing import Any

from singletable.errors import AlreadyExists, ConditionFailed, NotFound, OutcomeUnknown, SingletableError
from singletable.expressions import Condition, Given, Stored, words
from singletable.operations import Item
from singletable.records.models import Model


def is_type(model: Model[Any]) -> Condition:
    """There is an item, and it is of this type."""
    return Condition("=", (Stored(model.table.definition.type_attribute), Given({"S": model.type})))


def is_version(model: Model[Any]) -> Condition:
    """The item has this class's schema version."""
    attribute = Stored(model.table.definition.version_attribute)
    same = Condition("=", (attribute, Given({"N": str(model.version)})))
    # An item without one is of the first version.
    return same | Condition("attribute_not_exists", (attribute,)) if model.version == 1 else same


def at_most_version(model: Model[Any]) -> Condition:
    """The item is of this class's schema version or an older one, which an overwrite may replace."""
    attribute = Stored(model.table.definition.version_attribute)
    return Condition("attribute_not_exists", (attribute,)) | Condition(
        "<=", (attribute, Given({"N": str(model.version)}))
    )


def is_absent(model: Model[Any]) -> Condition:
    return Condition("attribute_not_exists", (Stored(model.key_attributes[0]),))


def absent_or_mine(model: Model[Any]) -> Condition:
    return is_absent(model) | is_type(model)


def both(one: Condition | None, other: Condition | None) -> Condition | None:
    if one is None or other is None:
        return one if other is None else other
    return one & other


def already_exists(model: Model[Any], key: Any, stored: Item | None) -> AlreadyExists:
    mine = stored is None or model.is_mine(stored)
    what = f"a {model.kind.__name__} is there already" if mine else "an item of another type has the key"
    hint = "Use put() to overwrite it, or upsert() to change it." if mine else "Give the entities keys of their own."
    return AlreadyExists(what, key=key, table=model.table.name, hint=hint)


def not_found(model: Model[Any], key: Any, operation: str) -> NotFound:
    return NotFound(
        f"there is no {model.kind.__name__} under the key",
        key=key,
        table=model.table.name,
        operation=operation,
        hint="create() it first, or use upsert().",
    )


def condition_failed(
    model: Model[Any], key: Any, operation: str, where: Condition | None, stored: Item | None
) -> ConditionFailed:
    said = f" that {words(where)}" if where is not None else ""
    return ConditionFailed(
        f"the condition{said} does not hold",
        stored=loaded(model, stored),
        key=key,
        table=model.table.name,
        operation=operation,
        hint="The stored item is on the error as `stored`: decide by it, then try again.",
    )


def outcome_unknown(model: Model[Any], key: Any, operation: str) -> OutcomeUnknown:
    return OutcomeUnknown(
        "the answer to an earlier try was lost, and the condition fails now: by our own write or by another's",
        key=key,
        table=model.table.name,
        operation=operation,
        hint="Read the item, then decide; or put the write in a transaction, which is settled by its token.",
    )


def loaded(model: Model[Any], stored: Item | None) -> Any:
    """The entity of a stored item for an error, or None where it can't be read as one."""
    try:
        return model.load(stored) if stored is not None else None
    except SingletableError:
        return None
