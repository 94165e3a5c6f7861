"""The data files of an export that are open: one for each dataset that the section has rows of."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

import pyarrow as pa

from singletable.exchange.formats import BatchWriter, Format, open_writer
from singletable.exchange.left_out import LeftOutTally
from singletable.exchange.manifest import DataFile
from singletable.exchange.store_faults import faults
from singletable.exchange.stores import Store

GROUP_ROWS: Final = 64_000
"""Rows of a dataset that are written together."""
BUFFERED_BYTES: Final = 64 << 20
"""Rows of all datasets that wait; more than that, and all are written."""


class _OpenFile:
    """A file that is being written."""

    def __init__(self, path: str, draft: Path, writer: BatchWriter) -> None:
        self.path, self.draft, self.writer = path, draft, writer
        self.rows = 0


class Parts:
    """The open files of a section. `files` gets each that is kept, with what `tally` has counted for it."""

    def __init__(
        self,
        store: Store,
        folder: str,
        format: Format,
        schemas: Mapping[str, pa.Schema],
        files: dict[str, list[DataFile]],
        tally: LeftOutTally,
        prefix: str = "",
    ) -> None:
        """`prefix` is a part of the files' names, by which several that write to a folder do not meet."""
        self._store, self._folder, self._schemas, self._files = store, folder, schemas, files
        self._prefix = prefix
        self._tally = tally
        self._format: Format = format
        self._open: dict[str, _OpenFile] = {}
        self._waiting: dict[str, list[pa.RecordBatch]] = {}
        self._buffered = 0
        self.items = 0
        """Items in the current section."""
        self.taken = 0
        """Bytes of pages of this section, as the caller counts them."""

    def add(self, name: str, batch: pa.RecordBatch) -> None:
        """Rows of a dataset, in their order."""
        waiting = self._waiting.setdefault(name, [])
        waiting.append(batch)
        self.items += batch.num_rows
        self._buffered += batch.nbytes
        if sum(each.num_rows for each in waiting) >= GROUP_ROWS:
            self._write(name)
        if self._buffered >= BUFFERED_BYTES:
            self._write_all()

    def rows_of(self, name: str) -> int:
        """Rows of a dataset in this section."""
        part = self._open.get(name)
        return (part.rows if part is not None else 0) + sum(b.num_rows for b in self._waiting.get(name, ()))

    def write_empty(self, name: str) -> None:
        """A file without rows, so that readers find the columns."""
        self._part(name)
        self.close()

    def close(self) -> None:
        """Keep every file of the section."""
        self._write_all()
        while self._open:
            name, part = next(iter(self._open.items()))
            with faults(self._store.url, "write"):
                part.writer.close()
            size = self._store.keep(part.path, part.draft)
            del self._open[name]
            file = DataFile(part.path, part.rows, size, self._tally.take(name))
            self._files.setdefault(name, []).append(file)
        self.items = self.taken = 0

    def discard(self) -> None:
        """Leave nothing half-written, after an error."""
        self._waiting.clear()
        for part in self._open.values():
            with suppress(OSError, ValueError):  # of the writer, whose file is of no use any more
                part.writer.close()
            part.draft.unlink(missing_ok=True)

    def _write_all(self) -> None:
        for name in list(self._waiting):
            self._write(name)

    def _write(self, name: str) -> None:
        batches = self._waiting.pop(name)
        part = self._part(name)
        with faults(self._store.url, "write"):
            for batch in pa.Table.from_batches(batches).combine_chunks().to_batches():
                part.writer.write(batch)
                part.rows += batch.num_rows
        self._buffered -= sum(batch.nbytes for batch in batches)

    def _part(self, name: str) -> _OpenFile:
        part = self._open.get(name)
        if part is None:
            number = len(self._files.get(name, ()))
            path = f"{self._folder}/{name}/part-{self._prefix}{number:05}.{self._format.partition('-')[0]}"
            draft = self._store.draft(path)
            with faults(self._store.url, "write"):
                writer = open_writer(self._format, draft, self._schemas[name])
            part = self._open[name] = _OpenFile(path, draft, writer)
        return part
