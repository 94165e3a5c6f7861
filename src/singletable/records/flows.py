"""The flows of records by their verbs. The two shells run them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from singletable import tables
from singletable.errors import NotFound
from singletable.flow import Port
from singletable.late_names import late_names
from singletable.records.first_use import maintain_stream, ready
from singletable.records.read import (
    DEFAULT_MAX_PAGES,
    get as get,
    get_collection,
    open_query as open_query,
    page as page,
    read_all as read_all,
    read_page as read_page,
    read_scan_pages as read_scan_pages,
    scan_positions as scan_positions,
)
from singletable.records.unreadable import OnUnreadable
from singletable.schema import KeyOf, Table, Whole, check_table

if TYPE_CHECKING:
    from singletable.expressions import Update
    from singletable.operations import Item
    from singletable.records.batches import get_many as get_many, write_many as write_many
    from singletable.records.check_passes import ItemPass, Layer, Pass
    from singletable.records.check_run import CheckOptions, CheckState, OnRound, RepairMode
    from singletable.records.commit import commit as commit
    from singletable.records.explain import Explainable, Explanation
    from singletable.records.findings import Finding, Repaired
    from singletable.records.gaps import GapsFilled
    from singletable.records.send import (
        create as create,
        delete as delete,
        put as put,
        update as update,
        upsert as upsert,
    )
    from singletable.records.table_items import TableItems
    from singletable.tables import Description, Difference

# A program that only reads loads no writes.
__getattr__ = late_names(
    __name__,
    beside=True,
    batches="get_many write_many",
    commit="commit",
    send="create delete put update upsert",
)


async def get_any(
    port: Port, key: KeyOf[Any] | Whole[Any], max_pages: int = DEFAULT_MAX_PAGES, unreadable: OnUnreadable = None
) -> Any:
    """An entity, or a collection of at most `max_pages` pages."""
    if isinstance(key, Whole):
        return await get_collection(port, key, max_pages, unreadable)
    return await get(port, key, unreadable)


async def together(port: Port, reads: Sequence[Any], unreadable: OnUnreadable = None) -> tuple[Any, ...]:
    """The answers of different reads, in one round trip."""
    from singletable.records import together as flows

    return await flows.together(port, reads, unreadable)


async def check(
    port: Port,
    table: Table,
    layers: Sequence[Layer] = (),
    *,
    segments: int | None = None,
    sample: float | None = None,
    seed: int = 0,
    progress: OnRound | None = None,
    from_export: TableItems | None = None,
) -> list[Finding]:
    """Findings for everything in a table that violates an invariant; [] for a sound one. Reads the whole table, or its
    export."""
    check_table(table)
    from singletable.records import check as records, check_run as runs

    return await runs.collect(port, records.passes(table, layers), segments, sample, seed, progress, from_export)


async def check_layers(port: Port, layers: Sequence[Layer]) -> list[Finding]:
    """The findings of layers alone, without those of their tables' records."""
    from singletable.records import check_passes as passes, check_run as runs

    return await runs.collect(port, passes.layer_passes(layers))


def check_passes(
    table: Table, layers: Sequence[Layer], *, is_sample: bool, from_export: TableItems | None = None
) -> tuple[list[Pass], list[str]]:
    """The passes of the check of a table; for a sample and an export also the omitted checks, in words."""
    from singletable.records import check as records, check_run as runs

    return runs.chosen(records.passes(table, layers), is_sample, from_export)


async def predict_check(port: Port, passes: Sequence[Pass], sample: float | None) -> dict[str, float]:
    """The read units of a check, by table."""
    from singletable.records import check_run as runs

    return await runs.predict(port, passes, sample)


async def run_check(
    port: Port,
    passes: Sequence[Pass],
    options: CheckOptions,
    on_round: OnRound,
    state: CheckState | None,
    *,
    repairs: RepairMode | None,
) -> CheckState:
    """A check, from a state of an earlier run; with repairs of what each round finds, written or listed."""
    from singletable.records import check_run as runs

    return await runs.run_check(port, passes, options, on_round, state, repairs)


async def repair(port: Port, table: Table, findings: Sequence[Finding], *, dry_run: bool = False) -> list[Repaired]:
    """Mend the findings that have a safe repair."""
    from singletable.records import check as records, repairs

    await ready(port, table)
    return await repairs.repair(port, records.items_of(table), findings, dry_run=dry_run)


def gaps_of(table: Table) -> ItemPass | None:
    """The pass that finds the gaps of a table's items; None if they can't have any."""
    from singletable.records import gaps

    return gaps.gaps_of(table)


async def find_gaps(port: Port, checks: ItemPass, items: Sequence[Item]) -> list[Finding]:
    """The missing parts of these items: guards, copies, edge sets."""
    from singletable.records import gaps

    return await gaps.find_gaps(port, checks, items)


async def fill_gaps(port: Port, checks: ItemPass, items: Sequence[Item]) -> GapsFilled:
    """Write what these items lack."""
    from singletable.records import gaps

    return await gaps.fill_gaps(port, checks, items)


def explain(read: Explainable, *updates: Update, now: float) -> Explanation:
    """The requests of an access pattern, without sending them."""
    from singletable.records import explain as requests

    return requests.explain(read, *updates, now=now)


async def create_table(port: Port, table: Table) -> Description:
    check_table(table)
    created = await tables.create(port, table.definition)
    await maintain_stream(port, table)
    port.ready.add(table.name)
    return created


async def describe_table(port: Port, table: Table) -> Description | None:
    check_table(table)
    return await tables.describe(port, table.definition)


async def diff_table(port: Port, table: Table) -> list[Difference]:
    check_table(table)
    description = await tables.describe(port, table.definition)
    if description is None:
        raise NotFound("the table is missing", table=table.name, hint="Create it: db.create_table(table).")
    return list(tables.differences(table.definition, description))


async def sweep_table(port: Port, table: Table, orphans: bool = False) -> int:
    """Delete expired items, and finish what the table's layer left unfinished. Returns the number of deleted items."""
    check_table(table)
    await ready(port, table)
    return await tables.sweep(port, table.definition) + await table.sweep_layer(port, orphans=orphans)


async def delete_table(port: Port, table: Table) -> bool:
    check_table(table)
    port.ready.discard(table.name)
    return await tables.delete(port, table.definition)
