"""Planning: what an apply would do to a table, and what that takes. Reads only."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import repeat
from typing import Any

import msgspec
from msgspec.structs import replace

from singletable.errors import Corrupt
from singletable.flow import Port, Rate
from singletable.foundation import Table, model_for
from singletable.migrations.apply_lease import Held, read_record, record_writes
from singletable.migrations.comparison import Comparison, Live, check_key, compare, creation, foreign_table
from singletable.migrations.fill import segments_of
from singletable.migrations.model_document import ModelDocument, document_of, read_document
from singletable.migrations.needed import application_type
from singletable.migrations.prediction import FillCount, count_fill, fill_read_units, requests_of
from singletable.migrations.prices import Prices
from singletable.migrations.steps import Estimate, Plan, Step
from singletable.operations import RAW, Scan, Selection
from singletable.tables import Billing, Projected, describe, live_settings, projected, projected_in, size_units

_FIRST_LOOK, _NEXT_LOOK, _MORE_LOOKS = 100, 1000, 9
_NOBODY = Held("", 0)
Compared = tuple[Comparison, ModelDocument, Live | None, Any]


async def plan(
    port: Port,
    table: Table,
    *,
    segments: int | None = None,
    rate: Rate | None = None,
    prices: Prices | None = None,
    sample: float | None = None,
) -> Plan:
    """The plan of an apply, with the cost of each step."""
    parts = segments_of(port, table, segments)
    compared, declared, live, record = await _compared(port, table)
    counted = FillCount()
    if live is not None and any(step.kind == "fill" for step in compared.steps):
        counted = await count_fill(port, table, _indexes(table, live), parts, sample, live.description.bytes)
        if sample is None and not counted.writes and not counted.gaps:
            compared = replace(compared, steps=tuple(s for s in compared.steps if s.kind != "fill"))
    steps = [_with_takes(step, table, declared, record, counted, parts) for step in compared.steps]
    settings = table.definition.settings
    billing = settings.billing or (live.settings.billing if live is not None else "on_demand")
    priced = tuple(replace(step, takes=_priced(step.takes, rate, prices, billing)) for step in steps)
    return Plan(table.name, priced, (*compared.left, *_unread(counted)), compared.unsupported, declared)


async def outline(port: Port, table: Table) -> Plan:
    """The same without what the steps take: a few requests, whatever the table's size."""
    compared, declared, _, _ = await _compared(port, table)
    return Plan(table.name, compared.steps, compared.left, compared.unsupported, declared)


async def _compared(port: Port, table: Table) -> Compared:
    """As `compared_with_live`. PlanRefused for a table without a record that holds another model's items."""
    found = await compared_with_live(port, table)
    if found[2] is not None and found[3] is None:
        await _refuse_foreign(port, table)
    return found


async def compared_with_live(port: Port, table: Table) -> Compared:
    """Declaration, table and record, and what they differ in; None for a missing table and record. PlanRefused."""
    definition, declared = table.definition, document_of(table)
    found = await describe(port, definition)
    if found is None:
        return creation(table), declared, None, None
    check_key(table, found)
    settings = definition.settings
    recovery, tags = settings.point_in_time_recovery is not None, bool(settings.tags)
    live = Live(found, await live_settings(port, definition, found, recovery=recovery, tags=tags))
    record = await read_record(port, table)
    return compare(table, declared, _document(table, record), live), declared, live, record


def _document(table: Table, record: Any) -> ModelDocument | None:
    if record is None:
        return None
    try:
        return read_document(record.model)
    except msgspec.MsgspecError as error:
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
        found = {application_type(table, item) for item in page.items}
        types |= {name for name in found if name is not None}
        after = page.after
        if after is None or any(map(table.model_here, types)):
            break
    if types and not any(map(table.model_here, types)):
        raise foreign_table(table.name, sorted(types), "has items of")


def _indexes(table: Table, live: Live) -> list[Projected]:
    """The indexes while the fill runs: the declared ones, and the ones that are dropped after it, or stay."""
    definition = table.definition
    others = {n: raw for n, raw in live.description.indexes.items() if n not in definition.indexes}
    return [*projected_in(definition), *(_found(name, raw, definition.key) for name, raw in others.items())]


def _found(name: str, raw: Any, table_keys: tuple[str, str]) -> Projected:
    names = [key["AttributeName"] for key in sorted(raw.get("KeySchema", ()), key=lambda key: str(key["KeyType"]))]
    return projected(name, (names[0], names[-1]), table_keys, raw.get("Projection", {}))


def _with_takes(
    step: Step, table: Table, declared: ModelDocument, record: Any, counted: FillCount, segments: int
) -> Step:
    if step.kind == "fill":
        return replace(step, takes=_of_fill(counted, segments))
    if step.kind == "record":
        return replace(step, takes=_of_record(table, declared, record))
    if step.kind == "create table":
        definition = table.definition
        more = (definition.ttl_attribute is not None) + bool(definition.settings.point_in_time_recovery)
        return replace(step, takes=Estimate(requests=1 + more))
    return replace(step, takes=Estimate(requests=1))


def _of_fill(counted: FillCount, segments: int) -> Estimate:
    return Estimate(
        counted.writes + counted.gaps, requests_of(counted, segments), fill_read_units(counted), counted.write_units
    )


def _of_record(table: Table, declared: ModelDocument, record: Any) -> Estimate:
    """A transaction: the check of the lease, and the record, over the one before."""
    _, put = record_writes(table, _NOBODY, declared, "", 0.0)
    before = model_for(record).item(record) if record is not None else None
    return Estimate(1, 1, 0.0, 2.0 * (1.0 + max(size_units(put.item), size_units(before))))


def _priced(takes: Estimate, rate: Rate | None, prices: Prices | None, billing: Billing) -> Estimate:
    dollars = prices.of(takes.read_units, takes.write_units, billing) if prices is not None else None
    seconds = None
    if rate is not None:
        bounds = ((takes.read_units, rate.read_units), (takes.write_units, rate.write_units))
        seconds = max((units / bound for units, bound in bounds if bound), default=None)
    return replace(takes, seconds=seconds, dollars=dollars)


def _unread(counted: FillCount) -> Sequence[str]:
    said: list[str] = []
    if counted.unreadable:
        said.append(f"{counted.unreadable} items that their class can't read: `singletable fill --dry-run` names them")
    if counted.unknown:
        said.append(f"{counted.unknown} items of a type that no class here has")
    return said
