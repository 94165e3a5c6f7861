"""Datasets: the items of an entity class as rows of typed columns, and rows as items again.

    for dataset in datasets_of(shop):
        print(dataset.name, dataset.schema)
    order.batch(items)                  # items as the service has them -> a pyarrow.RecordBatch
    order.items(batch)                  # and back

Each dataset ends with the column `_rest`: JSON of the attributes that its columns don't give back exactly, null in most
rows. An attribute that no column explains is there, one in another form than this program writes, a number beyond its
column's type, and everything that an item of an older schema version has otherwise. So a row is its item, always.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import sha256
from typing import Any, Final

import msgspec
import pyarrow as pa

from singletable.errors import Corrupt, InvalidValue, SingletableError
from singletable.exchange.columns import Column, column_of, load_cell, value_type
from singletable.exchange.declaration_digests import digest_of
from singletable.exchange.left_out import LeftOut, left_out_cell
from singletable.exchange.page_decoder import PageDecoder
from singletable.foundation import (
    KeyOf,
    Model,
    Table,
    attribute_docs,
    class_doc,
    entity_name,
    is_same_item,
    model_of,
    models_of,
    tool_classes,
)
from singletable.operations import Item, encode, read_item, read_one
from singletable.values import Codec, Field, Scalar, exact_json

REST: Final = "_rest"
UNKNOWN: Final = "_unknown"
"""The dataset of the items that no class explains, with the reason and their raw form."""
UNKNOWN_SCHEMA: Final = pa.schema(
    [
        pa.field("table", pa.string()),
        pa.field("partition", pa.string()),
        pa.field("sort", pa.string()),
        pa.field("type", pa.string()),
        pa.field("reason", pa.string()),
        pa.field("item", pa.string()),
    ]
)


@dataclass(frozen=True, eq=False)
class DatasetColumn:
    """An attribute of an entity class, as a column."""

    name: str
    field: Field
    column: Column
    description: str = ""

    @cached_property
    def absent(self) -> Any:
        """The cell of an item without the attribute: what its class reads then."""
        f = self.field
        if f.plan.is_set:
            return []
        if f.default is None or f.optional or not f.is_written:
            return None
        stored = _default_value(f)
        return None if stored is None else load_cell(self.column, stored)


@dataclass(frozen=True, eq=False)
class RowReader:
    """A fast path, and the slow one that takes what it does not, as `read_one` uses them."""

    wire: Any
    build: Callable[[Any], Any]
    load_slowly: Callable[[Item], Any]

    def load(self, item: Item) -> Any:
        return self.load_slowly(item)


@dataclass(frozen=True, eq=False)
class Dataset:
    """The items of one entity class."""

    name: str
    """In snake case: `organisation_member`."""
    entity: str
    type: str
    """The stored type of its items."""
    table: Table
    columns: tuple[DatasetColumn, ...]
    description: str
    model: Model[Any] = field(repr=False)
    keys: tuple[str, ...] = ()
    """The key attributes that are columns as well."""

    @property
    def is_system(self) -> bool:
        """Whether its items are the library's own, such as guards and tasks."""
        return self.model.is_system

    @cached_property
    def schema(self) -> pa.Schema:
        """The columns with their types; docstrings are the fields' metadata `description`."""
        fields: list[Any] = [pa.field(_key_column(self, name), pa.string()) for name in self.keys]
        fields += [pa.field(c.name, c.column.type, metadata=_metadata(c)) for c in self.columns]
        metadata: dict[bytes | str, bytes | str] = {
            "entity": self.entity,
            "type": self.type,
            "table": self.table.name,
            "description": self.description,
        }
        return pa.schema([*fields, pa.field(REST, pa.string())], metadata=metadata)

    @cached_property
    def digest(self) -> str:
        """The digest of the declarations that its rows depend on: it changes with the class."""
        columns = [(c.name, c.field.stored, str(c.column.type)) for c in self.columns]
        return digest_of(self.name, self.model, columns)

    def with_keys(self) -> Dataset:
        """The same with the keys of the table and of its indexes as columns."""
        definition = self.table.definition
        names = (*definition.key, *(n for index in definition.indexes for n in definition.index_keys(index)))
        own = {field.stored for field in self.model.fields if field.is_written}
        return replace(self, keys=tuple(name for name in dict.fromkeys(names) if name and name not in own))

    def decode(self, items: Sequence[msgspec.Raw]) -> tuple[pa.RecordBatch, list[msgspec.Raw]]:
        """The rows of those items of this class that are as this program writes them, and the other items, which `row`
        reads. Items as they came, each of this class's type."""
        if self._decoder is None:
            return self.batch_of_rows(()), list(items)
        return self._decoder.decode(items)

    def decode_whole(self, items: Sequence[msgspec.Raw]) -> tuple[pa.RecordBatch, list[msgspec.Raw]] | None:
        """The same of items whose types are not known; None if one is of another class, or not as this program
        writes it."""
        return None if self._decoder is None else self._decoder.decode_whole(items)

    @cached_property
    def _decoder(self) -> PageDecoder | None:
        """The decoder; None if a part of a key is not in an attribute, as in guards, or if a key attribute holds
        numbers or bytes: their items take the slow way."""
        model, names = self.model, {c.field.name for c in self.columns}
        keys = (model.key, *model.indexes.values())
        if any(not {*t.names} <= names for captured in keys for t in captured.templates) or model.is_leaving:
            return None
        if self.table.definition.kinds or any(not c.field.is_written and " " in c.field.stored for c in self.columns):
            return None
        return PageDecoder(model, [(c.field, c.column) for c in self.columns], self.keys, self.schema)

    def batch(self, items: Sequence[Item]) -> pa.RecordBatch:
        """The rows of items of this class. Corrupt for one that can't be read."""
        return self.batch_of_rows([self.row(item) for item in items])

    def batch_of_rows(self, rows: Sequence[Mapping[str, Any]]) -> pa.RecordBatch:
        """Rows, made by `row`, as columns."""
        choices = {c.name: c.column.choices for c in self.columns}
        arrays = [_array([row.get(f.name) for row in rows], f.type, choices.get(f.name, ())) for f in self.schema]
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)

    def items(self, batch: pa.RecordBatch) -> list[dict[str, Any]]:
        """The items of rows. Columns may be missing, and further ones are left out; ValueError and Corrupt for a row
        whose item has no key."""
        return [self.item(row) for row in batch.to_pylist(maps_as_pydicts=None)]

    def row(self, item: Item) -> dict[str, Any]:
        """The row of an item. Corrupt if the class can't read it."""
        current = self._current(item)
        row = self.cells(current)
        kinds = self.table.definition.kinds
        row |= {_key_column(self, name): current.get(name, {}).get(kinds.get(name, "S")) for name in self.keys}
        rest = self._rest(row, item)
        if rest:
            row[REST] = _canonical(rest)
        return row

    def cells(self, item: Item) -> dict[str, Any]:
        """The cells of the attributes of an item of the class's schema version, null for what has none."""
        known = self.model.stored_key.known_from(item)
        return {c.name: self._cell(c, item, known) for c in self.columns}

    def left_out(self, row: Mapping[str, Any], item: Item) -> Iterator[tuple[str, LeftOut]]:
        """The null cells of an item's row, made by `row`, for which the item has a value."""
        if REST not in row:
            return
        current = self._current(item)
        for column in self.columns:
            f = column.field
            stored = current.get(f.stored, {})
            if row[column.name] is None and stored and "NULL" not in stored:
                is_number = pa.types.is_decimal(column.column.type) or pa.types.is_integer(column.column.type)
                number = stored.get("N") if is_number and item.get(f.stored) == stored else None
                yield column.name, left_out_cell(number)

    def item(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """The item of a row."""
        return self._rebuilt(row, _read_rest(row.get(REST)))

    def entity_of(self, row: Mapping[str, Any]) -> Any | None:
        """The entity of a row; None of one whose item is another class's, or is being deleted."""
        item, reader = encode(self.item(row)), self._under_any_key
        return self.model.load_anywhere(read_item(item)) if reader is None else read_one(item, reader)

    def _entity_by_attributes(self, stored: Item) -> Any:
        if self._by_attributes is not None:
            # A text without a form in UTF-8, or what is not an item: the slow path says which attribute it is.
            with suppress(InvalidValue, msgspec.ValidationError):
                return read_one(encode(stored), self._by_attributes)
        return self.model.codec.load(stored)

    @cached_property
    def _under_any_key(self) -> RowReader | None:
        """Reads items that need not lie at their key; None of a class that learns from what it reads."""
        model = self.model
        return None if model.table.definition.foreign else RowReader(model.wire, model.build, model.load_anywhere)

    @cached_property
    def _by_attributes(self) -> RowReader | None:
        """Reads attributes without type and keys; None of a class some of whose attributes are only in its key."""
        model = self.model
        if model.table.definition.foreign or not all(f.is_written for f in model.fields):
            return None
        codec = Codec(model.kind, model.fields, beside=None)
        return RowReader(codec.wire, codec.build, model.codec.load)

    def _current(self, item: Item) -> Item:
        model = self.model
        if model.tombstone and model.tombstone in item:
            raise Corrupt("the item is being deleted", table=self.table.name)
        version = model.version_of(item)
        if version > model.version:
            raise model.newer(version)
        return model.upcast(item, version) if version < model.version else item

    def _cell(self, column: DatasetColumn, item: Item, known: Mapping[str, Any]) -> Any:
        f = column.field
        stored = item.get(f.stored)
        if stored is None and f.name in known:
            return _shown(known[f.name])
        if stored is None:
            return column.absent
        return load_cell(column.column, stored)

    def _rest(self, row: Mapping[str, Any], item: Item) -> dict[str, Any] | None:
        """The values that the row's columns don't give back: attributes by name, None for one that the item lacks."""
        empty = (c.field.stored for c in self.columns if row[c.name] is None)
        unfit = {name: item[name] for name in empty if name in item}
        try:
            rebuilt = self._rebuilt(row, unfit)
        except (SingletableError, ValueError, LookupError, TypeError, ArithmeticError, AttributeError):
            return dict(item)
        if not unfit and (rebuilt == item or is_same_item(rebuilt, item)):
            return None
        names = dict.fromkeys((*item, *rebuilt))
        lost = [n for n in names if n not in rebuilt or n not in item or not _is_same(rebuilt[n], item[n])]
        return unfit | {n: item.get(n) for n in lost}

    def _rebuilt(self, row: Mapping[str, Any], rest: Mapping[str, Any]) -> dict[str, Any]:
        cells = {c.field.stored: c.column.dump(v) for c in self.columns if (v := row.get(c.name)) is not None}
        attributes: dict[str, Any] = {name: value for name, value in cells.items() if value is not None}
        if not {*filter(None, self.table.definition.key)} <= rest.keys():
            stored = attributes | {n: v for n, v in rest.items() if v is not None}
            entity = self._entity_by_attributes(stored)
            attributes = read_item(encode(self.model.item(entity))) | attributes
        in_key = self.model.stored_key.values_in_key
        return {n: v for n, v in (attributes | dict(rest)).items() if v is not None and n not in in_key}


def datasets_of(*tables: Table) -> tuple[Dataset, ...]:
    """The datasets of tables: one an entity class, those of the library's own items last. A name that two classes have
    gets its table's name before it, and where that is not enough a number after it."""
    datasets = [_dataset(table, model) for table in tables for model in _models(table)]
    datasets.sort(key=lambda dataset: dataset.is_system)
    taken: set[str] = {UNKNOWN}
    named: list[Dataset] = []
    for dataset in datasets:
        name = free_name(dataset.name, dataset.table, taken)
        taken.add(name)
        named.append(replace(dataset, name=name))
    return tuple(named)


def free_name(name: str, table: Table, taken: Collection[str]) -> str:
    """A name that no other dataset has."""
    if name in taken:
        name = f"{snake(table.name)}_{name}"
    number = 2
    while name in taken:
        name, number = f"{name}_{number}", number + 1
    return name


def fingerprint_of(datasets: Iterable[Dataset]) -> str:
    """The fingerprint of all declarations that the datasets depend on."""
    return sha256("".join(dataset.digest for dataset in datasets).encode()).hexdigest()[:16]


def unknown_batch(rows: Sequence[Mapping[str, Any]]) -> pa.RecordBatch:
    """Rows of `_unknown`."""
    return pa.RecordBatch.from_pylist(list(rows), schema=UNKNOWN_SCHEMA)


def unknown_row(table: Table, item: Item, reason: str) -> dict[str, Any]:
    """An item as a row of `_unknown`."""
    definition = table.definition
    partition, sort = (item.get(name, {}).get(definition.kinds.get(name, "S")) for name in definition.key)
    type = table.type_of(item) or None
    text = _canonical(item)
    return {"table": table.name, "partition": partition, "sort": sort, "type": type, "reason": reason, "item": text}


def snake(name: str) -> str:
    """`OrganisationMember` as `organisation_member`, `Project.Listing` as `project_listing`, `Größe` as `grosse`:
    the name of a folder and a view. Empty for a name without Latin letters."""
    plain = "".join(c for c in unicodedata.normalize("NFKD", name.replace("ß", "ss")) if not unicodedata.combining(c))
    parts = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", plain)
    return re.sub(r"[^a-z0-9_]+", "_", parts.lower()).strip("_")


def _models(table: Table) -> list[Model[Any]]:
    moving = {model.type for model in table.models}
    leaving = [model for model in table.leaving if model.type not in moving]
    tools = () if table.definition.foreign else tool_classes()
    return [*models_of(table), *leaving, *(model_of(kind.of(table)) for kind in tools)]


def _dataset(table: Table, model: Model[Any]) -> Dataset:
    kind: Any = model.kind
    docs = attribute_docs(kind)
    fields = [f for f in model.fields if not (model.tombstone and f.stored == model.tombstone)]
    columns = tuple(DatasetColumn(_column_name(f), f, _column(model, f), docs.get(f.name, "")) for f in fields)
    entity = entity_name(model.kind)
    name = snake(entity) or snake(model.type) or "entity"
    return Dataset(name, entity, model.type, table, columns, class_doc(model.kind), model)


def _column_name(f: Field) -> str:
    """The attribute's name, unless it is the last column's."""
    return f"attribute{REST}" if f.name == REST else f.name


def _column(model: Model[Any], f: Field) -> Column:
    """The column of an attribute; of one that is read from the key, as an edge's ends, the text without its prefix."""
    plan = f.plan
    if f.is_written or f.stored not in model.table.definition.key or not isinstance(plan, Scalar):
        return column_of(plan)
    kind: Any = model.types.get(f.name)
    from_text = getattr(kind, "from_text", None) if isinstance(kind, type) else None

    def dump(cell: Any) -> dict[str, Any]:
        return {"S": plan.check(from_text(cell) if from_text is not None else cell)}

    return Column(pa.string(), lambda value: _shown(plan.load(value)), dump)


def _shown(value: Any) -> Any:
    """The text of a key, or of a value that is in a key only."""
    return value.partition if isinstance(value, KeyOf) else value


class _DefaultHolder:
    """Something with one attribute, to write its default."""

    def __init__(self, name: str, value: Any) -> None:
        setattr(self, name, value)


def _default_value(f: Field) -> dict[str, Any] | None:
    """The attribute value of an attribute's default."""
    assert f.default is not None
    written = Codec(_DefaultHolder, [f]).dump(_DefaultHolder(f.name, f.default()))
    return read_item(encode(written)).get(f.stored)


def _key_column(dataset: Dataset, name: str) -> str:
    return f"key_{name}" if any(c.name == name for c in dataset.columns) else name


def _metadata(column: DatasetColumn) -> dict[str, str]:
    stored = column.field.stored
    texts = {
        "description": column.description,
        "format": "json" if column.column.is_json else "",
        "attribute": stored if stored != column.name else "",
    }
    return {name: text for name, text in texts.items() if text}


def _array(values: Sequence[Any], type: pa.DataType, choices: Sequence[Any]) -> pa.Array[Any]:
    """A column. A dictionary is the same in each batch: all of the declared values."""
    if not pa.types.is_dictionary(type):
        return pa.array(values, type)
    places = {choice: place for place, choice in enumerate(choices)} | {None: None}
    found = pa.array([places[value] for value in values], pa.int32())
    return pa.DictionaryArray.from_arrays(found, pa.array(choices, value_type(type)))


_sorting = msgspec.json.Encoder(order="deterministic")


def _canonical(item: Mapping[str, Any]) -> str:
    """Attributes as JSON, the same for the same item: engines give maps and sets in any order."""
    return _sorting.encode({name: value and _ordered(value) for name, value in item.items()}).decode()


def _ordered(value: Mapping[str, Any]) -> dict[str, Any]:
    """An attribute value with its sets sorted."""
    ((tag, inner),) = value.items()
    if tag in ("SS", "NS", "BS"):
        return {tag: sorted(inner)}
    if tag == "L":
        return {tag: [_ordered(each) for each in inner]}
    return {tag: {name: _ordered(each) for name, each in inner.items()} if tag == "M" else inner}


def _read_rest(text: Any) -> dict[str, Any]:
    found: dict[str, Any] = exact_json(text) if text else {}
    return found


def _is_same(one: Any, other: Any) -> bool:
    return one == other or is_same_item({"": one}, {"": other})
