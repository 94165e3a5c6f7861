"""The run of an export: a parallel scan, its items as rows of their datasets, in sections that are kept whole.

A section ends after so many items or bytes: every file that is open is closed and kept, and `unfinished.json` is
replaced, which says how far the scan has come and which files there are. A run that was killed goes on from there.
Where sections end depends on the pages alone, so that the files are the same ones, byte for byte, that a run without a
kill writes.
"""

from __future__ import annotations

import secrets
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from hashlib import sha256
from itertools import islice
from typing import Any, Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from singletable.errors import InvalidRequest
from singletable.exchange.datasets import (
    UNKNOWN,
    UNKNOWN_SCHEMA,
    Dataset,
    datasets_of,
    fingerprint_of,
    unknown_batch,
)
from singletable.exchange.exported_items import ExportedTable
from singletable.exchange.formats import FORMATS, Format
from singletable.exchange.manifest import (
    DatasetFiles,
    Manifest,
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
from singletable.exchange.unfinished import (
    Lane,
    StateFile,
    Unfinished,
    delete_folder,
    delete_unkept,
)
from singletable.flow import Port, instant, patiently
from singletable.foundation import Table, ready
from singletable.operations import Item, Scan, Selection, encode
from singletable.records import usual_segments

MOST_SEGMENTS: Final = 16
_MASK_BYTES: Final = 32
PAGE: Final = 1_000
"""Items of an export that are taken together."""
PAGE_ITEMS: int | None = None
"""Of a page of a scan; None for as many as the service gives, up to 1 MB."""
SECTION_ITEMS = 200_000
SECTION_BYTES = 256 << 20
"""Of pages as they came. What a run that goes on reads again is at most one section."""


class Exported(Struct, frozen=True):
    """How far an export has come; at its end, what it wrote."""

    id: str
    items: int
    """Items read, in all runs of it."""
    unknown: int
    """Of those, the ones that no class explains."""
    bytes: int
    """Of the files that are kept so far."""
    manifest: Manifest | None = None
    """None while it is under way."""
    resumed: bool = False
    """It went on with what an earlier run had left."""


Progress = Callable[[Exported], object]


class ExportOptions(Struct, frozen=True):
    """How an export is made. InvalidRequest for what can't be."""

    format: Format = "parquet"
    keys: bool = False
    consistent: bool = False
    segments: int | None = None
    anew: bool = False
    personal: bool = True
    """Whether personal values are written as they are; else masks stand for them."""
    mask_key: bytes | None = None

    def __post_init__(self) -> None:
        if self.personal and self.mask_key is not None:
            raise InvalidRequest("mask_key with personal values: nothing is masked then", hint="Say personal=False.")
        if self.format not in FORMATS:
            raise InvalidRequest(f"an export has no format {self.format!r}", hint=f"Say one of {', '.join(FORMATS)}.")
        if self.segments is not None and not 1 <= self.segments <= MOST_SEGMENTS:
            raise InvalidRequest(f"an export has 1 to {MOST_SEGMENTS} segments, not {self.segments}")


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
    run = _Run(port, tables, store, options, place)
    async with _begun(run):
        for table in tables:
            await run.scan(table, progress)
        return run.end()


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
    run = _Run(port, [exported.table], store, replace(options, segments=1), exported.where, exported)
    async with _begun(run):
        (lane,) = run.state.lanes
        items = islice(exported.items(), run.state.items, None)
        while page := list(islice(items, PAGE)):
            run.claim.beat(port)
            run.take_page(exported.table, page)
            if progress is not None:
                progress(run.told())
        lane.is_over = True
        return run.end()


@asynccontextmanager
async def _begun(run: _Run) -> AsyncGenerator[None, None]:
    """A run that has its folder for itself. Whatever ends it, nothing is left half-written."""
    await run.claim.take(run.port)
    try:
        with exhausted("export"):
            run.begin()
            try:
                yield
            finally:
                run.parts.discard()
    finally:
        run.claim.release()


@dataclass
class _Run:
    """One run of an export."""

    port: Port
    tables: Sequence[Table]
    store: Store
    options: ExportOptions
    place: str
    exported: ExportedTable | None = None
    """What is read in the place of a scan."""
    datasets: tuple[Dataset, ...] = ()
    masks: dict[str, PageMask] = field(default_factory=dict[str, PageMask])
    """By table, where personal values are masked."""
    state: Unfinished = field(init=False)
    parts: Parts = field(init=False)
    resumed: bool = False

    def __post_init__(self) -> None:
        found = datasets_of(*self.tables)
        self.fingerprint = fingerprint_of(found)
        self.datasets = tuple(d.with_keys() for d in found) if self.options.keys else found
        self.sorters = {table.name: Sorter(table, self.datasets) for table in self.tables}
        self.claim = self.store.claim()
        is_masked = not self.options.personal and any(map(has_personal, self.tables))
        self.kept = StateFile(self.store, private_store() if is_masked else None)

    def begin(self) -> None:
        """Go on where an earlier run of the same export stopped, or begin."""
        before, new = find_manifest(self.store), self._new()
        known = self.kept.read(anew=self.options.anew)
        self.resumed = known is not None and known.is_like(new) and not self.options.anew
        if known is not None and self.resumed:
            self.state = known
        else:
            if known is not None:
                if before is None or known.id not in (before.id, before.previous):  # it had ended, but for that file
                    delete_folder(self.store, known.id)
                self.kept.delete(known)
            self.state = new
            self.kept.begin(new)
        if not self.options.personal:
            mask = Mask(self.options.mask_key or self.state.mask_key or b"")
            self.masks = {t.name: PageMask(t, mask) for t in self.tables if has_personal(t)}
        if not self._is_written(before):
            delete_unkept(self.store, self.state, self.port.now())
        schemas = {**{d.name: d.schema for d in self.datasets}, UNKNOWN: UNKNOWN_SCHEMA}
        self.parts = Parts(self.store, self.state.id, self.options.format, schemas, self.state.files)

    async def scan(self, table: Table, progress: Progress | None) -> None:
        """All pages of a table. While a page is made into rows, the next one of each segment is asked for."""
        pages = await self._fetch(table)
        while pages:
            self._advance(table, pages)
            take = partial(self._take, table, pages)
            calls: list[Callable[[], Any]] = [partial(self._fetch, table), take]
            pages, _ = await self.port.call_all(calls) if self.lanes_of(table) else ([], take())
            if progress is not None:
                progress(self.told())

    async def _fetch(self, table: Table) -> list[Any]:
        """The next page of each segment that is not over."""
        scans = [self._page(table, lane) for lane in self.lanes_of(table)]

        async def pages() -> list[Any]:
            self.claim.beat(self.port)
            return await self.port.send_all(scans)

        return await patiently(self.port, pages)

    def _advance(self, table: Table, pages: Sequence[Any]) -> None:
        for lane, page in zip(self.lanes_of(table), pages, strict=True):
            lane.after, lane.is_over = page.after, page.after is None

    def _take(self, table: Table, pages: Sequence[Any]) -> list[Any]:
        """The items of pages as rows; at the end of a section, all is kept."""
        for page in pages:
            self._add(table, page.items)
            self.parts.taken += len(page.body)
            self.state.items += len(page.items)
        if self.parts.items >= SECTION_ITEMS or self.parts.taken >= SECTION_BYTES:
            self._end_section()
        return []

    def take_page(self, table: Table, items: Sequence[Item]) -> None:
        """Items that are no page of a scan: how many they are says how far the run has come."""
        self._add(table, [msgspec.Raw(encode(item)) for item in items])
        self.state.items += len(items)
        if self.parts.items >= SECTION_ITEMS:
            self._end_section()

    def _add(self, table: Table, items: Sequence[msgspec.Raw]) -> None:
        mask = self.masks.get(table.name)
        if mask is not None:
            items, unknown = mask.page(items)
            if unknown:
                self.parts.add(UNKNOWN, unknown_batch(unknown))
        for name, batch in self.sorters[table.name].batches(items):
            self.parts.add(name, batch)

    def lanes_of(self, table: Table) -> list[Lane]:
        return [lane for lane in self.state.lanes if lane.table == table.name and not lane.is_over]

    def end(self) -> Exported:
        """The last section, an empty file for each class without items, and the manifest."""
        before = find_manifest(self.store)
        if before is not None and self._is_written(before):
            self.kept.delete(self.state)
            return self.told(before)
        self._end_section()
        for dataset in self.datasets:
            if not dataset.is_system and not self.state.files.get(dataset.name):
                self.parts.write_empty(dataset.name)
        manifest = self._manifest(None if before is None else before.id)
        self.claim.beat(self.port)
        write_manifest(self.store, manifest)
        self.kept.delete(self.state)
        if before is not None and before.previous is not None:
            delete_folder(self.store, before.previous)
        return self.told(manifest)

    def _is_written(self, manifest: Manifest | None) -> bool:
        """Whether an earlier run was killed when its manifest was there already."""
        return manifest is not None and manifest.id == self.state.id

    def told(self, manifest: Manifest | None = None) -> Exported:
        files = [file for found in self.state.files.values() for file in found]
        unknown = sum(file.rows for file in self.state.files.get(UNKNOWN, ())) + self.parts.rows_of(UNKNOWN)
        size = sum(file.bytes for file in files)
        return Exported(self.state.id, self.state.items, unknown, size, manifest, self.resumed)

    def _end_section(self) -> None:
        self.parts.close()
        self.kept.write(self.state)

    def _page(self, table: Table, lane: Lane) -> Scan[msgspec.Raw]:
        limit = PAGE_ITEMS or self.port.traits.scan_page_limit
        selection = Selection(limit=limit, after=lane.after, consistent=self.options.consistent)
        return Scan(table.name, selection, RAW_ITEMS, lane.segment, lane.segments)

    def _new(self) -> Unfinished:
        now = instant(self.port.now())
        count = self.options.segments or usual_segments(self.port)
        lanes = [Lane(table.name, n, count) for table in self.tables for n in range(count)]
        own_key = not self.options.personal and self.options.mask_key is None
        key = secrets.token_bytes(_MASK_BYTES) if own_key else None
        return Unfinished(new_id(self.port), now, self._made_for(), lanes, mask_key=key)

    def _made_for(self) -> dict[str, Any]:
        tables = [table.name for table in self.tables]
        options = self.options
        return {
            "place": self.place,
            "tables": tables,
            "fingerprint": self.fingerprint,
            "format": options.format,
            "keys": options.keys,
            "segments": options.segments,
            "consistent": options.consistent,
            "personal": options.personal,
            "mask_key": None if options.mask_key is None else sha256(options.mask_key).hexdigest(),
            "section": [PAGE_ITEMS, SECTION_ITEMS, SECTION_BYTES],
        }

    def _manifest(self, previous: str | None) -> Manifest:
        source, complete_at = self._source()
        files = self.state.files
        shown = [d for d in self.datasets if not d.is_system or files.get(d.name)]
        datasets = [dataset_files(d, files.get(d.name, ())) for d in shown]
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

    def _source(self) -> tuple[dict[str, Any], datetime]:
        """Where the data came from, and up to when it is complete."""
        if self.exported is not None:
            return {"kind": "table export", "place": self.place}, self.exported.complete_at
        lag = 0.0 if self.options.consistent else self.port.traits.index_lag_seconds
        source = {"kind": "scan", "place": self.place, "consistent": self.options.consistent}
        return source, self.state.begun_at - timedelta(seconds=lag)
