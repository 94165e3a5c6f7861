"""What a write of one item is aimed at: its key, or the item itself as an entity."""

from __future__ import annotations

from typing import Any

from singletable.errors import InvalidRequest
from singletable.records.read import check_whole
from singletable.records.write import UNREAD
from singletable.schema.entities import Entity
from singletable.schema.models import Model, model_for, model_of
from singletable.schema.patterns import KeyOf


def target_of(target: KeyOf[Any] | Entity, expected: int | None) -> tuple[Model[Any], KeyOf[Any], int | None]:
    """The model and key of a target, and the count of writes it is expected to have.

    An entity brings its own count; a key has one only where `expected` gives it.
    """
    key: KeyOf[Any]
    if isinstance(target, KeyOf):
        key = target
        check_whole(key)
        model: Model[Any] = model_of(key.captured.owner)
    else:
        model = model_for(target)
        key = model.key_of(target)
        if expected is None and model.counter is not None:
            expected = getattr(target, model.counter.name)
    if expected is not None and model.counter is None:
        raise InvalidRequest(
            f"expected={expected}, and {model.kind.__name__} counts no writes",
            hint="Declare a count: revision: int = field(version=True, default=0).",
        )
    return model, key, expected


def brought_by(target: KeyOf[Any] | Entity, model: Model[Any]) -> Any:
    """The target as the item, for an update that must know the other parts of an index key; UNREAD where it can't be:
    a key, an entity that was loaded in part, and one whose guards hang on the item itself."""
    if isinstance(target, KeyOf) or model.uniques or not model.feeds.keys() <= vars(target).keys():
        return UNREAD
    return target
