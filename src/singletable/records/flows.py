"""The flows of records by their verbs. The two shells run them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from singletable.errors import NotFound
from singletable.flow.port import Port
from singletable.records.batches import get_many, write_many
from singletable.records.first_use import maintain_stream, ready
from singletable.records.read import (
    DEFAULT_MAX_PAGES,
    get,
    get_collection,
    open_query,
    page,
    read_all,
    read_page,
    read_scan_pages,
    scan_positions,
)
from singletable.records.send import create, delete, put, update, upsert
from singletable.records.transactions import commit
from singletable.schema.collections import Whole
from singletable.schema.patterns import KeyOf
from singletable.schema.table import Table
from singletable.tables import Description, Difference, check_capabilities, differences, find_capabilities
from singletable.tables import create as _create
from singletable.tables import delete as _delete
from singletable.tables import describe as _describe
from singletable.tables import sweep as _sweep

if TYPE_CHECKING:
    from singletable.records.check import Finding
    from singletable.records.explain import Explainable, Explained

__all__ = [
    "check",
    "check_capabilities",
    "commit",
    "create",
    "create_table",
    "delete",
    "delete_table",
    "describe_table",
    "diff_table",
    "explain",
    "find_capabilities",
    "get",
    "get_any",
    "get_many",
    "open_query",
    "page",
    "put",
    "read_all",
    "read_page",
    "read_scan_pages",
    "scan_positions",
    "sweep_table",
    "update",
    "upsert",
    "write_many",
]


async def get_any(port: Port, key: KeyOf[Any] | Whole[Any], max_pages: int = DEFAULT_MAX_PAGES) -> Any:
    """An entity, or a collection of at most `max_pages` pages."""
    return await (get_collection(port, key, max_pages) if isinstance(key, Whole) else get(port, key))


async def check(port: Port, table: Table) -> list[Finding]:
    """Findings for everything in a table that violates an invariant; [] for a sound one. Reads the whole table."""
    from singletable.records import check as records  # noqa: PLC0415  no program that serves requests needs it

    return await records.check(port, table) + await table.check_layer(port)


def explain(read: Explainable) -> list[Explained]:
    """The requests of an access pattern, without sending them."""
    from singletable.records import explain as requests  # noqa: PLC0415  as above

    return requests.explain(read)


async def create_table(port: Port, table: Table) -> Description:
    made = await _create(port, table.definition)
    await maintain_stream(port, table)
    port.ready.add(table.name)
    return made


async def describe_table(port: Port, table: Table) -> Description | None:
    return await _describe(port, table.definition)


async def diff_table(port: Port, table: Table) -> list[Difference]:
    found = await _describe(port, table.definition)
    if found is None:
        raise NotFound("the table is missing", table=table.name, hint="Create it: db.create_table(table).")
    return list(differences(table.definition, found))


async def sweep_table(port: Port, table: Table, orphans: bool = False) -> int:
    """Delete expired items, and finish what the table's layer left unfinished. Returns the number of deleted items."""
    await ready(port, table)
    return await _sweep(port, table.definition) + await table.sweep_layer(port, orphans=orphans)


async def delete_table(port: Port, table: Table) -> bool:
    port.ready.discard(table.name)
    return await _delete(port, table.definition)
