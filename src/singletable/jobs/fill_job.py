"""A fill as a job: a section is a segment of the table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Struct

from singletable.flow import Port
from singletable.foundation import ready
from singletable.jobs.work import JobKind, JobPlace, JobWork, Round, SectionLines
from singletable.migrations.flows import PAGE, fill_needs_one_segment, fill_round, obsolete_keys


class FillJobOptions(Struct, frozen=True):
    """A fill has no options."""


class FillWork(JobWork):
    """Each item of a page is brought to its declared form, under its condition."""

    page = PAGE

    def __init__(self, place: JobPlace, options: FillJobOptions) -> None:
        self.table, self.options = place.table, options

    def sections(self, port: Port, wanted: int) -> int:
        return 1 if fill_needs_one_segment(port, self.table) else wanted

    async def begin(self, port: Port) -> None:
        for each in (self.table, *self.table.targets):
            await ready(port, each)

    async def round(self, port: Port, section: int, of: int, position: Any, page: int) -> Round:
        part, filled = await fill_round(port, self.table, section, of, position, page)
        counts = {name: getattr(filled, name) for name in ("written", "unknown", "contended", "moved", "completed")}
        lines: list[Mapping[str, Any]] = [
            {"kind": kind, **msgspec.to_builtins(finding)}
            for kind in ("unreadable", "twice", "unfilled")
            for finding in getattr(filled, kind)
        ]
        moved = {f"old key of {name}": count for name, count in part.old_keys.items()}
        return Round(part.position, part.is_over, filled.seen, Counter(counts) + Counter(moved), lines)

    async def end(self, port: Port, told: SectionLines) -> Mapping[str, Any]:
        counts = told.counts
        left = {name.removeprefix("old key of ") for name in counts if name.startswith("old key of ")}
        findings = 0
        async for line in told.lines():
            findings += 1
            if line["kind"] != "unfilled":
                left.add(line["type"])
        whole = () if counts.get("contended") else obsolete_keys(self.table, left)
        shown = {name: counts.get(name, 0) for name in ("written", "unknown", "contended", "moved", "completed")}
        found = findings + counts.get("unknown", 0) + counts.get("contended", 0)
        return {"seen": told.seen, **shown, "found": found, "obsolete": list(whole)}


FILL = JobKind("fill", 1, FillJobOptions, FillWork)
