"""Planning: what an apply would do to a table, and what that takes. Reads only."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from hashlib import sha256
from math import ceil
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from singletable.flow import Port, Rate, at_rate
from singletable.foundation import Table, TableItems, flows, port_over
from singletable.migrations.acceptance import (
    Accepted,
    accepted_in,
    refuse_counted,
)
from singletable.migrations.apply_lease import read_record
from singletable.migrations.counts_of_job import take_counts_of_job
from singletable.migrations.fill import PAGE, segments_of
from singletable.migrations.kept_counts import CountRun, CountsFile, PlanReading
from singletable.migrations.model_document import ModelDocument
from singletable.migrations.prediction import segments_to_read
from singletable.migrations.preparation import Prepared, compared_with_items, document_in, documents_of, prepare
from singletable.migrations.prices import Prices
from singletable.migrations.steps import Estimate, Live, Plan, Planning, Step
from singletable.tables import READ_BYTES, Billing, table_identity

_PAGE_BYTES = 2**20
"""The most that one answer of a scan holds."""
_NOT_EXPORTED = "what items lack outside of themselves is not counted: guards, copies and edge sets are no export's"


async def plan(
    port: Port,
    table: Table,
    *,
    segments: int | None = None,
    rate: Rate | None = None,
    prices: Prices | None = None,
    sample: float | None = None,
    accept: Accepted = (),
    purge: Sequence[str] = (),
    begins: Callable[[Estimate], object] | None = None,
    keep: Path | None = None,
    again: bool = False,
    progress: Callable[[PlanReading], object] | None = None,
    from_export: TableItems | None = None,
    job: str | bool = True,
) -> Plan:
    """The plan of an apply, with the cost of each step. `begins` gets the cost of the reading, before it; `keep` is the
    file of its progress, and of its end, which is taken unless `again`. Nothing of an export is kept. `job` takes the
    counts of any job, of none, or of one by its id."""
    parts, keep = segments_of(port, table, segments), keep if from_export is None else None
    port = port_over(port, from_export, sample)
    known = await prepare(port, table, accept, purge)
    first, live, record, reading = known.plan, known.live, known.record, known.reading
    port = at_rate(port, rate if from_export is None else None)
    path = None if keep is None or live is None else _file_in(keep, table, live)
    work = known.work((parts, sample, first.purge))
    kept = CountsFile(port, path, work, reading, is_fresh=again, refuses=known.refuses, tell=progress)
    if sample is None and from_export is None and job and known.counts_items:
        await take_counts_of_job(port, kept, known.work(), job)
    takes = _reading_cost(known, kept, parts, sample)
    if takes is not None and live is not None and begins is not None and from_export is None:
        begins(_priced(takes, rate, prices, _billing(table, live)))
    planning = Planning(port, table, known.document, record, live, parts, sample, kept, from_export is not None)
    steps: list[Step] = []
    is_read = takes is not None and from_export is not None
    left = [*first.left, *([_NOT_EXPORTED] if is_read and flows.gaps_of(table) is not None else [])]
    for step in first.steps:
        prediction = await step.predict(planning)
        left += prediction.left
        if prediction.record is not None:
            planning = replace(planning, record=prediction.record)
        if prediction.declared is not None:
            planning = replace(planning, declared=prediction.declared)
        if prediction.takes is not None:
            steps.append(replace(step, takes=_priced(prediction.takes, rate, prices, _billing(table, live))))
    if live is not None and known.fills is None:
        await _read(port, kept, parts, sample, live)
    refuse_counted(reading, accept)
    taken, is_sample = accepted_in(first.differences, accept), sample is not None and reading.is_needed
    return replace(
        first,
        steps=tuple(steps),
        left=tuple(left),
        accepted=taken,
        is_sample=is_sample,
        counted_at=kept.counted_at,
        as_of=from_export.complete_at if from_export is not None and is_read else None,
    )


async def predict_reading(port: Port, table: Table, accept: Accepted) -> Estimate | None:
    """The cost of reading a table for a plan, by the service's last count; None for a plan that reads no items. A few
    requests."""
    known = await prepare(port, table, accept)
    return _reading_cost(known, CountsFile(port, None, "", known.reading), segments_of(port, table, None), None)


async def outline(port: Port, table: Table, purge: Sequence[str] = ()) -> tuple[Plan, Any]:
    """The same with the record, without what the steps take, and without counting: a few requests, whatever the table's
    size."""
    plan, _, record = await compared_with_items(port, table, purge)
    return plan, record


async def recorded(port: Port, table: Table, *, before: bool) -> ModelDocument | None:
    """The model that a table was last brought to, or the one before. One request."""
    record = await read_record(port, table)
    now = documents_of(table, record)[0]
    if not before or now is None:
        return now
    was = document_in(table, record.before)
    return None if was is None else replace(was, purged=now.purged)


async def check_readable(
    port: Port, table: Table, accept: Accepted, purge: Sequence[str], segments: int | None, rate: Rate | None
) -> None:
    """Count as `plan` does, without the cost of steps. PlanRefused as there."""
    known = await prepare(port, table, accept, purge)
    if known.live is not None:
        kept = CountsFile(port, None, "", known.reading)
        await _read(at_rate(port, rate), kept, segments_of(port, table, segments), None, known.live)
        refuse_counted(known.reading, accept)


def _file_in(keep: Path, table: Table, live: Live) -> Path:
    """The file of a table's readings; in a directory, one of its own."""
    if not keep.is_dir():
        return keep
    name = f"{table.name} {table_identity(live.description.raw)}"
    return keep / f"{sha256(name.encode()).hexdigest()[:16]}.json"


async def _read(port: Port, kept: CountsFile, segments: int, sample: float | None, live: Live) -> None:
    """Read the table, or a part of it, where something has to be counted."""
    if kept.counts.is_needed:
        chosen = segments_to_read(kept.counts.table, segments, sample, live.description.bytes)
        await CountRun(port, chosen, kept).run()


def _reading_cost(known: Prepared, kept: CountsFile, segments: int, sample: float | None) -> Estimate | None:
    """The cost of reading the table, consistently, by its size in the service's description, hours old on AWS; None if
    nothing is read. 0 units where the service gives no size."""
    live = known.live
    readings: list[tuple[CountsFile, int | None]] = [
        (kept.of(step.reads), PAGE) for step in known.plan.steps if step.reads is not None
    ]
    if kept.counts.is_needed and known.fills is None:
        readings.append((kept, None))
    pages = [limit for file, limit in readings if not file.has_ended]
    if not pages or live is None:
        return None
    size, items, share = live.description.bytes, live.description.items, sample or 1.0
    units = size and max(1.0, round(size / READ_BYTES * share))
    requests = sum(max(ceil(size / _PAGE_BYTES), 0 if limit is None else ceil(items / limit)) for limit in pages)
    return Estimate(
        round(items * share) * len(pages),
        (ceil(requests * share) + segments * len(pages)) if size else 0,
        units * len(pages),
    )


def _billing(table: Table, live: Live | None) -> Billing:
    return table.definition.settings.billing or (live.settings.billing if live is not None else "on_demand")


def _priced(takes: Estimate, rate: Rate | None, prices: Prices | None, billing: Billing) -> Estimate:
    dollars = prices.of(takes.read_units, takes.write_units, billing) if prices is not None else None
    seconds = None
    if rate is not None:
        bounds = ((takes.read_units, rate.read_units), (takes.write_units, rate.write_units))
        seconds = max((units / bound for units, bound in bounds if bound), default=None)
    return replace(takes, seconds=seconds, dollars=dollars)
