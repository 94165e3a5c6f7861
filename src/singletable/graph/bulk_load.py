"""Loads a graph in bulk: new nodes with complete edge sets, and their edges, in batches."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any

from singletable.errors import AlreadyExists, Incomplete, InvalidRequest, NotFound
from singletable.flow import Port
from singletable.foundation import KeyOf, Table, get_many, model_for, model_of, put_items, ready
from singletable.graph.edge_set_writes import CAP
from singletable.graph.edge_writes import EdgeSetPlace, counter_of, edge_key, note
from singletable.graph.edges import LISTED, REVISION, Edge
from singletable.graph.link import unlink
from singletable.graph.nodes import EDGE_SETS, OVERFLOW, Node, node_key
from singletable.operations import MAX_BATCH_GET, MAX_BATCH_WRITE, RAW, BatchGetItem, Item, Key

_SIDE_BY_SIDE = 16


async def load(port: Port, nodes: Sequence[Node], edges: Iterable[Edge[Any, Any]]) -> None:
    """Write nodes with their outgoing edges. Far cheaper than link(): one write unit for each KB, no transactions.

    The nodes must be new; otherwise AlreadyExists is raised before anything is written. Every edge's source is one of
    them. Its target is one of them too, or exists already. Edges to a target that is deleted during the load are
    removed again and NotFound is raised; the rest stays. Not atomic: to repeat a load that stopped halfway, as one that
    raised Incomplete, delete its nodes first. check() and sweep_graph(orphans=True) find edges without their nodes.
    """
    listings = _listings(nodes, edges)
    if not nodes:
        return
    table = _table_of(nodes)
    await ready(port, table)
    if missing := await _missing_targets(port, nodes, listings):
        raise InvalidRequest(
            f"{len(missing)} nodes that edges go to are not there",
            key=missing[0],
            operation="load",
            hint="Load them first.",
        )
    await _check_absent(port, table, nodes)
    # Edges first: a reader never sees a node with members whose edges are missing.
    await _write(port, table, (_edge_item(listing) for found in listings.values() for listing in found))
    await _write(port, table, (_node_item(node, listings[node_key(node).partition]) for node in nodes))
    # A target that exists now can't be deleted without its deletion finding these edges.
    await _unlink_all(port, listings, await _missing_targets(port, nodes, listings))


async def _unlink_all(port: Port, listings: dict[str, list[EdgeSetPlace]], gone: Sequence[KeyOf[Any]]) -> None:
    if not gone:
        return
    for listing in (x for found in listings.values() for x in found if x.edge.target in gone):
        note(listing)
        await unlink(port, listing.edge)
    raise NotFound(
        f"{len(gone)} nodes that edges go to were deleted during the load; the edges to them were taken away again",
        key=gone[0],
        operation="load",
        hint="Everything else is loaded.",
    )


def _listings(nodes: Sequence[Node], edges: Iterable[Edge[Any, Any]]) -> dict[str, list[EdgeSetPlace]]:
    places_of: dict[str, list[EdgeSetPlace]] = {node_key(node).partition: [] for node in nodes}
    if len(places_of) < len(nodes):
        raise InvalidRequest("a node is given twice", operation="load")
    counts: dict[tuple[str, type[Any]], int] = {}
    places: set[tuple[str, str]] = set()
    for edge in edges:
        key = edge_key(edge)
        source = key.partition
        if source not in places_of:
            raise InvalidRequest("an edge whose source is not among the nodes", key=key, operation="load")
        if (source, key.low) in places:
            raise InvalidRequest(
                "an edge is given twice: of a type, there is one from node to node", key=key, operation="load"
            )
        places.add((source, key.low))
        place = (source, type(edge))
        counts[place] = counts.get(place, 0) + 1
        held = type(edge).__mirrors__ is not None
        places_of[source].append(EdgeSetPlace(edge, listed=not held or counts[place] <= CAP))
    return places_of


def _table_of(nodes: Sequence[Node]) -> Table:
    table = model_for(nodes[0]).table
    for model in {model_for(node) for node in nodes}:
        counted = next(iter(model.roles.values()), "")
        if model.table is not table or counted:
            what = f"{model.kind.__name__} has a {counted} attribute" if counted else "nodes of two tables"
            raise InvalidRequest(f"{what}, which load() has no conditions for", operation="load", hint="create() them.")
    return table


async def _missing_targets(
    port: Port, nodes: Sequence[Node], listings: dict[str, list[EdgeSetPlace]]
) -> list[KeyOf[Any]]:
    own = {node_key(node).partition for node in nodes}
    targets = {x.edge.target.partition: x.edge.target for read in listings.values() for x in read}
    others = [key for text, key in targets.items() if text not in own]
    read = await get_many(port, others, consistent=True) if others else []
    there = {node_key(node).partition for node in read}
    return [key for key in others if key.partition not in there]


async def _check_absent(port: Port, table: Table, nodes: Sequence[Node]) -> None:
    keys: list[Key] = [model_for(node).key_item(node_key(node)) for node in nodes]
    for i in range(0, len(keys), MAX_BATCH_GET * _SIDE_BY_SIDE):
        part = keys[i : i + MAX_BATCH_GET * _SIDE_BY_SIDE]
        batches = [part[j : j + MAX_BATCH_GET] for j in range(0, len(part), MAX_BATCH_GET)]
        answers = await port.send_all([BatchGetItem(table.name, batch, RAW, consistent=True) for batch in batches])
        if any(answer.items or answer.rest for answer in answers):
            raise AlreadyExists(
                "some of the nodes exist already",
                table=table.name,
                operation="load",
                hint="link() their edges instead; where they are being deleted, sweep_table() ends that.",
            )


def _edge_item(listing: EdgeSetPlace) -> Item:
    item = model_for(listing.edge).item(listing.edge)
    item[REVISION] = {"N": str(listing.revision)}
    if not listing.listed:
        item[LISTED] = {"BOOL": False}
    return item


def _node_item(node: Node, listings: Sequence[EdgeSetPlace]) -> Item:
    item = model_for(node).item(node)
    held = [x for x in listings if type(x.edge).__mirrors__ is not None]
    listed = [x for x in held if x.listed]
    if listed:
        item[EDGE_SETS[0]] = {"SS": sorted(x.member for x in listed)}
    for edge in {type(x.edge) for x in listed}:
        item[counter_of(edge)] = {"N": str(sum(1 for x in listed if type(x.edge) is edge))}
    over = sorted({model_of(type(x.edge)).type for x in held if not x.listed})
    if over:
        item[OVERFLOW] = {"SS": over}
    return item


async def _write(port: Port, table: Table, items: Iterable[Item]) -> None:
    waiting = iter(items)
    while part := list(islice(waiting, MAX_BATCH_WRITE * _SIDE_BY_SIDE)):
        try:
            await put_items(port, table, part)
        except Incomplete as error:  # the rest is of stored items, which a caller has not given
            error.operation, error.rest, error.hint = "load", (), "To repeat the load, delete its nodes first."
            raise
