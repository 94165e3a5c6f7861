"""A table's first use on a local engine: it is made there, and what it lacks is added. Never on AWS."""

from __future__ import annotations

from functools import partial

from singletable.errors import NotConfigured
from singletable.flow.meter import unmetered
from singletable.flow.port import Port
from singletable.schema.table import Table
from singletable.tables import add_index, create, describe, differences, set_stream, set_ttl, sweep


async def first_use(port: Port, table: Table) -> None:
    """Make the table where it is not there. Nothing from the second use on; two first uses at once are one.

    No meter counts it.
    """
    if table.name not in port.ready:
        await port.ready.prepare(table.name, partial(_set_up, port, table))


async def _set_up(port: Port, table: Table) -> None:
    with unmetered():
        await _make(port, table)


async def _make(port: Port, table: Table) -> None:
    definition = table.definition
    found = await describe(port, definition)
    if found is None:
        await create(port, definition)
    else:
        for name in definition.indexes.keys() - found.indexes.keys():
            await add_index(port, definition, name)
        if definition.ttl_attribute is not None and found.ttl is None:
            await set_ttl(port, definition)
        if definition.stream is not None and not found.has_stream:
            await set_stream(port, definition)
        keys = [d for d in differences(definition, found) if d.is_of_a_key]
        if keys:
            raise NotConfigured(
                "the table in this data file has other keys: " + "; ".join(map(str, keys)),
                table=table.name,
                hint="Begin anew with `singletable local reset`, or give the table another name.",
            )
    await tend_stream(port, table)
    # What an engine that knows no TTL has kept since the last time.
    await sweep(port, definition)


async def tend_stream(port: Port, table: Table) -> None:
    """Do for a table's stream what its engine leaves undone; nothing on AWS, nor for a table without one."""
    if table.definition.stream is not None and port.traits.maintain_streams is not None:
        await port.call_all([partial(port.traits.maintain_streams, port.now())])
