"""Reads a whole graph, for check and sweep: pages of raw items, and what they are."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Any

from singletable.flow import Port
from singletable.foundation import Table
from singletable.graph.edges import is_edge
from singletable.operations import RAW, Item, Key, Scan, Selection

_PAGE = 500

Place = tuple[str, str]
"""An item's key: source and target."""


async def pages(port: Port, table: Table, index: str | None = None, having: str = "") -> AsyncIterator[Sequence[Item]]:
    """Pages of all items of the table, read consistently, or of an index. `having` filters by an attribute."""
    after: Key | None = None
    wanted: dict[str, Any] = {"filter": "attribute_exists(#0)", "names": {"#0": having}} if having else {}
    while True:
        selection = Selection(index, limit=_PAGE, after=after, consistent=index is None, **wanted)
        page = await port.send(Scan(table.name, selection, RAW))
        yield page.items
        after = page.after
        if after is None:
            return


def place_of(item: Item) -> Place:
    return item["source"]["S"], item["target"]["S"]


def ends_of(entity: Any) -> list[Place]:
    """The keys of the two nodes that an edge joins; empty for anything else."""
    return [(end.partition, end.low) for end in (entity.source, entity.target)] if is_edge(entity) else []
