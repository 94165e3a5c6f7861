"""A sample of a table: one page of one scan, kept and dated, so that the home page costs nothing the second time."""

from __future__ import annotations

from datetime import datetime
from random import Random

from msgspec import Struct

from singletable.flow import instant
from singletable.foundation import ScanSegment, Table, ready, scan_pages
from singletable.reports import TableShape
from singletable.reports.inspect import Tally
from singletable.studio.site import Site
from singletable.tables import Description

MOST_SAMPLED = 1_000
"""Items of a sample, of at most 1 MB: 125 read units on AWS."""
_AIMED_AT = 800
"""Below the most, as no two parts of a table are of the same size."""


class Sample(Struct, frozen=True):
    """A sample of a table, and its time."""

    at: datetime
    status: str
    items: int
    """The service's count, up to six hours old on AWS."""
    bytes: int
    share: float
    """The part of the table that was read; 1 for all of it."""
    shape: TableShape
    has_stream: bool


async def sample_of(site: Site, table: Table, *, anew: bool = False) -> Sample | None:
    """The sample that is kept, or a new one: two requests to describe the table, one to read. None without a table."""
    kept: Sample | None = site.kept.get(f"sample {table.name}")
    if kept is not None and not anew:
        return kept
    port = site.db.port
    await ready(port, table)
    description = await site.db.describe_table(table)
    if description is None:
        return None
    parts = max(1, -(-description.items // _AIMED_AT)) if description.items > MOST_SAMPLED else 1
    seed = port.random()
    segment = ScanSegment(Random(seed).randrange(parts), parts)
    (page,) = await scan_pages(port, table, [segment], page=MOST_SAMPLED, consistent=False)
    tally = Tally(table)
    tally.add(page.items)
    share = _share(description, tally, is_all=parts == 1 and page.after is None)
    sample = Sample(
        instant(port.now()),
        description.status,
        max(description.items, tally.seen),
        max(description.bytes, tally.bytes),
        share,
        tally.shape(None if share == 1.0 else share, share),
        description.has_stream,
    )
    site.kept[f"sample {table.name}"] = sample
    return sample


def _share(description: Description, tally: Tally, *, is_all: bool) -> float:
    """The part of the table that was read, by the service's count of items."""
    if is_all or not tally.seen or tally.seen >= description.items:
        return 1.0
    return tally.seen / description.items
