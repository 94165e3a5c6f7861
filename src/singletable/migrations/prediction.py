"""Prediction: what a fill will take, from reading the table as the fill will.

The dry run reads the pages that the fill would read, in the same segments, and adds up what each write costs by the
item before and after it. With a sample it reads some of many small segments, and counts each for several.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from singletable.errors import InvalidRequest
from singletable.flow import Consumed, Meter, Port, Request, Response
from singletable.foundation import Finding, Move, Table, fill_parts_of, flows, model_for, place_in
from singletable.migrations import fill
from singletable.migrations.fill_pages import SegmentPages
from singletable.migrations.needed import Need, Unknown, after, needed
from singletable.migrations.rehearsal import Rehearsal, reread_units
from singletable.operations import MAX_BATCH_GET, Found, Item, PutItem, Scan, UpdateItem
from singletable.tables import Projected, projected_in, size_units, write_units

_COUNTS: Final = ("seen", "writes", "again", "pages", "gaps", "gap_requests")
_MOST_SAMPLED_SEGMENTS: Final = 256
_SAMPLED_BYTES: Final = 100_000
"""The least size of a sampled segment: each is read for itself, and rounded up."""


class FillCount(Struct, frozen=True):
    """What a fill would meet and write."""

    seen: int = 0
    writes: int = 0
    again: int = 0
    """Items that move to keys that lie ahead, so that they are read a second time."""
    pages: int = 0
    read_units: float = 0.0
    write_units: float = 0.0
    gaps: int = 0
    """Items that lack something outside of themselves."""
    gap_requests: int = 0
    """What finding and filling those takes."""
    unreadable: int = 0
    unknown: int = 0
    share: float = 1.0
    """The part of the table that was read."""

    def scaled(self) -> FillCount:
        """For the whole table, from a part of it."""
        if self.share == 1.0:
            return self
        numbers = {n: round(getattr(self, n) / self.share) for n in _COUNTS}
        units = {n: round(getattr(self, n) / self.share, 1) for n in ("read_units", "write_units")}
        others = {n: round(getattr(self, n) / self.share) for n in ("unreadable", "unknown")}
        return replace(self, **numbers, **units, **others, share=1.0)


async def count_fill(
    port: Port, table: Table, indexes: Sequence[Projected], segments: int, sample: float | None, size_bytes: int
) -> FillCount:
    """What a fill would meet. Reads the table of about this size once, or about the share that `sample` says."""
    if sample is not None and not 0 < sample <= 1:
        raise InvalidRequest(f"a sample is a share above 0, up to 1, not {sample:g}", table=table.name)
    total = segments if sample is None else _sampled_segments(sample, size_bytes)
    chosen = range(segments) if sample is None else _spread(max(1, round(sample * total)), total)
    counted = FillCount(share=len(chosen) / total)
    order = {"by_key": port.traits.scans_by_key, "is_sample": sample is not None}
    read = {n: SegmentPages(table, n, total, fill.PAGE, **order) for n in chosen}
    positions: dict[int, Any] = dict.fromkeys(chosen)
    gaps = flows.gaps_of(table)
    while positions:
        some = list(positions)[: fill.MOST_SEGMENTS]
        scans = [fill.page_of(table, segment, total, positions[segment]) for segment in some]
        found = await port.send_all([_Metered(scan) for scan in scans])
        needs = [[needed(table, item, port.now()) for item in page.items] for page, _ in found]
        if gaps is not None:
            items = [item for page, _ in found for item in page.items]
            counted = await _with_gaps(port, counted, gaps, indexes, items, [need for own in needs for need in own])
        for segment, (page, units), own in zip(some, found, needs, strict=True):
            for item, need in zip(page.items, own, strict=True):
                counted = _with(counted, table, item, need, indexes)
            again = read[segment].add(page.items, own, page.after is None, units)
            if gaps is not None and again:
                counted = await _with_second_look(port, counted, gaps, indexes, again)
            positions[segment] = page.after
            if page.after is None:
                del positions[segment]
    counts = [each.count for each in read.values()]
    counted = replace(
        counted,
        pages=sum(each.pages for each in counts),
        again=sum(each.items_again for each in read.values()),
        read_units=counted.read_units + sum(each.read_units for each in counts),
    )
    return _with_parts(counted, table, segments, None if sample is not None else sum(c.part_units for c in counts))


class _Metered(Struct, frozen=True):
    """A page of a scan, with the units that it took."""

    scan: Scan[Item]

    def request(self) -> Request:
        return self.scan.request()

    def answer(self, response: Response) -> tuple[tuple[Found[Item], float], Consumed]:
        page, consumed = self.scan.answer(response)
        return (page, consumed.read_units), consumed


async def _with_gaps(
    port: Port,
    counted: FillCount,
    gaps: Any,
    indexes: Sequence[Projected],
    items: Sequence[Item],
    needs: Sequence[Need],
) -> FillCount:
    """What finding and filling the gaps of these items takes."""
    table: Table = gaps.table
    writes = [need for need in needs if isinstance(need, (UpdateItem, Move))]
    whole = fill.whole_after(table, items, writes)
    updated = {place_in(table, write.key) for write in writes if isinstance(write, UpdateItem)}
    again = [item for item in whole if place_in(table, item) in updated]
    rehearsal = Rehearsal(port, table, indexes, whole)
    with Meter() as meter:
        done = await flows.fill_gaps(rehearsal, gaps, whole)
    requests = meter.requests + rehearsal.requests + ceil(len(again) / MAX_BATCH_GET)
    units = meter.read_units + rehearsal.read_units + sum(reread_units((item,)) for item in again)
    return replace(
        counted,
        gaps=counted.gaps + done.written,
        gap_requests=counted.gap_requests + requests,
        read_units=counted.read_units + units,
        write_units=counted.write_units + rehearsal.write_units,
    )


async def _with_second_look(
    port: Port, counted: FillCount, gaps: Any, indexes: Sequence[Projected], items: Sequence[Item]
) -> FillCount:
    """What it takes to find that items which come again lack nothing."""
    rehearsal = Rehearsal(port, gaps.table, indexes, items)
    with Meter() as meter:
        await flows.find_gaps(rehearsal, gaps, items)
    requests, units = counted.gap_requests + meter.requests, meter.read_units + rehearsal.read_units
    return replace(counted, gap_requests=requests, read_units=counted.read_units + units)


def _with(counted: FillCount, table: Table, item: Item, found: Need, indexes: Sequence[Projected]) -> FillCount:
    counted = replace(counted, seen=counted.seen + 1)
    if isinstance(found, Unknown):
        return replace(counted, unknown=counted.unknown + 1)
    if isinstance(found, Finding):
        return replace(counted, unreadable=counted.unreadable + 1)
    if found is None:
        return counted
    if isinstance(found, Move):
        units = _move_units(indexes, item, found)
    else:
        units = write_units(indexes, item, after(item, found))
    return replace(counted, writes=counted.writes + 1, write_units=counted.write_units + units)


def _move_units(indexes: Sequence[Projected], item: Item, move: Move) -> float:
    """A transaction: the put, the deletion, and the change of each guard of a unique value."""
    target = move.key.model.table
    its = indexes if move.old.model.table is target else projected_in(target.definition)
    put = write_units(its, None, move.put.item, transaction=True)
    guards = [action.item if isinstance(action, PutItem) else None for _, action in move.claims]
    return put + write_units(indexes, item, None, transaction=True) + 2.0 * sum(map(size_units, guards))


def _with_parts(counted: FillCount, table: Table, segments: int, units: float | None) -> FillCount:
    """With what holds how far the fill is: a write for each page, and the deletion of each segment's at the end. The
    units are not known of a sample."""
    whole = counted.scaled()
    if units is not None:
        return replace(whole, write_units=whole.write_units + units)
    # the fill's pages are full ones, of fewer segments than the sample's
    whole = replace(whole, pages=max(segments, ceil((whole.seen + whole.again) / fill.PAGE) + segments // 2))
    kind: Any = fill_parts_of(table)
    part = kind(declaration="0" * 16, segment=segments, segments=segments, position={"pk": "0" * 40}, seen=whole.seen)
    each = size_units(model_for(part).item(part))
    return replace(whole, write_units=whole.write_units + each * (whole.pages + segments))


def requests_of(counted: FillCount, segments: int) -> int:
    """The requests of the fill: each page and its part, each write; the parts are read twice and deleted."""
    return 2 * counted.pages + counted.writes + counted.gap_requests + 2 + segments


def fill_read_units(counted: FillCount) -> float:
    """With the two reads of the parts."""
    return counted.read_units + 2.0


def _sampled_segments(sample: float, size_bytes: int) -> int:
    """Enough for the share to be one of them, and as many as stay large."""
    return max(ceil(1 / sample), min(_MOST_SAMPLED_SEGMENTS, size_bytes // _SAMPLED_BYTES))


def _spread(count: int, total: int) -> list[int]:
    """So many of `total` segments, at even distances."""
    return [n * total // count for n in range(count)]
