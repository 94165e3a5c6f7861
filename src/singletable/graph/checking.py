"""Check: the invariants of a graph, as a flow over a whole table. It reads everything and changes nothing.

* a node's edge set and counters equal its listed edges, and are complete unless the node says `overflow`
* no edge without both its nodes, nodes that are being deleted apart
* the rows of every index equal the edges (once the indexes have caught up)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from typing import Any

from singletable.errors import SingletableError
from singletable.graph.edge_writes import counter_of, listing_of
from singletable.graph.edges import GraphTable, is_edge
from singletable.graph.members import texts_of
from singletable.graph.nodes import OVERFLOW, Node
from singletable.operations import MAX_BATCH_GET, BatchGetItem, Item, Key, Query, Scan, Selection
from singletable.operations.answers import RAW
from singletable.records.checking import Finding
from singletable.records.models import model_for, model_of
from singletable.wire.port import Port

_PAGE = 500

_Place = tuple[str, str]


async def check_graph(port: Port, table: GraphTable) -> list[Finding]:
    """Everything of a graph that is not as it should be; nothing for a sound one."""
    found: list[Finding] = []
    rows: Counter[str] = Counter()
    async for items in _pages(port, table, None):
        ends = await _fetch(port, table, {end for item in items for end in _ends(table, item)})
        for item in items:
            found += await _findings(port, table, item, ends)
            rows.update(index for index in table.definition.indexes if index in item)
    for index in table.definition.indexes:
        found += await _of_index(port, table, index, rows[index])
    return found


async def _pages(port: Port, table: GraphTable, index: str | None) -> AsyncIterator[Sequence[Item]]:
    after: Key | None = None
    while True:
        selection = Selection(index, limit=_PAGE, after=after, consistent=index is None)
        page = await port.send(Scan(table.name, selection, RAW))
        yield page.items
        after = page.after
        if after is None:
            return


async def _findings(port: Port, table: GraphTable, item: Item, ends: Mapping[_Place, Item]) -> list[Finding]:
    entity = _entity(table, item)
    if isinstance(entity, Node):
        return list(await _of_node(port, table, entity, item))
    word, place = item[table.definition.type_attribute]["S"], (item["source"]["S"], item["target"]["S"])
    return [
        Finding("edge.orphan", "a node that it joins is gone", word, place)
        for end in _ends(table, item)
        if end not in ends
    ]


def _entity(table: GraphTable, item: Item) -> Any:
    """None for what is being deleted, and for what can't be read: the records' own check names that."""
    model = table.model_of_type(item.get(table.definition.type_attribute, {}).get("S", ""))
    try:
        return None if model is None else model.load(item)
    except SingletableError:
        return None


def _ends(table: GraphTable, item: Item) -> list[_Place]:
    edge = _entity(table, item)
    return [(end.partition, end.low) for end in (edge.source, edge.target)] if is_edge(edge) else []


async def _fetch(port: Port, table: GraphTable, places: Iterable[_Place]) -> Mapping[_Place, Item]:
    """Items by their keys, 100 a request."""
    rest: list[Key] = [{"source": {"S": source}, "target": {"S": target}} for source, target in places]
    found: dict[_Place, Item] = {}
    while rest:
        answer = await port.send(BatchGetItem(table.name, rest[:MAX_BATCH_GET], RAW, consistent=True))
        found |= {(item["source"]["S"], item["target"]["S"]): item for item in answer.items}
        rest = [*rest[MAX_BATCH_GET:], *answer.rest]
    return found


async def _of_index(port: Port, table: GraphTable, index: str, wanted: int) -> list[Finding]:
    """Each row of an index is its item, and there are as many rows as items that are in it."""
    found: list[Finding] = []
    count = 0
    async for rows in _pages(port, table, index):
        count += len(rows)
        items = await _fetch(port, table, {(row["source"]["S"], row["target"]["S"]) for row in rows})
        for row in rows:
            place = row["source"]["S"], row["target"]["S"]
            if items.get(place) != row:
                found.append(Finding("edge.index", f"its row in {index} is another than the edge", "", place))
    if count != wanted:
        what = f"{index} has {count} rows for {wanted} items"
        found.append(Finding("edge.index", what, "", (table.name, index)))
    return found


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
