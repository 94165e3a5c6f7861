"""Flows that read a graph: a page of nodes with their neighbours, walks, counts.

1  the edges of the page, through an index or the source's partition
2  their nodes, one batch
3  the neighbours that the nodes' edge sets name, each once, in concurrent batches of a hundred
4  for each further level, and with `complete=True` for nodes whose set has overflowed: one more round trip

A step that sends more than 16 requests takes one round trip for each 16 of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from singletable.errors import InvalidRequest
from singletable.flow import Port, pages_side_by_side
from singletable.foundation import (
    TOP,
    CursorSeal,
    KeyOf,
    OnUnreadable,
    Table,
    get_at,
    get_many,
    model_of,
    page,
    placed_reader_of,
    prepare_query,
    read_all,
    readable,
)
from singletable.graph.edges import Edge, inverse_of
from singletable.graph.members import Member, MemberSelector, has_more, is_selected, knows_edges, member_of, members_of
from singletable.graph.nodes import Node, node_key, stored_key
from singletable.graph.queries import EdgeQuery, Linked, NodeQuery, edges_from
from singletable.graph.rows import Neighbours, NodePage, Row

F = TypeVar("F", bound=Node)
N = TypeVar("N", bound=Node)

MAX_WALKED = 1000


async def page_of_nodes(
    port: Port,
    query: NodeQuery[N],
    limit: int,
    after: str | None,
    seal: CursorSeal,
    principal: str | None = None,
    unreadable: OnUnreadable = None,
) -> NodePage[N]:
    """A page of nodes with their neighbours. Three round trips up to 100 nodes; one more for each further level.

    Missing nodes are left out and counted: a page is never refilled. So are the ones that are reported as unreadable.
    """
    edges = await page(port, query.edges, limit, after, seal, principal, unreadable=unreadable)
    rows = await rows_of(port, edges.items, query, unreadable)
    return NodePage(rows, edges.position, len(edges) - len(rows))


async def rows_of(
    port: Port, edges: Sequence[Any], query: NodeQuery[N], unreadable: OnUnreadable = None
) -> list[Row[N]]:
    keys: list[KeyOf[Any]] = [getattr(edge, query.end) for edge in edges]
    nodes = await _nodes(port, {key.partition: key.kinds[0] for key in keys}, unreadable)
    starts = [(nodes[key.partition], edge) for key, edge in zip(keys, edges, strict=True) if key.partition in nodes]
    neighbours = await _neighbours(port, [node for node, _ in starts], query.linked, query.complete, unreadable)
    return [Row(node, edge, neighbours[i]) for i, (node, edge) in enumerate(starts)]


async def including(
    port: Port,
    nodes: Sequence[N],
    linked: tuple[Linked[Any], ...],
    complete: bool = False,
    unreadable: OnUnreadable = None,
) -> list[Row[N]]:
    """Nodes that were read before, with their neighbours. One round trip for each level."""
    neighbours = await _neighbours(port, nodes, linked, complete, unreadable)
    return [Row(node, None, neighbours[i]) for i, node in enumerate(nodes)]


async def walk(
    port: Port,
    start: Any,
    via: Sequence[Linked[Any]],
    hops: int,
    limit: int = MAX_WALKED,
    unreadable: OnUnreadable = None,
) -> list[tuple[int, Node]]:
    """Every node within `hops` hops of one, nearest first, each once, with its distance. One round trip for each hop,
    one more where an edge set is incomplete.

    Raises InvalidRequest past `limit` nodes.
    """
    key = node_key(start)
    nodes: list[Any] = await get_many(port, [key], unreadable=unreadable)
    reached: dict[str, tuple[int, Node]] = {node_key(n).partition: (0, n) for n in nodes}
    for hop in range(1, hops + 1):
        selected = await _members(port, nodes, tuple(via), True, unreadable)
        members = [m for by_spec in selected for found_by in by_spec.values() for m in found_by]
        wanted = {m.text: m.kind for m in members if m.text not in reached}
        if len(reached) + len(wanted) > limit:
            raise InvalidRequest(
                f"a walk of more than {limit} nodes", operation="walk", hint="Fewer hops, or a higher limit."
            )
        if not wanted:
            break
        there = await _nodes(port, wanted, unreadable)
        nodes = list(there.values())
        reached |= {text: (hop, node) for text, node in there.items()}
    return list(reached.values())


async def count_edges(port: Port, source: Any, edge: type[Edge[Any, Any]], unreadable: OnUnreadable = None) -> int:
    """Count a node's edges of a type. No request for a node whose edge set is complete; otherwise the edges are
    read."""
    if isinstance(source, Node) and knows_edges(source) and not has_more(source, edge):
        return sum(1 for _ in members_of(source, [edge]))
    return len(await read_all(port, edge.of(source), 10_000, unreadable))


def neighbours_of(node: Node, linked: Linked[F]) -> list[KeyOf[F]]:
    """The keys of a node's neighbours, from its edge set. No request."""
    return [member.target for member in MemberSelector((linked,)).of(node)[linked]]


