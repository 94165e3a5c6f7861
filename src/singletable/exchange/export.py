"""The run of an export: a parallel scan, its items as rows of their datasets, in sections that are kept whole.

A section ends after a number of items or bytes: every open file is closed and kept, and `unfinished.json` is replaced,
which holds the progress of the scan and the list of files. A run that was killed goes on from there.
Where sections end depends on the pages alone, so that the files are the same ones, byte for byte, that a run without a
kill writes.
"""

from __future__ import annotations

import secrets
from abc import abstractmethod
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from functools import partial
from hashlib import sha256
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from singletable.errors import InvalidRequest
from singletable.exchange.datasets import UNKNOWN, UNKNOWN_SCHEMA, datasets_of, fingerprint_of, unknown_batch
from singletable.exchange.exported_items import ExportedTable
from singletable.exchange.formats import FORMATS, Format
from singletable.exchange.left_out import LeftOutTally
from singletable.exchange.manifest import (
    DatasetFiles,
    Manifest,
    cells_left_out,
    columns_of,
    dataset_files,
    find_manifest,
    new_id,
    write_manifest,
)
from singletable.exchange.masked_items import has_personal
from singletable.exchange.masked_pages import PageMask
from singletable.exchange.masks import Mask
from singletable.exchange.parts import Parts
from singletable.exchange.private_state import private_store
from singletable.exchange.sorter import RAW_ITEMS, Sorter
from singletable.exchange.store_faults import exhausted
from singletable.exchange.stores import Store
from singletable.exchange.unfinished import StateFile, UnfinishedExport, delete_folder, delete_unkept
from singletable.flow import Port, instant, patiently
from singletable.foundation import (
    ResumableRun,
    ScanSegment,
    Table,
    advanced,
    all_segments,
    check_segments,
    ready,
    usual_segments,
)
from singletable.hidden_fields import repr_without
from singletable.operations import Item, Scan, Selection, encode

if TYPE_CHECKING:
    from singletable.exchange.document_rows import DocumentRows

_MASK_BYTES: Final = 32
PAGE: Final = 1_000
"""Items of an export that are taken together."""
PAGE_ITEMS: int | None = None
"""The items of a page of a scan; None for the service's own limit, 1 MB."""
SECTION_ITEMS = 200_000
SECTION_BYTES = 256 << 20
"""Raw bytes per section. A resumed run rereads at most one."""


class Exported(Struct, frozen=True):
    """The progress of an export; after the last round its result."""

    id: str
    items: int
    """Items read, in all runs of it."""
    unknown: int
    """The items among them that no class explains."""
    bytes: int
    """The bytes of the files that are kept so far."""
    manifest: Manifest | None = None
    """The manifest; None while it is under way."""
    resumed: bool = False
    """It went on with what an earlier run had left."""
    left_out: int | None = 0
    """The cells that are null in these files while their items have a value, as a number beyond its column's type:
    `_rest` has it. None if it is unknown, as an older version wrote some of the files."""
    contents: int = 0
    """The rows of contents and arguments of documents."""
    lost: int = 0
    """Those among them that are null, as the content can't be read."""


Progress = Callable[[Exported], object]


class ExportOptions(Struct, frozen=True):
    """The options of an export. Raises InvalidRequest for invalid ones."""

    format: Format = "parquet"
    keys: bool = False
    consistent: bool = False
    segments: int | None = None
    anew: bool = False
    personal: bool = True
    """Whether personal values are written unmasked; else masks stand for them."""
    mask_key: bytes | None = None
    contents: bool = False

    __repr__ = repr_without("mask_key")

    def __post_init__(self) -> None:
        if self.personal and self.mask_key is not None:
            raise InvalidRequest("mask_key with personal values: nothing is masked then", hint="Pass personal=False.")
        if self.format not in FORMATS:
            raise InvalidRequest(f"an export has no format {self.format!r}", hint=f"Say one of {', '.join(FORMATS)}.")
        check_segments(self.segments)


async def export(
    port: Port,
    tables: Sequence[Table],
    store: Store,
    options: ExportOptions = ExportOptions(),  # noqa: B008  (frozen)
    progress: Progress | None = None,
    place: str = "",
) -> Exported:
    """Scan tables into a store, and replace its manifest at the end. `place` names the database in the manifest."""
    for table in tables:
        await ready(port, table)
    return await run_export(ScanExport(port, tables, store, options, place), progress)


async def export_from(
    port: Port,
    exported: ExportedTable,
    store: Store,
    options: ExportOptions = ExportOptions(),  # noqa: B008  (frozen)
    progress: Progress | None = None,
) -> Exported:
    """Write what DynamoDB exported to S3 into a store, as a scan would be. Nothing is sent to the table.

    A run that goes on reads the files from their beginning, and leaves out what the sections before it have.
    """
    return await run_export(FileExport(port, exported, store, options), progress)


async def run_export(run: ExportRun, progress: Progress | None) -> Exported:
    """Run with the folder for itself. Whatever ends it, nothing is left half-written."""
    try:
        await run.claim.take(run.port)
        with exhausted("export"):
            return await run.run(progress)
    finally:
        run.open.discard()
        run.claim.release()


