"""The personal columns of rows: declared attributes, the ends of edges, edge sets, guards, words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set

from singletable.exchange.datasets import UNKNOWN, Dataset
from singletable.exchange.manifest import DatasetFiles
from singletable.foundation import ATTACHED_TYPES, personal_names

_UNKNOWN_COLUMNS = frozenset({"partition", "sort", "item"})
_OF_CONTENTS = frozenset({"principal", "error", "content", "arguments"})
"""The columns of contents of documents that may hold what is personal."""
_NAMING_NOBODY = frozenset({"type", "attribute", "search"})
"""The columns of a guard, and of a word, that name nobody."""


def personal_columns(datasets: Sequence[Dataset], files: Iterable[DatasetFiles]) -> Mapping[str, frozenset[str]]:
    """The columns of an export that hold what is personal, by dataset: attributes, keys that are made of them, and raw
    items. Of a dataset whose class is gone, all of them, where any class has personal attributes."""
    listed = list(files)
    written = {files_of.name: {column.name for column in files_of.columns} for files_of in listed}
    contents = {files_of.name: frozenset(written[files_of.name]) for files_of in listed if files_of.is_contents}
    guards = {each.name: _guard_columns(each, written) for each in datasets if each.type in ATTACHED_TYPES}
    personal = {each.name: _columns(each, written) for each in datasets if each.name not in guards}
    personal |= {name: columns & _OF_CONTENTS for name, columns in contents.items()}
    if not any(personal[each.name] for each in datasets if not each.is_system):
        return personal
    of_items = personal | guards
    known = {name: of_items[name] for name in contents}
    known |= {each.name: of_items[each.name] | _derived_columns(each) for each in datasets}
    gone = {name: frozenset(columns) for name, columns in written.items() if name not in known}
    return {**known, **gone, UNKNOWN: _UNKNOWN_COLUMNS}


def _columns(dataset: Dataset, written: Mapping[str, Set[str]]) -> frozenset[str]:
    """The personal attributes of a class, and the columns of its keys if there are any."""
    names, columns = personal_names(dataset.model.kind), {column.name for column in dataset.columns}
    own = frozenset(column.name for column in dataset.columns if column.field.name in names)
    keys = written.get(dataset.name, frozenset()) - columns
    return own | keys if own else own


def _guard_columns(dataset: Dataset, written: Mapping[str, Set[str]]) -> frozenset[str]:
    names = {column.name for column in dataset.columns} | written.get(dataset.name, frozenset())
    return frozenset(names - _NAMING_NOBODY)


def _derived_columns(dataset: Dataset) -> frozenset[str]:
    """The columns that a layer fills from others: the ends of edges, edge sets."""
    derived = dataset.table.derived
    return frozenset(column.name for column in dataset.columns if column.field.stored in derived)
