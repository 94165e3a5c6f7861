"""Deletes a node with all its edges, in both directions. It can stop at any step; calling it again continues it.

First the node gets a tombstone. Readers then treat the node as missing, and links refuse it, so no new edge to it can
appear. Then the edges are deleted: a consistent read of the node's partition finds the outgoing ones, an index finds
the incoming ones. An index may lag for any time, so it can't prove that no edge is left. Where indexes may lag, the
node's key and tombstone are retained, and `sweep` removes them later.
"""

from __future__ import annotations

from typing import Any

from singletable.errors import InvalidRequest, TransactionCancelled
from singletable.flow import Port
from singletable.foundation import Model, Unreadable, commit, load_or_tell, open_query, read_page, ready
from singletable.graph.edge_removal import RemovalPass, partition_pages, remove_edges
from singletable.graph.edges import Edge, edge_types, is_edge
from singletable.graph.nodes import RETAINED, TOMBSTONE, Node, is_key_of, node_key
from singletable.graph.queries import EdgeQuery
from singletable.graph.read import incoming
from singletable.graph.tombstones import HoldTombstone, RemoveNode, RetainTombstone, claimed_by, is_ended, set_tombstone
from singletable.operations import Item


async def delete_node(port: Port, node: Any) -> bool:
    """Delete a node and all its edges; returns False if the node is missing. A second call continues where the first
    one stopped.

    Two requests, a transaction for each 48 edges, and at least one read of all edges: the node's partition, and its
    partition in an index for each edge type that can point to it; twice where an index may lag. There the node's key
    stays in use until sweep_graph(), unless no edge type can point to its class.
    """
    key = node_key(node)
    if not is_key_of(key, Node):
        raise InvalidRequest("a node or its key is wanted", operation="delete_node", hint="unlink() takes edges away.")
    port.traits.check("transactions", "delete_node()")
    model = key.model
    await ready(port, model.table)
    item = await set_tombstone(port, key)
    if item is None:
        return False
    try:
        await _delete(port, HoldTombstone(key, item[TOMBSTONE]["N"]), item)
    except TransactionCancelled as cancelled:
        if not is_ended(cancelled):
            raise
    return RETAINED not in item


async def _delete(port: Port, node: HoldTombstone, item: Item) -> None:
    model, key, mark = node.model, node.key, node.mark
    owner = claimed_by(model, item)
    is_retained = RETAINED in item
    types = incoming_types(model)
    lag = port.traits.index_lag_seconds if types else 0.0
    left = await _remove_found(port, node, types, 0.0 if is_retained else lag)
    if not lag and not left:
        await commit(port, [RemoveNode(key, mark)], {0: owner})
    elif not is_retained:
        await commit(port, [RetainTombstone(key, mark)], {0: owner})


def incoming_types(model: Model[Any]) -> list[type[Edge[Any, Any]]]:
    """The types of edges that can point to a class of nodes."""
    return [edge for edge in edge_types(model.table) if model.kind in edge.__targets__]


async def _remove_found(port: Port, node: HoldTombstone, types: list[type[Edge[Any, Any]]], lag: float) -> int:
    """Repeat passes until one finds nothing, one of them after the usual lag of an index. Returns the number
    of items of the node's partition that this program can't delete."""
    is_settled = not lag
    while True:
        removed = await _remove_outgoing(port, node)
        for edge in types:
            removed += await _remove_incoming(port, incoming(edge, node.key), node)
        if is_settled and not removed.there:
            return removed.left
        if not is_settled:
            await port.sleep(lag)
            is_settled = True


async def _remove_outgoing(port: Port, node: HoldTombstone) -> RemovalPass:
    table, total = node.model.table, RemovalPass()
    async for items in partition_pages(port, table, node.key.partition):
        models = [table.model_of_type(item.get(table.definition.type_attribute, {}).get("S", "")) for item in items]
        told: list[Unreadable] = []
        pairs = zip(models, items, strict=True)
        loaded = [load_or_tell(model, item, told.append, "delete_node") for model, item in pairs if model is not None]
        total += await remove_edges(port, [edge for edge in loaded if is_edge(edge)], node)
        total += RemovalPass(left=models.count(None) + len(told))
    return total


async def _remove_incoming(port: Port, query: EdgeQuery[Any], node: HoldTombstone) -> RemovalPass:
    told: list[Unreadable] = []
    prepared, after, total = await open_query(port, query, told.append), None, RemovalPass()
    while True:
        page = await read_page(port, prepared, after)
        total += await remove_edges(port, page.items, node)
        after = page.after
        if after is None:
            return total + RemovalPass(left=len(told))
