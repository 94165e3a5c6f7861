"""The run of a check: its passes one after the other, a page of each segment at a time, from wherever it was ended.

A check writes nothing. How far it has come is a value, which the caller of a round may keep, and begin from again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from singletable.flow import Port, patiently
from singletable.records.check_passes import ItemPass, Pass
from singletable.records.findings import Finding, Repaired
from singletable.records.first_use import ready
from singletable.records.repairs import repair
from singletable.records.resumable_run import ResumableRun
from singletable.records.segments import (
    ScanSegment,
    advanced,
    all_segments,
    check_sample,
    check_segments,
    sample_segments,
    usual_segments,
)
from singletable.records.table_items import TableItems, port_over
from singletable.schema import Table
from singletable.tables import describe


class CheckState(Struct, frozen=True, rename={"segments": "lanes"}):
    """The progress of a check."""

    over: int = 0
    """Passes that are over."""
    segments: tuple[ScanSegment, ...] | None = None
    """The unfinished segments of the next pass; None if it has not begun."""
    counts: dict[str, int] = {}
    seen: int = 0
    """Items and rows that were read."""
    found: int = 0
    left: int = 0
    """Findings that were not mended."""


class CheckRound(Struct, frozen=True):
    """One round of a check: its findings, and the progress after it."""

    table: Table
    part: str
    """The pass, as "items" or "index gsi1"."""
    findings: list[Finding]
    state: CheckState
    repaired: list[Repaired] | None = None
    """The outcome of each finding; None without repairs."""

    @property
    def seen(self) -> int:
        """Items that were read so far."""
        return self.state.seen

    @property
    def found(self) -> int:
        """Findings so far."""
        return self.state.found

    def told(self) -> Sequence[tuple[Finding, Repaired | None]]:
        """Each finding, with what became of it."""
        repaired = self.repaired if self.repaired is not None else [None] * len(self.findings)
        return list(zip(self.findings, repaired, strict=True))


RepairMode = Literal["list", "mend"]
OnRound = Callable[[CheckRound], object]


class CheckOptions(Struct, frozen=True):
    """The extent of a check, and the parts read at once. Raises InvalidRequest for invalid values."""

    segments: int = 4
    sample: float | None = None
    """The part of each table that is read, above 0 and below 1; None for all of it."""
    seed: int = 0
    """Selects the part."""

    def __post_init__(self) -> None:
        check_segments(self.segments)
        check_sample(self.sample)


async def run_check(
    port: Port,
    passes: Sequence[Pass],
    options: CheckOptions,
    on_round: OnRound,
    state: CheckState | None = None,
    repairs: RepairMode | None = None,
) -> CheckState:
    """Run the passes, from a state of an earlier run with the same passes and options. Calls `on_round` after each
    round trip of pages, with what was found in them. A round that the service throttles is read again after a wait."""
    return await CheckRun(port, passes, options, on_round, state or CheckState(), repairs).run()


class CheckRun(ResumableRun[CheckState, CheckState]):
    """One run of a check. Its caller keeps the state, with the findings of the round."""

    def __init__(
        self,
        port: Port,
        passes: Sequence[Pass],
        options: CheckOptions,
        on_round: OnRound,
        state: CheckState,
        repairs: RepairMode | None,
    ) -> None:
        self.port, self.passes, self.options, self.on_round = port, passes, options, on_round
        self.state = state
        self.repairs: RepairMode | None = repairs

    @property
    def is_over(self) -> bool:
        return self.state.over == len(self.passes)

    def told(self) -> CheckState:
        return self.state

    async def begin(self) -> None:
        read = [each for each in self.passes[self.state.over :] if each.as_of is None]
        for table in {each.table.name: each.table for each in read}.values():
            await ready(self.port, table)

    async def round(self) -> None:
        flow = partial(_round, self.port, self.passes, self.options, self.state)
        self.made = await patiently(self.port, flow)
        if self.repairs is not None:
            self.made = await self._repaired(self.made, self.repairs)
        self.state = self.made.state

    async def keep(self) -> None:
        self.on_round(self.made)

    async def _repaired(self, round: CheckRound, mode: RepairMode) -> CheckRound:
        """The round, with what became of its findings, whichever pass told them. What is mended is no longer left."""
        done = [Repaired(finding, "kept") for finding in round.findings]
        for items in self.passes:
            if isinstance(items, ItemPass) and items.table is round.table:
                done = await repair(self.port, items, round.findings, dry_run=mode == "list")
        mended = sum(each.outcome in ("mended", "gone") for each in done)
        return replace(round, repaired=done, state=replace(round.state, left=round.state.left - mended))


async def _round(port: Port, passes: Sequence[Pass], options: CheckOptions, state: CheckState) -> CheckRound:
    current = passes[state.over]
    segments = _begun(current, options, state.over) if state.segments is None else state.segments
    pages = await current.read(port, segments[: options.segments])
    items = [item for page in pages for item in page.items]
    findings = await current.findings(port, items) if items else []
    counts = dict(Counter(state.counts) + Counter(current.counted(items)))
    left = advanced(segments, pages)
    if not left and (options.sample is None or current.sampling == "whole"):
        findings += await current.end(port, counts)
    state_after = replace(
        state,
        over=state.over + (not left),
        segments=left or None,
        counts=counts,
        seen=state.seen + len(items),
        found=state.found + len(findings),
        left=state.left + len(findings),
    )
    return CheckRound(current.table, current.name, findings, state_after)


def _begun(current: Pass, options: CheckOptions, number: int) -> tuple[ScanSegment, ...]:
    """The segments of a pass, or of a sample of it."""
    if options.sample is None or current.sampling == "whole":
        return all_segments(current.segments(options.segments))
    return sample_segments(options.sample, f"{options.seed}/{number}")


def sampled(passes: Sequence[Pass]) -> tuple[list[Pass], list[str]]:
    """The passes that a sample reads, and the checks that it omits, in words."""
    unsure = [one_pass.not_sampled for one_pass in passes if one_pass.not_sampled]
    for one_pass in passes:
        one_pass.is_sample = True
    return [one_pass for one_pass in passes if one_pass.sampling != "none"], unsure


def exported(passes: Sequence[Pass], from_export: TableItems) -> tuple[list[Pass], list[str]]:
    """The passes of a check of an export, each item alone, and the checks that it omits, in words.

    What an item is compared with would be of now, not of the export: it is not read.
    """
    first = [one_pass for one_pass in passes if isinstance(one_pass, ItemPass)]
    unsure = [one_pass.name for one_pass in passes if not isinstance(one_pass, ItemPass)]
    for one_pass in first:
        one_pass.as_of = from_export.complete_at.timestamp()
        unsure += [check.beside or type(check).__name__ for check in one_pass.checks if check.is_compared]
    when = f"{from_export.complete_at:%Y-%m-%d %H:%M:%S} UTC"
    texts = [f"{text}: an export has each item alone" for text in dict.fromkeys(unsure)]
    return [*first], [*texts, f"what was written since {when}: the export shows that moment"]


async def predict(port: Port, passes: Sequence[Pass], sample: float | None) -> dict[str, float]:
    """The read units of a check by table, without findings, by the sizes that the service told last. A request each."""
    units: dict[str, float] = {}
    for table in {each.table.name: each.table for each in passes}.values():
        described = await describe(port, table.definition)
        raw: Mapping[str, Any] = {} if described is None else described.raw
        live: Mapping[str, Mapping[str, Any]] = {} if described is None else described.indexes
        indexes = {name: index.get("IndexSizeBytes", 0) for name, index in live.items()}
        own = (each.read_units(raw.get("TableSizeBytes", 0), indexes) for each in passes if each.table is table)
        units[table.name] = sum(own) * (1.0 if sample is None else sample)
    return units


def chosen(passes: Sequence[Pass], is_sample: bool, from_export: TableItems | None) -> tuple[list[Pass], list[str]]:
    """The passes of a check, and the checks that it omits, in words: those of a sample, or of an export."""
    if from_export is not None:
        return exported(passes, from_export)
    return sampled(passes) if is_sample else ([*passes], [])


async def collect(
    port: Port,
    passes: Sequence[Pass],
    segments: int | None = None,
    sample: float | None = None,
    seed: int = 0,
    progress: OnRound | None = None,
    from_export: TableItems | None = None,
) -> list[Finding]:
    """The findings of a check, all of them."""
    port = port_over(port, from_export, sample)
    findings: list[Finding] = []

    def keep(round: CheckRound) -> None:
        findings.extend(round.findings)
        if progress is not None:
            progress(round)

    options = CheckOptions(usual_segments(port) if segments is None else segments, sample, seed)
    await run_check(port, chosen(passes, sample is not None, from_export)[0], options, keep)
    return findings
