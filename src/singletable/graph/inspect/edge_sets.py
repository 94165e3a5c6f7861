"""Edge sets compared with edges: the content of a node's set, and its disagreements with the edges of a page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal

from msgspec import Struct

from singletable.foundation import Table, entity_at, model_for, model_of, place_in
from singletable.graph.edge_set_writes import CAP
from singletable.graph.edge_writes import listing_of
from singletable.graph.edges import Edge, edge_types, is_edge
from singletable.graph.full_scan import count_in
from singletable.graph.members import form_of
from singletable.graph.nodes import EDGE_SETS, OVERFLOW, Node
from singletable.operations import Item, Key

AnyEdge = type[Edge[Any, Any]]
Kept = Literal["listed", "unlisted", "left out", "missing", "unknown"]
"""Whether the source's edge set has an edge: it does; the set was full; the type is kept out of sets; it should and
does not; not known, as for an edge that comes from another node."""


class EdgeSet(Struct, frozen=True):
    """A node's edge set, for one type of edges."""

    type: str
    members: int
    counted: int
    """The number by the node's counter."""
    cap: int
    is_kept: bool
    """False for a type that is declared with mirrors=None."""
    has_more: bool
    """The node is marked: it has edges of the type that the set does not list."""


class Disagreement(Struct, frozen=True):
    """An edge set, an edge or a node that does not fit the others, seen in two readings."""

    what: str
    type: str
    other: str
    """The key text of the other node; empty where it is covered."""
    is_member: bool = False
    """Whether the edge set alone has the edge."""


class Reading(Struct, frozen=True):
    """A node's item and a page of its partition's edges, from one reading."""

    item: Item | None
    edges: Sequence[Item]
    begins: str
    """The sort key after which the page begins."""
    after: Key | None


def kept_in(table: Table, reading: Reading, item: Item) -> Kept:
    """Whether the node's edge set has one of its edges."""
    edge = entity_at(table, item)
    if not is_edge(edge) or reading.item is None:
        return "unknown"
    if edge.__mirrors__ is None:
        return "left out"
    listing = listing_of(edge)
    if not listing.listed:
        return "unlisted"
    return "listed" if listing.member in _halves(reading.item).get(listing.attribute, ()) else "missing"


def compare(table: Table, reading: Reading) -> list[Disagreement]:
    """The disagreements between the edges of a page and the members in its range."""
    if reading.item is None:
        return []
    disagreements: list[Disagreement] = []
    for item in reading.edges:
        edge = entity_at(table, item)
        kept = kept_in(table, reading, item)
        if kept == "missing":
            disagreements.append(_disagreement("the edge set does not have this edge", edge))
        elif kept == "unlisted" and model_for(edge).type not in _overflow(reading.item):
            disagreements.append(_disagreement("the edge is not listed, and the node is not marked for it", edge))
    places = {place_in(table, item)[1] for item in reading.edges}
    ends = None if reading.after is None else reading.after[table.definition.key[1]]["S"]
    for edge_type, sort, target in _members(table, reading.item):
        if reading.begins < sort and (ends is None or sort <= ends) and sort not in places:
            what = "the edge set has an edge that is not there"
            disagreements.append(Disagreement(what, edge_type.__name__, target, is_member=True))
    return disagreements


def _disagreement(what: str, edge: Any) -> Disagreement:
    return Disagreement(what, type(edge).__name__, edge.target.partition)


def _members(table: Table, item: Item) -> Iterator[tuple[AnyEdge, str, str]]:
    """The members of a node's set: the edge's class, the edge's sort key, the target's key."""
    texts = sorted({text for half in _halves(item).values() for text in half})
    for edge in edge_types(table):
        for target, *_ in form_of(edge).parts(texts):
            yield edge, f"{model_of(edge).type}-{target}", target


def sets_of(table: Table, kind: type[Node], item: Item | None) -> Iterator[EdgeSet]:
    """The edge set for each type that may go out from the node."""
    if item is None:
        return
    members = [edge for edge, _, _ in _members(table, item)]
    for edge in edge_types(table):
        if kind in edge.__sources__:
            more = model_of(edge).type in _overflow(item)
            kept = edge.__mirrors__ is not None
            yield EdgeSet(edge.__name__, members.count(edge), count_in(item, edge), CAP, kept, more)


def _halves(item: Item) -> dict[str, frozenset[str]]:
    return {name: frozenset(item.get(name, {}).get("SS", ())) for name in EDGE_SETS}


def _overflow(item: Item) -> frozenset[str]:
    return frozenset(item.get(OVERFLOW, {}).get("SS", ()))
