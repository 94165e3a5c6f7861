"""The items erased with a node: its edges in both directions, each with its member in an edge set, and then the node.

A node gets its tombstone before the first of its edges goes, so that no new edge to it can appear. Where an index may
lag, the node's key and tombstone stay, without any data, until `db.sweep_table(table)` has proved that no edge is left.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from singletable.errors import TransactionCancelled
from singletable.flow import Port
from singletable.foundation import (
    Belonging,
    KeyOf,
    LayerBelongings,
    Model,
    OnUnreadable,
    Query,
    Subject,
    Table,
    Together,
    entity_at,
    entity_name,
    items_at,
    model_for,
    read_pages,
    subject_of,
)
from singletable.graph.deletion import delete_node, incoming_types, partition_pages, remove_edges
from singletable.graph.edges import Edge, is_edge
from singletable.graph.link import unlink
from singletable.graph.nodes import RETAINED, TOMBSTONE, Node, node_key, stored_key
from singletable.graph.read import incoming
from singletable.graph.tombstones import HoldTombstone, is_ended, set_tombstone
from singletable.operations import Item
from singletable.tables import projected_in, size_units, write_units


def edges_around(node: Node) -> list[Query[Any]]:
    """The queries of a node's edges: of its own partition, and of each type that can point to it."""
    key = node_key(node)
    return [key, *(incoming(kind, key) for kind in incoming_types(key.model))]


class GraphBelongings(LayerBelongings):
    """Nodes and edges of a graph's table."""

    def __init__(self, table: Table) -> None:
        self.table, self.indexes = table, projected_in(table.definition)

    async def of(self, port: Port, subjects: Sequence[Subject], unreadable: OnUnreadable = None) -> list[Belonging]:
        """The edges of nodes, in both directions. A query of the node's partition, and one for each type of edges that
        can point to it."""
        belongings: list[Belonging] = []
        for subject in subjects:
            if issubclass(subject.kind, Node):
                edges = _EdgesOfNode(self.table, stored_key(subject.kind, subject.place[0]))
                belongings += [self._edge(edge, edges) for edge in await self._all_edges(port, edges.node, unreadable)]
        return belongings

    async def at(self, port: Port, model: Model[Any], item: Item) -> Belonging | None:
        """A node, or an edge with its member."""
        if issubclass(model.kind, Node):
            return self._node(model, item)
        edge = entity_at(self.table, item)
        return self._edge(edge, _unlinked) if is_edge(edge) else None

    def is_left(self, model: Model[Any], item: Item) -> bool:
        """A key whose node is deleted, until a sweep."""
        return issubclass(model.kind, Node) and RETAINED in item

    def _node(self, model: Model[Any], item: Item) -> Belonging:
        key = stored_key(model.kind, item["source"]["S"])
        entity = model.load({name: value for name, value in item.items() if name != TOMBSTONE})
        guards = sum(getattr(entity, unique.name) is not None for unique in model.uniques)
        return Belonging(
            entity_name(model.kind),
            (key.partition, key.low),
            partial(_delete_node, key),
            write_units=(2.0 if guards else 1.0) * size_units(item) + 2.0 * guards + size_units(item),
            subject=subject_of(model, entity, (key.partition, key.low)),
        )

    async def _all_edges(self, port: Port, node: KeyOf[Any], unreadable: OnUnreadable) -> list[Any]:
        edges: list[Any] = []
        async for items in partition_pages(port, self.table, node.partition):
            edges += [edge for item in items if is_edge(edge := entity_at(self.table, item))]
        for kind in incoming_types(node.model):
            async for page in read_pages(port, incoming(kind, node), unreadable):
                edges += page
        return edges

    def _edge(self, edge: Edge[Any, Any], together: Together) -> Belonging:
        model = model_for(edge)
        own = isinstance(together, _EdgesOfNode) and edge.source.partition == together.node.partition
        units = write_units(self.indexes, model.item(edge), None, transaction=True) + (0.0 if own else 2.0)
        return Belonging(
            entity_name(model.kind),
            model.place_of(edge),
            partial(_unlink, edge),
            write_units=units,
            what="" if own else "with its member in the edge set of another node",
            subject=None,
            together=together,
            of=edge,
        )


class _EdgesOfNode:
    """Deletes edges of one node that is being deleted, 48 in a transaction."""

    def __init__(self, table: Table, node: KeyOf[Any]) -> None:
        self.table, self.node = table, node

    async def __call__(self, port: Port, belongings: Sequence[Belonging]) -> list[bool]:
        marked = await set_tombstone(port, self.node)
        if marked is None:
            return await _unlinked(port, belongings)
        hold = HoldTombstone(self.node, marked[TOMBSTONE]["N"])
        try:
            removed = await remove_edges(port, [each.of for each in belongings], hold)
        except TransactionCancelled as cancelled:
            if not is_ended(cancelled):
                raise
            return [False for _ in belongings]  # another call has deleted the node
        if not removed.left:
            return [True for _ in belongings]
        there = await items_at(port, self.table, [each.place for each in belongings])
        return [each.place not in there for each in belongings]


async def _unlinked(port: Port, belongings: Sequence[Belonging]) -> list[bool]:
    """One after the other: those of one node would be in conflict."""
    return [await each.erase(port) for each in belongings]


async def _unlink(edge: Edge[Any, Any], port: Port) -> bool:
    return await unlink(port, edge)


async def _delete_node(key: KeyOf[Any], port: Port) -> bool:
    await delete_node(port, key)
    return True
