"""Segments: the disjoint parts in which a table, an index or what a layer keeps is read, several at once.

A round trip reads the next page of each of the first segments; `advanced` says what is left then. A segment that is
over leaves the sequence, and where none is left, all has been read. Segments are values: whoever reads may store them
after any round trip, and go on from there, as `resumable_run` does.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from msgspec import Struct

from singletable.errors import InvalidRequest
from singletable.flow import FAN_OUT, Port
from singletable.operations import RAW, Item, Key, Scan, Selection
from singletable.schema import Table

MOST_SEGMENTS = 16
"""Most segments that are read at once."""
MOST_PARTS = 1_000_000
"""DynamoDB's own limit of the parts of a scan."""
PAGE = 1_000
"""Most items of a segment in one page; a page of 1 MB may hold fewer."""


class ScanSegment(Struct, frozen=True):
    """One of the disjoint parts, and the key after which it goes on."""

    number: int
    of: int
    position: dict[str, str] | None = None
    """None at its beginning."""

    def after(self, table: Table) -> Key | None:
        """The position as a request takes it."""
        kinds = table.definition.kinds
        return None if self.position is None else {n: {kinds.get(n, "S"): text} for n, text in self.position.items()}

    def moved(self, after: Key) -> ScanSegment:
        """The segment after a page, which ended at a key."""
        return ScanSegment(self.number, self.of, texts_of(after))


def texts_of(key: Key) -> dict[str, str]:
    """A key by its texts: of numbers the digits, of bytes their base64."""
    return {name: next(iter(value.values())) for name, value in key.items()}


class HasAfter(Protocol):
    """The part of a page that `advanced` asks for."""

    @property
    def after(self) -> Key | None: ...


class PageRead(Struct, frozen=True):
    """The items of one page of a segment, and the key after which the next begins; None at the segment's end."""

    items: Sequence[Item]
    after: Key | None
    read_units: float = 0.0
    """Where whoever reads them asked for it."""


def all_segments(count: int) -> tuple[ScanSegment, ...]:
    """All `count` segments, at their beginnings."""
    return tuple(ScanSegment(number, count) for number in range(count))


def sample_segments(sample: float, seed: str) -> tuple[ScanSegment, ...]:
    """A sample of a scan, above 0 and below 1: 16 segments that together have the sample's share."""
    count = min(MOST_PARTS, round(FAN_OUT / sample))
    chosen = max(1, round(count * sample))
    from random import Random  # noqa: PLC0415 for samples only

    return tuple(ScanSegment(n, count) for n in sorted(Random(seed).sample(range(count), chosen)))


def advanced(segments: Sequence[ScanSegment], pages: Sequence[HasAfter]) -> tuple[ScanSegment, ...]:
    """The segments that are left after a page of each of the first ones."""
    first, rest = segments[: len(pages)], segments[len(pages) :]
    moved = (segment.moved(page.after) for segment, page in zip(first, pages, strict=True) if page.after is not None)
    return (*moved, *rest)


def usual_segments(port: Port) -> int:
    """The segments that are read at once: one if segments shift while items are added and deleted."""
    return 1 if port.traits.segments_shift else 4


def check_segments(count: int | None) -> None:
    """InvalidRequest for a number of segments that can't be read at once."""
    if count is not None and not 1 <= count <= MOST_SEGMENTS:
        raise InvalidRequest(f"a table is read in 1 to {MOST_SEGMENTS} segments at once, not {count}")


def check_sample(sample: float | None) -> None:
    """InvalidRequest for a sample that is not a part of a table."""
    if sample is not None and not 0 < sample < 1:
        raise InvalidRequest(
            f"a sample of {sample}: it is a part of the table, above 0 and below 1", hint="As in sample=0.01."
        )


async def scan_pages(
    port: Port,
    table: Table,
    segments: Sequence[ScanSegment],
    index: str | None = None,
    page: int = PAGE,
    *,
    consistent: bool = True,
) -> list[PageRead]:
    """The next page of each segment of a parallel scan, consistently where that may be, unless it is not needed."""
    limit = min(page, port.traits.scan_page_limit or page)
    consistent = consistent and table.definition.may_be_consistent(index)
    scans = [page_scan(table, segment, limit, index, consistent=consistent) for segment in segments]
    return [PageRead(page.items, page.after) for page in await port.send_all(scans)]


def page_scan(
    table: Table, segment: ScanSegment, limit: int, index: str | None = None, *, consistent: bool = True
) -> Scan[Item]:
    """The request for the next page of a segment."""
    selection = Selection(index, limit=limit, after=segment.after(table), consistent=consistent)
    return Scan(table.name, selection, RAW, segment.number, segment.of)
