"""Planning: what an apply would do to a table, and what that takes. Reads only."""

from __future__ import annotations

from itertools import repeat
from typing import Any

import msgspec
from msgspec.structs import replace

from singletable.errors import Corrupt
from singletable.flow import Port, Rate
from singletable.foundation import Table
from singletable.migrations.apply_lease import read_record
from singletable.migrations.comparison import check_key, compare, creation, foreign_table
from singletable.migrations.fill import segments_of
from singletable.migrations.model_document import ModelDocument, document_of, read_document
from singletable.migrations.needed import application_type
from singletable.migrations.prices import Prices
from singletable.migrations.steps import Compared, Estimate, Live, Plan, Planning, Step
from singletable.operations import RAW, Scan, Selection
from singletable.tables import Billing, describe, live_settings

_FIRST_LOOK, _NEXT_LOOK, _MORE_LOOKS = 100, 1000, 9
_Found = tuple[Plan, Live | None, Any]


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
    found, live, record = await _compared(port, table)
    planning = Planning(port, table, document_of(table), record, live, parts, sample)
    billing = table.definition.settings.billing or (live.settings.billing if live is not None else "on_demand")
    steps: list[Step] = []
    left = list(found.left)
    for step in found.steps:
        prediction = await step.predict(planning)
        left += prediction.left
        if prediction.takes is not None:
            steps.append(replace(step, takes=_priced(prediction.takes, rate, prices, billing)))
    return replace(found, steps=tuple(steps), left=tuple(left))


async def outline(port: Port, table: Table) -> Plan:
    """The same without what the steps take: a few requests, whatever the table's size."""
    return (await _compared(port, table))[0]


async def _compared(port: Port, table: Table) -> _Found:
    """As `compared_with_live`. PlanRefused for a table without a record that holds another model's items."""
    found = await compared_with_live(port, table)
    if found[1] is not None and found[2] is None:
        await _refuse_foreign(port, table)
    return found


async def compared_with_live(port: Port, table: Table) -> _Found:
    """The steps from a table to its declaration, the table, and its record; None for what is missing. PlanRefused."""
    definition = table.definition
    found = await describe(port, definition)
    if found is None:
        return creation(table), None, None
    check_key(table, found)
    settings = definition.settings
    recovery, tags = settings.point_in_time_recovery is not None, bool(settings.tags)
    live = Live(found, await live_settings(port, definition, found, recovery=recovery, tags=tags))
    record = await read_record(port, table)
    return compare(Compared(table, document_of(table), _document(table, record), live)), live, record


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


def _priced(takes: Estimate, rate: Rate | None, prices: Prices | None, billing: Billing) -> Estimate:
    dollars = prices.of(takes.read_units, takes.write_units, billing) if prices is not None else None
    seconds = None
    if rate is not None:
        bounds = ((takes.read_units, rate.read_units), (takes.write_units, rate.write_units))
        seconds = max((units / bound for units, bound in bounds if bound), default=None)
    return replace(takes, seconds=seconds, dollars=dollars)
