"""Flows that read a graph: a page of nodes with their neighbours, walks, counts.

1  the edges of the page, through an index or the source's partition
2  their nodes, one batch
3  the neighbours that the nodes' edge sets name, each once, one batch for each hundred, side by side
4  for each level below, and for nodes whose set overflowed with `complete=True`: one round trip more
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Generic, TypeVar, overload

from msgspec import Struct

from singletable.errors import InvalidRequest
from singletable.graph.edges import Edge, inverse_of
from singletable.graph.members import Member, MemberForm, Tail, form_of, has_more, knows_edges, members_of, texts_of
from singletable.graph.nodes import Node, node_key, stored_key
from singletable.graph.queries import EdgeQuery, Linked, NodeQuery
from singletable.operations import Found
from singletable.records.batches import get_placed
from singletable.records.cursors import CursorSeal
from singletable.records.keytext import TOP
from singletable.records.models import model_of
from singletable.records.patterns import KeyOf
from singletable.records.reading import Page, Position, everything, page
from singletable.records.selection import ask
from singletable.wire.port import Port

F = TypeVar("F", bound=Node)
N = TypeVar("N", bound=Node)
N_co = TypeVar("N_co", bound=Node, covariant=True)

MAX_WALKED = 1000


_NOTHING: Mapping[Any, Any] = MappingProxyType({})


class Row(Struct, Generic[N_co], frozen=True, gc=False):
    """One node of a page, the edge that led to it, and those of its neighbours that were asked for."""

    node: N_co
    edge: Any = None
    neighbours: Mapping[Linked[Any], Sequence[Row[Any]]] = _NOTHING

    def __repr__(self) -> str:
        return f"Row(node={self.node!r}, edge={self.edge!r})"

    @overload
    def linked(self, of: Linked[F]) -> list[F]: ...
    @overload
    def linked(self, of: type[F]) -> list[F]: ...
    def linked(self, of: Any) -> list[Any]:
        """The neighbours of a class, or those of one `including(...)`; each once."""
        nodes: list[Any] = [row.node for row in self.rows(of)]
        found: dict[Any, Any] = {}
        for node in nodes:
            found.setdefault((node.__class__, node.id), node)
        return list(found.values())

    def rows(self, of: type[F] | Linked[F]) -> list[Row[F]]:
        """The same, as rows: with the mirrored attributes as `edge`, and their own neighbours."""
        if isinstance(of, Linked):
            if of not in self.neighbours:
                raise InvalidRequest(f"{of!r} was not asked for", hint="Pass the same value to including().")
            return list(self.neighbours[of])
        return [row for rows in self.neighbours.values() for row in rows if isinstance(row.node, of)]

    def more(self, *edges: type[Edge[Any, Any]]) -> bool:
        """Whether the node has edges of any of these types that its edge set, and so this row, does not show."""
        return has_more(self.node, *edges)


@dataclass(frozen=True)
class NodePage(Page[Row[N_co]]):
    """A page of rows."""

    holes: int = 0
    """Edges of the page whose node was gone when it was read."""


async def page_of_nodes(
    port: Port,
    query: NodeQuery[N],
    limit: int,
    after: str | None,
    seal: CursorSeal,
    principal: str | None = None,
) -> NodePage[N]:
    """A page of nodes with their neighbours. Three round trips up to 100 nodes; one more for each level below.

    Nodes that are gone are left out and counted: a page is never refilled.
    """
    edges = await page(port, query.edges, limit, after, seal, principal)
    rows = await rows_of(port, edges.items, query)
    position: Position | None = edges.position
    return NodePage(rows, position, len(edges) - len(rows))


async def rows_of(port: Port, edges: Sequence[Any], query: NodeQuery[N]) -> list[Row[N]]:
    keys: list[KeyOf[Any]] = [getattr(edge, query.end) for edge in edges]
    nodes = await _nodes(port, {key.partition: key.kinds[0] for key in keys})
    starts = [(nodes[key.partition], edge) for key, edge in zip(keys, edges, strict=True) if key.partition in nodes]
    neighbours = await _neighbours(port, [node for node, _ in starts], query.linked, query.complete)
    return [Row(node, edge, neighbours[i]) for i, (node, edge) in enumerate(starts)]


async def including(
    port: Port, nodes: Sequence[N], linked: tuple[Linked[Any], ...], complete: bool = False
) -> list[Row[N]]:
    """Nodes that were read, with their neighbours: one round trip for each level."""
    neighbours = await _neighbours(port, nodes, linked, complete)
    return [Row(node, None, neighbours[i]) for i, node in enumerate(nodes)]


async def walk(
    port: Port, start: Any, via: Sequence[Linked[Any]], hops: int, limit: int = MAX_WALKED
) -> list[tuple[int, Node]]:
    """Every node within some hops of one, nearest first, each once, with its distance. A round trip a hop, one more
    where an edge set does not hold all.

    InvalidRequest past `limit` nodes.
    """
    key = node_key(start)
    nodes = list((await _nodes(port, {key.partition: key.kinds[0]})).values())
    found: dict[str, tuple[int, Node]] = {node_key(n).partition: (0, n) for n in nodes}
    for hop in range(1, hops + 1):
        chosen = await _members(port, nodes, tuple(via), complete=True)
        members = [m for by_spec in chosen for found_by in by_spec.values() for m in found_by]
        wanted = {m.text: m.kind for m in members if m.text not in found}
        if len(found) + len(wanted) > limit:
            raise InvalidRequest(
                f"a walk of more than {limit} nodes", operation="walk", hint="Fewer hops, or a higher limit."
            )
        if not wanted:
            break
        there = await _nodes(port, wanted)
        nodes = list(there.values())
        found |= {text: (hop, node) for text, node in there.items()}
    return list(found.values())


async def count_edges(port: Port, source: Any, edge: type[Edge[Any, Any]]) -> int:
    """How many edges of a type a node has: from its edge set, for nothing, where a node is given whose set has all;
    else by reading them."""
    if isinstance(source, Node) and knows_edges(source) and not has_more(source, edge):
        return sum(1 for _ in members_of(source, [edge]))
    return len(await everything(port, edge.of(source), max_pages=10_000))


def neighbours_of(node: Node, linked: Linked[F]) -> list[KeyOf[F]]:
    """The keys of a node's neighbours, from its edge set: no request."""
    return [member.target for member in _Chooser((linked,)).of(node)[linked]]


