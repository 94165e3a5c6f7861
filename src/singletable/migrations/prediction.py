"""Prediction: what a fill will take, from reading the table as the fill will.

The dry run reads the pages that the fill would read, in the same segments, and adds up what each write costs by the
item before and after it. With a sample it reads some of many small segments, and counts each for several.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import ceil
from typing import Any, Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from singletable.errors import InvalidRequest
from singletable.flow import DECLARED, Consumed, Meter, Port, Request, Response, TableNames
from singletable.foundation import (
    MOST_SEGMENTS,
    Finding,
    ItemPass,
    PageRead,
    ResumableRun,
    ScanSegment,
    Table,
    advanced,
    all_segments,
    flows,
    model_for,
    page_scan,
    place_in,
)
from singletable.migrations import fill
from singletable.migrations.fill_pages import SegmentPages
from singletable.migrations.item_counts import digest_of
from singletable.migrations.item_writes import ItemDelete, ItemMove, ItemWrite, Later, left_after
from singletable.migrations.items import FillPart
from singletable.migrations.kept_counts import CountsFile
from singletable.migrations.needed import Need, Unknown, needed
from singletable.migrations.purge import Purge
from singletable.migrations.rehearsal import Place, Rehearsal, reread_units
from singletable.operations import MAX_BATCH_GET, Item, Scan
from singletable.tables import Projected, size_units

_COUNTS: Final = ("seen", "writes", "again", "pages", "gaps", "gap_requests")
_OTHERS: Final = ("unreadable", "unknown")
_UNITS: Final = ("read_units", "write_units")
_MOST_SAMPLED_SEGMENTS: Final = 256
_SAMPLED_BYTES: Final = 100_000
"""The least size of a sampled segment: each is read for itself, and rounded up."""


class FillCount(Struct, frozen=True):
    """The items of a fill, and its writes."""

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
    """The requests to find and fill the gaps, and to compare items with what lies there already."""
    unreadable: int = 0
    unknown: int = 0
    purged: Mapping[str, int] = {}
    """The items of a purge, by type."""
    share: float = 1.0
    """The part of the table that was read."""

    def scaled(self) -> FillCount:
        """The count for the whole table, from a part of it."""
        if self.share == 1.0:
            return self
        numbers = {n: round(getattr(self, n) / self.share) for n in (*_COUNTS, *_OTHERS)}
        units = {n: round(getattr(self, n) / self.share, 1) for n in _UNITS}
        return replace(self, **numbers, **units, share=1.0)

    @staticmethod
    def sum(counts: Iterable[FillCount]) -> FillCount:
        """The count of all segments, from those of each."""
        total = FillCount()
        for one in counts:
            numbers = {n: getattr(total, n) + getattr(one, n) for n in (*_COUNTS, *_OTHERS, *_UNITS)}
            total = replace(total, **numbers, purged=Counter(total.purged) + Counter(one.purged))
        return total


async def count_fill(run: FillForecast, segments: int) -> FillCount:
    """Predict a fill in so many segments, by a reading of the table, or of a sample of it."""
    return _with_parts(await run.run(), run.table, segments, None if run.is_sample else run.part_units)


def segments_to_read(table: Table, segments: int, sample: float | None, size_bytes: int) -> Sequence[ScanSegment]:
    """The parts of a table of about this size that a plan reads. InvalidRequest for a sample that is not a share."""
    if sample is None:
        return all_segments(segments)
    if not 0 < sample <= 1:
        raise InvalidRequest(f"a sample is a share above 0, up to 1, not {sample:g}", table=table.name)
    total = _sampled_segments(sample, size_bytes)
    return _spread(max(1, round(sample * total)), total)


class FillForecast(ResumableRun[Sequence[ScanSegment], FillCount]):
    """One reading of what a fill will read. `kept` counts the same items. `later` has the library's own items that will
    be others before the fill, by their places. With `is_divided`, several processes read segments: it takes half of the
    items that move to come again, also on an engine that scans by key, where one process puts pages together."""

    def __init__(
        self,
        port: Port,
        table: Table,
        indexes: Sequence[Projected],
        segments: Sequence[ScanSegment],
        kept: CountsFile,
        later: Mapping[Place, Item],
        *,
        is_sample: bool,
        is_divided: bool = False,
        purge: Purge | None = None,
    ) -> None:
        self.port, self.table, self.indexes, self.state = port, table, indexes, segments
        self.is_sample, self.page = is_sample, fill.PAGE
        self.reading, self.later = kept.counts, later
        self.store = self.kept = kept
        self.counted = FillCount(share=len(segments) / segments[0].of)
        self.gaps = flows.gaps_of(table) if purge is None else None
        self.need: Callable[[Table, Item, float], Need] = needed if purge is None else _after_fill(purge)
        order = {"by_key": port.traits.scans_by_key and not is_divided, "is_sample": is_sample}
        self.whole: tuple[FillCount, float] | None = None
        """The count of an earlier reading that has ended, and its `part_units`."""
        self.made = set[int]()
        """Digests of the places where conversions put items."""
        self.pages = {s.number: SegmentPages(table, s.number, s.of, fill.PAGE, **order) for s in segments}

    @property
    def is_over(self) -> bool:
        return not self.state

    @property
    def part_units(self) -> float:
        """The units to write down the progress of the fill."""
        if self.whole is not None:
            return self.whole[1]
        return sum(pages.count.part_units for pages in self.pages.values())

    async def begin(self) -> None:
        """On an engine that scans by key a reading is not gone on with: its pages are put together from all items."""
        self.kept.keeps_progress = not self.port.traits.scans_by_key
        self.kept.fill = self._kept
        kept = self.kept.read()
        if kept is None:
            return
        self.state = kept.segments
        if kept.ended_at is not None:
            self.whole = msgspec.convert(kept.fill["whole"], FillCount), float(kept.fill["part_units"])
            return
        self.counted, self.made = msgspec.convert(kept.fill["counted"], FillCount), {*kept.fill["made"]}
        for number, facts in kept.fill["pages"].items():
            self.pages[int(number)].take_up(facts)

    async def end(self) -> None:
        self.kept.fill = lambda: {"whole": self.told(), "part_units": self.part_units}
        await super().end()

    def _kept(self) -> Mapping[str, Any]:
        pages = {str(n): pages.kept() for n, pages in self.pages.items()}
        return {"counted": self.counted, "pages": pages, "made": sorted(self.made)}

    async def round(self) -> None:
        """The next page of each of the first segments."""
        now = self.state[:MOST_SEGMENTS]
        asked = [self.pages[segment.number].asked(self.page) for segment in now]
        scans = [_Metered(page_scan(self.table, segment, most)) for segment, most in zip(now, asked, strict=True)]
        pages = await self.kept.patiently(lambda: self.port.send_all(scans))
        needs = [[self.need(self.table, item, self.port.now()) for item in page.items] for page in pages]
        if self.gaps is not None:
            items, all_needs = [item for page in pages for item in page.items], [n for own in needs for n in own]
            await self._count_gaps(self.gaps, items, all_needs)
        for page in pages:
            self.reading.look(page.items, self.port.now())
        pages = [self._later_page(page) for page in pages]
        for segment, page, own, most in zip(now, pages, needs, asked, strict=True):
            own = [self._count(item, need) for item, need in zip(page.items, own, strict=True)]
            again = self.pages[segment.number].add(page.items, own, page.after is None, page.read_units, most)
            if self.gaps is not None and again:
                await self._count_second_look(self.gaps, again)
        self.state = advanced(self.state, pages)

    def _later_page(self, page: PageRead) -> PageRead:
        """A page as the fill will read it."""
        items = [self.later.get(place_in(self.table, item), item) for item in page.items] if self.later else page.items
        more = reread_units(items) - reread_units(page.items) if items != page.items else 0.0
        return PageRead(items, page.after, page.read_units + more)

    def told(self) -> FillCount:
        if self.whole is not None:
            return self.whole[0]
        counts = [pages.count for pages in self.pages.values()]
        return replace(
            self.counted,
            pages=sum(each.pages for each in counts),
            again=sum(each.items_again for each in self.pages.values()),
            read_units=self.counted.read_units + sum(each.read_units for each in counts),
        )

    def _count(self, item: Item, need: Need) -> Need:
        """Count what an item takes. Returns the need as it is when the fill comes to the item."""
        if isinstance(need, ItemMove) and need.move.is_conversion:
            need = self._converted(need)
        if isinstance(need, ItemWrite):
            self._add(seen=1, writes=1, write_units=need.units(self.indexes, item))
            if isinstance(need, Later) and isinstance(need.write, ItemDelete) and (name := need.write.type):
                self.counted = replace(self.counted, purged=Counter(self.counted.purged) + Counter({name: 1}))
        else:
            self._add(seen=1, unknown=isinstance(need, Unknown), unreadable=isinstance(need, Finding))
        return need

    def _converted(self, move: ItemMove) -> ItemMove:
        """A conversion without the items that one before has put. It is refused then; what lies there is compared, and
        the rest is written."""
        digests = [digest_of(repr(place_in(self.table, item))) for item in move.items]
        there = [item for digest, item in zip(digests, move.items, strict=True) if digest in self.made]
        self.made.update(digests)
        if there:
            absent = len(digests) - len(there)
            reads = absent + sum(reread_units((item,)) for item in there)
            self._add(gap_requests=1 + len(digests), read_units=reads)
        return move.without(there)

    async def _count_gaps(self, gaps: ItemPass, items: Sequence[Item], needs: Sequence[Need]) -> None:
        """Count the cost of finding and filling the gaps of these items."""
        writes = [need for need in needs if isinstance(need, ItemWrite)]
        left = left_after(self.table, items, writes)
        written = {place_in(self.table, write.key) for write in writes}
        again = [item for item in left if place_in(self.table, item) in written]

        async def rehearsed() -> tuple[Rehearsal, int, Meter]:
            rehearsal = Rehearsal(self.port, self.table, self.indexes, left)
            with Meter() as meter:
                done = await flows.fill_gaps(rehearsal, gaps, left)
            return rehearsal, done.written, meter

        rehearsal, filled, meter = await self.kept.patiently(rehearsed)
        self._add(
            gaps=filled,
            gap_requests=meter.requests + rehearsal.requests + ceil(len(again) / MAX_BATCH_GET),
            read_units=meter.read_units + rehearsal.read_units + sum(reread_units((item,)) for item in again),
            write_units=rehearsal.write_units,
        )

    async def _count_second_look(self, gaps: ItemPass, items: Sequence[Item]) -> None:
        """Count the cost of finding that items which come again have no gaps."""

        async def rehearsed() -> tuple[Rehearsal, Meter]:
            rehearsal = Rehearsal(self.port, self.table, self.indexes, items)
            with Meter() as meter:
                await flows.find_gaps(rehearsal, gaps, items)
            return rehearsal, meter

        rehearsal, meter = await self.kept.patiently(rehearsed)
        self._add(gap_requests=meter.requests, read_units=meter.read_units + rehearsal.read_units)

    def _add(self, **more: float) -> None:
        self.counted = replace(self.counted, **{name: getattr(self.counted, name) + more[name] for name in more})


class _Metered(Struct, frozen=True):
    """A page of a scan, with the units that it took."""

    scan: Scan[Item]

    def request(self, names: TableNames = DECLARED) -> Request:
        return self.scan.request(names)

    def answer(self, response: Response) -> tuple[PageRead, Consumed]:
        page, consumed = self.scan.answer(response)
        return PageRead(page.items, page.after, consumed.read_units), consumed


def _after_fill(purge: Purge) -> Callable[[Table, Item, float], Need]:
    """The needs of a purge, of items as the fill before it leaves them."""

    def need(table: Table, item: Item, now: float) -> Need:
        first = needed(table, item, now)
        filled = first.after(item) if isinstance(first, ItemWrite) else item
        write = None if filled is None else purge.needed(table, filled, now)
        return None if write is None or filled is None else Later(write, filled)

    return need


def _with_parts(counted: FillCount, table: Table, segments: int, units: float | None) -> FillCount:
    """Add the cost of storing the progress: a write for each page, and the deletion of each segment's item at the end.
    The units are unknown for a sample."""
    whole = counted.scaled()
    if units is not None:
        return replace(whole, write_units=whole.write_units + units)
    # the fill's pages are full ones, of fewer segments than the sample's
    whole = replace(whole, pages=max(segments, ceil((whole.seen + whole.again) / fill.PAGE) + segments // 2))
    kind: Any = FillPart.of(table)
    part = kind(declaration="0" * 16, segment=segments, segments=segments, position={"pk": "0" * 40}, seen=whole.seen)
    each = size_units(model_for(part).item(part))
    return replace(whole, write_units=whole.write_units + each * (whole.pages + segments))


def requests_of(counted: FillCount, segments: int) -> int:
    """The requests of the fill: each page and its part, each write; the parts are read twice and deleted."""
    return 2 * counted.pages + counted.writes + counted.gap_requests + 2 + segments


def _sampled_segments(sample: float, size_bytes: int) -> int:
    """The number of segments: enough for the share to be one of them, and few enough to stay large."""
    return max(ceil(1 / sample), min(_MOST_SAMPLED_SEGMENTS, size_bytes // _SAMPLED_BYTES))


def _spread(count: int, total: int) -> list[ScanSegment]:
    """So many of `total` segments, at even distances."""
    return [ScanSegment(n * total // count, total) for n in range(count)]
