"""Decides from the templates of all classes of the table whether a query must filter on the type."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

from singletable.schema.models import Model
from singletable.schema.overlap import could_begin, could_meet
from singletable.schema.patterns import Captured, Query


def needs_type_filter(query: Query[Any]) -> bool:
    """Whether items of other classes could be in the range. Then, and only then, a filter is needed."""
    table = query.model.table
    if query.index is not None and table.leaving:
        return True  # what has not left has keys of an index that no class declares any more
    return _shared(query.captured, query.bound, query.kinds, (*table.models, *table.leaving))


@cache
def _shared(captured: Captured, bound: int, kinds: tuple[type[Any], ...], models: tuple[Model[Any], ...]) -> bool:
    partition, sort = captured.templates
    for model in models:
        if model.kind in kinds:
            continue
        for other in _keys_of(model, captured.index):
            if could_meet(other.templates[0], partition) is None:
                continue
            if bound < 0 or could_begin(other.templates[1], sort, bound):
                return True
    return False


def _keys_of(model: Model[Any], index: str | None) -> Iterator[Captured]:
    """The keys that a class's items have in an index, or in the table: two while they move from one to the other."""
    found = model.key if index is None else model.indexes.get(index)
    while found is not None:
        yield found
        found = found.was if found.was is not None and found.was.table is None else None
