"""Check: the invariants of a graph, as a flow over a whole table. It reads everything and changes nothing.

* a node's edge set and counters equal its listed edges, and are complete unless the node says `overflow`
* no edge without both its nodes, nodes that are being deleted apart
* each edge's rows in the indexes equal the edge (as far as the indexes have caught up)
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from singletable.errors import SingletableError
from singletable.expressions import Expressions
from singletable.graph.edges import Edge, GraphTable, is_edge
from singletable.graph.linking import counter_of, listing_of
from singletable.graph.members import texts_of
from singletable.graph.nodes import OVERFLOW, TOMBSTONE, Node
from singletable.graph.reading import incoming
from singletable.operations import GetItem, Item, Key, Query, Scan, Selection
from singletable.operations.answers import RAW
from singletable.records.checking import Finding
from singletable.records.models import model_for, model_of
from singletable.wire.port import Port

_PAGE = 500


async def check_graph(port: Port, table: GraphTable) -> list[Finding]:
    """Everything of a graph that is not as it should be; nothing for a sound one."""
    found: list[Finding] = []
    after: Key | None = None
    while True:
        page = await port.send(Scan(table.name, Selection(limit=_PAGE, after=after, consistent=True), RAW))
        for item in page.items:
            found += await _findings(port, table, item)
        after = page.after
        if after is None:
            return found


async def _findings(port: Port, table: GraphTable, item: Item) -> list[Finding]:
    model = table.model_of_type(item.get(table.definition.type_attribute, {}).get("S", ""))
    if model is None or TOMBSTONE in item:
        return []
    try:
        entity: Any = model.load(item)
    except SingletableError:
        return []  # the records' own check names it
    if isinstance(entity, Node):
        return list(await _of_node(port, table, entity, item))
    return list(await _of_edge(port, table, entity)) if is_edge(entity) else []


async def _of_node(port: Port, table: GraphTable, node: Node, item: Item) -> Iterator[Finding]:
    """Its sets and counters against the edges in its partition."""
    edges = await _partition(port, table, item["source"]["S"])
    listed: dict[str, set[str]] = {}
    unlisted: set[str] = set()
    for edge in edges:
        model = table.model_of_type(edge.get(table.definition.type_attribute, {}).get("S", ""))
        loaded: Any = model.load(edge) if model is not None else None
        if not is_edge(loaded) or loaded.__mirrors__ is None:
            continue
        listing, word = listing_of(loaded), model_for(loaded).type
        if listing.listed:
            listed.setdefault(word, set()).add(f"{listing.attribute} {listing.member}")
        else:
            unlisted.add(word)
    return iter(_differences(table, node, item, listed, unlisted))


def _differences(
    table: GraphTable, node: Node, item: Item, listed: dict[str, set[str]], unlisted: set[str]
) -> list[Finding]:
    place = (item["source"]["S"], item["target"]["S"])
    kind = model_of(type(node)).type
    found: list[Finding] = []
    said = {f"{name} {m}" for name in ("edges0", "edges1") for m in item.get(name, {}).get("SS", ())}
    real = {member for members in listed.values() for member in members}
    if said != real:
        what = f"{len(said - real)} members have no edge, {len(real - said)} listed edges are no members"
        found.append(Finding("edge-set.wrong", what, kind, place))
    if len(texts_of(node)) != len(said):
        found.append(Finding("edge-set.twice", "a member stands in both halves", kind, place))
    if missing := unlisted - set(item.get(OVERFLOW, {}).get("SS", ())):
        found.append(Finding("edge-set.incomplete", f"it does not say that {min(missing)} overflowed", kind, place))
    for edge in table.edge_types():
        counted = int(item.get(counter_of(edge), {"N": "0"})["N"])
        if edge.__mirrors__ is not None and counted != len(listed.get(model_of(edge).type, ())):
            found.append(Finding("edge-set.count", f"{counter_of(edge)} is not the number of its edges", kind, place))
    return found


async def _of_edge(port: Port, table: GraphTable, edge: Edge[Any, Any]) -> Iterator[Finding]:
    model = model_of(type(edge))
    key = model.key_of(edge)
    place = (key.partition, key.low)
    found: list[Finding] = []
    for end in (edge.source, edge.target):
        node = await port.send(GetItem(table.name, model_of(end.kinds[0]).key_item(end), RAW, consistent=True))
        if node is None:
            found.append(Finding("edge.orphan", f"its {end.kinds[0].__name__} is gone", model.type, place))
    if not await _in_index(port, table, edge):
        found.append(Finding("edge.unindexed", "its target's index does not have it", model.type, place))
    return iter(found)


async def _in_index(port: Port, table: GraphTable, edge: Edge[Any, Any]) -> bool:
    query = incoming(type(edge), edge.target)
    item = model_of(type(edge)).item(edge)
    partition, sort = table.definition.index_keys(query.index)
    expressions = Expressions()
    text = f"{expressions.name(partition)} = {expressions.value(item[partition])}"
    text += f" AND {expressions.name(sort)} = {expressions.value(item[sort])}"
    after: Key | None = None
    while True:
        selection = Selection(query.index, names=expressions.names, values=expressions.values, after=after)
        page = await port.send(Query(table.name, text, selection, RAW))
        if any(row["source"] == item["source"] for row in page.items):
            return True
        after = page.after
        if after is None:
            return False


async def _partition(port: Port, table: GraphTable, source: str) -> list[Item]:
    found: list[Item] = []
    after: Key | None = None
    while True:
        selection = Selection(names={"#0": "source"}, values={":0": {"S": source}}, after=after, consistent=True)
        page = await port.send(Query(table.name, "#0 = :0", selection, RAW))
        found += [item for item in page.items if item["source"] != item["target"]]
        after = page.after
        if after is None:
            return found
