"""The personal columns of rows: declared attributes, the ends of edges, edge sets, guards."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from singletable.exchange.datasets import UNKNOWN, Dataset
from singletable.exchange.manifest import DatasetFiles
from singletable.foundation import GUARD_TYPE, personal_names

_UNKNOWN_COLUMNS = frozenset({"partition", "sort", "item"})
_GUARD_COLUMNS = frozenset({"type", "attribute"})
"""The columns of a guard that name nobody."""


def personal_columns(datasets: Sequence[Dataset], files: Iterable[DatasetFiles]) -> Mapping[str, frozenset[str]]:
    """The columns of an export that hold what is personal, by dataset: attributes, keys that are made of them, and raw
    items. Of a dataset whose class is gone, all of them, where any class has personal attributes."""
    by_name = {each.name: {column.name for column in each.columns} for each in files}
    found = {each.name: _columns(each, by_name.get(each.name, set())) for each in datasets if each.type != GUARD_TYPE}
    if not any(found[each.name] for each in datasets if not each.is_system):
        return found
    for each in datasets:
        if each.type == GUARD_TYPE:
            names = {column.name for column in each.columns} | by_name.get(each.name, set())
            found[each.name] = frozenset(names - _GUARD_COLUMNS)
        found[each.name] |= {c.name for c in each.columns if c.field.stored in each.table.derived}
    gone = {name: frozenset(columns) for name, columns in by_name.items() if name not in found}
    return {**found, **gone, UNKNOWN: _UNKNOWN_COLUMNS}


def _columns(dataset: Dataset, written: set[str]) -> frozenset[str]:
    names = personal_names(dataset.model.kind)
    own = frozenset(column.name for column in dataset.columns if column.field.name in names)
    keys = written - {column.name for column in dataset.columns}
    return own | keys if own else own
