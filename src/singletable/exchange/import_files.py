"""Rows of files, each with its number: JSON Lines, CSV, Parquet, Arrow, and DynamoDB's JSON. One file is one part."""

from __future__ import annotations

import gzip
import re
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from functools import cached_property, partial
from itertools import islice
from pathlib import Path
from typing import Any, Final, Literal, cast

import pyarrow as pa
from msgspec import Struct

from singletable.errors import Corrupt, InvalidRequest
from singletable.exchange.arrow_rows import arrow_batches, opened_parquet, parquet_batches, rows_of_batch
from singletable.exchange.cells import BadCell, Reader, cell_reader, text_reader
from singletable.exchange.csv_records import BadRecord, records
from singletable.exchange.datasets import UNKNOWN_SCHEMA, Dataset
from singletable.exchange.foreign_text import TOO_LONG, json_bytes, lines_of
from singletable.exchange.formulas import without_escape
from singletable.exchange.gate import MOST_NAMES
from singletable.operations import Item
from singletable.values import exact_json

Unknown = Literal["refuse", "report", "keep"]
ImportFormat = Literal["parquet", "jsonl", "csv", "csv-escaped", "arrow", "dynamodb"]
SUFFIXES: Final[Mapping[str, ImportFormat]] = {
    ".parquet": "parquet",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".csv": "csv",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".json.gz": "dynamodb",
}
_HALF: Final = re.compile("[\ud800-\udfff]").search
"""Finds the traces of a text that was not UTF-8."""
_NAMED: Final = 10
"""The number of columns that an error names."""


class FileRow(Struct, frozen=True):
    """One row of a part: its cells, or an item as DynamoDB writes it, or why it is neither."""

    number: int
    """From 1. In JSON Lines it is the line's, in CSV the record's after the header."""
    cells: Mapping[str, Any] | None = None
    item: Item | None = None
    reason: str = ""
    rest: Mapping[str, Any] = {}
    """Values that the class does not declare, where they are not refused."""
    size: int = 0
    """The approximate bytes in memory."""
    dataset: Dataset | None = None
    """The class of the row, where its part has rows of several."""
    left: str = ""
    """The kind of a row that no class takes, and why."""


Rows = Iterator[FileRow]


def format_of(path: str) -> ImportFormat:
    """The format that a file's name says. InvalidRequest if it says none."""
    for suffix, format in SUFFIXES.items():
        if path.lower().endswith(suffix):
            return format
    raise InvalidRequest(
        f"{path}: its name has no known format", hint=f"Pass format=, or name it with one of {', '.join(SUFFIXES)}."
    )


def rows_of(
    path: Path,
    format: ImportFormat,
    dataset: Dataset | None,
    ignored: Sequence[str],
    skip: int,
    unknown: Unknown = "refuse",
) -> Iterator[FileRow]:
    """The rows of a file after the first `skip`. Raises InvalidRequest for columns that the class lacks, if they are
    refused; Corrupt for a file of another format."""
    if format == "dynamodb":
        return islice(_dynamodb(path), skip, None)
    schema = UNKNOWN_SCHEMA if dataset is None else dataset.schema
    columns = {field.name: field.type for field in schema}
    if dataset is not None:
        keys = dataset.with_keys().schema
        columns |= {field.name: field.type for field in keys if field.name not in columns}
    return rows_of_columns(path, format, columns, ignored, skip, unknown)


def rows_of_columns(
    path: Path,
    format: ImportFormat,
    columns: Mapping[str, pa.DataType],
    ignored: Sequence[str] = (),
    skip: int = 0,
    unknown: Unknown = "refuse",
) -> Iterator[FileRow]:
    """The same of columns with their types."""
    made: Iterator[FileRow] = _READERS[format](path, _Cells(path, columns, frozenset(ignored), unknown), skip)
    return made


