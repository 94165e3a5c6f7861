"""Rows of Parquet and Arrow files: a few at a time, so that memory is bounded however well a file is packed.

A dictionary holds a value once for all of its rows: 4,000 rows of 50 MB are a file of 11 KB. So dictionaries are read
as such, and written out for the rows that fit. Packed data names its size, and is refused unread.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from struct import error as not_packed_so, iter_unpack, unpack_from
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from singletable.errors import Corrupt
from singletable.exchange.foreign_text import MOST_ROW_BYTES

PART_BYTES: Final = 32 << 20
"""The bytes that are written out at once."""
_PART_ROWS: Final = 4_000
_MOST_UNPACKED, _MOST_RATIO = 256 << 20, 100
"""The limits of a column of a row group, or of a batch: it is refused if its unpacked size exceeds both."""
_MAGIC_BYTES: Final = 8
"""Before the stream that an Arrow file holds."""
_UNMEASURED: Final = 1 << 20
"""The assumed size of a value whose type is not measured."""
Numbered = tuple[int, dict[str, Any] | None, int]
"""A row's number, its values or None if they can't be read or are too large, and their approximate number of bytes."""


def opened_parquet(path: Path) -> pq.ParquetFile:
    """A Parquet file, whose dictionaries stay dictionaries. Corrupt if it unpacks to many times its size."""
    metadata = pq.read_metadata(path)
    packed: set[str] = set()
    for group in range(metadata.num_row_groups):
        for number in range(metadata.num_columns):
            chunk: Any = metadata.row_group(group).column(number)
            size = chunk.total_uncompressed_size
            _check(f"{path.name}: the column {chunk.path_in_schema}", chunk.total_compressed_size, size)
            if chunk.physical_type == "BYTE_ARRAY" and chunk.has_dictionary_page and size * _PART_ROWS > PART_BYTES:
                packed.add(chunk.path_in_schema)
    return pq.ParquetFile(path, read_dictionary=sorted(packed))


def _check(what: str, packed: int, size: int) -> None:
    if size > _MOST_UNPACKED and size > _MOST_RATIO * packed:
        raise Corrupt(
            f"{what} unpacks from {packed:,} bytes to {size:,}",
            hint=f"No file of items packs more than {_MOST_RATIO} to 1. Rewrite it, in smaller parts.",
        )


def arrow_batches(name: str, source: Any, count: int) -> Iterator[pa.RecordBatch]:
    """The batches of an Arrow file, `count` by its footer, in their order. Corrupt if one unpacks to many times its
    size, as it is unpacked whole; or if some are missing."""
    source.seek(0)
    stream = source.read_buffer().slice(_MAGIC_BYTES)
    messages: Any = pa.ipc.MessageReader.open_stream(pa.BufferReader(stream))
    seen = 0
    with suppress(StopIteration):
        while True:
            message = messages.read_next_message()
            seen += message.type == "record batch"
            if message.type != "schema":
                _check(f"{name}: a batch", message.body.size, _unpacked(message))
    if seen != count:
        raise Corrupt(f"{name}: its end names {count} batches, and {seen} are there", hint="Copy it again.")
    yield from pa.ipc.open_stream(stream)


def _unpacked(message: Any) -> int:
    """The bytes of a batch's buffers once they are unpacked; 0 of one that is not packed. Each begins with its size."""
    header, body = message.metadata.to_pybytes(), message.body

    def part(table: int, number: int) -> int:
        """The place of a part of a table of the message, by the rules of Flatbuffers; 0 for a missing one."""
        parts = table - unpack_from("<i", header, table)[0]
        place = 4 + 2 * number
        offset = unpack_from("<H", header, parts + place)[0] if place < unpack_from("<H", header, parts)[0] else 0
        return table + offset if offset else 0

    def at(place: int) -> int:
        return int(place + unpack_from("<I", header, place)[0])

    try:
        batch = at(part(at(0), 2))
        if message.type == "dictionary":
            batch = at(part(batch, 1))
        if not part(batch, 3):
            return 0
        buffers = at(part(batch, 2))
        places = iter_unpack("<qq", header[buffers + 4 :][: 16 * unpack_from("<I", header, buffers)[0]])
        return sum(max(0, *unpack_from("<q", body, offset)) for offset, size in places if size > 8)
    except not_packed_so:
        raise pa.ArrowInvalid("a batch is damaged") from None


def rows_of_batch(batch: pa.RecordBatch, first: int) -> Iterator[Numbered]:
    """The rows of a batch, numbered from `first`."""
    for start in range(0, batch.num_rows, _PART_ROWS):
        yield from _rows(batch.slice(start, _PART_ROWS), first + start)


def parquet_batches(file: pq.ParquetFile) -> Iterator[pa.RecordBatch]:
    return file.iter_batches(batch_size=_PART_ROWS)


def _rows(part: pa.RecordBatch, first: int) -> Iterator[Numbered]:
    """Rows of a part, or of its halves where it is too large, or a value can't be read."""
    count, size = part.num_rows, sum(map(_bytes_of, part.columns))
    rows: list[dict[str, Any]] | None = None
    if size <= (PART_BYTES if count > 1 else MOST_ROW_BYTES):
        with suppress(ValueError, OverflowError):  # a value that Python doesn't have: then one by one
            rows = part.to_pylist()
    if rows is not None:
        yield from ((number, row, size // count) for number, row in enumerate(rows, first))
    elif count > 1:
        yield from _rows(part.slice(0, count // 2), first)
        yield from _rows(part.slice(count // 2), first + count // 2)
    else:
        yield first, None, 0


def _bytes_of(array: Any) -> int:
    """The bytes of an array's values once they are written out."""
    type = array.type
    if pa.types.is_dictionary(type):
        if not (pa.types.is_string(type.value_type) or pa.types.is_binary(type.value_type)):
            return len(array) * (_UNMEASURED if pa.types.is_nested(type.value_type) else 16)
        return int(pc.sum(pc.binary_length(array.dictionary).take(array.indices)).as_py() or 0)
    if pa.types.is_map(type):
        array = array.cast(pa.list_(pa.struct([type.key_field, type.item_field])))
        type = array.type
    if pa.types.is_list(type) or pa.types.is_large_list(type) or pa.types.is_struct(type):
        parts = array.flatten()
        return sum(8 * len(part) + _bytes_of(part) for part in (parts if isinstance(parts, list) else [parts]))
    if pa.types.is_primitive(type) or pa.types.is_null(type):
        return 8 * len(array)
    plain = pa.types.is_string(type) or pa.types.is_binary(type) or pa.types.is_decimal(type)
    large = pa.types.is_large_string(type) or pa.types.is_large_binary(type) or pa.types.is_fixed_size_binary(type)
    return int(array.nbytes) if plain or large else len(array) * _UNMEASURED
