"""Rows of files, each with its number: JSON Lines, CSV, Parquet, Arrow, and DynamoDB's JSON. One file is one part."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from decimal import Decimal
from itertools import islice
from pathlib import Path
from typing import Any, Final, Literal, cast

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
from msgspec import Struct

from singletable.errors import Corrupt, InvalidRequest
from singletable.exchange.cells import BadCell, cell_of, cell_of_text
from singletable.exchange.csv_records import BadRecord, records
from singletable.exchange.datasets import UNKNOWN_SCHEMA, Dataset
from singletable.operations import Item

ImportFormat = Literal["parquet", "jsonl", "csv", "arrow", "dynamodb"]
SUFFIXES: Final[Mapping[str, ImportFormat]] = {
    ".parquet": "parquet",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".csv": "csv",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".json.gz": "dynamodb",
}
_BATCH_ROWS: Final = 4_000
_exact_json: Final = msgspec.json.Decoder(dict[str, Any], float_hook=Decimal)


class Row(Struct, frozen=True):
    """One row of a part: its cells, or an item as DynamoDB writes it, or why it is neither."""

    number: int
    """From 1. In JSON Lines it is the line's, in CSV the record's after the header."""
    cells: Mapping[str, Any] | None = None
    item: Item | None = None
    reason: str = ""


Rows = Iterator[Row]


def format_of(path: str) -> ImportFormat:
    """The format that a file's name says. InvalidRequest where it says none."""
    for suffix, format in SUFFIXES.items():
        if path.lower().endswith(suffix):
            return format
    raise InvalidRequest(
        f"{path}: its name says no format", hint=f"Say format=, or name it with one of {', '.join(SUFFIXES)}."
    )


def rows_of(
    path: Path, format: ImportFormat, dataset: Dataset | None, ignored: Sequence[str], skip: int
) -> Iterator[Row]:
    """The rows of a file after the first `skip`. InvalidRequest for columns that the class has not; Corrupt for a file
    that is none of its format."""
    if format == "dynamodb":
        return islice(_dynamodb(path), skip, None)
    schema = UNKNOWN_SCHEMA if dataset is None else dataset.schema
    columns = {field.name: field.type for field in schema}
    if dataset is not None:
        keys = dataset.with_keys().schema
        columns |= {field.name: field.type for field in keys if field.name not in columns}
    return rows_of_columns(path, format, columns, ignored, skip)


def rows_of_columns(
    path: Path, format: ImportFormat, columns: Mapping[str, pa.DataType], ignored: Sequence[str] = (), skip: int = 0
) -> Iterator[Row]:
    """The same of columns with their types."""
    made: Iterator[Row] = _READERS[format](path, _Cells(path, columns, frozenset(ignored)), skip)
    return made


class _Cells:
    """What makes the cells of rows, by their columns."""

    def __init__(self, path: Path, columns: Mapping[str, pa.DataType], ignored: frozenset[str]) -> None:
        self.path, self.columns, self.ignored = path, columns, ignored

    def check_header(self, names: Sequence[str]) -> None:
        """InvalidRequest where a file has columns that would be lost."""
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise InvalidRequest(
                f"{self.path.name} has two columns of one name: {', '.join(twice)}", hint="Rename one of them."
            )
        strange = [name for name in names if name not in self.columns and name not in self.ignored]
        if strange:
            raise InvalidRequest(
                f"{self.path.name} has columns that the class has not: {', '.join(strange)}",
                hint=f"Rename them, or leave them out with ignore=(...). The class has {', '.join(self.columns)}.",
            )

    def row(self, number: int, values: Mapping[str, Any], read: Callable[[Any, pa.DataType], Any]) -> Row:
        cells: dict[str, Any] = {}
        for name, value in values.items():
            type = self.columns.get(name)
            if type is None:
                if name not in self.ignored:
                    return Row(number, reason=f"{name}: the class has no such attribute")
                continue
            try:
                cells[name] = read(value, type)
            except BadCell as bad:
                return Row(number, reason=f"{name}: {bad}")
        return Row(number, cells)