class _Cells:
    """Makes the cells of rows, by their columns."""

    def __init__(
        self, path: Path, columns: Mapping[str, pa.DataType], ignored: frozenset[str], unknown: Unknown
    ) -> None:
        self.path, self.columns, self.ignored, self.unknown = path, columns, ignored, unknown

    @cached_property
    def of_values(self) -> dict[str, Reader]:
        """The readers of the columns' values."""
        return {name: cell_reader(type) for name, type in self.columns.items()}

    @cached_property
    def of_texts(self) -> dict[str, Reader]:
        """The readers of the columns' texts in CSV."""
        return {name: text_reader(type) for name, type in self.columns.items()}

    def check_header(self, names: Sequence[str]) -> None:
        """InvalidRequest if a file has columns that would be lost."""
        if len(names) > MOST_NAMES:
            raise InvalidRequest(
                f"{self.path.name} has {len(names):,} columns; at most {MOST_NAMES:,} are read",
                hint="Leave out the ones that no class has.",
            )
        if twice := sorted(name for name, count in Counter(names).items() if count > 1):
            raise InvalidRequest(
                f"{self.path.name} has two columns of one name: {_some(twice)}", hint="Rename one of them."
            )
        strange = [name for name in names if name not in self.columns and name not in self.ignored]
        if strange and self.unknown == "refuse":
            raise InvalidRequest(
                f"{self.path.name} has columns that the class has not: {_some(strange)}",
                hint='Rename them, or leave them out with ignore=(...) (--ignore) or unknown="report" (--unknown '
                f"report). The class has {', '.join(self.columns)}.",
            )

    def row(self, number: int, values: Mapping[str, Any], readers: Mapping[str, Reader], size: int) -> FileRow:
        cells: dict[str, Any] = {}
        rest: dict[str, Any] = {}
        for name, value in values.items():
            read = readers.get(name)
            if read is None:
                if name in self.ignored or value is None:
                    continue
                if self.unknown == "refuse":
                    return FileRow(number, reason=f"{name}: the class has no such attribute")
                rest[name] = value
                continue
            try:
                cells[name] = None if value is None else read(value)
            except BadCell as bad:
                return FileRow(number, reason=f"{name}: {bad}")
        return FileRow(number, cells, rest=rest, size=size)


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more


def _json_lines(path: Path, read: _Cells, skip: int) -> Iterator[FileRow]:
    with open(path, "rb") as file:
        for number, line in islice(enumerate(lines_of(path.name, file), 1), skip, None):
            values = _object(number, line)
            yield values if isinstance(values, FileRow) else read.row(number, values, read.of_values, json_bytes(line))


def _object(number: int, line: bytes | None) -> FileRow | dict[str, Any]:
    """The object of a line; a row where it has none."""
    if line is None:
        return FileRow(number, reason=TOO_LONG)
    if not line.strip():
        return FileRow(number)
    try:
        values = exact_json(line)
    except (ValueError, RecursionError) as bad:
        return FileRow(number, reason=f"the line is not a JSON object: {bad}")
    return values if isinstance(values, dict) else FileRow(number, reason="the line is not a JSON object")


def _csv(path: Path, read: _Cells, skip: int, *, is_escaped: bool = False) -> Iterator[FileRow]:
    with open(path, "rb") as file:
        lines = records(lines_of(path.name, file))
        header = next(lines, None)
        if header is None or isinstance(header, BadRecord):
            raise Corrupt(f"{path.name} has no header of CSV", hint="Its first line names the columns.")
        names = [name or "" for name in header]
        if _HALF("".join(names)):
            raise Corrupt(f"the header of {path.name} is not UTF-8", hint="Save it as UTF-8.")
        _check_commas(path, names, read)
        read.check_header(names)
        for number, record in islice(enumerate(lines, 1), skip, None):
            if is_escaped and not isinstance(record, BadRecord):
                record = [without_escape(text) for text in record]
            yield _csv_row(number, names, record, read)


