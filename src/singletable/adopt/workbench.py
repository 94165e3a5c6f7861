"""Models of NoSQL Workbench: their tables, with the example items that they have."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

import msgspec
from msgspec import Struct

from singletable.adopt.layout import TableLayout, layout_of
from singletable.adopt.samples import TableSample
from singletable.errors import InvalidRequest
from singletable.operations import Item
from singletable.values import AttributeValue, to_attribute_value

_TAGS = ("S", "N", "B", "BOOL", "NULL", "SS", "NS", "BS")
Attribute = Mapping[str, str]


class _ModelKey(Struct, frozen=True, rename="pascal"):
    partition_key: Attribute
    sort_key: Attribute | None = None

    @property
    def attributes(self) -> list[Attribute]:
        return [self.partition_key, *([self.sort_key] if self.sort_key else [])]

    @property
    def schema(self) -> list[Mapping[str, str]]:
        """The key as DescribeTable has it."""
        pairs = zip(self.attributes, ("HASH", "RANGE"), strict=False)
        return [{"AttributeName": attribute["AttributeName"], "KeyType": kind} for attribute, kind in pairs]


class _ModelIndex(Struct, frozen=True, rename="pascal"):
    index_name: str
    key_attributes: _ModelKey
    projection: Mapping[str, Any] = {}


class _Facet(Struct, frozen=True, rename="pascal"):
    table_data: list[Item] = []


class _ModelTable(Struct, frozen=True, rename="pascal"):
    table_name: str
    key_attributes: _ModelKey
    global_secondary_indexes: list[_ModelIndex] = []
    table_data: list[Item] = []
    table_facets: list[_Facet] = []


class _Model(Struct, frozen=True, rename="pascal"):
    model_name: str
    data_model: list[_ModelTable]


class ModelledTable(Struct, frozen=True):
    """A table of a model: its layout, and its example items."""

    layout: TableLayout
    sample: TableSample


def tables_in(text: bytes, where: str) -> Sequence[ModelledTable]:
    """The tables of a model that NoSQL Workbench exported. InvalidRequest for another file."""
    try:
        model = msgspec.json.decode(text, type=_Model)
    except msgspec.MsgspecError as error:
        raise InvalidRequest(
            f"{where} is not a model of NoSQL Workbench: {error}", hint="Export it from the data modeler, as JSON."
        ) from None
    return [_table(table) for table in model.data_model]


def _table(table: _ModelTable) -> ModelledTable:
    indexes = table.global_secondary_indexes
    keys = (table.key_attributes, *(index.key_attributes for index in indexes))
    described = {
        "KeySchema": table.key_attributes.schema,
        "AttributeDefinitions": [attribute for key in keys for attribute in key.attributes],
        "GlobalSecondaryIndexes": [
            {"IndexName": i.index_name, "KeySchema": i.key_attributes.schema, "Projection": i.projection}
            for i in indexes
        ],
    }
    layout = layout_of(table.table_name, described, None)
    items = {str([item.get(name) for name in layout.key if name]): item for item in _items(table, layout)}
    return ModelledTable(layout, TableSample([*items.values()], len(items)))


def _items(table: _ModelTable, layout: TableLayout) -> Iterator[Item]:
    """The example items that have a whole key, of the table and of its facets."""
    names = [name for name in layout.key if name]
    for item in (*table.table_data, *(item for facet in table.table_facets for item in facet.table_data)):
        if all(next(iter(item.get(name, {}).values()), "") for name in names):
            yield {name: _stored(value) for name, value in item.items()}


def _stored(value: Any) -> AttributeValue:
    """A value in its stored form. Inside of maps and lists a model may have it as plain JSON."""
    if isinstance(value, dict) and len(typed := cast("dict[str, Any]", value)) == 1:
        ((tag, inner),) = typed.items()
        if tag == "M" and isinstance(inner, dict):
            return {"M": {name: _stored(one) for name, one in cast("dict[str, Any]", inner).items()}}
        if tag == "L" and isinstance(inner, list):
            return {"L": [_stored(element) for element in typed["L"]]}
        if tag in _TAGS:
            return typed
    return to_attribute_value(value)
