"""Deletes a node with all its edges, in both directions. It can stop at any step; calling it again continues it.

First the node gets a tombstone. Readers then treat the node as missing, and links refuse it, so no new edge to it can
appear. Then the edges are deleted: a consistent read of the node's partition finds the outgoing ones, an index finds
the incoming ones. An index may lag for any time, so it can't prove that no edge is left. Where indexes may lag, the
node's key and tombstone are retained, and `sweep` removes them later.

Edges are deleted 48 in a transaction, on condition of the node's tombstone. The member of an outgoing edge is deleted
with the node. The member of an incoming edge is on another node, and is deleted with the edge.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Any

from singletable.errors import InvalidRequest, NotFound, TransactionCancelled
from singletable.flow import Port, pages_of, pause
from singletable.foundation import (
    GuardedWrite,
    KeyOf,
    Model,
    Table,
    Unreadable,
    Write,
    check_if,
    commit,
    get_operation,
    is_absent,
    load_or_tell,
    partition_query,
    read_pages,
    ready,
)
from singletable.graph.edge_writes import DeleteEdge, EdgeMoved, edge_key, listing_of
from singletable.graph.edges import Edge, edge_types, is_edge
from singletable.graph.link_writes import Unlink
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
    owner = claimed_by(port, model, item)
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
            await pause(port, lag, "an index may lag behind its table", node.model.table.name)
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
    total = RemovalPass()
    async for edges in read_pages(port, query, told.append):
        total += await remove_edges(port, edges, node)
    return total + RemovalPass(left=len(told))


EDGES_A_TRANSACTION = 48
"""Each takes up to two items, the edge and its source. With the node itself that is 97 of a transaction's 100 items."""


@dataclass(frozen=True)
class RemovalPass:
    """The result of a pass over edges."""

    there: int = 0
    """The number of edges that the pass found."""
    left: int = 0
    """The number left: concurrently changed each time, of a type that this program doesn't know, or unreadable."""

    def __add__(self, other: RemovalPass) -> RemovalPass:
        return RemovalPass(self.there + other.there, self.left + other.left)


async def remove_edges(port: Port, edges: Sequence[Edge[Any, Any]], node: HoldTombstone) -> RemovalPass:
    """Delete edges, also those changed since they were found. TransactionCancelled if the deletion has ended."""
    total = RemovalPass()
    for i in range(0, len(edges), EDGES_A_TRANSACTION):
        total += await _remove_some(port, edges[i : i + EDGES_A_TRANSACTION], node)
    return total


async def _remove_some(port: Port, edges: Sequence[Edge[Any, Any]], node: HoldTombstone) -> RemovalPass:
    """Delete some edges in one transaction; if some were changed concurrently, read and delete them one by one."""
    try:
        await commit(port, [*(write for edge in edges for write in _writes(edge, node)), node])
    except TransactionCancelled as cancelled:
        _raise_others(cancelled)
    else:
        return RemovalPass(there=len(edges))
    total = RemovalPass()
    for edge in edges:
        total += await _remove_one(port, edge_key(edge), node)
    return total


async def _remove_one(port: Port, key: KeyOf[Any], node: HoldTombstone) -> RemovalPass:
    """Read an edge and delete it. If it is changed again concurrently, it is left."""
    edge: Any = await port.send(get_operation(key, consistent=True))
    if edge is None:
        return RemovalPass()  # the index lagged: the edge is deleted already
    try:
        await commit(port, [*_writes(edge, node), node])
    except TransactionCancelled as cancelled:
        _raise_others(cancelled)
        is_missing = any(isinstance(failure.error, NotFound) for failure in cancelled.failures)
        # The edge or its source changed. An edge without its source has no member to remove.
        if not is_missing or not await _remove_orphan(port, edge, node):
            return RemovalPass(there=1, left=1)
    return RemovalPass(there=1)


async def _remove_orphan(port: Port, edge: Edge[Any, Any], node: HoldTombstone) -> bool:
    try:
        await commit(port, [*without_source(edge), node])
    except TransactionCancelled as cancelled:
        _raise_others(cancelled)
        return False
    return True


def without_source(edge: Edge[Any, Any]) -> list[Write]:
    """Delete an edge whose source is missing."""
    return [DeleteEdge(edge_key(edge), listing_of(edge)), hold_absence(edge.source)]


def _writes(edge: Edge[Any, Any], node: HoldTombstone) -> Sequence[Write]:
    if edge.source.partition == node.key.partition:
        return [DeleteEdge(edge_key(edge), listing_of(edge))]
    return Unlink(edge).writes()


def _raise_others(cancelled: TransactionCancelled) -> None:
    changed = all(isinstance(failure.error, (EdgeMoved, NotFound)) for failure in cancelled.failures)
    if not changed or is_ended(cancelled):
        raise cancelled


def hold_absence(key: KeyOf[Any]) -> GuardedWrite:
    """Check that the node is missing."""
    return GuardedWrite(key, check_if(key, is_absent(key.model)), "unlink", _appeared)


def _appeared(key: KeyOf[Any], verb: str) -> EdgeMoved:
    return EdgeMoved(f"a concurrent write created this {key.model.kind.__name__}", key=key, operation=verb)


async def partition_pages(port: Port, table: Table, source: str) -> AsyncIterator[list[Item]]:
    """The other items of a node's partition, read consistently, one page of up to 1 MB at a time."""
    async for page in pages_of(port, lambda after: partition_query(table, source, after)):
        yield others_in(table, page.items)


def others_in(table: Table, items: Sequence[Item]) -> list[Item]:
    """The items of a node's partition but the node itself."""
    partition, sort = table.definition.key
    return [item for item in items if item[partition] != item[sort]]