def _check_commas(path: Path, names: Sequence[str], read: _Cells) -> None:
    """Raise InvalidRequest for a header with other separators, as spreadsheets write them if the comma is decimal."""
    for separator, called in ((";", "semicolons"), ("\t", "tabs")):
        if len(names) == 1 and separator in names[0] and names[0] not in read.columns:
            raise InvalidRequest(
                f"the columns of {path.name} have {called} between them", hint="Save it as CSV with commas, in UTF-8."
            )


def _csv_row(number: int, names: Sequence[str], record: list[str | None] | BadRecord, read: _Cells) -> FileRow:
    if isinstance(record, BadRecord):
        return FileRow(number, reason=str(record))
    if len(record) != len(names):
        return FileRow(number, reason=f"it has {len(record)} values, and the header {len(names)}")
    line = "".join(text for text in record if text is not None)
    if _HALF(line):
        return FileRow(number, reason="it is not UTF-8")
    return read.row(number, dict(zip(names, record, strict=True)), read.of_texts, len(line))


def _parquet(path: Path, read: _Cells, skip: int) -> Iterator[FileRow]:
    with _opened(path, opened_parquet) as file:
        read.check_header(file.schema_arrow.names)
        yield from _arrow_rows(_unbroken(path, parquet_batches(file)), read, skip)


def _arrow(path: Path, read: _Cells, skip: int) -> Iterator[FileRow]:
    with pa.memory_map(str(path)) as source, _opened(source, pa.ipc.open_file, path.name) as reader:
        read.check_header(reader.schema.names)
        yield from _arrow_rows(_unbroken(path, arrow_batches(path.name, source, reader.num_record_batches)), read, skip)


def _unbroken(path: Path, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    try:
        yield from batches
    except MemoryError:
        raise
    except (pa.ArrowException, OSError) as error:
        raise Corrupt(f"{path.name} can't be read: {error}", hint="Copy it again.") from None


def _arrow_rows(batches: Iterator[pa.RecordBatch], read: _Cells, skip: int) -> Iterator[FileRow]:
    done = 0
    for batch in batches:
        if done + batch.num_rows > skip:
            first = max(0, skip - done)
            for number, row, size in rows_of_batch(batch.slice(first), done + first + 1):
                bad = FileRow(number, reason=f"a value can't be read, or {TOO_LONG}")
                yield bad if row is None else read.row(number, row, read.of_values, size)
        done += batch.num_rows


def _dynamodb(path: Path) -> Iterator[FileRow]:
    """Lines of `{"Item": {...}}`, as DynamoDB exports them, or of items alone."""
    opened = gzip.open(path, "rb") if path.name.endswith(".gz") else open(path, "rb")  # noqa: SIM115 closed below
    with closing(cast(Any, opened)) as file:
        for number, line in enumerate(_undamaged(path, lines_of(path.name, file)), 1):
            content = _object(number, line)
            if isinstance(content, FileRow):
                yield content
                continue
            item = content.get("Item", content) if content.keys() <= {"Item"} else content
            is_item = isinstance(item, dict) and all(isinstance(value, dict) for value in item.values())
            yield (
                FileRow(number, item=item, size=json_bytes(line))
                if is_item
                else FileRow(number, reason="it is not an item")
            )


def _undamaged(path: Path, lines: Iterator[bytes | None]) -> Iterator[bytes | None]:
    try:
        yield from lines
    except (EOFError, gzip.BadGzipFile, zlib.error):
        raise Corrupt(f"{path.name} is not gzip, or cut short", hint="Copy it again.") from None


def _opened(source: Any, open: Callable[[Any], Any], name: str | None = None) -> Any:
    try:
        return open(source)
    except pa.ArrowException as error:
        raise Corrupt(f"{name or Path(source).name} can't be read: {error}") from None


_READERS: Final[Mapping[str, Any]] = {
    "jsonl": _json_lines,
    "csv": _csv,
    "csv-escaped": partial(_csv, is_escaped=True),
    "parquet": _parquet,
    "arrow": _arrow,
}
