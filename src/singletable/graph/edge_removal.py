"""Deletes the edges of a node that is being deleted: 48 in a transaction, on condition of the node's tombstone.

The member of an outgoing edge is deleted with the node. The member of an incoming edge is on another node, and is
deleted with the edge.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Any

from singletable.errors import NotFound, TransactionCancelled
from singletable.flow import Port
from singletable.foundation import (
    GuardedWrite,
    KeyOf,
    Table,
    Write,
    check_if,
    commit,
    get_operation,
    is_absent,
)
from singletable.graph.edge_items import DeleteEdge, EdgeMoved, edge_key, listing_of
from singletable.graph.edges import Edge
from singletable.graph.link_writes import Unlink
from singletable.graph.tombstones import HoldTombstone, is_ended
from singletable.operations import RAW, Item, Key, Query, Selection

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
    after: Key | None = None
    while True:
        page = await port.send(partition_query(table, source, after))
        yield others_in(table, page.items)
        after = page.after
        if after is None:
            return


def partition_query(table: Table, source: str, after: Key | None) -> Query[Item]:
    """A page of a node's partition."""
    names, values = {"#0": table.definition.key[0]}, {":0": {"S": source}}
    return Query(table.name, "#0 = :0", Selection(names=names, values=values, after=after, consistent=True), RAW)


def others_in(table: Table, items: Sequence[Item]) -> list[Item]:
    """The items of a node's partition but the node itself."""
    partition, sort = table.definition.key
    return [item for item in items if item[partition] != item[sort]]
