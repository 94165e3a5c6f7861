"""Deleting a node with all its edges, in both directions. It can stop anywhere, and goes on when it is called again.

A tombstone on the node comes first: readers take the node as gone, and links refuse it. Then its edges go, 48 a
transaction, incoming ones with their member in the other node's edge set. The node's own item goes last, after a pass
over everything that found nothing: an index may lag, so one that was just read empty is not believed until the lag is
over.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from singletable.errors import NotFound, TransactionCancelled
from singletable.expressions import Condition, Stored
from singletable.graph.edges import Edge, GraphTable
from singletable.graph.linking import DeleteEdge, EdgeMoved, Unlinking, edge_key, listing_of
from singletable.graph.nodes import TOMBSTONE, node_key
from singletable.graph.reading import incoming
from singletable.operations import DeleteItem, Guard, Refused, UpdateItem
from singletable.operations.answers import RAW
from singletable.records.models import Model, model_of
from singletable.records.patterns import KeyOf
from singletable.records.reading import chunk, start
from singletable.records.rules import guard, is_type
from singletable.records.tables import first_use
from singletable.records.transactions import commit
from singletable.records.writes import Write
from singletable.wire.port import Port

EDGES_A_TRANSACTION = 48
"""Each is an edge and, at most, its source: 96 of the 100 items of a transaction."""


async def delete_node(port: Port, node: Any) -> bool:
    """Delete a node and all its edges; False where there is no such node. Called again, it goes on where it stopped.

    Three requests and a read of its edges, and a transaction for each 48 of them.
    """
    key: KeyOf[Any] = node_key(node)
    model: Model[Any] = model_of(key.kinds[0])
    if port.traits.creates_tables:
        await first_use(port, model.table)
    began = await _mark(port, model, key)
    if began is None:
        return False
    while True:
        passed_at = port.now()
        found = await _pass(port, model, key)
        if found == 0 and passed_at >= began + port.traits.index_lag_seconds:
            break
        if found == 0:
            await port.sleep(began + port.traits.index_lag_seconds - passed_at)
    await _remove(port, model, key)
    return True


async def _mark(port: Port, model: Model[Any], key: KeyOf[Any]) -> float | None:
    """Set the tombstone; gives when it was first set, None where there is no node."""
    now = {"N": str(round(port.now(), 3))}
    there = Guard("#0 = :0", {"#0": model.table.definition.type_attribute, "#1": TOMBSTONE}, {
        ":0": {"S": model.type}, ":1": now,
    })  # fmt: skip
    text = "SET #1 = if_not_exists(#1, :1)"
    operation = UpdateItem(model.table.name, model.key_item(key), text, there, RAW, repeatable=True)
    try:
        item = await port.send(operation)
    except Refused:
        return None
    assert item is not None
    return float(item[TOMBSTONE]["N"])


async def _pass(port: Port, model: Model[Any], key: KeyOf[Any]) -> int:
    """Take away every edge that is found, going out and coming in; gives how many there were."""
    table: Any = model.table
    assert isinstance(table, GraphTable)
    total = 0
    for edge in table.edge_types():
        if model.kind in edge.__sources__:
            total += await _remove_all(port, edge.of(key), outgoing=True)
        if model.kind in edge.__targets__:
            total += await _remove_all(port, incoming(edge, key), outgoing=False)
    return total


async def _remove_all(port: Port, query: Any, *, outgoing: bool) -> int:
    asked, after, total = await start(port, query), None, 0
    while True:
        page = await chunk(port, asked, after)
        total += len(page.items)
        for i in range(0, len(page.items), EDGES_A_TRANSACTION):
            await _remove_edges(port, page.items[i : i + EDGES_A_TRANSACTION], outgoing)
        after = page.after
        if after is None:
            return total


async def _remove_edges(port: Port, edges: Sequence[Edge[Any, Any]], outgoing: bool) -> None:
    """Some edges in one transaction; one by one where some were changed meanwhile: the next pass sees to those."""
    writes = [write for edge in edges for write in _writes(edge, outgoing)]
    try:
        await commit(port, writes)
    except TransactionCancelled as cancelled:
        if not all(isinstance(failure.error, (EdgeMoved, NotFound)) for failure in cancelled.failures):
            raise
        if len(edges) > 1:
            for edge in edges:
                await _remove_edges(port, [edge], outgoing)


def _writes(edge: Edge[Any, Any], outgoing: bool) -> Sequence[Write]:
    """An outgoing edge's member goes with the node that is being deleted; an incoming one's stands on another node."""
    if outgoing:
        return [DeleteEdge(model_of(type(edge)), edge_key(edge), listing_of(edge).revision)]
    return Unlinking(edge).writes()


async def _remove(port: Port, model: Model[Any], key: KeyOf[Any]) -> None:
    marked = is_type(model) & Condition("attribute_exists", (Stored(TOMBSTONE),))
    try:
        await port.send(DeleteItem(model.table.name, model.key_item(key), guard(model, marked), RAW))
    except Refused:
        return  # another call of the same deletion was first
