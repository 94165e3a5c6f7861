"""Checks the invariants of a graph, a page of items at a time. It reads only.

* a node's edge set and counters match its listed edges, and are complete unless the node is marked `overflow`
* both nodes of every edge exist
* no deletion of a node is unfinished: edges to such a node may be left, which only a sweep finds
* the rows of every index match the edges, also in number; a difference that may be a lag is read a second time

A node lies next to its edges, so a page shows most of them; the rest is read. Targets and rows are anywhere: the check
notes the nodes that it has met, and sums of digests of items and rows, and compares them at the end. Differences are
read again, and compared item by item. So a sound graph is read once, and each of its indexes once. The numbers of rows
and of items are compared, too: programs that write meanwhile may cause that one finding.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import Any

import msgspec

from singletable.flow import Port, pause_for_index
from singletable.foundation import (
    Finding,
    ItemCheck,
    ItemPass,
    LayerChecks,
    PageRead,
    Pass,
    Repair,
    ScanSegment,
    Table,
    entity_at,
    flows,
    items_at,
    model_of,
    row_query,
    scan_pages,
    type_in,
)
from singletable.graph.edge_writes import counter_of
from singletable.graph.edges import edge_types
from singletable.graph.full_scan import Edges, Place, count_in, edges_of, ends_of, members_in, pages, place_of
from singletable.graph.members import texts_of
from singletable.graph.nodes import OVERFLOW, TOMBSTONE, Node
from singletable.graph.repairs import repair_of_edge, repair_of_set
from singletable.operations import Item
from singletable.tables import READ_BYTES

_BUCKETS = 64
"""The sums of digests of an index: if one disagrees, one 64th of the rows is compared with the items."""
_MET = "items of the graph"


def graph_checks(table: Table) -> LayerChecks:
    """The checks of a graph's table, beyond those of records."""
    check = GraphCheck(table)
    rows = [IndexRows(table, name) for name in table.definition.indexes]
    return LayerChecks(table, (check,), (EdgeTargets(check), *rows))


class GraphCheck(ItemCheck):
    """The check of nodes and edges."""

    beside = "edges with their nodes, and nodes' sets with their edges"

    repairs = frozenset({"edge-set.wrong", "edge-set.twice", "edge-set.incomplete", "edge-set.count", "edge.orphan"})

    def __init__(self, table: Table) -> None:
        self.table = table
        self.words = {model_of(edge).type for edge in edge_types(table)}
        self.nodes: set[int] = set()
        """The nodes of all pages, as hashes of their keys."""
        self.missing: set[int] = set()
        """The targets of edges that are not among these."""
        self.read: set[str] = set()
        """The nodes that were compared with all of their edges: what other pages have of these is known."""
        self.met = 0

    async def page_findings(self, port: Port, items: Sequence[Item]) -> list[Finding]:
        self.note(items)
        return await self.findings(port, await self._suspects(port, items))

    def note(self, items: Sequence[Item]) -> None:
        """Note the nodes of a page, and the targets of its edges that no page had so far."""
        self.nodes.update(hash(place[0]) for place in map(place_of, items) if place[0] == place[1])
        self.missing.update(t for item in items if (t := self.target_in(item)) and t not in self.nodes)
        self.missing -= self.nodes

    def target_in(self, item: Item) -> int:
        """The hash of the node that an edge leads to; 0 for any other item."""
        word, target = type_in(self.table, item), place_of(item)[1]
        return hash(target[len(word) + 1 :]) if word in self.words else 0

    async def _suspects(self, port: Port, items: Sequence[Item]) -> list[Item]:
        """The items that the page alone doesn't show to be sound, but for the targets of edges."""
        by_source: dict[str, tuple[Edges, list[Item]]] = {}
        nodes = {place_of(item)[0]: item for item in items if place_of(item)[0] == place_of(item)[1]}
        for item in items:
            source = place_of(item)[0]
            if source not in self.read and (self.target_in(item) or source in nodes):
                edges, own = by_source.setdefault(source, (Edges(), []))
                own.append(item)
                edges.add(entity_at(self.table, item))
        away = await items_at(port, self.table, [(source, source) for source in by_source if source not in nodes])
        suspects: list[Item] = []
        for source, (edges, own) in by_source.items():
            node = nodes.get(source) or away.get((source, source))
            if node is None:
                suspects += own
            elif TOMBSTONE in node:
                suspects += [item for item in own if item is node]
            elif not _agrees(self.table, node, edges, is_whole=source in nodes):
                suspects.append(node)
                self.read.add(source)
        return suspects

    async def findings(self, port: Port, items: Sequence[Item]) -> list[Finding]:
        """One request for each node, for its edges, and one unit for each end of an edge."""
        entities = [(item, entity_at(self.table, item)) for item in items]
        ends = await items_at(port, self.table, {end for _, entity in entities for end in ends_of(entity)})
        edges = await edges_of(port, self.table, [place_of(i)[0] for i, entity in entities if isinstance(entity, Node)])
        findings: list[Finding] = []
        for item, entity in entities:
            if isinstance(entity, Node):
                findings += _of_node(self.table, entity, item, edges[place_of(item)[0]])
            else:
                findings += self._of_other(item, entity, ends)
        return findings

    def counted(self, items: Sequence[Item]) -> Mapping[str, int]:
        self.met += len(items)
        counts = Counter({_MET: len(items)})
        for item in items:
            if indexes := [index for index in self.table.definition.indexes if index in item]:
                bucket, digest = _digest(item)
                for index in indexes:
                    counts[_items_in(index)] += 1
                    counts[f"{_items_in(index)}, {bucket}"] += digest
        return counts

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


