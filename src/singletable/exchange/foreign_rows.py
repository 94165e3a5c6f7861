"""The items of another table, read by the classes that declare it, as rows of one's own classes.

    into = {legacy.Order: Order, legacy.Profile: Customer}

A class of that table reads an item: its values have their types then, and an id that is only in a key is read from it.
Each value goes to the attribute of the same name; so does one that the class there does not declare. Items that no
class takes are left, and counted by their kind.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from singletable.errors import InvalidRequest, InvalidValue, SingletableError
from singletable.exchange.bad_rows import reason_of
from singletable.exchange.cells import BadCell, cell_of
from singletable.exchange.datasets import Dataset, datasets_of
from singletable.exchange.import_files import FileRow, Unknown
from singletable.exchange.row_items import item_of
from singletable.foundation import Table, entity_name, model_of
from singletable.operations import Item, encode, read_item
from singletable.values import AttributeValue, Codec, Field, from_attribute_value, in_declared_forms, only_declared

Takers = Mapping[type[Any], Dataset]
"""Classes of another table, each with the dataset of the class that takes its items."""
_BEGINNING: Final = re.compile(r"[A-Za-z$@_-]+[#|:/~]").match
_WORD: Final = re.compile(r"[A-Z$][A-Z$_-]*").fullmatch


class ForeignRows:
    """Reads the items of another table. InvalidRequest for classes of several tables, and for attributes that would be
    lost, where `unknown` refuses them."""

    def __init__(self, into: Takers, unknown: Unknown, ignored: Sequence[str]) -> None:
        tables = dict.fromkeys(model_of(kind).table for kind in into)
        if len(tables) != 1:
            names = ", ".join(table.name for table in tables) or "none"
            raise InvalidRequest(
                f"the classes that read items are of one table, not of {names}", hint="Import each table by itself."
            )
        (self.table,) = tables
        self.datasets = {dataset.model.kind: dataset for dataset in datasets_of(self.table)}
        self.unknown, self.ignored = unknown, frozenset(ignored)
        self.takers = {kind: _Taker(self.datasets[kind], target) for kind, target in into.items()}
        for taker in self.takers.values() if unknown == "refuse" else ():
            taker.check(self.ignored)

    @property
    def identity(self) -> Sequence[Any]:
        """Values that change with the classes, and with what is left out."""
        pairs = sorted((taker.source.digest, taker.target.digest) for taker in self.takers.values())
        return "by classes", pairs, self.unknown, sorted(self.ignored)

    def read(self, row: FileRow, dataset: Dataset | None = None) -> FileRow:
        """The row of an item for the class that takes it. `dataset` is that of cells."""
        if row.cells is None and row.item is None:
            return row
        item = item_of(dataset, row)
        if isinstance(item, str):
            return FileRow(row.number, reason=item, size=row.size)
        model = self.table.model_of_type(self.table.type_of(item))
        if model is None:
            return FileRow(row.number, left=f"{kind_of(self.table, item)}: no class of {self.table.name} explains it")
        taker = self.takers.get(model.kind)
        if taker is None:
            return FileRow(row.number, left=f"{entity_name(model.kind)}: no class here takes it")
        try:
            return self._taken(taker, row, item)
        except SingletableError as error:
            return FileRow(row.number, reason=reason_of(error), size=row.size)

    def _taken(self, taker: _Taker, row: FileRow, item: Item) -> FileRow:
        entity = taker.source.model.load(item)
        if entity is None:
            return FileRow(row.number, reason="it is being deleted", size=row.size)
        others = {**row.rest, **taker.others(item, entity)}
        rest = {name: value for name, value in others.items() if name not in self.ignored}
        if rest and self.unknown == "refuse":
            return FileRow(row.number, reason=f"{min(rest)}: the class has no such attribute", size=row.size)
        try:
            values = taker.values(item, entity)
        except BadCell as bad:
            return FileRow(row.number, reason=str(bad), size=row.size)
        return FileRow(row.number, item=values, rest=rest, size=row.size, dataset=taker.target)


class _Taker:
    """A class of another table, and the one that takes its items."""

    def __init__(self, source: Dataset, target: Dataset) -> None:
        self.source, self.target = source, target
        theirs, fields = source.model.by_name, target.model.fields
        common = [field for field in fields if field.name in theirs]
        self.lost = [field for field in source.model.fields if field.name not in target.model.by_name]
        self.columns = {column.field.name: column for column in target.columns}
        self.source_columns = {column.field.name: column.name for column in source.columns}
        others = [field for field in fields if field.name not in theirs]
        self.undeclared = {name: field.stored for field in others for name in (field.name, field.stored)}
        self.direct = [field for field in common if field.is_written]
        self.by_cell = [field for field in common if not field.is_written]
        self.codec = self._codec()

    def check(self, ignored: frozenset[str]) -> None:
        """InvalidRequest for attributes that the other class lacks."""
        if lost := [field.name for field in self.lost if field.name not in ignored]:
            source, target = entity_name(self.source.model.kind), entity_name(self.target.model.kind)
            raise InvalidRequest(
                f"{source} has attributes that {target} has not: {', '.join(lost)}",
                table=self.source.table.name,
                operation="import",
                hint='Declare them; or leave them out with ignore=(...) (--ignore) or unknown="report" (--unknown '
                "report).",
            )

    def others(self, item: Item, entity: Any) -> dict[str, Any]:
        """The values that the other class has no attribute for: declared ones by their names, others as stored."""
        names = item.keys() - self.source.model.codec.known - self.undeclared.keys()
        rest = {name: from_attribute_value(item[name]) for name in sorted(names)}
        for field in self.lost:
            if field.stored in item:
                rest[field.name] = from_attribute_value(item[field.stored])
            elif field.is_in_key:
                rest[field.name] = getattr(entity, field.name)
        return rest

    def values(self, item: Item, entity: Any) -> dict[str, AttributeValue]:
        """The attributes for the other class. BadCell for a value that its attribute can't take."""
        known = self.source.model.codec.known
        named = {to: item[name] for name, to in self.undeclared.items() if name in item and name not in known}
        while True:
            try:
                values = named | _dumped(self.codec, entity)
            except InvalidValue as error:
                self._take_by_cell(error)
            else:
                break
        if self.by_cell:
            canonical = read_item(encode(self.source.model.item(in_declared_forms(entity))))  # as columns take values
            cells = self.source.cells(canonical)
            values |= {field.stored: self._value(field, cells) for field in self._there(entity)}
        return values

    def _take_by_cell(self, error: InvalidValue) -> None:
        """A value of another type: from now on the attribute is taken as a file's value is, if nothing is lost."""
        name = (error.attribute or "").partition(".")[2].partition(".")[0]
        field = next((field for field in self.direct if field.name == name), None)
        if field is None:
            raise error
        self.direct.remove(field)
        self.by_cell.append(field)
        self.codec = self._codec()

    def _there(self, entity: Any) -> list[Field]:
        values = ((field, getattr(entity, field.name)) for field in self.by_cell)
        return [field for field, value in values if value is not None and (value or not field.plan.is_set)]

    def _value(self, field: Field, cells: Mapping[str, Any]) -> AttributeValue:
        column = self.columns[field.name].column
        try:
            cell = cell_of(cells[self.source_columns[field.name]], column.type)
            value = None if cell is None else column.dump(cell)
        except BadCell as bad:
            raise BadCell(f"{field.name}: {bad}") from None
        if value is None:
            raise BadCell(f"{field.name}: a value that no column holds")
        return value

    def _codec(self) -> Codec[Any]:
        return Codec(self.target.model.kind, self.direct, whole=False)


def _dumped(codec: Codec[Any], entity: Any) -> dict[str, AttributeValue]:
    with only_declared():
        return read_item(encode(codec.dump(entity)))


def kind_of(table: Table, item: Item) -> str:
    """The kind of an item of no class: its type; or the words that its keys begin with, without ids."""
    definition = table.definition
    if type_name := str(item.get(definition.type_attribute, {}).get("S", "")):
        return type_name
    texts = (item.get(name, {}).get("S", "") for name in definition.key if name)
    return " / ".join(map(_beginning, texts))


def _beginning(text: str) -> str:
    if _WORD(text):
        return text
    found = _BEGINNING(text)
    return f"{found[0]}*" if found else "*"
