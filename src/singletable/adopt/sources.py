"""Sources: files that adoption reads instead of a table: a model of NoSQL Workbench, an export of DynamoDB to S3."""

from __future__ import annotations

import gzip
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any

import msgspec

from singletable.adopt.layout import TableLayout, layout_of
from singletable.adopt.samples import SampleChooser
from singletable.adopt.workbench import ModelledTable, tables_in
from singletable.errors import Corrupt, InvalidRequest
from singletable.exchange.inspect import open_table_export
from singletable.operations import Item

_GZIP = b"\x1f\x8b"
_HEAD_BYTES = 1 << 20
_KEYS_FROM = 1_000
"""Items from which the types of key attributes are taken."""
_line = msgspec.json.Decoder(dict[str, Any]).decode


def read_source(
    place: str, table: str | None, key: Sequence[str], indexes: Mapping[str, Sequence[str]], seed: int = 0
) -> ModelledTable:
    """The layout and some items of a table, from a file or an export. InvalidRequest, NotConfigured, Corrupt.

    A model has its keys. An export has none: `key` and `indexes` name the attributes.
    """
    path = Path(place)
    if path.is_file() and _is_model(path):
        return _modelled(tables_in(path.read_bytes(), place), table, place)
    if not key:
        raise InvalidRequest(f"{place} does not say which attributes are keys", hint="Name them: --key PK,SK.")
    items = _lines_in(path) if path.is_file() else _exported(place)
    first = list(islice(items, _KEYS_FROM))
    layout = _layout(table or _name_of(path), key, indexes, first)
    chooser = SampleChooser(layout, seed)
    chooser.take(item for item in chain(first, items) if all(name in item for name in key))
    return ModelledTable(layout, chooser.sample())


def _is_model(path: Path) -> bool:
    """Whether a file begins as a model does. A data file of any size ends in `.json`, too."""
    with path.open("rb") as file:
        return path.suffix == ".json" and b'"DataModel"' in file.read(_HEAD_BYTES)


def _modelled(tables: Sequence[ModelledTable], name: str | None, place: str) -> ModelledTable:
    """The table of a model, by its name if there are several."""
    named = [table for table in tables if name in (None, table.layout.name)]
    if len(named) != 1:
        names = ", ".join(table.layout.name for table in tables)
        raise InvalidRequest(f"{place} has the tables {names}", hint="Name one of them: --table NAME.")
    return named[0]


def _lines_in(path: Path) -> Iterator[Item]:
    """The items of a data file: lines of JSON, compressed or not, each an item or as an export to S3 has it."""
    with path.open("rb") as file:
        is_packed = file.read(2) == _GZIP
        file.seek(0)
        lines: Iterable[bytes] = gzip.GzipFile(fileobj=file) if is_packed else file
        try:
            for line in lines:
                if line.strip():
                    record = _line(line)
                    yield record.get("Item") or record.get("NewImage") or record
        except (OSError, EOFError, msgspec.MsgspecError) as error:
            raise Corrupt(f"{path} does not hold items: {error}", hint="It needs lines of DynamoDB's JSON.") from None


def _exported(place: str) -> Iterator[Item]:
    """The items of an export, by its directory or its address in S3."""
    export = open_table_export(place)
    for file in export.data_files():
        yield from (record.new for record in export.records(file) if record.new is not None)


def _name_of(path: Path) -> str:
    return path.name.partition(".")[0] or "table"


def _layout(name: str, key: Sequence[str], indexes: Mapping[str, Sequence[str]], items: Sequence[Item]) -> TableLayout:
    """The layout by the names of key attributes, each of the type that the items have it in."""
    wanted = {*key, *(attribute for names in indexes.values() for attribute in names)}
    kinds = {name: next(iter(value)) for item in items for name, value in item.items() if name in wanted}
    missing = next((attribute for attribute in key if attribute not in kinds), None)
    if missing is not None:
        raise InvalidRequest(f"no item has the key attribute {missing}", table=name, hint="Name the keys: --key PK,SK.")
    described = {
        "KeySchema": _schema(key),
        "AttributeDefinitions": [{"AttributeName": n, "AttributeType": kind} for n, kind in kinds.items()],
        "GlobalSecondaryIndexes": [{"IndexName": n, "KeySchema": _schema(names)} for n, names in indexes.items()],
    }
    return layout_of(name, described, None)


def _schema(names: Sequence[str]) -> list[Mapping[str, str]]:
    return [{"AttributeName": n, "KeyType": kind} for n, kind in zip(names, ("HASH", "RANGE"), strict=False)]
