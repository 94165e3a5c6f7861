"""Checks the invariants of a graph, a page of items at a time. It reads only.

* a node's edge set and counters match its listed edges, and are complete unless the node is marked `overflow`
* both nodes of every edge exist
* no deletion of a node is unfinished: edges to such a node may be left, which only a sweep finds
* the rows of every index match the edges, and are as many; what may be a lag is read a second time

The numbers of rows and of items are compared at the end: programs that write meanwhile may cause that one finding.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from singletable.flow.port import Port
from singletable.foundation import (
    Finding,
    ItemCheck,
    Lane,
    LayerChecks,
    PageRead,
    Pass,
    Repair,
    Table,
    flows,
    items_at,
    model_of,
    row_query,
    scan_pages,
    type_in,
)
from singletable.graph.edge_items import counter_of
from singletable.graph.edges import edge_types
from singletable.graph.full_scan import Place, ends_of, entity_at, place_of
from singletable.graph.members import texts_of
from singletable.graph.node_edges import Edges, count_in, edges_of, members_in
from singletable.graph.nodes import OVERFLOW, TOMBSTONE, Node
from singletable.graph.repairs import repair_of_edge, repair_of_set
from singletable.operations import Item


def graph_checks(table: Table) -> LayerChecks:
    """What the check of a graph's table looks for besides records."""
    return LayerChecks(table, (GraphCheck(table),), tuple(IndexRows(table, name) for name in table.definition.indexes))


class GraphCheck(ItemCheck):
    """What is wrong with nodes and edges. One request for each node, for its edges."""

    repairs = frozenset({"edge-set.wrong", "edge-set.twice", "edge-set.incomplete", "edge-set.count", "edge.orphan"})

    def __init__(self, table: Table) -> None:
        self.table = table

    async def findings(self, port: Port, items: Sequence[Item]) -> list[Finding]:
        entities = [(item, entity_at(self.table, item)) for item in items]
        ends = await items_at(port, self.table, {end for _, entity in entities for end in ends_of(entity)})
        edges = await edges_of(port, self.table, [place_of(i)[0] for i, entity in entities if isinstance(entity, Node)])
        found: list[Finding] = []
        for item, entity in entities:
            if isinstance(entity, Node):
                found += _of_node(self.table, entity, item, edges[place_of(item)[0]])
            else:
                found += self._of_other(item, entity, ends)
        return found

    def counted(self, items: Sequence[Item]) -> Mapping[str, int]:
        return {_items_in(index): sum(index in item for item in items) for index in self.table.definition.indexes}

    async def repair(self, port: Port, item: Item, finding: Finding) -> Repair | None:
        entity = entity_at(self.table, item)
        if isinstance(entity, Node):
            return await repair_of_set(port, self.table, entity, item)
        return await repair_of_edge(port, self.table, entity)

    def _of_other(self, item: Item, entity: Any, ends: Mapping[Place, Item]) -> list[Finding]:
        place, word = place_of(item), type_in(self.table, item)
        if TOMBSTONE in item and place[0] == place[1]:
            what = "its deletion has not ended: delete_node() takes its edges away, sweep_table() ends it"
            return [Finding("node.deleting", what, word, place)]
        what = "a node that it joins is gone: unlink() it"
        return [Finding("edge.orphan", what, word, place) for end in ends_of(entity) if end not in ends]


class IndexRows(Pass):
    """The rows of one index, each compared with its item, and all of them counted."""

    def __init__(self, table: Table, index: str) -> None:
        self.table, self.index, self.name = table, index, f"index {index}"
        self.not_sampled = f"whether {index} has a row for each item"

    async def read(self, port: Port, lanes: Sequence[Lane]) -> list[PageRead]:
        return await scan_pages(port, self.table, lanes, self.index)

    async def findings(self, port: Port, items: Sequence[Item]) -> list[Finding]:
        """Rows that differ from their items when both are read again, after the usual lag of an index."""
        differing = await self._differing(port, items)
        if differing and port.traits.index_lag_seconds:
            await port.sleep(port.traits.index_lag_seconds)
        again = [row for rows in [await self._read_again(port, row) for row in differing] for row in rows]
        what = f"its row in {self.index} is another than the edge{_unsure(port)}"
        return [Finding("edge.index", what, "", place_of(row)) for row in await self._differing(port, again)]

    def counted(self, items: Sequence[Item]) -> Mapping[str, int]:
        return {_rows_in(self.index): len(items)}

    async def end(self, port: Port, counts: Mapping[str, int]) -> list[Finding]:
        count, wanted = counts.get(_rows_in(self.index), 0), counts.get(_items_in(self.index), 0)
        if count == wanted:
            return []
        what = f"{self.index} has {count} rows for {wanted} items{_unsure(port)}"
        return [Finding("edge.index", what, "", (self.table.name, self.index))]

    async def _differing(self, port: Port, rows: Sequence[Item]) -> list[Item]:
        items = await items_at(port, self.table, {place_of(row) for row in rows})
        return [row for row in rows if items.get(place_of(row)) != row]

    async def _read_again(self, port: Port, row: Item) -> list[Item]:
        """The row as the index has it now; [] where it has left its place."""
        page = await port.send(row_query(self.table, self.index, row))
        return [each for each in page.items if place_of(each) == place_of(row)]


async def check_graph(port: Port, table: Table) -> list[Finding]:
    """Findings of a graph alone, without those of its records."""
    return await flows.check_layers(port, [graph_checks(table)])


def _items_in(index: str) -> str:
    return f"items of {index}"


def _rows_in(index: str) -> str:
    return f"rows of {index}"


def _unsure(port: Port) -> str:
    return ", or the index has not caught up" if port.traits.index_lag_seconds else ""


def _of_node(table: Table, node: Node, item: Item, edges: Edges) -> list[Finding]:
    """Compares a node's edge sets and counters with the edges in its partition."""
    place = place_of(item)
    kind = model_of(type(node)).type
    found: list[Finding] = []
    said = members_in(item)
    real = {member for members in edges.listed.values() for member in members}
    if said != real:
        what = f"{len(said - real)} members have no edge, {len(real - said)} listed edges are no members"
        found.append(Finding("edge-set.wrong", what, kind, place))
    if len(texts_of(node)) != len(said):
        found.append(Finding("edge-set.twice", "a member stands in both halves", kind, place))
    if missing := edges.unlisted - set(item.get(OVERFLOW, {}).get("SS", ())):
        found.append(Finding("edge-set.incomplete", f"it does not say that {min(missing)} overflowed", kind, place))
    for edge in edge_types(table):
        if edge.__mirrors__ is not None and count_in(item, edge) != len(edges.listed.get(model_of(edge).type, ())):
            found.append(Finding("edge-set.count", f"{counter_of(edge)} is not the number of its edges", kind, place))
    return found
