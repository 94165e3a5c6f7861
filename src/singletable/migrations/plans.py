"""Planning: what an apply would do to a table, and what that takes. Reads only."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from hashlib import sha256
from itertools import repeat
from math import ceil
from pathlib import Path
from typing import Any
from zlib import error as zlib_error

import msgspec
from msgspec.structs import replace

from singletable.errors import Corrupt
from singletable.flow import Port, Rate, at_rate
from singletable.foundation import Table, TableItems, flows, port_over
from singletable.migrations.acceptance import (
    Accepted,
    accepted_in,
    check_accepted,
    is_accepted,
    refuse_counted,
)
from singletable.migrations.apply_lease import read_record
from singletable.migrations.comparison import check_key, compare, creation, foreign_table
from singletable.migrations.fill import PAGE, segments_of
from singletable.migrations.item_counts import ItemCounts, unique_of
from singletable.migrations.kept_counts import CountRun, CountsFile, PlanReading
from singletable.migrations.model_document import ModelDocument, document_of, read_document
from singletable.migrations.needed import application_type
from singletable.migrations.prediction import segments_to_read
from singletable.migrations.prices import Prices
from singletable.migrations.steps import Compared, Estimate, Live, Plan, Planning, Step
from singletable.operations import RAW, Scan, Selection
from singletable.tables import READ_BYTES, Billing, describe, live_settings, table_identity

_FIRST_LOOK, _NEXT_LOOK, _MORE_LOOKS = 100, 1000, 9
_PAGE_BYTES = 2**20
"""The most that one answer of a scan holds."""
_FILL_TELLS = frozenset({"writes", "twice"})
"""The counts of what a fill meets again: it refuses a value that is twice, and names an item without a key."""
_NOT_EXPORTED = "what items lack outside of themselves is not counted: guards, copies and edge sets are no export's"
_Found = tuple[Plan, Live | None, Any]


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
) -> Plan:
    """The plan of an apply, with the cost of each step. `begins` gets the cost of the reading, before it; `keep` is the
    file of its progress, and of its end, which is taken unless `again`. Nothing of an export is kept."""
    parts, keep = segments_of(port, table, segments), keep if from_export is None else None
    port = port_over(port, from_export, sample)
    outlined, live, record = await _compared(port, table, purge)
    reading = _reading(table, outlined, live, record, accept)
    port = at_rate(port, rate if from_export is None else None)
    document = outlined.document if outlined.document is not None else document_of(table)
    path = None if keep is None or live is None else _file_in(keep, table, live)
    work = _work(document, record, reading, live, (parts, sample, outlined.purge))
    refuses = not _is_filled(outlined) or any(one.counts not in _FILL_TELLS for one in reading.differences)
    kept = CountsFile(port, path, work, reading, is_fresh=again, refuses=refuses, tell=progress)
    takes = None if live is None else _reading_cost(outlined, live, kept, parts, sample)
    if takes is not None and live is not None and begins is not None and from_export is None:
        begins(_priced(takes, rate, prices, _billing(table, live)))
    planning = Planning(port, table, document, record, live, parts, sample, kept, from_export is not None)
    steps: list[Step] = []
    is_read = takes is not None and from_export is not None
    left = [*outlined.left, *([_NOT_EXPORTED] if is_read and flows.gaps_of(table) is not None else [])]
    for step in outlined.steps:
        prediction = await step.predict(planning)
        left += prediction.left
        if prediction.record is not None:
            planning = replace(planning, record=prediction.record)
        if prediction.declared is not None:
            planning = replace(planning, declared=prediction.declared)
        if prediction.takes is not None:
            steps.append(replace(step, takes=_priced(prediction.takes, rate, prices, _billing(table, live))))
    if live is not None and not _is_filled(outlined):
        await _read(port, kept, parts, sample, live)
    refuse_counted(reading, accept)
    taken, is_sample = accepted_in(outlined.differences, accept), sample is not None and reading.is_needed
    return replace(
        outlined,
        steps=tuple(steps),
        left=tuple(left),
        accepted=taken,
        is_sample=is_sample,
        counted_at=kept.counted_at,
        as_of=from_export.complete_at if from_export is not None and is_read else None,
    )


async def outline(port: Port, table: Table, purge: Sequence[str] = ()) -> tuple[Plan, Any]:
    """The same with the record, without what the steps take, and without counting: a few requests, whatever the table's
    size."""
    plan, _, record = await _compared(port, table, purge)
    return plan, record


async def recorded(port: Port, table: Table, *, before: bool) -> ModelDocument | None:
    """The model that a table was last brought to, or the one before. One request."""
    record = await read_record(port, table)
    now = _documents(table, record)[0]
    if not before or now is None:
        return now
    was = _document(table, record.before)
    return None if was is None else replace(was, purged=now.purged)


async def check_readable(
    port: Port, table: Table, accept: Accepted, purge: Sequence[str], segments: int | None, rate: Rate | None
) -> None:
    """Count as `plan` does, without the cost of steps. PlanRefused as there."""
    outlined, live, record = await _compared(port, table, purge)
    if live is not None:
        reading = _reading(table, outlined, live, record, accept)
        kept = CountsFile(port, None, "", reading)
        await _read(at_rate(port, rate), kept, segments_of(port, table, segments), None, live)
        refuse_counted(reading, accept)


def _reading(table: Table, outlined: Plan, live: Live | None, record: Any, accept: Accepted) -> ItemCounts:
    """The counts that a plan needs: of differences that nobody accepted; of all items, if no record has whole forms."""
    check_accepted(accept)
    purged = [("class.removed", name) for name in outlined.purge]
    suspects = [one for one in outlined.differences if not is_accepted(one, (*accept, *purged))]
    former = _documents(table, record)[0]
    if former is None:
        uniques = (unique_of(model, field) for model in table.models for field in model.uniques)
        suspects += [one for one in uniques if not is_accepted(one, accept)]
    return ItemCounts(table, suspects, whole=live is not None and (former is None or not former.is_whole))


def _work(
    document: ModelDocument, record: Any, reading: ItemCounts, live: Live | None, options: tuple[Any, ...]
) -> str:
    """The same for readings of one table that count the same."""
    former = None if record is None else (record.model, record.packed, record.toward, record.brought_at, record.fence)
    there = None
    if live is not None:
        indexes = {name: (each["KeySchema"], each["Projection"]) for name, each in live.description.indexes.items()}
        there = table_identity(live.description.raw), indexes
    counts = reading.whole, [difference.place for difference in reading.differences]
    facts = msgspec.json.encode((former, there, counts, options), order="sorted")
    return sha256(document.packed + facts).hexdigest()[:16]


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


def _reading_cost(outlined: Plan, live: Live, kept: CountsFile, segments: int, sample: float | None) -> Estimate | None:
    """The cost of reading the table, consistently, by its size in the service's description, hours old on AWS; None if
    nothing is read. 0 units where the service gives no size."""
    readings: list[tuple[CountsFile, int | None]] = [
        (kept.of(step.reads), PAGE) for step in outlined.steps if step.reads is not None
    ]
    if kept.counts.is_needed and not _is_filled(outlined):
        readings.append((kept, None))
    pages = [limit for file, limit in readings if not file.has_ended]
    if not pages:
        return None
    size, items, share = live.description.bytes, live.description.items, sample or 1.0
    units = size and max(1.0, round(size / READ_BYTES * share))
    requests = sum(max(ceil(size / _PAGE_BYTES), 0 if limit is None else ceil(items / limit)) for limit in pages)
    return Estimate(
        round(items * share) * len(pages),
        (ceil(requests * share) + segments * len(pages)) if size else 0,
        units * len(pages),
    )


def _is_filled(outlined: Plan) -> bool:
    return any(step.counts for step in outlined.steps)


def _billing(table: Table, live: Live | None) -> Billing:
    return table.definition.settings.billing or (live.settings.billing if live is not None else "on_demand")


async def _compared(port: Port, table: Table, purge: Sequence[str] = ()) -> _Found:
    """Compare like `compared_with_live`. PlanRefused for a table without a record that holds another model's items."""
    compared = await compared_with_live(port, table, purge)
    if compared[1] is not None and compared[2] is None:
        await _refuse_foreign(port, table)
    return compared


