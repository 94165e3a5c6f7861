"""Checks the invariants of a graph. The flow reads the whole table and changes nothing.

* a node's edge set and counters match its listed edges, and are complete unless the node is marked `overflow`
* both nodes of every edge exist
* no deletion of a node is unfinished: edges to such a node may be left, which only a sweep finds
* the rows of every index match the edges; they are read a second time where an index may lag

Items are read one after the other, so concurrent writes may cause false findings.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from singletable.flow.port import Port
from singletable.foundation import Finding, Table, model_for, model_of
from singletable.graph.edge_items import counter_of, listing_of
from singletable.graph.edge_removal import partition_pages
from singletable.graph.edges import edge_types, is_edge
from singletable.graph.full_scan import Place, ends_of, entity_at, fetch, pages, place_of
from singletable.graph.members import texts_of
from singletable.graph.nodes import OVERFLOW, TOMBSTONE, Node
from singletable.operations import Item


async def check_graph(port: Port, table: Table) -> list[Finding]:
    """Findings for everything that violates an invariant; [] for a sound graph."""
    found: list[Finding] = []
    rows: Counter[str] = Counter()
    async for items in pages(port, table):
        ends = await fetch(port, table, {end for item in items for end in ends_of(entity_at(table, item))})
        for item in items:
            found += await _findings(port, table, item, ends)
            rows.update(index for index in table.definition.indexes if index in item)
    for index in table.definition.indexes:
        found += await _of_index(port, table, index, rows[index])
    return found


async def _findings(port: Port, table: Table, item: Item, ends: Mapping[Place, Item]) -> list[Finding]:
    entity, place = entity_at(table, item), place_of(item)
    if isinstance(entity, Node):
        return list(await _of_node(port, table, entity, item))
    word = item.get(table.definition.type_attribute, {}).get("S", "")
    if TOMBSTONE in item and place[0] == place[1]:
        what = "its deletion has not ended: delete_node() takes its edges away, sweep_table() ends it"
        return [Finding("node.deleting", what, word, place)]
    what = "a node that it joins is gone: unlink() it"
    return [Finding("edge.orphan", what, word, place) for end in ends_of(entity) if end not in ends]


async def _of_index(port: Port, table: Table, index: str, wanted: int) -> list[Finding]:
    """The findings of one index. Where it differs and may lag, it is read again after its usual lag."""
    found = await _differing_rows(port, table, index, wanted)
    if found and port.traits.index_lag_seconds:
        await port.sleep(port.traits.index_lag_seconds)
        found = await _differing_rows(port, table, index, wanted)
    return found


async def _differing_rows(port: Port, table: Table, index: str, wanted: int) -> list[Finding]:
    """Each row of an index equals its item, and there is one row for each item that the index covers."""
    unsure = ", or the index has not caught up" if port.traits.index_lag_seconds else ""
    found: list[Finding] = []
    count = 0
    async for rows in pages(port, table, index):
        count += len(rows)
        items = await fetch(port, table, {place_of(row) for row in rows})
        for row in rows:
            if items.get(place_of(row)) != row:
                what = f"its row in {index} is another than the edge{unsure}"
                found.append(Finding("edge.index", what, "", place_of(row)))
    if count != wanted:
        what = f"{index} has {count} rows for {wanted} items{unsure}"
        found.append(Finding("edge.index", what, "", (table.name, index)))
    return found


async def _of_node(port: Port, table: Table, node: Node, item: Item) -> Iterator[Finding]:
    """Compares a node's edge sets and counters with the edges in its partition."""
    items = [one async for several in partition_pages(port, table, item["source"]["S"]) for one in several]
    listed: dict[str, set[str]] = {}
    unlisted: set[str] = set()
    for edge in (entity_at(table, each) for each in items):
        if not is_edge(edge) or edge.__mirrors__ is None:
            continue
        listing, word = listing_of(edge), model_for(edge).type
        if listing.listed:
            listed.setdefault(word, set()).add(f"{listing.attribute} {listing.member}")
        else:
            unlisted.add(word)
    return iter(_differences(table, node, item, listed, unlisted))


def _differences(
    table: Table, node: Node, item: Item, listed: dict[str, set[str]], unlisted: set[str]
) -> list[Finding]:
    place = place_of(item)
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
    for edge in edge_types(table):
        counted = int(item.get(counter_of(edge), {"N": "0"})["N"])
        if edge.__mirrors__ is not None and counted != len(listed.get(model_of(edge).type, ())):
            found.append(Finding("edge-set.count", f"{counter_of(edge)} is not the number of its edges", kind, place))
    return found
