"""The reading of a plan as a job: a section is a segment of the table, and keeps its counts. The end adds them up.

The counts are kept in an item of the table, from which the next plan or apply takes them in place of a reading.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from singletable.flow import Port
from singletable.jobs.work import MOST_STATE_BYTES, Gathered, JobKind, JobPlace, JobWork, Round, SectionLines
from singletable.migrations.flows import PAGE, PlanSections, SectionReading, write_counts_of_job


class PlanJobOptions(Struct, frozen=True):
    """The options of a plan."""

    accept: tuple[tuple[str, str], ...] = ()
    """The accepted differences, each by its rule and its subject."""


class PlanWork(JobWork):
    """Each page is added to its section's counts, as a plan counts it. Nothing is written but the job's own items."""

    page = PAGE
    keep_seconds = 30.0

    def __init__(self, place: JobPlace, options: PlanJobOptions) -> None:
        self.table, self.options = place.table, PlanJobOptions(tuple(sorted({*options.accept})))
        self._sections: PlanSections
        self._states: dict[int, bytes | None] = {}
        self._readings: dict[int, SectionReading] = {}

    async def first(self, port: Port) -> None:
        await PlanSections.of(port, self.table, self.options.accept)

    async def begin(self, port: Port) -> None:
        self._sections = await PlanSections.of(port, self.table, self.options.accept)

    def take_up(self, section: int, fence: int, state: bytes | None) -> None:
        self._states[section] = state

    def put_down(self, section: int) -> None:
        self._states.pop(section, None)
        self._readings.pop(section, None)

    async def round(self, port: Port, section: int, of: int, position: Any, page: int) -> Round:
        reading = self._readings.get(section)
        if reading is None:
            reading = self._readings[section] = self._sections.section(section, of, self._states[section])
        seen = await reading.round(port, page)
        return Round(reading.position, reading.is_over, seen)

    async def gather(self, port: Port, section: int) -> Gathered:
        return Gathered(state=await self._readings[section].state(MOST_STATE_BYTES))

    async def end(self, port: Port, told: SectionLines) -> Mapping[str, Any]:
        counts = await self._sections.whole(port, told.states())
        await write_counts_of_job(port, self.table, self.job, counts, MOST_STATE_BYTES)
        fill: Mapping[str, Any] = counts.fill.get("whole", {})
        items = {name: fill.get(name, 0) for name in ("writes", "gaps", "unreadable", "unknown")}
        return {"seen": counts.seen, **items, "counted": [one.without_keys for one in counts.counted]}


PLAN = JobKind("plan", 1, PlanJobOptions, PlanWork, writes=False, has_states=True)