def incoming(edge: type[Edge[Any, Any]], target: Any) -> EdgeQuery[Any]:
    """Every edge of a type that goes to a node, through the index that holds all of them."""
    captured = inverse_of(edge)
    partition = captured.templates[0].write({"target": node_key(target)})
    return EdgeQuery((edge,), captured, partition, "", TOP, 0)


# --- neighbours -------------------------------------------------------------------------------------------------------
_Found = dict[Linked[Any], list[Row[Any]]]


async def _neighbours(
    port: Port, nodes: Sequence[Node], linked: tuple[Linked[Any], ...], complete: bool
) -> list[_Found]:
    """For each node, the rows of each spec; all of one level in one round trip."""
    if not linked or not nodes:
        return [{spec: [] for spec in linked} for _ in nodes]
    chosen = await _members(port, nodes, linked, complete)
    wanted = {m.text: m.kind for by_spec in chosen for ms in by_spec.values() for m in ms}
    there = await _nodes(port, wanted)
    below = await _levels(port, linked, chosen, there, complete)
    return [_rows(by_spec, there, below) for by_spec in chosen]


def _rows(
    chosen: Mapping[Linked[Any], Sequence[Member]],
    there: Mapping[str, Node],
    below: Mapping[tuple[Linked[Any], str], _Found],
) -> _Found:
    """The members of one node whose own nodes are there."""
    if not below:
        return {spec: [Row(there[m.text], m) for m in ms if m.text in there] for spec, ms in chosen.items()}
    return {
        spec: [Row(there[m.text], m, below.get((spec, m.text), _NOTHING)) for m in ms if m.text in there]
        for spec, ms in chosen.items()
    }


async def _members(
    port: Port, nodes: Sequence[Node], linked: tuple[Linked[Any], ...], complete: bool
) -> list[dict[Linked[Any], list[Member]]]:
    """For each node, the members of each spec: from its edge set, and from its edges where that is asked for."""
    chooser = _Chooser(linked)
    chosen = [chooser.of(node) for node in nodes]
    if complete:
        await _complete(port, nodes, linked, chosen)
    return chosen


