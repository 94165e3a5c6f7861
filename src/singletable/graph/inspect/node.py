"""A node of a graph with its edges in both directions, and where its edge set and its edges disagree."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from singletable.flow import Port
from singletable.foundation import CursorSeal, Table, model_of, partition_query, place_in, prepare_query, ready
from singletable.graph.deletion import incoming_types
from singletable.graph.inspect.edge_sets import AnyEdge, Disagreement, EdgeSet, Reading, compare, kept_in, sets_of
from singletable.graph.inspect.ends import EdgeInfo, NodeEnd, NodeEnds, Reads, all_classes, kind_at, node_kinds
from singletable.graph.nodes import Node, stored_key
from singletable.graph.read import incoming
from singletable.operations import RAW, GetItem, Item, Key, Query
from singletable.shown_values import ShownValue

MOST_OUTGOING = 40
"""Edges from the node, of all types together."""
MOST_INCOMING = 20
"""Edges to the node, of each type."""


class Direction(Struct, frozen=True):
    """Some edges of one direction, and where they go on."""

    edges: tuple[EdgeInfo, ...]
    cursor: str | None


class NodeInfo(Struct, frozen=True):
    """A node and what is around it."""

    table: str
    node: NodeEnd
    attributes: tuple[ShownValue, ...]
    sets: tuple[EdgeSet, ...]
    outgoing: Direction
    incoming: Mapping[str, Direction]
    """The directions by the name of the edge's class."""
    disagreements: tuple[Disagreement, ...]
    expanding: Mapping[str, int]
    """The requests that showing a node takes, by the name of its class; two more where something disagrees."""


async def inspect_node(
    port: Port,
    seal: CursorSeal,
    table: Table,
    key: str,
    *,
    after: str | None = None,
    incoming_after: Mapping[str, str] | None = None,
    personal: bool = False,
    reads: Reads = all_classes,
) -> NodeInfo:
    """A node, up to MOST_OUTGOING of its edges from a cursor on, and of each type up to MOST_INCOMING that come to it.

    Two round trips: a request for the node, one for its edges, one for each type of edges that may come to it; then
    the nodes at the other ends, up to 100 a request. After a disagreement, two more requests check whether it persists.
    Half a unit for each 4 KB that is read. Raises InvalidRequest for a key that is not a node's, InvalidCursor.
    """
    around = _Around(port, seal, table, key, kind_at(table, key), reads)
    await ready(port, table)
    start = around.opened("out", after)
    given = incoming_after or {}
    starts = {edge: around.opened(edge.__name__, given.get(edge.__name__)) for edge in around.types}
    first: list[Any] = [_get(table, key), _edges_query(table, key, start)]
    answers: list[Any] = await port.send_all([*first, *(around.incoming(edge, at) for edge, at in starts.items())])
    item, page, *coming = answers
    reading = _reading(table, item, page, start)
    ends = NodeEnds(table, personal, reads)
    await ends.read(port, item, key, [*reading.edges, *(each for found in coming for each in found.items)])
    return NodeInfo(
        table.name,
        ends.end_of(key, around.kind, item),
        ends.attributes(item),
        tuple(each for each in sets_of(table, around.kind, item) if ends.may_see(each.type)),
        Direction(ends.outgoing((each, kept_in(table, reading, each)) for each in reading.edges), around.cursor(page)),
        {
            edge.__name__: Direction(ends.incoming(found.items), around.cursor(found, edge.__name__))
            for edge, found in zip(around.types, coming, strict=True)
        },
        ends.told([*await _disagreements(port, table, key, reading, start), *ends.missing()]),
        {kind.__name__: expansion(kind) for kind in node_kinds(table) if reads(kind)},
    )


def expansion(kind: type[Node]) -> int:
    """The requests that `inspect_node` takes for a node with at most 100 neighbours, where nothing disagrees."""
    return 3 + len(incoming_types(model_of(kind)))


class _Around:
    """The requests for what is around a node, and the cursors of their pages."""

    def __init__(self, port: Port, seal: CursorSeal, table: Table, key: str, kind: type[Node], reads: Reads) -> None:
        self.port, self.seal, self.table, self.key, self.kind = port, seal, table, key, kind
        self.types = tuple(edge for edge in incoming_types(model_of(kind)) if reads(edge))

    def incoming(self, edge: AnyEdge, after: Key | None) -> Query[Any]:
        prepared = prepare_query(incoming(edge, stored_key(self.kind, self.key)), self.port.now())
        return replace(prepared, reader=RAW).operation(after, MOST_INCOMING)

    def opened(self, what: str, cursor: str | None) -> Key | None:
        return None if cursor is None else self.seal.open(cursor, self._binding(what), self.port.now())

    def cursor(self, page: Any, what: str = "out") -> str | None:
        return None if page.after is None else self.seal.seal(page.after, self._binding(what), self.port.now())

    def _binding(self, what: str) -> tuple[str, ...]:
        return (self.table.name, "studio edges", what, self.key)


# --- requests ---------------------------------------------------------------------------------------------------------
def _get(table: Table, key: str, *, consistent: bool = False) -> GetItem[Item]:
    return GetItem(table.name, {name: {"S": key} for name in table.definition.key}, RAW, consistent)


def _edges_query(table: Table, key: str, after: Key | None, *, consistent: bool = False) -> Query[Item]:
    return partition_query(table, key, after, limit=MOST_OUTGOING, consistent=consistent)


def _reading(table: Table, item: Item | None, page: Any, start: Key | None) -> Reading:
    others = [each for each in page.items if place_in(table, each)[0] != place_in(table, each)[1]]
    return Reading(item, others, "" if start is None else start[table.definition.key[1]]["S"], page.after)


async def _disagreements(port: Port, table: Table, key: str, reading: Reading, start: Key | None) -> list[Disagreement]:
    """The disagreements of edge set and edges that persist when both are read again, consistently."""
    disagreements = compare(table, reading)
    if not disagreements:
        return []
    again: list[Any] = [_get(table, key, consistent=True), _edges_query(table, key, start, consistent=True)]
    item, page = await port.send_all(again)
    still = compare(table, _reading(table, item, page, start))
    return [each for each in still if each in disagreements]
