"""The check of a sample of a table, kept and dated: asked for by a button, as it reads."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from msgspec import Struct

from singletable.errors import NotConfigured
from singletable.flow import instant
from singletable.foundation import Finding, LayerChecks, Table, flows
from singletable.layers import checks_of
from singletable.studio.samples import MOST_SAMPLED, Sample, sample_of
from singletable.studio.site import Site

MOST_FINDINGS = 50
_SEEDS = 2**32


class Health(Struct, frozen=True):
    """The findings of a check, and its time."""

    at: datetime
    part: float
    """The checked part of the table; 1 for all of it."""
    findings: tuple[Finding, ...]
    found: int
    left_out: tuple[str, ...]
    """The omitted checks, in words."""


def health_of(site: Site, table: Table) -> Health | None:
    """The last check; None before the first."""
    kept: Health | None = site.kept.get(f"health {table.name}")
    return kept


async def check_health(site: Site, table: Table) -> None:
    """Check about 1,000 items, consistently: their types, versions, keys, guards and copies, and a graph's edges; each
    document that is among them, whole; tasks; and the state of each consumer, all of it."""
    sample: Sample | None = await sample_of(site, table)
    if sample is None:
        return
    part = 1.0 if sample.items <= MOST_SAMPLED else MOST_SAMPLED / sample.items
    layers = checks_of(table, site.db.target.seal, site.blobs)
    left_out: list[str] = []
    try:
        findings = await _findings(site, table, layers, part)
    except NotConfigured as error:  # a consumer's, which has not run here yet
        left_out.append(f"the state of consumers: {error}")
        layers = [layer for layer in layers if all(each.sampling != "whole" for each in layer.passes)]
        findings = await _findings(site, table, layers, part)
    _, unsure = flows.check_passes(table, layers, is_sample=part < 1)
    left_out += [*unsure, *(text for layer in layers for text in layer.left_out)]
    at = instant(site.now())
    told = tuple(findings[:MOST_FINDINGS])
    site.kept[f"health {table.name}"] = Health(at, part, told, len(findings), tuple(left_out))


async def _findings(site: Site, table: Table, layers: Sequence[LayerChecks], part: float) -> list[Finding]:
    """Each check of a sample takes another part of the table."""
    if part == 1.0:
        return await site.db.check(table, *layers)
    seed = int(site.db.port.random() * _SEEDS)
    return await site.db.check(table, *layers, sample=part, seed=seed)
