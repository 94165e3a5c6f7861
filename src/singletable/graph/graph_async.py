"""The graph of a database, for the awaiting shell: `AsyncGraph(db)`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

from singletable.expressions import Update
from singletable.flow import Rate, at_rate, check_awaiting
from singletable.foundation import DEFAULT_LIMIT, AwaitingDatabase, KeyOf, OnUnreadable
from singletable.graph import flows
from singletable.graph.edges import Edge
from singletable.graph.link_writes import Target
from singletable.graph.nodes import Node
from singletable.graph.queries import Linked, NodeQuery
from singletable.graph.rows import NodePage, Row

N = TypeVar("N", bound=Node)
D = TypeVar("D", bound=Edge[Any, Any])


class AsyncGraph:
    """Writes edges, reads nodes with their neighbours, and walks the graph. Can be shared between tasks.

    Nodes themselves are created, read and updated by the database; `tx.add(link(edge))` links in a transaction.
    """

    def __init__(self, db: AwaitingDatabase) -> None:
        check_awaiting(db, "AsyncGraph")
        self.db = db

    def __repr__(self) -> str:
        return f"<AsyncGraph of {self.db!r}>"

    # --- writes -------------------------------------------------------------------------------------------------------
    async def link(self, edge: Edge[Any, Any], *, target: Target = "checked") -> None:
        """Create an edge between two existing nodes, with its member in the source's edge set. One request.

        Raises AlreadyExists; NotFound if a node is missing. Over the cap of the edge set, it is written unlisted by a
        second request.
        """
        await self.db.run(flows.link(self.db.port, edge, target))

    async def relink(self, edge: D | KeyOf[D], *updates: Update, target: Node | KeyOf[Any] | None = None) -> D:
        """Change an edge's data or its target, with its index keys and its member. Returns the changed edge.

        One request if the edge is unchanged since it was read, one more read otherwise. Raises NotFound, EdgeMoved.
        """
        changed: D = await self.db.run(flows.relink(self.db.port, edge, updates, target))
        return changed

    async def unlink(self, edge: Edge[Any, Any] | KeyOf[Any]) -> bool:
        """Delete an edge, with its member. Returns False if it is missing. One request, one more read for a key.

        EdgeMoved if the edge was changed since it was read.
        """
        return await self.db.run(flows.unlink(self.db.port, edge))

    async def delete_node(self, node: Node | KeyOf[Any]) -> bool:
        """Delete a node with all its edges, in both directions. Returns False if it is missing.

        Called again after a crash, it continues where it stopped. On AWS, where an index may lag, the node's key is
        free again after sweep_table(), which deletes the edges that no index showed. A request for each MB of edges,
        and a transaction for each 48 of them.
        """
        return await self.db.run(flows.delete_node(self.db.port, node))

    async def load(
        self, nodes: Sequence[Node], edges: Iterable[Edge[Any, Any]] = (), *, rate: Rate | None = None
    ) -> None:
        """Create nodes with complete edge sets, and their edges, in batches of 25 a request. Not atomic.

        Raises AlreadyExists if a node exists, NotFound if a target is missing, InvalidRequest for an edge whose source
        is not among the nodes. Targets are read before and after.
        """
        await self.db.run(flows.load(at_rate(self.db.port, rate), nodes, edges))

    # --- reads --------------------------------------------------------------------------------------------------------
    async def page(
        self,
        query: NodeQuery[N],
        *,
        limit: int = DEFAULT_LIMIT,
        after: str | None = None,
        principal: str | None = None,
        unreadable: OnUnreadable = None,
    ) -> NodePage[N]:
        """Up to `limit` nodes through their edges, in key order, each with its neighbours: three round trips.

        One round trip more for each further level. A cursor `after` belongs to its query and to the `principal`, if one
        is given. InvalidCursor. Nodes that `unreadable` is called with are counted as missing.
        """
        seal = self.db.target.seal
        return await self.db.run(flows.page_of_nodes(self.db.port, query, limit, after, seal, principal, unreadable))

    async def including(
        self, nodes: Sequence[N], *linked: Linked[Any], complete: bool = False, unreadable: OnUnreadable = None
    ) -> list[Row[N]]:
        """Nodes that were read before, with neighbours from their edge sets. One round trip for each level.

        InvalidRequest for a node that was not read with its edge set.
        """
        return await self.db.run(flows.including(self.db.port, nodes, linked, complete, unreadable))

    async def walk(
        self, start: Node | KeyOf[Any], *via: Linked[Any], hops: int, limit: int = 1000, unreadable: OnUnreadable = None
    ) -> list[tuple[int, Node]]:
        """Every node within `hops` hops, nearest first, each once, with its distance. One round trip for each hop."""
        return await self.db.run(flows.walk(self.db.port, start, via, hops, limit, unreadable))

    async def count_edges(
        self, source: Node | KeyOf[Any], edge: type[Edge[Any, Any]], *, unreadable: OnUnreadable = None
    ) -> int:
        """Count a node's edges of a type. No request for a node whose edge set is complete."""
        return await self.db.run(flows.count_edges(self.db.port, source, edge, unreadable))
