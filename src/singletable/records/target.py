"""The target of a write of one item: its key, or its entity."""

from __future__ import annotations

from typing import Any

from singletable.errors import InvalidRequest
from singletable.records.query_request import check_whole
from singletable.records.write import UNREAD
from singletable.schema import Entity, KeyOf, Model, Query, model_for


def target_of(target: KeyOf[Any] | Entity, expected: int | None) -> tuple[KeyOf[Any], int | None]:
    """The key of a target, and the expected count of writes of its item.

    An entity has its own count; a key has one only if `expected` is given.
    """
    if isinstance(target, Query):
        check_whole(target)
        key: KeyOf[Any] = target
        model = key.model
    else:
        model = model_for(target, or_key=True)
        key = model.key_of(target)
        if expected is None and model.counter is not None:
            expected = getattr(target, model.counter.name)
    if expected is not None and model.counter is None:
        raise InvalidRequest(
            f"expected={expected} is given, but {model.kind.__name__} counts no writes",
            hint="Declare a count: revision: int = field(version=True, default=0).",
        )
    return key, expected


def caller_copy_of(target: KeyOf[Any] | Entity, model: Model[Any]) -> Any:
    """The target, used instead of a read of the item by an update that needs the other parts of an index key.

    UNREAD for a key, for an entity that was loaded in part, and for a class with unique attributes or a search.
    """
    if isinstance(target, KeyOf) or model.has_claims or not model.feeds.keys() <= vars(target).keys():
        return UNREAD
    return target
