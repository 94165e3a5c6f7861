"""Reads of a whole graph, for check, repair and sweep: pages of raw items, what they are, and the edges of nodes."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from msgspec.structs import replace

from singletable.flow import FAN_OUT, Port, pages_of, pages_side_by_side
from singletable.foundation import Table, entity_at, model_for, partition_query
from singletable.graph.deletion import others_in
from singletable.graph.edge_writes import counter_of, listing_of
from singletable.graph.edges import is_edge
from singletable.graph.nodes import EDGE_SETS
from singletable.operations import RAW, Item, Scan, Selection

_PAGE = 500

Place = tuple[str, str]
"""An item's key: source and target."""


async def pages(port: Port, table: Table, index: str | None = None, having: str = "") -> AsyncIterator[Sequence[Item]]:
    """Pages of all items of the table, read consistently, or of an index. `having` filters by an attribute."""
    wanted: dict[str, Any] = {"filter": "attribute_exists(#0)", "names": {"#0": having}} if having else {}
    selection = Selection(index, limit=_PAGE, consistent=index is None, **wanted)
    async for page in pages_of(port, lambda after: Scan(table.name, replace(selection, after=after), RAW)):
        yield page.items


def place_of(item: Item) -> Place:
    return item["source"]["S"], item["target"]["S"]


def ends_of(entity: Any) -> list[Place]:
    """The keys of the two nodes that an edge joins; empty for anything else."""
    return [(end.partition, end.low) for end in (entity.source, entity.target)] if is_edge(entity) else []


@dataclass(eq=False)
class Edges:
    """The edges of a node's partition that its edge set has to show."""

    listed: dict[str, set[str]] = field(default_factory=dict[str, set[str]])
    """The edges by type, each as its half and its member."""
    unlisted: set[str] = field(default_factory=set[str])
    """The types of the node's edges that are not listed."""

    def add(self, edge: Any) -> None:
        if not is_edge(edge) or edge.__mirrors__ is None:
            return
        listing, word = listing_of(edge), model_for(edge).type
        if listing.listed:
            self.listed.setdefault(word, set()).add(f"{listing.attribute} {listing.member}")
        else:
            self.unlisted.add(word)


async def edges_of(port: Port, table: Table, sources: Sequence[str]) -> dict[str, Edges]:
    """The edges of nodes, read consistently, a page of each of 16 nodes in a round trip."""
    edges = {source: Edges() for source in sources}
    for i in range(0, len(sources), FAN_OUT):
        asks = {source: partial(partition_query, table, source) for source in sources[i : i + FAN_OUT]}
        async for source, page in pages_side_by_side(port, asks):
            for item in others_in(table, page.items):
                edges[source].add(entity_at(table, item))
    return edges


def members_in(item: Item) -> set[str]:
    """The stored members of a node, each with its half."""
    return {f"{name} {member}" for name in EDGE_SETS for member in item.get(name, {}).get("SS", ())}


def count_in(item: Item, edge: type[Any]) -> int:
    """The stored number of a node's listed edges of a type."""
    return int(item.get(counter_of(edge), {"N": "0"})["N"])