async def compared_with_live(port: Port, table: Table, purge: Sequence[str] = ()) -> _Found:
    """The steps from a table to its declaration, the table, and its record; None for what is missing. PlanRefused."""
    definition = table.definition
    description = await describe(port, definition)
    if description is None:
        return creation(table), None, None
    check_key(table, description)
    settings = definition.settings
    recovery, tags = settings.point_in_time_recovery is not None, bool(settings.tags)
    live = Live(description, await live_settings(port, definition, description, recovery=recovery, tags=tags))
    record = await read_record(port, table)
    former, toward = _documents(table, record)
    declared = document_of(table).with_known(former)
    return compare(Compared(table, declared, former, live, toward, tuple(dict.fromkeys(purge)))), live, record


def _documents(table: Table, record: Any) -> tuple[ModelDocument | None, ModelDocument | None]:
    """The model that a table was last brought to, and the one that an apply has begun to bring it to."""
    if record is None:
        return None, None
    return _document(table, record.packed or record.model), _document(table, record.toward)


def _document(table: Table, text: str | bytes | None) -> ModelDocument | None:
    try:
        return None if text is None else read_document(text)
    except (msgspec.MsgspecError, zlib_error) as error:
        raise Corrupt(
            "the record of the table's model can't be read: a newer version of the library may have written it",
            table=table.name,
            hint="Use that version.",
        ) from error


async def _refuse_foreign(port: Port, table: Table) -> None:
    """Raise PlanRefused if all items are of types that the program doesn't declare. One request; up to ten if the first
    items are the library's own, or of removed classes."""
    types: set[str] = set()
    after = None
    for limit in (_FIRST_LOOK, *repeat(_NEXT_LOOK, _MORE_LOOKS)):
        page = await port.send(Scan(table.name, Selection(limit=limit, after=after, consistent=True), RAW))
        names = {application_type(table, item) for item in page.items}
        types |= {name for name in names if name is not None}
        after = page.after
        if after is None or any(map(table.model_here, types)):
            break
    if types and not any(map(table.model_here, types)):
        raise foreign_table(table.name, sorted(types), "has items of")


def _priced(takes: Estimate, rate: Rate | None, prices: Prices | None, billing: Billing) -> Estimate:
    dollars = prices.of(takes.read_units, takes.write_units, billing) if prices is not None else None
    seconds = None
    if rate is not None:
        bounds = ((takes.read_units, rate.read_units), (takes.write_units, rate.write_units))
        seconds = max((units / bound for units, bound in bounds if bound), default=None)
    return replace(takes, seconds=seconds, dollars=dollars)
