"""The collection of documents' garbage as a job: a section is a segment of the table.

The family of a document and its branches is collected whole, in the round that meets its root: what reaches a content
is all in the family. So one family is not divided, and families are collected at the same time.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, Final

import msgspec
from msgspec import Struct

from singletable.documents import LocalBlobs
from singletable.documents.flows import TableGarbage
from singletable.flow import Port, patiently
from singletable.foundation import Finding, ScanSegment, ready, scan_pages
from singletable.jobs.work import JobKind, JobPlace, JobWork, Round, SectionLines, segment_at

_COUNTS: Final = ("families", "stored", "deleted", "kept", "left", "dropped", "kept_for_backups")


class CollectJobOptions(Struct, frozen=True):
    """The options of a collection."""

    blobs: str = ""
    """The directory of the contents of documents whose class has no store, the same for each worker."""


class CollectWork(JobWork):
    """Each family of documents whose root is on a page is collected, as `collect_garbage` does it."""

    page = 100

    def __init__(self, place: JobPlace, options: CollectJobOptions) -> None:
        self.table, self.options = place.table, options
        blobs = LocalBlobs(options.blobs) if options.blobs else None
        self.garbage = TableGarbage(place.table, place.seal, blobs)

    async def begin(self, port: Port) -> None:
        await ready(port, self.table)

    async def round(self, port: Port, section: int, of: int, position: Any, page: int) -> Round:
        segment = segment_at(section, of, position)
        return await patiently(port, partial(self._round, port, segment, page))

    async def _round(self, port: Port, segment: ScanSegment, page: int) -> Round:
        (read,) = await scan_pages(port, self.table, [segment], page=page)
        counts, findings = await self.garbage.collect(port, read.items)
        after = None if read.after is None else segment.moved(read.after).position
        return Round(after, read.after is None, len(read.items), counts, [_line(finding) for finding in findings])

    async def end(self, port: Port, told: SectionLines) -> Mapping[str, Any]:
        found = 0
        async for _ in told.lines():
            found += 1
        counts = {name: told.counts.get(name, 0) for name in _COUNTS}
        return {"seen": told.seen, **counts, "found": found, "left_out": self.garbage.left_out}


def _line(finding: Finding) -> Mapping[str, Any]:
    line: Mapping[str, Any] = msgspec.to_builtins(finding)
    return line


COLLECT = JobKind("collect", 1, CollectJobOptions, CollectWork)
