"""Turns an item into items of other classes: `@Contact.becomes(Person, Company)`.

It is a move with several puts, in one transaction: the new items are put where nothing lies, the old one is deleted if
it has not changed, and the guards of unique values of both are written. So no concurrent write is lost, and no reader
sees a part of it. `moves` sends it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from singletable.errors import InvalidRequest, SingletableError
from singletable.operations import MAX_ACTIONS, Item, PutItem, check_item
from singletable.records.conditions import is_gone
from singletable.records.guarded_write import delete_if, put_if
from singletable.records.moves import Move
from singletable.records.unique_guards import AttachedChange, claims_of, guard_actions
from singletable.records.upgrade import as_read
from singletable.schema import KeyOf, Model, model_for
from singletable.values import undeclared_in


def conversion_of(model: Model[Any], stored: Item, now: float) -> Move | None:
    """The writes that convert an item; None for one that stays as it is: of a class that isn't converted, that has
    expired, or that the function returns. Corrupt for one that its class can't read.

    InvalidRequest where the function fails, returns something else than it may, or would not see a stored attribute;
    InvalidValue and TooLarge for an entity that can't be stored.
    """
    entity = model.load(stored)
    if entity is None or model.type not in model.table.conversions or model.is_expired(entity, now):
        return None
    entities = _converted(model, entity, stored)
    if entities == [entity]:
        return None
    rest = next((result for result in entities if type(result) is model.kind), None)
    old, is_unchanged = model.key_of(entity), as_read(model, stored)
    claims, puts = [*_claims(model, old, entity, rest)], list[PutItem]()
    for result in entities:
        if result is not rest:
            key = model_for(result).key_of(result)
            claims += _claims(key.model, key, None, result)
            puts.append(put_if(key, _item(result), is_gone(key.model, now)))
    changed = None if rest is None else put_if(old, _item(rest), is_unchanged)
    guards = tuple((claim, action) for claim, action, _ in guard_actions(claims, now))
    move = Move(old, old, tuple(puts), delete_if(old, is_unchanged), guards, rest=changed)
    if len(move.actions()) > MAX_ACTIONS:
        raise _error(model, f"takes {len(move.actions())} writes, and a transaction has {MAX_ACTIONS} at most")
    return move


def _converted(model: Model[Any], entity: Any, stored: Item) -> Sequence[Any]:
    """The entities that the function makes of one."""
    conversion = model.table.conversions[model.type]
    unseen = sorted(undeclared_in(entity))
    if unseen:
        raise _error(
            model, f"doesn't see the attribute {unseen[0]!r}", f"Declare it in {model.kind.__name__}, so that it does."
        )
    known = (model.kind, *conversion.into)
    entities = _called(model, known, model.load(stored))  # its own object: it may change that
    if not entities or not all(type(result) in known for result in entities):
        names = ", ".join(dict.fromkeys(type(result).__name__ for result in entities)) or "nothing"
        raise _error(model, f"returned {names}, and {conversion.shown} says what it may")
    places = [model_for(result).place_of(result) for result in entities]
    if len({*places}) < len(places):
        raise _error(model, "returned two entities with one key")
    if any(type(result) is model.kind and model.place_of(result) != model.place_of(entity) for result in entities):
        raise _error(model, f"returned a {model.kind.__name__} with another key")
    return entities


def _called(model: Model[Any], known: tuple[type[Any], ...], entity: Any) -> list[Any]:
    try:
        answer = model.table.conversions[model.type].function(entity)
        return [answer] if isinstance(answer, known) else list(answer or ())
    except SingletableError:
        raise
    except Exception as error:
        raise _error(model, f"raised {type(error).__name__}") from error


def _error(model: Model[Any], what: str, hint: str = "Mend it, or the item.") -> InvalidRequest:
    return InvalidRequest(f"the function that converts {model.kind.__name__} {what}", table=model.table.name, hint=hint)


def _claims(model: Model[Any], key: KeyOf[Any], was: Any, now: Any) -> Iterator[AttachedChange]:
    """The guards that an entity gives up and takes; None before it is there, and after."""
    ends = None if now is None or model.expires is None else model.item(now).get(model.expires.stored)
    return claims_of(model, key, was, now, ends, renew=model.expires is not None)


def _item(result: Any) -> Item:
    model = model_for(result)
    item = model.item(result)
    check_item(item, "convert", model.table.name)
    return item