async def _levels(
    port: Port,
    linked: tuple[Linked[Any], ...],
    chosen: Sequence[Mapping[Linked[Any], Sequence[Member]]],
    there: Mapping[str, Node],
    complete: bool,
) -> dict[tuple[Linked[Any], str], _Found]:
    """The neighbours of neighbours: the specs of a level together, so that a level is one round trip."""
    inner = tuple(dict.fromkeys(deeper for spec in linked for deeper in spec.within))
    if not inner:
        return {}
    texts = [
        (spec, m.text)
        for by_spec in chosen
        for spec, members in by_spec.items()
        for m in members
        if spec.within and m.text in there
    ]
    unique = list(dict.fromkeys(texts))
    rows = await _neighbours(port, [there[text] for _, text in unique], inner, complete)
    return {place: {s: rows[i][s] for s in place[0].within} for i, place in enumerate(unique)}


async def _complete(
    port: Port,
    nodes: Sequence[Node],
    linked: tuple[Linked[Any], ...],
    chosen: list[dict[Linked[Any], list[Member]]],
) -> None:
    """Read the edges themselves where a set does not hold them all: their queries go side by side."""
    places = [(i, spec) for i, node in enumerate(nodes) for spec in linked if has_more(node, spec.edge)]
    asked = [ask(spec.edge.of(nodes[i], spec.kind), port.now()) for i, spec in places]
    after: list[Any] = [None] * len(places)
    found: list[list[Any]] = [[] for _ in places]
    waiting: list[int] = list(range(len(places)))
    while waiting:
        pages: list[Found[Any]] = await port.send_all([asked[w].operation(after[w], None) for w in waiting])
        for w, got in zip(waiting, pages, strict=True):
            found[w] += got.items
            after[w] = got.after
        waiting = [w for w in waiting if after[w] is not None]
    for (i, spec), edges in zip(places, found, strict=True):
        chosen[i][spec] = _passing(spec, [_as_member(edge) for edge in edges])


def _as_member(edge: Edge[Any, Any]) -> Member:
    values = {name: getattr(edge, name) for name in model_of(type(edge)).by_name if not name.startswith("_")}
    target: KeyOf[Any] = edge.target
    return Member(type(edge), target.kinds[0], target.partition, values)


class _Chooser:
    """Lays members with the specs that ask for them. What a tail means, and who takes it, is found out once: a page has
    hundreds of members, and few tails."""

    def __init__(self, linked: Sequence[Linked[Any]]) -> None:
        self._linked = linked
        edges = dict.fromkeys(spec.edge for spec in linked)
        self._forms = [(edge, form_of(edge), dict[Tail, _Takers]()) for edge in edges]

    def of(self, node: Node) -> dict[Linked[Any], list[Member]]:
        """A node's members by spec, in the order of their texts."""
        chosen: list[list[Member]] = [[] for _ in self._linked]
        texts = sorted(texts_of(node))
        for edge, form, known in self._forms:
            for parts in form.parts(texts):
                kind, values, takers = known.get(parts[1:]) or self._judge(edge, form, known, parts[1:])
                for taker in takers:
                    chosen[taker].append(Member(edge, kind, parts[0], values))
        return dict(zip(self._linked, chosen, strict=True))

    def _judge(self, edge: type[Edge[Any, Any]], form: MemberForm, known: dict[Tail, _Takers], tail: Tail) -> _Takers:
        kind, values = form.meaning(tail)
        takers = [
            number
            for number, spec in enumerate(self._linked)
            if spec.edge is edge and spec.kind is kind and all(test(values) for test in spec.tests)
        ]
        known[tail] = kind, values, takers
        return known[tail]


_Takers = tuple[type[Node], Mapping[str, Any], list[int]]
"""What a tail means, and the numbers of the specs that ask for such members."""


def _passing(linked: Linked[Any], members: list[Member]) -> list[Member]:
    for test in linked.tests:
        members = [member for member in members if test(member.values)]
    return members


async def _nodes(port: Port, wanted: Mapping[str, type[Node]]) -> dict[str, Any]:
    """The nodes under key texts, each of a class; one round trip, none for none."""
    if not wanted:
        return {}
    places = [(text, text) for text in wanted]
    kinds = tuple(dict.fromkeys(wanted.values()))
    found = await get_placed(port, kinds, places, lambda place: stored_key(wanted[place[0]], place[0]))
    nodes = [(place[0], found.get(place)) for place in places]
    return {text: node for text, node in nodes if node.__class__ is wanted[text]}
