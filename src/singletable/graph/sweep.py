"""Finishes every deletion. The proof comes from the table itself, because an index may lag for any time.

Once a node has a tombstone, no new edge to it can appear, and its edges are in the table, whatever an index shows.
So a consistent scan that begins after the tombstone was seen finds every one of them. It deletes those edges, and
then each node to which no edge leads.

1  a scan finds the tombstones
2  a second scan, begun afterwards, finds the edges from and to their nodes, and deletes them
3  each node is removed on condition of the tombstone that step 1 found, unless step 2 left an edge of it
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from singletable.errors import NotFound, SingletableError, TransactionCancelled
from singletable.flow import Port
from singletable.foundation import Table, Write, commit, entity_at, items_at, ready, type_in
from singletable.graph.deletion import hold_absence, remove_edges, without_source
from singletable.graph.edge_writes import EdgeMoved
from singletable.graph.edges import Edge, is_edge
from singletable.graph.full_scan import Place, ends_of, pages, place_of
from singletable.graph.link_writes import Unlink
from singletable.graph.nodes import TOMBSTONE, Node, stored_key
from singletable.graph.tombstones import HoldTombstone, RemoveNode, claimed_by, is_ended
from singletable.operations import Item

_REMEMBERED = 50_000
"""Nodes known to exist, which a search for orphans does not read again."""


async def sweep_graph(port: Port, table: Table, *, orphans: bool = False) -> int:
    """Finish every deletion that delete_node() left unfinished; returns the numbers of nodes and of orphans deleted.

    One consistent scan of the table, a second one if it finds a node that is being deleted; a transaction for each 48
    edges of such nodes, and one for each node. It can run concurrently with writers, readers and other sweeps. After an
    interruption, run it again.

    `orphans` also deletes edges whose node is missing: one more request for each hundred nodes that edges lead
    to. Such edges come from target="unchecked" and from interrupted loads. A running load looks the same, so never use
    it during one.
    """
    await ready(port, table)
    deletions = {deletion.node.key.partition: deletion async for deletion in _deletions(port, table)}
    ended = 0
    if deletions or orphans:
        seen: set[Place] = set()
        async for items in pages(port, table):
            rest = await _remove_strays(port, table, items, deletions)
            ended += await _remove_orphans(port, table, rest, seen) if orphans else 0
    for deletion in deletions.values():
        ended += await _end(port, deletion)
    return ended


@dataclass
class _Deletion:
    """A deletion to finish."""

    node: HoldTombstone
    owner: Mapping[str, Any] | None
    """The unique values that the node still has, by name."""
    is_clear: bool = True
    """No edge from or to the node was left."""


async def _deletions(port: Port, table: Table) -> AsyncIterator[_Deletion]:
    async for items in pages(port, table, having=TOMBSTONE):
        for item in items:
            model = table.model_of_type(type_in(table, item))
            if model is None or not issubclass(model.kind, Node):
                continue
            node = HoldTombstone(stored_key(model.kind, item["source"]["S"]), item[TOMBSTONE]["N"])
            try:
                yield _Deletion(node, claimed_by(port, model, item))
            except SingletableError:
                continue  # a newer program wrote it and can finish it; check() reports it until then


async def _end(port: Port, deletion: _Deletion) -> int:
    node = deletion.node
    if not deletion.is_clear:
        return 0
    try:
        await commit(port, [RemoveNode(node.key, node.mark)], {0: deletion.owner})
    except TransactionCancelled as cancelled:
        if not is_ended(cancelled):
            raise
        return 0  # another call was first
    return 1


# --- edges of nodes that are being deleted ----------------------------------------------------------------------------
@dataclass
class _Stray:
    """Edges from or to nodes that are being deleted."""

    edge: Any
    """None if this program can't read it."""
    deletions: list[_Deletion] = field(default_factory=list[_Deletion])


async def _remove_strays(
    port: Port, table: Table, items: Sequence[Item], deletions: dict[str, _Deletion]
) -> list[Item]:
    """Delete them; returns the other items."""
    rest: list[Item] = []
    groups: dict[str, list[_Stray]] = {}
    for item in items:
        touched = _touched(item, deletions)
        if not touched:
            rest.append(item)
        else:
            first = touched[0].node.key.partition
            groups.setdefault(first, []).append(_Stray(entity_at(table, item), touched))
    for text, strays in groups.items():
        edges = [stray.edge for stray in strays if is_edge(stray.edge)]
        if len(edges) < len(strays) or not await _are_removed(port, edges, deletions[text].node):
            for each in (deletion for stray in strays for deletion in stray.deletions):
                each.is_clear = False
    return rest


def _touched(item: Item, deletions: dict[str, _Deletion]) -> list[_Deletion]:
    """The deletions whose nodes an item joins, whatever its type: its sort key is a word and its target's key."""
    source, target = place_of(item)
    if source == target:
        return []
    found = (deletions.get(text) for text in dict.fromkeys((source, target.partition("-")[2])))
    return [deletion for deletion in found if deletion is not None]


async def _are_removed(port: Port, edges: Sequence[Edge[Any, Any]], node: HoldTombstone) -> bool:
    try:
        removed = await remove_edges(port, edges, node)
    except TransactionCancelled as cancelled:
        if not is_ended(cancelled):
            raise
        return False
    return not removed.left


# --- orphans ----------------------------------------------------------------------------------------------------------
async def _remove_orphans(port: Port, table: Table, items: Sequence[Item], seen: set[Place]) -> int:
    edges = [edge for edge in (entity_at(table, item) for item in items) if is_edge(edge)]
    wanted = {place for edge in edges for place in ends_of(edge)} - seen
    there = seen | (await items_at(port, table, wanted)).keys()
    count = 0
    for edge in edges:
        if missing := [end for end in (edge.source, edge.target) if (end.partition, end.low) not in there]:
            count += await remove_orphan(port, edge, missing)
    seen |= there if len(there) <= _REMEMBERED else set()
    return count


async def remove_orphan(port: Port, edge: Edge[Any, Any], missing: Sequence[Any]) -> int:
    """Delete an edge without one of its nodes, unless it was changed or its node has appeared. Returns 1 or 0."""
    writes: list[Write] = [*Unlink(edge).writes(), hold_absence(edge.target)]
    if edge.source in missing:
        writes = without_source(edge)
    try:
        await commit(port, writes)
    except TransactionCancelled as cancelled:
        if not all(isinstance(failure.error, (EdgeMoved, NotFound)) for failure in cancelled.failures):
            raise
        return 0  # it was changed since it was read, or its node was created: the next sweep decides
    return 1
