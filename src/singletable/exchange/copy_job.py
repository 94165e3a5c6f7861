"""A copy as a job: a section is a segment of the source. The job lies in the target."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from copy import copy
from functools import partial
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from singletable.errors import InvalidRequest
from singletable.exchange.masked_items import has_personal
from singletable.exchange.store_faults import exhausted
from singletable.exchange.table_copy import PAGE, CopyOptions, CopyRun
from singletable.flow import Port, patiently
from singletable.foundation import ready, scan_pages
from singletable.holds import TableGate
from singletable.jobs import JobKind, JobPlace, JobWork, Round, SectionLines
from singletable.jobs.inspect import segment_at

_LEFT = "stays behind: "
"""The prefix of counts of items that are not copied."""


class CopyJobOptions(Struct, frozen=True):
    """The options of a copy."""

    source: str = ""
    """Where the source is, as `--from` names it, for workers of the command line."""
    place: str = ""
    """The name that the source has for itself: a worker with another one is refused."""
    keep_personal: bool = False
    add: bool = False
    hold: bool | None = None


class CopyWork(JobWork):
    """Each item of a page is put into the target unchanged."""

    page = PAGE

    def __init__(self, place: JobPlace, options: CopyJobOptions) -> None:
        self.place, self.table = place, place.table
        self.options = replace(options, place=options.place or place.source_place)
        self._copy: CopyRun | None = None
        if place.source is None:
            raise InvalidRequest(
                "a copy reads another database, and none is given",
                table=self.table.name,
                operation="job",
                hint="Jobs(target, table, source=...); on the command line --from TARGET.",
            )
        if has_personal(self.table) and not options.keep_personal:
            raise InvalidRequest(
                "a copy with masks does not run as a job: only who began it has the key of the masks",
                table=self.table.name,
                operation="job",
                hint="Copy without a job; or with keep_personal (--keep-personal), which masks nothing.",
            )
        if self.options.place != place.source_place:
            raise InvalidRequest(
                f"the job copies {self.options.place}, and the given source is {place.source_place}",
                table=self.table.name,
                operation="job",
                hint="Give each worker the same source.",
            )
        self.source = place.source

    def scanned(self, port: Port) -> Port:
        return self.source

    async def first(self, port: Port) -> None:
        """Make the target ready, or refuse it, as the copy of one process does."""
        await ready(self.source, self.table)
        await self._run(port).begin()

    async def begin(self, port: Port) -> None:
        await ready(self.source, self.table)

    async def round(self, port: Port, section: int, of: int, position: Any, page: int) -> Round:
        source, segment = self.at_rate(self.source), segment_at(section, of, position)
        read = partial(scan_pages, source, self.table, [segment], page=page)
        with exhausted("copy"):
            (items,) = await patiently(source, read)
            run = self._run(port)
            written, left_out = await run.put(items.items)
            if self._copy is not None and run.is_held:
                self._copy.is_held = True
        counts = Counter({"written": written}) + Counter({_LEFT + name: count for name, count in left_out.items()})
        after = None if items.after is None else segment.moved(items.after).position
        return Round(after, items.after is None, len(items.items), counts)

    async def end(self, port: Port, told: SectionLines) -> Mapping[str, Any]:
        await self._run(port).forget()
        left = {name.removeprefix(_LEFT): n for name, n in told.counts.items() if name.startswith(_LEFT)}
        return {
            "read": told.seen,
            "written": told.counts.get("written", 0),
            "left_out": left,
            "is_held": await TableGate(port, self.table).is_held(),
            "found": sum(left.values()),
        }

    def _run(self, port: Port) -> CopyRun:
        """The copy of this process, which knows whether the target is held, over the port of a section."""
        if self._copy is None:
            options = CopyOptions(keep_personal=True, add=self.options.add, hold=self.options.hold)
            self._copy = CopyRun(self.source, port, self.table, options, self.place.source_place)
        run = copy(self._copy)  # sections run at the same time
        run.target = port
        return run


COPY = JobKind("copy", 1, CopyJobOptions, CopyWork)
