"""The reading of a plan in sections: segments of the table, which several processes read.

A section counts what a plan's reading counts, and nothing that takes the items of another section: two that have one
value, two that become one. Its state is that of a reading of one segment; the states add up to the counts of all.

The counts are of the day: a reading in which nobody has read for a day, as where its job was paused, is refused. Who
names the job takes its counts also where they allow the plan, and what was read before is too old to do so.
"""

from __future__ import annotations

from collections.abc import AsyncIterable, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from singletable.errors import InvalidRequest
from singletable.flow import Port
from singletable.foundation import ScanSegment, Table
from singletable.migrations.acceptance import Accepted
from singletable.migrations.counts_of_job import packed_counts, unpacked_counts
from singletable.migrations.item_counts import ItemCounts
from singletable.migrations.kept_counts import KEPT_SECONDS, CountRun, CountsFile, KeptCounts
from singletable.migrations.prediction import FillCount
from singletable.migrations.preparation import Prepared, prepare
from singletable.migrations.steps import Planning


class PlanSections:
    """The counts that a plan needs, for sections of the table."""

    def __init__(self, table: Table, known: Prepared) -> None:
        self.table, self.known, self.work = table, known, known.work()

    @classmethod
    async def of(cls, port: Port, table: Table, accept: Accepted) -> PlanSections:
        """The sections of a plan. A few requests. InvalidRequest for one that reads nothing, or can't be divided."""
        known = await prepare(port, table, accept)
        _check_divided(table, known)
        return cls(table, known)

    def section(self, number: int, of: int, state: bytes | None) -> SectionReading:
        """One section, after what it kept. InvalidRequest where it counted something else."""
        kept = None if state is None else self._own(state)
        return SectionReading(self.known, self.table, ScanSegment(number, of), kept)

    async def whole(self, port: Port, states: AsyncIterable[bytes]) -> KeptCounts:
        """The counts of all sections, by the states of all. InvalidRequest where one counted something else, or where
        nobody has read for a day."""
        total, fills, part_units = self.known.reading.anew(), list[FillCount](), 0.0
        spans = list[tuple[float, float]]()
        async for state in states:
            kept = self._own(state)
            total.add(kept.seen, kept.counted)
            spans += kept.spans
            if kept.fill:
                fills.append(msgspec.convert(kept.fill["whole"], FillCount))
                part_units += kept.fill["part_units"]
        fill = {"whole": msgspec.to_builtins(FillCount.sum(fills)), "part_units": part_units} if fills else {}
        now = port.now()
        self._check_spans(spans, now)
        return KeptCounts(self.work, (), total.seen, tuple(total.counted()), b"", fill, ended_at=now, kept_at=now)

    def _own(self, state: bytes) -> KeptCounts:
        kept = unpacked_counts(state)
        if kept.work != self.work:
            raise InvalidRequest(
                "the record of the table or its indexes have changed since the job began: its sections counted items "
                "for another plan",
                table=self.table.name,
                operation="plan",
                hint="Cancel the job, and begin it again.",
            )
        return kept

    def _check_spans(self, spans: Sequence[tuple[float, float]], now: float) -> None:
        """InvalidRequest where nobody has read for a day between the first of these spans and now."""
        since = min((begin for begin, _ in spans), default=now)
        for begin, end in sorted([*spans, (now, now)]):
            if begin - since >= KEPT_SECONDS:
                raise InvalidRequest(
                    "nobody has read for a day since the job began: what its sections counted is too old",
                    table=self.table.name,
                    operation="plan",
                    hint="Cancel the job, and begin it again.",
                )
            since = max(since, end)


class SectionReading:
    """A section as one process reads it."""

    def __init__(self, known: Prepared, table: Table, segment: ScanSegment, state: KeptCounts | None) -> None:
        self._known, self._table, self._segment, self._state = known, table, segment, state
        self._run: Any = None
        self._spans = () if state is None else state.spans

    async def round(self, port: Port, page: int) -> int:
        """Read at most `page` items, and count them. Returns their number."""
        run = self._run = self._run or await self._begun(port)
        run.port = run.kept.port = port
        run.page, before = page, run.reading.seen
        self._read_at(port.now())
        await run.round()
        self._read_at(port.now())
        seen: int = run.reading.seen - before
        return seen

    @property
    def position(self) -> dict[str, str] | None:
        """Where it goes on."""
        state: Sequence[ScanSegment] = self._run.state
        return state[0].position if state else None

    @property
    def is_over(self) -> bool:
        return bool(self._run.is_over)

    async def state(self, most_bytes: int) -> bytes:
        """Return its counts so far, to be kept."""
        if self.is_over:
            await self._run.end()
        kept: KeptCounts = self._run.kept.kept(tuple(self._run.state), b"", None)
        return packed_counts(replace(kept, spans=self._spans), most_bytes)

    def _read_at(self, now: float) -> None:
        """Note that it is read at a time: in its last span, or after a pause of a day."""
        if self._spans and now - self._spans[-1][1] < KEPT_SECONDS:
            begin, end = self._spans[-1]
            self._spans = (*self._spans[:-1], (begin, max(end, now)))
        else:
            self._spans = (*self._spans, (now, now))

    async def _begun(self, port: Port) -> Any:
        known = self._known
        kept = _SectionCounts(port, known.work(), known.reading.anew(), self._state)
        run: Any = CountRun(port, [self._segment], kept)
        if known.fills is not None:
            facts = known.document, known.record, known.live, self._segment.of, None
            run = known.fills.reading(Planning(port, self._table, *facts, kept, is_divided=True), [self._segment])
        await run.begin()
        return run


class _SectionCounts(CountsFile):
    """The counts of a section, which its job keeps."""

    def __init__(self, port: Port, work: str, counts: ItemCounts, state: KeptCounts | None) -> None:
        super().__init__(port, None, work, counts)
        self._state = state

    def _load(self) -> KeptCounts | None:
        return self._state


def _check_divided(table: Table, known: Prepared) -> None:
    where = {"table": table.name, "operation": "plan"}
    if not known.counts_items:
        raise InvalidRequest(
            f"the plan of {table.name} reads no items, so there is nothing to share",
            hint="Plan it without a job: singletable plan MODULE.",
            **where,
        )
    stuck = [one.subject for one in known.reading.differences if one.counts == "converts"]
    if stuck or (known.fills is not None and table.conversions):
        names = ", ".join(stuck or [conversion.shown for conversion in table.conversions.values()])
        raise InvalidRequest(
            f"a plan with conversions is not divided: items that become one item may lie in two sections ({names})",
            hint="Plan it in one process, without a job: its file keeps how far it is.",
            **where,
        )
    twice = [one for one in known.reading.differences if one.counts == "twice"]
    if twice:
        names, ways = ", ".join(one.subject for one in twice), [f"--accept {one.rule} {one.subject}" for one in twice]
        raise InvalidRequest(
            f"two items with one value may lie in two sections, so no job counts the unique values of {names}",
            hint=f"Plan it in one process, without a job. Or leave them to the apply, whose fill names such items and "
            f"stops: {' '.join(ways)}.",
            **where,
        )