class ExportRun(ResumableRun[UnfinishedExport, Exported]):
    """One run of an export. The state is kept at the end of each section."""

    def __init__(self, port: Port, tables: Sequence[Table], store: Store, options: ExportOptions, place: str) -> None:
        self.port, self.tables, self.folder, self.options, self.place = port, tables, store, options, place
        declared = datasets_of(*tables)
        self.fingerprint = fingerprint_of(declared)
        self.datasets = tuple(dataset.with_keys() for dataset in declared) if options.keys else declared
        self.tally = LeftOutTally()
        self.sorters = {table.name: Sorter(table, self.datasets, self.tally) for table in tables}
        self.masks: dict[str, PageMask] = {}
        """The masks by table, if personal values are masked."""
        self.mask: Mask | None = None
        self.beside: list[DocumentRows] = []
        """The datasets whose rows are no items."""
        self.count = options.segments or usual_segments(port)
        self.claim = store.claim()
        is_masked = not options.personal and any(map(has_personal, tables))
        self.kept = StateFile(store, private_store() if is_masked else None)
        self.open = Parts(store, "", options.format, {}, {}, self.tally)
        self.manifest: Manifest | None = None
        self.resumed = False

    async def begin(self) -> None:
        before, new = find_manifest(self.folder), self._new()
        known = self.kept.read(anew=self.options.anew)
        self.resumed = known is not None and known.is_like(new) and not self.options.anew
        if known is not None and self.resumed:
            self.state = known
        else:
            if known is not None:
                if before is None or known.id not in (before.id, before.previous):  # it had ended, but for that file
                    delete_folder(self.folder, known.id)
                self.kept.delete(known)
            self.state = new
            self.kept.begin(new)
        if not self.options.personal:
            self.mask = mask = Mask(self.options.mask_key or self.state.mask_key or b"")
            self.masks = {t.name: PageMask(t, mask) for t in self.tables if has_personal(t)}
        if not self._is_written(before):
            delete_unkept(self.folder, self.state)
        self.open = self._parts()

    def _add(self, table: Table, items: Sequence[msgspec.Raw]) -> None:
        """Write items as rows."""
        self.state.items += len(items)
        mask = self.masks.get(table.name)
        if mask is not None:
            items, unknown = mask.page(items)
            if unknown:
                self.open.add(UNKNOWN, unknown_batch(unknown))
            for row in unknown:
                self.sorters[table.name].count_unknown(row)
        for name, batch in self.sorters[table.name].batches(items):
            self.open.add(name, batch)

    async def keep(self) -> None:
        """At the end of a section."""
        if self.open.items >= SECTION_ITEMS or self.open.taken >= SECTION_BYTES:
            await self.port.call_all([self._end_section])

    async def end(self) -> None:
        """Write the last section, an empty file for each class without items, and the manifest."""
        before = find_manifest(self.folder)
        if before is not None and self._is_written(before):
            self.manifest = before
            self.kept.delete(self.state)
            return
        self._end_section()
        self.write_empty()
        self.publish(before)
        self.kept.delete(self.state)

    def write_empty(self) -> None:
        """Write a file for each class without items, so that readers find its columns."""
        self.open = self._parts()
        for dataset in self.datasets:
            if not dataset.is_system and not self.state.files.get(dataset.name):
                self.open.write_empty(dataset.name)
        for name in (name for beside in self.beside for name in beside.schemas if not self.state.files.get(name)):
            self.open.write_empty(name)

    def publish(self, before: Manifest | None) -> Manifest:
        """Replace the manifest `before`, and delete the files of the one before that."""
        self.manifest = manifest = self._manifest(None if before is None else before.id)
        self.claim.beat(self.port)
        write_manifest(self.folder, manifest)
        if before is not None and before.previous is not None:
            delete_folder(self.folder, before.previous)
        return manifest

    def _parts(self) -> Parts:
        schemas = {**{d.name: d.schema for d in self.datasets}, UNKNOWN: UNKNOWN_SCHEMA}
        for beside in self.beside:
            schemas |= beside.schemas
        return Parts(self.folder, self.state.id, self.options.format, schemas, self.state.files, self.tally)

    def _is_written(self, manifest: Manifest | None) -> bool:
        """Whether an earlier run was killed when its manifest was there already."""
        return manifest is not None and manifest.id == self.state.id

    def told(self) -> Exported:
        files = [file for found in self.state.files.values() for file in found]
        left_out = cells_left_out(file for name, found in self.state.files.items() if name != UNKNOWN for file in found)
        unknown = sum(file.rows for file in self.state.files.get(UNKNOWN, ())) + self.open.rows_of(UNKNOWN)
        size = sum(file.bytes for file in files)
        state, resumed = self.state, self.resumed
        return Exported(
            state.id, state.items, unknown, size, self.manifest, resumed, left_out, state.contents, state.lost
        )

    def _end_section(self) -> None:
        self.open.close()
        self.kept.write(self.state)

    def _new(self) -> UnfinishedExport:
        now = instant(self.port.now())
        segments = {table.name: all_segments(self.count) for table in self.tables}
        own_key = not self.options.personal and self.options.mask_key is None
        key = secrets.token_bytes(_MASK_BYTES) if own_key else None
        return UnfinishedExport(new_id(self.port), now, self._made_for(), segments, mask_key=key)

    def _made_for(self) -> dict[str, Any]:
        tables = [table.name for table in self.tables]
        options = self.options
        return {
            "place": self.place,
            "tables": tables,
            "fingerprint": self.fingerprint,
            "format": options.format,
            "keys": options.keys,
            "segments": self.count,
            "consistent": options.consistent,
            "personal": options.personal,
            "mask_key": None if options.mask_key is None else sha256(options.mask_key).hexdigest(),
            "section": [PAGE_ITEMS, SECTION_ITEMS, SECTION_BYTES],
            **({"contents": True} if options.contents else {}),
        }

    def _manifest(self, previous: str | None) -> Manifest:
        source, complete_at = self._source()
        files = self.state.files
        shown = [d for d in self.datasets if not d.is_system or files.get(d.name)]
        datasets = [dataset_files(d, files.get(d.name, ())) for d in shown]
        datasets += [rows for beside in self.beside for rows in beside.files(files)]
        if files.get(UNKNOWN):
            columns = columns_of(UNKNOWN_SCHEMA)
            said = "Items that no class explains, or reads."
            datasets.append(DatasetFiles(UNKNOWN, "", "", "", said, columns, "", tuple(files[UNKNOWN])))
        return Manifest(
            id=self.state.id,
            tables=tuple(table.name for table in self.tables),
            format=self.options.format,
            source=source,
            complete_at=complete_at,
            written_at=instant(self.port.now()),
            fingerprint=self.fingerprint,
            datasets=tuple(datasets),
            keys=self.options.keys,
            personal=not self.masks,
            previous=previous,
        )

    @abstractmethod
    def _source(self) -> tuple[dict[str, Any], datetime]:
        """The source of the data, and the time up to which it is complete."""


