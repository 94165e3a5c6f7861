"""The check of a sample of a table, kept and dated: asked for by a button, as it reads."""

from __future__ import annotations

from datetime import datetime, timezone

from msgspec import Struct

from singletable.foundation import Finding, Table
from singletable.studio.samples import MOST_SAMPLED, Sample, sample_of
from singletable.studio.site import Site

MOST_FINDINGS = 50


class Health(Struct, frozen=True):
    """What a check found, and when."""

    at: datetime
    part: float
    """Of the table; 1 for all of it."""
    findings: tuple[Finding, ...]
    found: int


def health_of(site: Site, table: Table) -> Health | None:
    """The last check; None before the first."""
    kept: Health | None = site.kept.get(f"health {table.name}")
    return kept


async def check_health(site: Site, table: Table) -> None:
    """Check about 1,000 items, consistently: their types, versions, keys, guards and copies, and a graph's edges."""
    sample: Sample | None = await sample_of(site, table)
    if sample is None:
        return
    part = 1.0 if sample.items <= MOST_SAMPLED else MOST_SAMPLED / sample.items
    findings = await site.db.check(table, sample=None if part == 1.0 else part)
    at = datetime.fromtimestamp(site.now(), timezone.utc)
    site.kept[f"health {table.name}"] = Health(at, part, tuple(findings[:MOST_FINDINGS]), len(findings))
