"""A graph: its classes and some nodes; and a node with its neighbours, its edge set and its edges."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from singletable.errors import NotFound
from singletable.foundation import Model, Table
from singletable.graph import Edge, Node
from singletable.graph.inspect import (
    GraphInfo,
    NodeInfo,
    edge_types,
    graphs_of,
    inspect_graph,
    inspect_node,
    kind_at,
    node_kinds,
)
from singletable.studio.addresses import Place
from singletable.studio.page import Page, Section
from singletable.studio.site import Site, colour_of
from singletable.studio.view import Crumb, View
from singletable.studio.visit import Visit

_INCOMING = "from-"
"""The prefix of an edge class's name for the cursor of incoming edges."""


class GraphView(View, frozen=True, kw_only=True):
    """The page: a graph to begin with, or one of its nodes."""

    table: str
    graph: GraphInfo | None = None
    node: NodeInfo | None = None
    colours: Mapping[str, str]
    """The colours by the name of a class of nodes."""
    of: str = ""
    """The class whose nodes are listed."""
    place: tuple[str, str] = ("", "")
    """The node's own item."""


async def load_graph(visit: Visit) -> GraphView:
    """Without `node` some nodes: a request, and one more for each page of a scan on engines of small pages; with it,
    what `inspect_node` takes."""
    table = visit.table
    if table not in graphs_of(visit.site.tables):
        raise NotFound("this table holds no graph", table=table.name)
    colours = {kind.__name__: colour_of(table, kind.__word__) for kind in node_kinds(table) if visit.may_read(kind)}
    key = visit.query.get("node", "").strip()
    return await (_node(visit, table, key, colours) if key else _graph(visit, table, colours))


async def _graph(visit: Visit, table: Table, colours: Mapping[str, str]) -> GraphView:
    of, after = visit.query.get("of", ""), visit.query.get("after") or None
    seal, personal = visit.links.seal, not visit.covered
    flow = inspect_graph(visit.db.port, seal, table, of=of, after=after, personal=personal, reads=visit.may_read)
    found = await visit.db.run(flow)
    seen = replace(found, nodes=visit.told(found.nodes), edges=visit.told(found.edges))
    return GraphView(title="Graph", table=table.name, graph=seen, colours=colours, of=of)


async def _node(visit: Visit, table: Table, key: str, colours: Mapping[str, str]) -> GraphView:
    kind_at(table, key, visit.may_read)
    incoming = {edge.__name__: visit.query.get(f"{_INCOMING}{edge.__name__}") for edge in edge_types(table)}
    flow = inspect_node(
        visit.db.port,
        visit.links.seal,
        table,
        key,
        after=visit.query.get("after") or None,
        incoming_after={name: cursor for name, cursor in incoming.items() if cursor},
        personal=not visit.covered,
        reads=visit.may_read,
    )
    reading = await visit.db.run(flow)
    title = f"{reading.node.kind} {reading.node.label}"
    return GraphView(
        title=title, table=table.name, node=reading, colours=colours, place=(reading.node.key, reading.node.key)
    )


def _has_graph(site: Site) -> bool:
    return bool(graphs_of(site.tables))


def _item_link(visit: Visit, model: Model[Any], place: Place) -> Crumb | None:
    is_here = issubclass(model.kind, (Node, Edge))
    return Crumb("In the graph", visit.links.node(model.table.name, place[0])) if is_here else None


SECTION = Section(
    item_link=_item_link,
    pages=(
        Page(
            "/graph/{table}",
            "graph.html",
            load_graph,
            nav="Graph",
            order=40,
            shown=_has_graph,
            style="layers.css",
            script="graph.js",
        ),
    ),
)