class ScanExport(ExportRun):
    """An export of tables that it scans."""

    pages: Sequence[Any] = ()
    """The pages that were fetched but not taken."""

    @property
    def is_over(self) -> bool:
        return not any(self.state.segments.values())

    async def round(self) -> None:
        """The next page of each segment of a table. While it is made into rows, the one after it is asked for."""
        table = next(table for table in self.tables if self.state.segments[table.name])
        pages = self.pages or await self._fetch(table)
        self.state.segments[table.name] = advanced(self.state.segments[table.name], pages)
        if not self.state.segments[table.name]:
            self.pages = self._take(table, pages)
            return
        calls: list[Callable[[], Any]] = [partial(self._fetch, table), partial(self._take, table, pages)]
        self.pages, _ = await self.port.call_all(calls)

    async def _fetch(self, table: Table) -> list[Any]:
        """The next page of each segment that is not over."""
        scans = [self._page(table, segment) for segment in self.state.segments[table.name]]

        async def pages() -> list[Any]:
            self.claim.beat(self.port)
            return await self.port.send_all(scans)

        return await patiently(self.port, pages)

    def _page(self, table: Table, segment: ScanSegment) -> Scan[msgspec.Raw]:
        limit = PAGE_ITEMS or self.port.traits.scan_page_limit
        selection = Selection(limit=limit, after=segment.after(table), consistent=self.options.consistent)
        return Scan(table.name, selection, RAW_ITEMS, segment.number, segment.of)

    def _take(self, table: Table, pages: Sequence[Any]) -> Sequence[Any]:
        """Write pages as rows. Returns the pages that are left: none."""
        for page in pages:
            self._add(table, page.items)
            self.open.taken += len(page.body)
        return ()

    def _source(self) -> tuple[dict[str, Any], datetime]:
        lag = 0.0 if self.options.consistent else self.port.traits.index_lag_seconds
        source = {"kind": "scan", "place": self.place, "consistent": self.options.consistent}
        return source, self.state.begun_at - timedelta(seconds=lag)


class FileExport(ExportRun):
    """An export of DynamoDB's own export to S3. The number of items is its progress."""

    def __init__(self, port: Port, exported: ExportedTable, store: Store, options: ExportOptions) -> None:
        super().__init__(port, [exported.table], store, replace(options, segments=1), exported.where)
        self.exported = exported
        self.page: list[Item] = []
        """The items that were read but not taken."""

    @property
    def is_over(self) -> bool:
        return not self.page

    async def begin(self) -> None:
        await super().begin()
        self.left = islice(self.exported.items(), self.state.items, None)
        self.page = list(islice(self.left, PAGE))

    async def round(self) -> None:
        self.claim.beat(self.port)
        self._add(self.exported.table, [msgspec.Raw(encode(item)) for item in self.page])
        self.page = list(islice(self.left, PAGE))

    def _source(self) -> tuple[dict[str, Any], datetime]:
        return {"kind": "table export", "place": self.place}, self.exported.complete_at
