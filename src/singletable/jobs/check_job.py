"""A check as a job: a section is a segment of one of its passes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import msgspec
from msgspec import Struct

from singletable.documents import LocalBlobs
from singletable.flow import Port, patiently
from singletable.foundation import Pass, ScanSegment, flows, ready
from singletable.jobs.small_pages import SmallPages
from singletable.jobs.work import JobKind, JobPlace, JobWork, Round, SectionLines, segment_at
from singletable.layers import checks_of


class CheckJobOptions(Struct, frozen=True):
    """The options of a check."""

    blobs: str = ""
    """The directory of documents' contents, the same for each worker."""


class CheckWork(JobWork):
    """The passes of a check. A page's findings depend on the page, and on the items that it names."""

    def __init__(self, place: JobPlace, options: CheckJobOptions) -> None:
        blobs = LocalBlobs(options.blobs) if options.blobs else None
        layers = checks_of(place.table, place.seal, blobs)
        self.table, self.options = place.table, options
        self.passes, _ = flows.check_passes(place.table, layers, is_sample=False)
        self.left_out = [text for layer in layers for text in layer.left_out]

    def sections(self, port: Port, wanted: int) -> int:
        return sum(one_pass.segments(wanted) for one_pass in self.passes)

    async def begin(self, port: Port) -> None:
        for table in {one_pass.table.name: one_pass.table for one_pass in self.passes}.values():
            await ready(port, table)

    async def round(self, port: Port, section: int, of: int, position: Any, page: int) -> Round:
        one_pass, number, segments = self._at(section, of)
        segment = segment_at(number, segments, position)
        return await patiently(port, partial(_round, SmallPages(port, page), one_pass, segment))

    def _at(self, section: int, of: int) -> tuple[Pass, int, int]:
        """The pass of a section, and which of its segments it is."""
        for one_pass, segments in self._divided(of):
            if section < segments:
                return one_pass, section, segments
            section -= segments
        raise AssertionError(f"no pass has section {section}")

    def _divided(self, of: int) -> Iterator[tuple[Pass, int]]:
        """The passes, each with the number of its segments, in a job of so many sections."""
        fixed = [one_pass.segments(1) == one_pass.segments(2) for one_pass in self.passes]
        rest = of - sum(p.segments(1) for p, is_fixed in zip(self.passes, fixed, strict=True) if is_fixed)
        wanted = rest // fixed.count(False)
        return ((one_pass, one_pass.segments(wanted)) for one_pass in self.passes)

    async def end(self, port: Port, told: SectionLines) -> Mapping[str, Any]:
        """The findings of the passes' ends. Of a graph with edges whose targets its check did not meet in this process,
        it reads the table once more."""
        last = [finding for one_pass in self.passes for finding in await one_pass.end(port, told.counts)]
        codes = Counter(finding.code for finding in last)
        async for line in told.lines():
            codes[line["code"]] += 1
        notes = [*self.left_out, *(one_pass.note for one_pass in self.passes if one_pass.note)]
        return {
            "seen": told.seen,
            "found": codes.total(),
            "codes": dict(codes),
            "last": [msgspec.to_builtins(finding) for finding in last],
            "left_out": notes,
        }


async def _round(port: Port, one_pass: Pass, segment: ScanSegment) -> Round:
    (page,) = await one_pass.read(port, [segment])
    findings = await one_pass.findings(port, page.items) if page.items else []
    position = None if page.after is None else segment.moved(page.after).position
    lines = [msgspec.to_builtins(finding) for finding in findings]
    return Round(position, page.after is None, len(page.items), one_pass.counted(page.items), lines)


CHECK = JobKind("check", 1, CheckJobOptions, CheckWork, writes=False)
