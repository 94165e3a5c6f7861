"""A row as the entity of its class, or as the item that it was; a text says why it is neither."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from singletable.errors import SingletableError
from singletable.exchange.bad_rows import reason_of
from singletable.exchange.datasets import Dataset
from singletable.exchange.import_files import FileRow
from singletable.foundation import Model, Table, type_in
from singletable.graph import Edge
from singletable.operations import Item, encode, read_item
from singletable.values import exact_json

BLANK, LEFT = "(blank)", "(left)"
"""The reasons of a row without cells, and of one that no class takes. They are not bad."""
_UNREADABLE: Final = (ValueError, LookupError, TypeError, ArithmeticError, AttributeError, RecursionError)
"""The errors of a class for values of other types, or of too many levels."""


def entity_of(tables: Sequence[Table], dataset: Dataset | None, row: FileRow) -> Any:
    """The entity of a row, or why there is none."""
    if row.reason or (row.cells is None and row.item is None):
        return row.reason or (LEFT if row.left else BLANK)
    try:
        entity = _loaded(tables, row.dataset or dataset, row)
    except SingletableError as error:
        return reason_of(error)
    except _UNREADABLE as error:
        return f"its class can't read it: {_said(error)}"
    return entity


def _loaded(tables: Sequence[Table], dataset: Dataset | None, row: FileRow) -> Any:
    if dataset is None:
        assert row.item is not None
        return _by_type(tables, row.item)
    model = dataset.model
    if row.cells is not None:
        entity = dataset.entity_of(row.cells)
    else:
        assert row.item is not None
        entity = model.codec.load(_by_stored_name(model, row.item))
    return _checked(model, entity)


def _by_type(tables: Sequence[Table], item: Item) -> Any:
    for table in tables:
        model = table.model_of_type(type_in(table, item))
        if model is not None and {*filter(None, table.definition.key)} <= item.keys():
            return _checked(model, model.load(item))
    return "no class of the tables has its type"


def _checked(model: Model[Any], entity: Any) -> Any:
    """An entity that its class's verbs write; else why not."""
    if entity is None:
        return "it is of another class, or being deleted"
    if not isinstance(entity, Edge) and (why := model.refuses.get("create")) is not None:
        return why
    return entity


def _by_stored_name(model: Model[Any], item: Item) -> dict[str, Any]:
    """The attributes of an item of another table: by the names under which they are stored, or that they have."""
    values: dict[str, Any] = {}
    for field in model.fields:
        value = item.get(field.stored, item.get(field.name))
        if value is not None:
            values[field.stored] = value
    return values


def has_key(table: Table, item: Item) -> bool:
    """Whether an item has the key attributes of a table, of their types, and not empty."""
    values: list[tuple[str, Any]] = [(name, item.get(name)) for name in table.definition.key if name]
    return all(isinstance(value, dict) and value.get(table.definition.kinds.get(name, "S")) for name, value in values)


def item_of(dataset: Dataset | None, row: FileRow) -> Any:
    """The item of a row of an export with keys, or why there is none."""
    if row.reason or row.item is not None:
        return row.reason or row.item
    cells = row.cells or {}
    try:
        if dataset is None:
            return exact_json(str(cells.get("item")))
        return read_item(encode(dataset.item(cells)))
    except SingletableError as error:
        return f"it makes no item: {reason_of(error)}"
    except _UNREADABLE as error:
        return f"it makes no item: {_said(error)}"


def _said(error: Exception) -> str:
    """The text of an error, without a value: Python's own messages quote the unreadable value."""
    return str(error) if isinstance(error, RecursionError) else type(error).__name__
