"""A table's first use on a local engine creates it, and adds missing indexes. Never on AWS."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from functools import partial

from singletable import tables
from singletable.errors import NotConfigured
from singletable.flow import Port, unmetered, unrated
from singletable.schema import Table
from singletable.tables import TableDefinition


async def ready(port: Port, table: Table) -> None:
    """Make a table ready for requests: on a local engine, create it at its first use. Every flow calls this first.

    Sends nothing on AWS, nor from the second use on. Concurrent first uses are one. No meter counts it. The tables that
    its classes move from are made ready with it.
    """
    if table.name not in port.ready and port.traits.creates_tables:
        for each in (*table.sources, table):
            if each.name not in port.ready:
                await port.ready.prepare(each.name, partial(_set_up, port, each))


async def _set_up(port: Port, table: Table) -> None:
    with unmetered(), unrated():
        await _make(port, table)


async def _make(port: Port, table: Table) -> None:
    definition = table.definition
    description = await tables.describe(port, definition)
    if description is None:
        await tables.create(port, definition)
    else:
        await _add_indexes(port, definition, definition.global_indexes.keys() - description.indexes.keys())
        if definition.ttl_attribute is not None and description.ttl is None:
            await tables.set_ttl(port, definition)
        if definition.stream is not None and not description.has_stream:
            await tables.set_stream(port, definition)
        keys = [d for d in tables.differences(definition, description) if d.is_of_a_key or d.is_fixed]
        if keys:
            raise NotConfigured(
                "the table in this data file has different keys, or local indexes: " + "; ".join(map(str, keys)),
                table=table.name,
                hint="Start over with `singletable local reset`, or give the table another name.",
            )
        tables.check_indexes(definition, description)
    await maintain_stream(port, table)


async def _add_indexes(port: Port, definition: TableDefinition, missing: AbstractSet[str]) -> None:
    """Add indexes. Existing items lack the keys of a new index: a query of it would silently miss them."""
    for name in missing:
        await tables.add_index(port, definition, name)
    if missing and not await tables.is_empty(port, definition):
        from singletable.events import IndexUnfilled  # noqa: PLC0415 most programs never need it

        port.events.emit(IndexUnfilled(table=definition.name, indexes=tuple(sorted(missing))))


async def maintain_stream(port: Port, table: Table) -> None:
    """Maintain a table's stream on an engine that doesn't. Does nothing on AWS, or for a table without a stream."""
    if table.definition.stream is not None and port.traits.maintain_streams is not None:
        await port.call_all([partial(port.traits.maintain_streams, port.now())])