def _json_lines(path: Path, read: _Cells, skip: int) -> Iterator[Row]:
    with open(path, "rb") as file:
        for number, line in enumerate(file, 1):
            if number <= skip:
                continue
            if not line.strip():
                yield Row(number)
                continue
            try:
                values = _exact_json.decode(line)
            except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as bad:
                yield Row(number, reason=f"the line is no JSON object: {bad}")
                continue
            yield read.row(number, values, cell_of)


def _csv(path: Path, read: _Cells, skip: int) -> Iterator[Row]:
    with open(path, encoding="utf-8-sig", errors="surrogateescape", newline="") as file:
        found = records(file)
        header = next(found, None)
        if header is None or isinstance(header, BadRecord):
            raise Corrupt(f"{path.name} has no header of CSV", hint="Its first line names the columns.")
        names = [name or "" for name in header]
        read.check_header(names)
        for number, record in enumerate(found, 1):
            if number > skip:
                yield _csv_row(number, names, record, read)


def _csv_row(number: int, names: Sequence[str], record: list[str | None] | BadRecord, read: _Cells) -> Row:
    if isinstance(record, BadRecord):
        return Row(number, reason=str(record))
    if len(record) != len(names):
        return Row(number, reason=f"it has {len(record)} values, and the header {len(names)}")
    try:
        for text in record:
            if text is not None:
                text.encode()
    except UnicodeEncodeError:
        return Row(number, reason="it is not UTF-8")
    return read.row(number, dict(zip(names, record, strict=True)), cell_of_text)


def _parquet(path: Path, read: _Cells, skip: int) -> Iterator[Row]:
    with _opened(path, pq.ParquetFile) as file:
        read.check_header(file.schema_arrow.names)
        yield from _arrow_rows(_unbroken(path, file.iter_batches(batch_size=_BATCH_ROWS)), read, skip)


def _arrow(path: Path, read: _Cells, skip: int) -> Iterator[Row]:
    with pa.memory_map(str(path)) as source, _opened(source, pa.ipc.open_file, path.name) as reader:
        read.check_header(reader.schema.names)
        batches = (reader.get_batch(number) for number in range(reader.num_record_batches))
        yield from _arrow_rows(_unbroken(path, batches), read, skip)


def _unbroken(path: Path, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    try:
        yield from batches
    except (pa.ArrowException, OSError) as error:
        raise Corrupt(f"{path.name} can't be read: {error}", hint="Copy it again.") from None


def _arrow_rows(batches: Iterator[pa.RecordBatch], read: _Cells, skip: int) -> Iterator[Row]:
    done = 0
    for batch in batches:
        if done + batch.num_rows > skip:
            first = max(0, skip - done)
            rows: list[dict[str, Any]] = batch.slice(first).to_pylist()
            yield from (read.row(n, row, cell_of) for n, row in enumerate(rows, done + first + 1))
        done += batch.num_rows


def _dynamodb(path: Path) -> Iterator[Row]:
    """Lines of `{"Item": {...}}`, as DynamoDB exports them, or of items alone."""
    opened = gzip.open(path, "rb") if path.name.endswith(".gz") else open(path, "rb")  # noqa: SIM115 closed below
    with closing(cast(Any, opened)) as file:
        for number, line in enumerate(_lines_of(path, file), 1):
            try:
                said = msgspec.json.decode(line, type=dict[str, dict[str, Any]])
            except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as bad:
                yield Row(number, reason=f"the line is no item in DynamoDB's JSON: {bad}")
                continue
            item = said.get("Item", said) if said.keys() <= {"Item"} else said
            yield Row(number, item=cast(Item, item))


def _lines_of(path: Path, file: Any) -> Iterator[bytes]:
    try:
        yield from file
    except (EOFError, gzip.BadGzipFile, zlib.error):
        raise Corrupt(f"{path.name} is no gzip, or cut short", hint="Copy it again.") from None


def _opened(source: Any, open: Callable[[Any], Any], name: str | None = None) -> Any:
    try:
        return open(source)
    except pa.ArrowException as error:
        raise Corrupt(f"{name or Path(source).name} can't be read: {error}") from None


_READERS: Final[Mapping[str, Any]] = {"jsonl": _json_lines, "csv": _csv, "parquet": _parquet, "arrow": _arrow}
