"""The content that a node's edge set should have, from the edges of its partition; and the content that it has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from singletable.flow import FAN_OUT, Port
from singletable.foundation import Table, entity_at, model_for
from singletable.graph.edge_items import counter_of, listing_of
from singletable.graph.edge_removal import others_in, partition_query
from singletable.graph.edges import is_edge
from singletable.graph.nodes import EDGE_SETS
from singletable.operations import Item, Key


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
        waiting: dict[str, Key | None] = dict.fromkeys(sources[i : i + FAN_OUT])
        while waiting:
            pages = await port.send_all([partition_query(table, source, at) for source, at in waiting.items()])
            ended = dict(zip(waiting, pages, strict=True))
            for source, page in ended.items():
                for item in others_in(table, page.items):
                    edges[source].add(entity_at(table, item))
            waiting = {source: page.after for source, page in ended.items() if page.after is not None}
    return edges


def members_in(item: Item) -> set[str]:
    """The stored members of a node, each with its half."""
    return {f"{name} {member}" for name in EDGE_SETS for member in item.get(name, {}).get("SS", ())}


def count_in(item: Item, edge: type[Any]) -> int:
    """The stored number of a node's listed edges of a type."""
    return int(item.get(counter_of(edge), {"N": "0"})["N"])
