"""Files that are small, and large once they are unpacked."""

from __future__ import annotations

import gzip
from importlib import import_module
from pathlib import Path
from typing import Any

import pyarrow as pa

from singletable import Entity, Key, Table, field

pq: Any = import_module("pyarrow.parquet")
boxes = Table("bombs")
MEGABYTE = 1 << 20


class Box(Entity, table=boxes, type="box"):
    id: str
    body: str = ""
    tags: list[str] = field(default_factory=list)

    @boxes.key
    @staticmethod
    def by_id(id: str) -> Key:
        """One box."""
        return f"box#{id}", "box"


def packed(path: Path, name: str, column: Any, **options: Any) -> Path:
    """A file with a column, and an id for each of its rows."""
    made = pa.table({"id": pa.array([f"{n}" for n in range(len(column))]), name: column})
    if path.suffix == ".parquet":
        pq.write_table(made, path, compression="zstd", store_schema=False, **options)  # as other programs do
    else:
        packing = pa.ipc.IpcWriteOptions(**options)
        with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, made.schema, options=packing) as writer:
            writer.write_table(made)
    return path


def once(count: int, size: int) -> Any:
    """A column whose one value stands in the file once."""
    return pa.DictionaryArray.from_arrays(pa.array([0] * count, pa.int32()), pa.array(["x" * size]))


def lists(column: Any) -> Any:
    """Each value in a list of its own."""
    return pa.ListArray.from_arrays(pa.array(range(len(column) + 1), pa.int32()), column)


def zipped(path: Path, megabytes: int, before: bytes = b'{"Item":{"a":{"S":"', after: bytes = b'"}}}') -> Path:
    """A gzip of one long line, and of one that is as it should be."""
    with gzip.open(path, "wb", compresslevel=1) as file:
        file.write(before)
        for _ in range(megabytes):
            file.write(b"x" * MEGABYTE)
        file.write(after + b'\n{"Item":{"a":{"S":"b"}}}\n')
    return path