def incoming(edge: type[Edge[Any, Any]], target: Any) -> EdgeQuery[Any]:
    """Every edge of a type that points to a node, through the index that covers all of them."""
    captured = inverse_of(edge)
    partition = captured.templates[0].write({"target": node_key(target)})
    return EdgeQuery((edge,), captured, partition, "", TOP, 0)


# --- neighbours -------------------------------------------------------------------------------------------------------
async def _neighbours(
    port: Port, nodes: Sequence[Node], linked: tuple[Linked[Any], ...], complete: bool, unreadable: OnUnreadable
) -> list[Neighbours]:
    """The neighbours of each node, for each spec; a level takes one round trip."""
    if not linked or not nodes:
        return [Neighbours({each: [] for each in linked}, {}, {}) for _ in nodes]
    selected = await _members(port, nodes, linked, complete, unreadable)
    wanted = {m.text: m.meaning.kind for by_spec in selected for ms in by_spec.values() for m in ms}
    there = await _nodes(port, wanted, unreadable)
    below = await _levels(port, linked, selected, there, complete, unreadable)
    return [Neighbours(by_spec, there, below, complete) for by_spec in selected]


async def _members(
    port: Port, nodes: Sequence[Node], linked: tuple[Linked[Any], ...], complete: bool, unreadable: OnUnreadable
) -> list[dict[Linked[Any], list[Member]]]:
    """The members of each node, for each spec: from its edge set and, with `complete`, from its edges."""
    selector = MemberSelector(linked)
    selected = [selector.of(node) for node in nodes]
    if complete:
        await _complete(port, nodes, linked, selected, unreadable)
    return selected


async def _levels(
    port: Port,
    linked: tuple[Linked[Any], ...],
    selected: Sequence[Mapping[Linked[Any], Sequence[Member]]],
    there: Mapping[str, Node],
    complete: bool,
    unreadable: OnUnreadable,
) -> dict[tuple[Linked[Any], str], Neighbours]:
    """The neighbours of neighbours. All specs of a level are read together, so that a level is one round trip."""
    inner = tuple(dict.fromkeys(deeper for spec in linked for deeper in spec.within))
    if not inner:
        return {}
    texts = [
        (spec, m.text)
        for by_spec in selected
        for spec, members in by_spec.items()
        for m in members
        if spec.within and m.text in there
    ]
    unique = list(dict.fromkeys(texts))
    found = await _neighbours(port, [there[text] for _, text in unique], inner, complete, unreadable)
    return {place: found[i].only(place[0].within) for i, place in enumerate(unique)}


async def _complete(
    port: Port,
    nodes: Sequence[Node],
    linked: tuple[Linked[Any], ...],
    selected: list[dict[Linked[Any], list[Member]]],
    unreadable: OnUnreadable,
) -> None:
    """Read the edges themselves if a set is incomplete. The queries are sent concurrently."""
    places = [(i, spec) for i, node in enumerate(nodes) for spec in linked if has_more(node, spec.edge)]
    now = port.now()
    prepared = [prepare_query(edges_from(spec.edge, nodes[i], spec.kind), now, unreadable) for i, spec in places]
    edges_of: list[list[Any]] = [[] for _ in places]
    async for n, answer in pages_side_by_side(port, {n: each.operation for n, each in enumerate(prepared)}):
        edges_of[n] += readable(answer.items, unreadable, prepared[n].shown)
    for (i, spec), edges in zip(places, edges_of, strict=True):
        members = [member_of(edge) for edge in edges]
        selected[i][spec] = [member for member in members if is_selected(spec, member.meaning)]


async def _nodes(port: Port, wanted: Mapping[str, type[Node]], unreadable: OnUnreadable) -> dict[str, Any]:
    """The nodes of some key texts, by text. One round trip for each table."""
    by_table: dict[Table, list[str]] = {}
    for text, kind in wanted.items():
        by_table.setdefault(model_of(kind).table, []).append(text)
    node_at: dict[str, Any] = {}
    for table, texts in by_table.items():
        kinds = tuple(dict.fromkeys([wanted[text] for text in texts]))
        reader = placed_reader_of(kinds, tells=unreadable is not None)
        places = [(text, text) for text in texts]
        there = await get_at(port, table, places, reader, lambda place: stored_key(wanted[place[0]], place[0]))
        node_at |= {place[0]: node for place, node in there}
        readable([node for _, node in there], unreadable, "BatchGetItem")
    return {text: node_at[text] for text, kind in wanted.items() if node_at.get(text).__class__ is kind}
