"""Check: the invariants of jobs' items. Only a page that has some costs requests.

* a section, its lines and its state have their job
* a job that has ended has no section that is not over
* a job that runs has had a worker within a day
* no job has failed
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from singletable.errors import SingletableError
from singletable.flow import Port
from singletable.foundation import (
    Finding,
    ItemCheck,
    Repair,
    Table,
    TryWrite,
    delete_if,
    finding_in,
    items_at,
    model_for,
    model_of,
)
from singletable.jobs.items import JobItem, JobLines, JobPart, SectionState
from singletable.jobs.states import JobState
from singletable.operations import Item

_IDLE_SECONDS: Final = 24 * 3600.0


class JobCheck(ItemCheck):
    """The check of the items of jobs in a table."""

    beside = "sections with their jobs"
    repairs = frozenset({"job.orphan"})

    def __init__(self, table: Table) -> None:
        self.table = table
        self.job: Any = JobItem.of(table)
        self.part: Any = JobPart.of(table)
        self.of_parts: list[Any] = [self.part, JobLines.of(table), SectionState.of(table)]

    async def findings(self, port: Port, items: Sequence[Item]) -> list[Finding]:
        jobs = [job for item in items if (job := self._loaded(self.job, item)) is not None]
        parts = [each for item in items for kind in self.of_parts if (each := self._loaded(kind, item))]
        findings = await self._orphans(port, parts)
        for job in jobs:
            findings += await self._of_job(port, job)
        return findings

    async def repair(self, port: Port, item: Item, finding: Finding) -> Repair | None:
        """Delete a part whose job is gone. A job is made before its parts, and no id is used again: it never comes."""
        parts = [part for kind in self.of_parts if (part := self._loaded(kind, item))]
        if not parts or not await self._orphans(port, parts):
            return None
        (part,) = parts
        delete = TryWrite(delete_if(model_for(part).key_of(part), None))

        async def apply(port: Port) -> bool:
            return await port.send(delete)

        return Repair("delete what is left of a job", apply)

    def _loaded(self, kind: Any, item: Item) -> Any:
        """An item of a class; None for others, and for one that can't be read, which is found as any other item."""
        model = model_of(kind)
        if self.table.type_of(item) != model.type:
            return None
        try:
            return model.load(item)
        except SingletableError:
            return None

    async def _orphans(self, port: Port, parts: Sequence[Any]) -> list[Finding]:
        if not parts:
            return []
        model = model_of(self.job)
        key_of = {part.job: self.job.by_id(part.job) for part in parts}
        places = {job: (key.partition, key.low) for job, key in key_of.items()}
        there = await items_at(port, model.table, places.values())
        what = "its job is gone"
        return [finding_in(part, "job.orphan", what) for part in parts if places[part.job] not in there]

    async def _of_job(self, port: Port, job: Any) -> list[Finding]:
        state = JobState(job.state)
        if state is JobState.PAUSED or state is JobState.CANCELLED:
            return []
        if state is JobState.FAILED:
            return [finding_in(job, "job.failed", f"it has failed: {job.why}")]
        parts = await self._parts(port, job)
        if state is JobState.ENDED:
            left = job.sections - sum(part.is_over for part in parts if part.section < job.sections)
            what = f"it has ended, and {left} of its sections are not over"
            return [finding_in(job, "job.unfinished", what)] if left else []
        last = max([job.begun_at, *(part.beat_at for part in parts if part.beat_at is not None)])
        what = "it runs, and no worker has worked on it for a day"
        is_idle = port.now() - last.timestamp() > _IDLE_SECONDS
        return [finding_in(job, "job.idle", what)] if is_idle else []

    async def _parts(self, port: Port, job: Any) -> list[Any]:
        """The sections of a job that were begun, its end as the last. A request for each hundred."""
        model = model_of(self.part)
        keys = (self.part.by_section(job.job, section) for section in range(job.sections + 1))
        items = await items_at(port, model.table, [(key.partition, key.low) for key in keys])
        return [part for item in items.values() if (part := self._loaded(self.part, item)) is not None]