class EdgeTargets(Pass):
    """The targets of all edges. If the pass over all items did not meet one, the table is read again."""

    name = "targets of edges"
    sampling = "none"
    repairs = frozenset({"edge.orphan"})

    def __init__(self, check: GraphCheck) -> None:
        self.check, self.table = check, check.table

    def segments(self, at_once: int) -> int:
        return 1

    async def read(self, port: Port, segments: Sequence[ScanSegment]) -> list[PageRead]:
        return [PageRead((), None) for _ in segments]

    async def end(self, port: Port, counts: Mapping[str, int]) -> list[Finding]:
        if counts.get(_MET, 0) != self.check.met:  # another process began this check
            async for items in pages(port, self.table):
                self.check.note(items)
        findings: list[Finding] = []
        if self.check.missing:
            edges = ItemPass(self.table, [self.check])
            edges.is_sample = True
            async for items in pages(port, self.table):
                findings += await edges.findings(
                    port, [i for i in items if self.check.target_in(i) in self.check.missing]
                )
        return findings


class IndexRows(Pass):
    """The rows of one index, compared with their items, and all of them counted."""

    def __init__(self, table: Table, index: str) -> None:
        self.table, self.index, self.name = table, index, f"index {index}"
        self.not_sampled = f"whether {index} has a row for each item"

    async def read(self, port: Port, segments: Sequence[ScanSegment]) -> list[PageRead]:
        return await scan_pages(port, self.table, segments, self.index)

    def read_units(self, bytes: int, of_indexes: Mapping[str, int]) -> float:
        return of_indexes.get(self.index, 0) / READ_BYTES / 2

    async def findings(self, port: Port, items: Sequence[Item]) -> list[Finding]:
        """The findings in a sample; those in a whole index are returned at its end."""
        return await self._compared(port, items) if self.is_sample else []

    async def _compared(self, port: Port, items: Sequence[Item]) -> list[Finding]:
        """Rows that differ from their items when both are read again, after the usual lag of an index."""
        differing = await self._differing(port, items)
        if differing and port.traits.index_lag_seconds:
            await pause_for_index(port)
        again = [row for rows in [await self._read_again(port, row) for row in differing] for row in rows]
        what = f"its row in {self.index} is another than the edge{_unsure(port)}"
        return [Finding("edge.index", what, "", place_of(row)) for row in await self._differing(port, again)]

    def counted(self, items: Sequence[Item]) -> Mapping[str, int]:
        counts = Counter({_rows_in(self.index): len(items)})
        for bucket, digest in map(_digest, items):
            counts[f"{_rows_in(self.index)}, {bucket}"] += digest
        return counts

    async def end(self, port: Port, counts: Mapping[str, int]) -> list[Finding]:
        rows, items = _rows_in(self.index), _items_in(self.index)
        other = {n for n in range(_BUCKETS) if counts.get(f"{rows}, {n}", 0) != counts.get(f"{items}, {n}", 0)}
        findings: list[Finding] = []
        if other:
            async for page in pages(port, self.table, self.index):
                findings += await self._compared(port, [row for row in page if _digest(row)[0] in other])
        if counts.get(rows, 0) != counts.get(items, 0):
            what = f"{self.index} has {counts.get(rows, 0)} rows for {counts.get(items, 0)} items{_unsure(port)}"
            findings.append(Finding("edge.index", what, "", (self.table.name, self.index)))
        return findings

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


def _digest(item: Item) -> tuple[int, int]:
    """The bucket of an item or a row, and its number there: equal ones have the same."""
    number = int.from_bytes(blake2b(msgspec.json.encode(item, order="sorted"), digest_size=5).digest())
    return number % _BUCKETS, number


def _agrees(table: Table, node: Item, edges: Edges, *, is_whole: bool) -> bool:
    """Whether a node agrees with those of its edges that are on a page: with all of them, or where it lies on another
    page, with each."""
    entity = entity_at(table, node)
    if not isinstance(entity, Node):
        return True  # the records' own check reports it
    if is_whole:
        return not _of_node(table, entity, node, edges)
    real = {member for members in edges.listed.values() for member in members}
    return real <= members_in(node) and edges.unlisted <= set(node.get(OVERFLOW, {}).get("SS", ()))


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
    findings: list[Finding] = []
    stated = members_in(item)
    real = {member for members in edges.listed.values() for member in members}
    if stated != real:
        what = f"{len(stated - real)} members have no edge, {len(real - stated)} listed edges are not members"
        findings.append(Finding("edge-set.wrong", what, kind, place))
    if len(texts_of(node)) != len(stated):
        findings.append(Finding("edge-set.twice", "a member stands in both halves", kind, place))
    if missing := edges.unlisted - set(item.get(OVERFLOW, {}).get("SS", ())):
        findings.append(Finding("edge-set.incomplete", f"it does not say that {min(missing)} overflowed", kind, place))
    for edge in edge_types(table):
        if edge.__mirrors__ is not None and count_in(item, edge) != len(edges.listed.get(model_of(edge).type, ())):
            findings.append(
                Finding("edge-set.count", f"{counter_of(edge)} is not the number of its edges", kind, place)
            )
    return findings
