"""The run of an export with the contents of documents: a scan, then one document after another.

The documents are those that the scan has listed: the list is read from the files that were kept at its end.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import islice
from typing import Any

import pyarrow as pa

from singletable.documents import BlobStore, Context
from singletable.documents.inspect import context_of, documents_of
from singletable.errors import InvalidRequest
from singletable.exchange.document_rows import DocumentRows, lost_in
from singletable.exchange.export import Exported, ExportOptions, Progress, ScanExport, run_export
from singletable.exchange.import_files import rows_of
from singletable.exchange.masks import masked
from singletable.exchange.stores import Store
from singletable.flow import Port
from singletable.foundation import CursorSeal, Table, ready
from singletable.values import FreePlan


class ContentExport(ScanExport):
    """An export of tables that it scans, and of the contents of their documents."""

    def __init__(
        self,
        port: Port,
        tables: Sequence[Table],
        store: Store,
        options: ExportOptions,
        place: str,
        contexts: Sequence[Context[Any]],
    ) -> None:
        super().__init__(port, tables, store, options, place)
        taken = {dataset.name for dataset in self.datasets}
        for context in contexts:
            rows = DocumentRows(context, self.datasets, taken)
            taken |= rows.schemas.keys()
            self.beside.append(rows)
        self._left: Iterator[str] | None = None
        """The ids of the documents of one class that are not written yet."""

    @property
    def is_over(self) -> bool:
        return self._is_scanned() and self.state.documents[0] >= len(self.beside)

    def _is_scanned(self) -> bool:
        return super().is_over

    async def round(self) -> None:
        """Pages of the scan, then a document a round. The list of documents is whole when the scan's files are kept."""
        if not self._is_scanned():
            await super().round()
            if self._is_scanned():
                await self.port.call_all([self._end_section])
            return
        self.claim.beat(self.port)
        number, done = self.state.documents
        left = self._left or self._listed(self.beside[number], done)
        (document_id,) = await self.port.call_all([lambda: next(left, "")])
        if not document_id:
            self.state.documents, self._left = (number + 1, 0), None
            return
        await self._write(self.beside[number], document_id)
        self.state.documents, self._left = (number, done + 1), left

    def _listed(self, rows: DocumentRows, done: int) -> Iterator[str]:
        """The documents of a class, after those that are written. Blocks."""
        files = self.state.files.get(rows.listing.name, ())
        every = (
            row
            for file in files
            for row in rows_of(self.folder.fetch(file.path), self.options.format, rows.listing, (), 0)
        )
        return (str((row.cells or {})["document_id"]) for row in islice(every, done, None))

    async def _write(self, rows: DocumentRows, document_id: str) -> None:
        schemas = rows.schemas
        async for name, some in rows.rows(self.port, document_id, self._hide):
            batch = pa.RecordBatch.from_pylist(list(some), schema=schemas[name])
            await self.port.call_all([partial(self.open.add, name, batch)])
            self.open.taken += batch.nbytes
            self.state.contents += len(some)
            self.state.lost += lost_in(some)

    def _hide(self, part: Any) -> Any:
        """A mask of what may be personal."""
        return part if self.mask is None else masked(self.mask, FreePlan(), part)


def contexts_of_all(tables: Sequence[Table], seal: CursorSeal, blobs: BlobStore | None) -> list[Context[Any]]:
    """The document classes of tables, with their stores. InvalidRequest for tables without any; NotConfigured for a
    class without a store."""
    kinds = [kind for table in tables for kind in documents_of(table)]
    if not kinds:
        raise InvalidRequest(
            "contents=True, and no class of documents is declared for the tables",
            operation="export",
            hint="Import the module that declares it, or leave contents= out.",
        )
    return [context_of(kind, blobs, seal, is_direct=False) for kind in kinds]


async def export_with_contents(run: ContentExport, progress: Progress | None = None) -> Exported:
    """Scan tables into a store with the contents of their documents, and replace its manifest at the end."""
    for table in run.tables:
        await ready(run.port, table)
    return await run_export(run, progress)
