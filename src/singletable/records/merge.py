"""Merges two writes of one item in a transaction, or refuses them: DynamoDB accepts one action for each item."""

from __future__ import annotations

from dataclasses import replace

from singletable.errors import InvalidRequest
from singletable.records.conditions import both, is_type
from singletable.records.index_keys import applied
from singletable.records.verbs import CheckWrite, CreateWrite, DeleteWrite, PutWrite, UpdateWrite, UpsertWrite
from singletable.records.write import Write


def merged(one: Write, other: Write) -> Write:
    """Two writes of one item as one. Raises InvalidRequest if no single action can express both."""
    joined = one.joined_with(other) or other.joined_with(one)
    if joined is not None:
        return joined
    if isinstance(one, CheckWrite):
        if isinstance(other, CheckWrite):
            return replace(one, where=both(one.where, other.where))
        if isinstance(other, (UpdateWrite, DeleteWrite, PutWrite)):
            where = both(one.where, other.where)
            return replace(other, where=is_type(one.model) if where is None else where)
    if isinstance(other, CheckWrite) and isinstance(one, (UpdateWrite, DeleteWrite, PutWrite)):
        return merged(other, one)
    if isinstance(one, UpdateWrite) and isinstance(other, UpdateWrite):
        return _joined(one, other)
    if (
        isinstance(one, (CreateWrite, PutWrite, UpsertWrite))
        and isinstance(other, UpdateWrite)
        and other.where is None
        and other.expected in (None, one.count)
    ):
        after = applied(one.model, one.entity, other.updates)
        return replace(one, entity=after, origin=one.entity if one.origin is None else one.origin)
    raise InvalidRequest(
        f"{one.verb} and {other.verb} of the same item in one transaction",
        key=other.key,
        operation="transaction",
        hint="Use one operation for the item.",
    )


def _joined(one: UpdateWrite, other: UpdateWrite) -> UpdateWrite:
    expected = {e for e in (one.expected, other.expected) if e is not None}
    if len(expected) > 1:
        raise InvalidRequest("two versions are expected of the same item", key=one.key, operation="transaction")
    updates, where = (*one.updates, *other.updates), both(one.where, other.where)
    return replace(one, updates=updates, where=where, expected=next(iter(expected), None))
