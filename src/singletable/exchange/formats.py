"""The formats of data files: Parquet, JSON Lines, CSV and Arrow IPC, each written a batch at a time.

A text of CSV that begins as a formula is one to a spreadsheet. `csv` has it as it is stored; `csv-escaped` is a format
of its own, so that no program which doesn't know it takes its apostrophes for a part of the texts.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator, Mapping
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, Final, Literal, Protocol

import msgspec
import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq

from singletable.exchange.columns import value_type
from singletable.exchange.formulas import escape_formulas
from singletable.values import normalized

Format = Literal["parquet", "jsonl", "csv", "csv-escaped", "arrow"]
FORMATS: Final[tuple[Format, ...]] = ("parquet", "jsonl", "csv", "csv-escaped", "arrow")
_COMPRESSION: Final = "zstd"
_ROWS: Final = 2_000


class BatchWriter(Protocol):
    """A file that is being written."""

    def write(self, batch: pa.RecordBatch) -> None: ...

    def close(self) -> None: ...


def open_writer(format: Format, path: Path, schema: pa.Schema) -> BatchWriter:
    """Begin a file."""
    writer: BatchWriter = _WRITERS[format](path, schema)
    return writer


class _Written:
    """A file that a writer of Arrow's writes."""

    _writer: Any

    def write(self, batch: pa.RecordBatch) -> None:
        self._writer.write_batch(batch)

    def close(self) -> None:
        self._writer.close()


class _Parquet(_Written):
    """Compressed with zstd; columns of repeated values are dictionaries."""

    def __init__(self, path: Path, schema: pa.Schema) -> None:
        self._writer = pq.ParquetWriter(path, schema, compression=_COMPRESSION)


class _Arrow(_Written):
    """The IPC file format, which readers map into memory."""

    def __init__(self, path: Path, schema: pa.Schema) -> None:
        options = pa.ipc.IpcWriteOptions(compression=_COMPRESSION, unify_dictionaries=True)
        self._file = pa.OSFile(str(path), "wb")
        self._writer = pa.ipc.new_file(self._file, schema, options=options)

    def close(self) -> None:
        super().close()
        self._file.close()


class _JsonLines:
    """An object a line. Decimals are numbers with all their digits, instants ISO 8601, bytes base64; nulls are left
    out."""

    def __init__(self, path: Path, schema: pa.Schema) -> None:
        self._file = open(path, "wb")  # noqa: SIM115 closed by close()
        self._encode = msgspec.json.Encoder(decimal_format="number").encode_lines

    def write(self, batch: pa.RecordBatch) -> None:
        for part in _slices(batch):
            rows = part.to_pylist(maps_as_pydicts="strict")
            self._file.write(self._encode([{n: _json(v) for n, v in row.items() if v is not None} for row in rows]))

    def close(self) -> None:
        self._file.close()


class _Csv(_Written):
    """A header, then a line a row. Lists, maps and structs are JSON text; null is nothing, and an empty text is ""."""

    def __init__(self, path: Path, schema: pa.Schema) -> None:
        self._schema = csv_schema(schema)
        self._writer = pc.CSVWriter(str(path), self._schema)

    def write(self, batch: pa.RecordBatch) -> None:
        for part in _slices(batch):
            arrays = [
                self._written(_csv_array(array, f.type)) for array, f in zip(part.columns, self._schema, strict=True)
            ]
            super().write(pa.RecordBatch.from_arrays(arrays, schema=self._schema))

    def _written(self, array: pa.Array[Any]) -> pa.Array[Any]:
        return array


class _EscapedCsv(_Csv):
    """CSV whose texts are no formulas: those that begin so have an apostrophe before them."""

    def _written(self, array: pa.Array[Any]) -> pa.Array[Any]:
        return escape_formulas(array) if pa.types.is_string(array.type) else array


_WRITERS: Mapping[Format, Any] = {
    "parquet": _Parquet,
    "jsonl": _JsonLines,
    "csv": _Csv,
    "csv-escaped": _EscapedCsv,
    "arrow": _Arrow,
}


def _slices(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """The rows in parts, so that few are Python objects at a time."""
    for start in range(0, batch.num_rows, _ROWS):
        yield batch.slice(start, _ROWS)


def csv_schema(schema: pa.Schema) -> pa.Schema:
    """The columns as a CSV file has them: everything that is not a number or a flag is text."""
    return pa.schema([pa.field(f.name, _csv_type(f.type)) for f in schema])


def _csv_type(type: pa.DataType) -> pa.DataType:
    if pa.types.is_dictionary(type):
        return value_type(type)
    plain = pa.types.is_integer(type) or pa.types.is_floating(type) or pa.types.is_boolean(type)
    return type if plain or pa.types.is_date(type) or pa.types.is_decimal(type) else pa.string()


def _csv_array(array: pa.Array[Any], type: pa.DataType) -> pa.Array[Any]:
    if array.type.equals(type):
        return array
    if pa.types.is_dictionary(array.type):
        return array.cast(type)
    return pa.array([_csv_text(value) for value in array.to_pylist(maps_as_pydicts="strict")], type)


def _csv_text(value: Any) -> str | None:
    plain = _json(value)
    return plain if plain is None or isinstance(plain, str) else _ENCODER.encode(plain).decode()


_ENCODER = msgspec.json.Encoder(decimal_format="number")


def _json(value: Any) -> Any:
    """A cell as JSON has it."""
    if isinstance(value, datetime):
        return value.isoformat("T", "microseconds")[:26] + "Z"
    if isinstance(value, Decimal):
        return normalized(value)
    if isinstance(value, bytes):
        return b64encode(value).decode()
    if isinstance(value, dict):
        return {name: _json(each) for name, each in value.items()}
    return [_json(each) for each in value] if isinstance(value, list) else value
