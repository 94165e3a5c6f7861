"""An export as a job: a section is a segment, and writes files of its own. The end writes the manifest.

The name of a file has the section and the fence of its owner, so that two owners never write the same one. A file
counts once the section has a line of it, kept with the position that it goes up to. The end deletes all others in the
export's folder, and replaces the manifest at once, while it holds its lease and the folder's claim: a reader sees
the export before or this one, whole.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from singletable.errors import InvalidRequest
from singletable.exchange import export
from singletable.exchange.datasets import UNKNOWN, UNKNOWN_SCHEMA, Dataset
from singletable.exchange.export import ExportOptions, ScanExport
from singletable.exchange.formats import Format
from singletable.exchange.left_out import LeftOutTally
from singletable.exchange.manifest import DataFile, Manifest, find_manifest
from singletable.exchange.masked_items import has_personal
from singletable.exchange.parts import Parts
from singletable.exchange.sorter import RAW_ITEMS, Sorter
from singletable.exchange.store_faults import exhausted
from singletable.exchange.stores import Store, store_at
from singletable.exchange.unfinished import UnfinishedExport, delete_unkept
from singletable.flow import Port, patiently
from singletable.foundation import ready
from singletable.jobs import Gathered, JobKind, JobPlace, JobWork, Line, Round, SectionLines
from singletable.jobs.inspect import is_of_job, segment_at
from singletable.operations import Scan, Selection
from singletable.tables import describe


class ExportJobOptions(Struct, frozen=True):
    """The options of an export."""

    to: str
    """The directory or `s3://bucket/prefix`, the same for each worker."""
    format: Format = "parquet"
    keys: bool = False
    consistent: bool = False
    personal: bool = False


class _Section:
    """The files of a section that this process writes."""

    def __init__(self, work: ExportWork, section: int, fence: int) -> None:
        tally, self.files = LeftOutTally(), dict[str, list[DataFile]]()
        self.sorter = Sorter(work.table, work.datasets, tally)
        schemas = {**{dataset.name: dataset.schema for dataset in work.datasets}, UNKNOWN: UNKNOWN_SCHEMA}
        prefix = f"{section:05}-{fence:03}-"
        self.parts = Parts(work.store, work.id, work.options.format, schemas, self.files, tally, prefix)
        self._told = dict[str, int]()
        """The number of files by dataset that were gathered."""

    def add(self, items: Sequence[msgspec.Raw], size: int, left_out: frozenset[str]) -> None:
        for name, batch in self.sorter.batches(items):
            if name not in left_out:
                self.parts.add(name, batch)
        self.parts.taken += size

    def close(self) -> list[Line]:
        """End the open files: a line of each."""
        self.parts.close()
        lines = list[Line]()
        for name, files in self.files.items():
            lines += [{"dataset": name, "file": msgspec.to_builtins(file)} for file in files[self._told.get(name, 0) :]]
            self._told[name] = len(files)
        return lines


class ExportWork(JobWork):
    """Each page is added to the section's open files. Rounds are kept when the files are ended."""

    page = 10_000
    keep_seconds = 600.0

    def __init__(self, place: JobPlace, options: ExportJobOptions) -> None:
        to = options.to if "://" in options.to else os.path.abspath(options.to)
        self.place, self.table, self.options = place, place.table, replace(options, to=to)
        self.store: Store = store_at(to)
        self._export = ExportOptions(options.format, options.keys, options.consistent, personal=options.personal)
        if has_personal(self.table) and not options.personal:
            raise InvalidRequest(
                "an export with masks does not run as a job: only who began it has the key of the masks",
                table=self.table.name,
                operation="job",
                hint="Export without a job; or with personal (--personal), which masks nothing.",
            )
        self.datasets: tuple[Dataset, ...] = ()
        self._of_jobs = frozenset[str]()
        self._sections: dict[int, _Section] = {}

    @property
    def id(self) -> str:
        """The export's own, which is the same in each worker."""
        return f"{self.begun_at:%Y%m%dT%H%M%SZ}-{self.job[-6:]}"

    async def first(self, port: Port) -> None:
        """Look at the place, so that it is refused before the job is made."""
        find_manifest(self.store)

    async def begin(self, port: Port) -> None:
        await ready(port, self.table)
        self.datasets = self._run(port).datasets
        self._of_jobs = frozenset(dataset.name for dataset in self.datasets if is_of_job(dataset.type))

    def take_up(self, section: int, fence: int, state: bytes | None) -> None:
        self._sections[section] = _Section(self, section, fence)

    def put_down(self, section: int) -> None:
        written = self._sections.pop(section, None)
        if written is not None:
            written.parts.discard()

    def is_full(self, section: int) -> bool:
        parts = self._sections[section].parts
        return parts.items >= export.SECTION_ITEMS or parts.taken >= export.SECTION_BYTES

    async def round(self, port: Port, section: int, of: int, position: Any, page: int) -> Round:
        segment, written = segment_at(section, of, position), self._sections[section]
        limit = min(page, port.traits.scan_page_limit or page)
        selection = Selection(limit=limit, after=segment.after(self.table), consistent=self.options.consistent)
        scan = Scan(self.table.name, selection, RAW_ITEMS, segment.number, segment.of)
        with exhausted("export"):
            read = await patiently(port, partial(port.send, scan))
            await port.call_all([partial(written.add, read.items, len(read.body), self._of_jobs)])
        after = None if read.after is None else segment.moved(read.after).position
        return Round(after, read.after is None, len(read.items))

    async def gather(self, port: Port, section: int) -> Gathered:
        with exhausted("export"):
            (lines,) = await port.call_all([self._sections[section].close])
        return Gathered(lines)

    async def end(self, port: Port, told: SectionLines) -> Mapping[str, Any]:
        run = self._run(port)
        try:
            await run.claim.take(port)
            manifest = find_manifest(self.store)
            if manifest is None or manifest.id != self.id:
                manifest = await self._written(port, run, told, manifest)
        finally:
            run.open.discard()
            run.claim.release()
        rows = {dataset.name: dataset.rows for dataset in manifest.datasets}
        size = sum(dataset.bytes for dataset in manifest.datasets)
        return {"id": manifest.id, "seen": told.seen, "bytes": size, "rows": rows, "found": manifest.unknown}

    async def _written(self, port: Port, run: ScanExport, told: SectionLines, before: Manifest | None) -> Manifest:
        files = dict[str, list[DataFile]]()
        async for line in told.lines():
            files.setdefault(line["dataset"], []).append(msgspec.convert(line["file"], DataFile))
        self._check(file.path for written in files.values() for file in written)
        run.state = UnfinishedExport(self.id, self.begun_at, {}, files=files, items=told.seen)
        delete_unkept(self.store, run.state)
        run.write_empty()
        await describe(port, self.table.definition)  # it is not sent where another worker has the end by now
        return run.publish(before)

    def _check(self, paths: Iterable[str]) -> None:
        """InvalidRequest if files are missing: some worker has another folder under that name."""
        gone = sorted({*paths}.difference(self.store.list(f"{self.id}/")))
        if gone:
            raise InvalidRequest(
                f"{self.store.url} lacks {gone[0]}, which a worker has written",
                table=self.table.name,
                operation="job",
                hint="Share one folder between the workers, or export to s3://BUCKET/PREFIX. Cancel the job, and begin "
                "it again.",
            )

    def _run(self, port: Port) -> ScanExport:
        return ScanExport(port, [self.table], self.store, self._export, self.place.place)


EXPORT = JobKind("export", 1, ExportJobOptions, ExportWork, writes=False)
