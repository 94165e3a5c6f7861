"""The files of an export as DuckDB reads them: in place; or in a directory of the session, fetched or made Parquet of.

Parquet and Arrow on this machine are read where they are. Those of S3 are fetched. JSON Lines and CSV are read as an
import reads them, so that each value has the type of its column, and written as Parquet: DuckDB's own readers round
decimals. What is not in place is made when a query names it first.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from singletable.errors import Corrupt
from singletable.exchange import DatasetFiles, DirectoryStore, Manifest, Store
from singletable.exchange.inspect import faults, rows_of_columns, schema_of, value_type

_ROWS: Final = 10_000
"""Rows that are made Parquet of together."""


class ExportFiles:
    """The files of one export. Close it: what was fetched goes."""

    def __init__(self, store: Store, manifest: Manifest) -> None:
        self._store, self._format = store, manifest.format
        self._is_text = manifest.format not in ("parquet", "arrow")
        self.is_in_place = isinstance(store, DirectoryStore) and not self._is_text
        self._own = None if self.is_in_place else TemporaryDirectory(prefix="singletable-sql-")
        self._made: dict[str, Path] = {}

    @property
    def reads_parquet(self) -> bool:
        """Whether `paths` gives files of Parquet; else of Arrow."""
        return self._format != "arrow"

    @property
    def fetched(self) -> int:
        """Files that were fetched or made."""
        return len(self._made)

    def close(self) -> None:
        if self._own is not None:
            self._own.cleanup()

    def allowed(self, datasets: Iterable[DatasetFiles]) -> tuple[str, list[str]]:
        """DuckDB's setting that opens these files, and its value."""
        if self._own is not None:
            return "allowed_directories", [f"{self._own.name}/"]
        return "allowed_paths", [str(path) for each in datasets for path in self.paths(each)]

    def lacks(self, datasets: Iterable[DatasetFiles]) -> bool:
        """Whether a file that is read in place is there no more."""
        if self._own is not None:
            return False
        return any(not Path(self._store.url, file.path).exists() for each in datasets for file in each.files)

    def paths(self, dataset: DatasetFiles) -> list[Path]:
        """The files of a dataset, on this machine. Unavailable if one is missing; Corrupt if one is changed."""
        if self._own is None:
            return [self._store.fetch(file.path).resolve() for file in dataset.files]
        for file in dataset.files:
            if file.path not in self._made:
                target = Path(self._own.name, f"{len(self._made)}.{'arrow' if self._format == 'arrow' else 'parquet'}")
                self._fetch(dataset, file.path, target)
                self._made[file.path] = target
        return [self._made[file.path] for file in dataset.files]

    def _fetch(self, dataset: DatasetFiles, path: str, target: Path) -> None:
        fetched = self._store.fetch(path)
        with faults(str(target.parent), "write"):
            if self._is_text:
                self._write_parquet(dataset, fetched, target)
            if not isinstance(self._store, DirectoryStore):
                fetched.unlink() if self._is_text else os.replace(fetched, target)

    def _write_parquet(self, dataset: DatasetFiles, path: Path, target: Path) -> None:
        declared = schema_of(dataset.columns)
        schema = pa.schema([pa.field(f.name, value_type(f.type)) for f in declared])
        rows = self._cells(dataset, path, schema)
        with pq.ParquetWriter(target, schema) as writer:
            while part := list(islice(rows, _ROWS)):
                arrays: list[Any] = [pa.array([row.get(f.name) for row in part], f.type) for f in schema]
                writer.write_batch(pa.RecordBatch.from_arrays(arrays, schema=schema))

    def _cells(self, dataset: DatasetFiles, path: Path, schema: pa.Schema) -> Iterator[Any]:
        columns = {f.name: f.type for f in schema}
        format: Any = self._format
        for row in rows_of_columns(path, format, columns):
            if row.reason:
                raise Corrupt(
                    f"row {row.number} of {dataset.name} in {self._store.url} is not as it was exported: {row.reason}",
                    hint="Export again, or import the files that others wrote.",
                )
            yield row.cells or {}
