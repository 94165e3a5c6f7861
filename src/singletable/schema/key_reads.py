"""The attributes that an index lacks. What it has of each item are the keys, its own and the table's; the rest says its
projection."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

from singletable.schema.models import Model, model_of
from singletable.schema.patterns import Query

E_co = TypeVar("E_co", covariant=True)


def whole_items(query: Query[E_co]) -> Query[E_co]:
    """The query of whole items: hydrated, where its index holds less than their classes declare."""
    index = query.index
    if index is None or not any(missing_in(model_of(kind), index) for kind in query.kinds):
        return query
    return query.hydrated()


def missing_in(model: Model[Any], index: str, names: Iterable[str] = ()) -> tuple[str, ...]:
    """The attributes of a class that an index does not hold, of some of them or of all."""
    held = model.table.definition.held_by(index)
    if held is None:
        return ()
    fields = [model.by_name[name] for name in names or model.by_name if name in model.by_name]
    return tuple(field.name for field in fields if field.stored not in held and not field.is_in_key)
