"""The graphs of a program: their classes, and some nodes of each to begin with."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from singletable.bounded_scan import sampled
from singletable.flow import Port
from singletable.foundation import CursorSeal, Table, class_summary
from singletable.graph.edges import edge_types
from singletable.graph.inspect.ends import NodeEnd, Reads, all_classes, as_node, node_kinds
from singletable.graph.inspect.node import expansion
from singletable.graph.table import GraphTable

MOST_NODES = 25


class NodeClass(Struct, frozen=True):
    """A declared class of nodes."""

    name: str
    word: str
    about: str
    requests: int
    """The requests to show one of its nodes."""


class EdgeClass(Struct, frozen=True):
    """A declared class of edges."""

    name: str
    about: str
    sources: tuple[str, ...]
    targets: tuple[str, ...]
    mirrors: tuple[str, ...] | None
    """The attributes that the edge set holds; None for a type that is kept out of it."""


class GraphInfo(Struct, frozen=True):
    """A graph's classes, and some of its nodes."""

    table: str
    nodes: tuple[NodeClass, ...]
    edges: tuple[EdgeClass, ...]
    some: tuple[NodeEnd, ...]
    cursor: str | None


def graphs_of(tables: Sequence[Table]) -> list[GraphTable]:
    """The tables that hold a graph."""
    return [table for table in tables if isinstance(table, GraphTable) and node_kinds(table)]


async def inspect_graph(
    port: Port,
    seal: CursorSeal,
    table: Table,
    *,
    of: str = "",
    after: str | None = None,
    personal: bool = False,
    reads: Reads = all_classes,
) -> GraphInfo:
    """A graph's classes and up to MOST_NODES of its nodes, of one class or of all, from a cursor on.

    The requests and units of one part of a scan: `scans.sampled`. InvalidCursor.
    """
    kinds = tuple(kind for kind in node_kinds(table) if reads(kind))
    words = [kind.__word__ for kind in kinds if of in ("", kind.__name__)] or [kind.__word__ for kind in kinds]
    sample = await sampled(port, seal, table, words, after, MOST_NODES)
    nodes = [as_node(table, item, personal=personal) for item in sample.items]
    return GraphInfo(
        table.name,
        tuple(NodeClass(kind.__name__, kind.__word__, class_summary(kind), expansion(kind)) for kind in kinds),
        tuple(
            EdgeClass(
                edge.__name__,
                class_summary(edge),
                tuple(kind.__name__ for kind in edge.__sources__ if reads(kind)),
                tuple(kind.__name__ for kind in edge.__targets__ if reads(kind)),
                edge.__mirrors__,
            )
            for edge in edge_types(table)
            if reads(edge)
        ),
        tuple(node for node in nodes if node is not None),
        sample.cursor,
    )
