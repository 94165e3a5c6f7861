"""Deleting a node with all its edges, in both directions. It can stop anywhere, and goes on when it is called again.

A tombstone on the node comes first: readers take the node as gone, and links refuse it. Then its edges go, 48 a
transaction, each transaction holding the tombstone; incoming ones with their member in the other node's edge set. The
node's own item goes last, after a pass over everything that found nothing: an index may lag, so one that was just read
empty is not believed until the lag was waited for.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from singletable.errors import InvalidRequest, NotFound, SingletableError, TransactionCancelled
from singletable.expressions import Condition, Stored
from singletable.graph.edge_writes import DeleteEdge, EdgeMoved, edge_key, listing_of
from singletable.graph.edges import Edge, GraphTable
from singletable.graph.linking import Unlinking
from singletable.graph.nodes import TOMBSTONE, Node, is_key_of, node_key
from singletable.graph.queries import EdgeQuery
from singletable.graph.reading import incoming
from singletable.operations import CheckItem, DeleteItem, Guard, Item, Refused, UpdateItem
from singletable.operations.answers import RAW
from singletable.records.models import Model, model_of
from singletable.records.patterns import KeyOf
from singletable.records.planning import Moment, Part, Write
from singletable.records.reading import chunk, get_operation, start
from singletable.records.rules import guard, is_type
from singletable.records.tables import first_use
from singletable.records.transactions import commit
from singletable.records.uniques import Claim
from singletable.wire.port import Port

EDGES_A_TRANSACTION = 48
"""Each is an edge and, at most, its source, besides the node itself: 97 of the 100 items of a transaction."""


async def delete_node(port: Port, node: Any) -> bool:
    """Delete a node and all its edges; False where there is no such node. Called again, it goes on where it stopped.

    Two requests, a transaction for each 48 edges, and at least one read of them all, two where an index lags.
    """
    key = node_key(node)
    if not is_key_of(key, Node):
        raise InvalidRequest("a node or its key is wanted", operation="delete_node", hint="unlink() takes edges away.")
    model: Model[Any] = model_of(key.kinds[0])
    if port.traits.creates_tables:
        await first_use(port, model.table)
    marked = await _mark(port, model, key)
    if marked is None:
        return False
    lag = port.traits.index_lag_seconds
    is_settled = not lag
    try:
        while await _pass(port, model, key) or not is_settled:
            if lag:  # also for an index that still shows what was deleted
                await port.sleep(lag)
            is_settled = True
        await commit(port, [RemoveNode(model, key)], {0: marked})
    except TransactionCancelled as cancelled:
        if not _is_ended(cancelled):
            raise
    return True


async def _mark(port: Port, model: Model[Any], key: KeyOf[Any]) -> Any:
    """Set the tombstone, once; gives the node as it is, None where there is none."""
    there = Guard("#0 = :0", {"#0": model.table.definition.type_attribute, "#1": TOMBSTONE}, {
        ":0": {"S": model.type}, ":1": {"N": str(round(port.now(), 3))},
    })  # fmt: skip
    text = "SET #1 = if_not_exists(#1, :1)"
    operation = UpdateItem(model.table.name, model.key_item(key), text, there, RAW, repeatable=True)
    try:
        item: Any = await port.send(operation)
    except Refused:
        return None
    # Read only where something depends on it: a node that this program can't read can be deleted.
    return model.load({n: v for n, v in item.items() if n != TOMBSTONE}) if model.uniques else item


async def _pass(port: Port, model: Model[Any], key: KeyOf[Any]) -> int:
    """Take away every edge that is found, going out and coming in; gives how many there were."""
    table: Any = model.table
    assert isinstance(table, GraphTable)
    total = 0
    for edge in table.edge_types():
        if model.kind in edge.__sources__:
            total += await _remove_all(port, edge.of(key).consistent(), HoldTombstone(model, key), outgoing=True)
        if model.kind in edge.__targets__:
            total += await _remove_all(port, incoming(edge, key), HoldTombstone(model, key), outgoing=False)
    return total


async def _remove_all(port: Port, query: EdgeQuery[Any], node: HoldTombstone, *, outgoing: bool) -> int:
    asked, after, total = await start(port, query), None, 0
    while True:
        page = await chunk(port, asked, after)
        total += len(page.items)
        for i in range(0, len(page.items), EDGES_A_TRANSACTION):
            await _remove_edges(port, page.items[i : i + EDGES_A_TRANSACTION], node, outgoing)
        after = page.after
        if after is None:
            return total


async def _remove_edges(port: Port, edges: Sequence[Edge[Any, Any]], node: HoldTombstone, outgoing: bool) -> None:
    """Some edges in one transaction; one by one, read anew, where some were changed meanwhile."""
    try:
        await commit(port, [*(write for edge in edges for write in _writes(edge, node, outgoing)), node])
    except TransactionCancelled as cancelled:
        _raise_others(cancelled)
        for edge in edges:
            await _remove_one(port, edge_key(edge), node, outgoing)


async def _remove_one(port: Port, key: KeyOf[Any], node: HoldTombstone, outgoing: bool) -> None:
    """An edge as it is now. What was changed again meanwhile is left to the next pass."""
    edge: Any = await port.send(get_operation(key, consistent=True))
    if edge is None:
        return
    try:
        await commit(port, [*_writes(edge, node, outgoing), node])
    except TransactionCancelled as cancelled:
        _raise_others(cancelled)
        if any(isinstance(failure.error, NotFound) for failure in cancelled.failures):
            # It, or its source: an edge without its source has no member to take away.
            await _remove_orphan(port, edge, node)


async def _remove_orphan(port: Port, edge: Edge[Any, Any], node: HoldTombstone) -> None:
    source = edge.source
    if await port.send(get_operation(source, consistent=True)) is None:
        try:
            await commit(port, [DeleteEdge(model_of(type(edge)), edge_key(edge), listing_of(edge)), node])
        except TransactionCancelled as cancelled:
            _raise_others(cancelled)


def _raise_others(cancelled: TransactionCancelled) -> None:
    changed = all(isinstance(failure.error, (EdgeMoved, NotFound)) for failure in cancelled.failures)
    if not changed or _is_ended(cancelled):
        raise cancelled


def _is_ended(cancelled: TransactionCancelled) -> bool:
    """The node is gone, or is another by now: another call of the same deletion came first."""
    return any(failure.verb == HoldTombstone.verb for failure in cancelled.failures)


def _writes(edge: Edge[Any, Any], node: HoldTombstone, outgoing: bool) -> Sequence[Write]:
    """An outgoing edge's member goes with the node that is being deleted; an incoming one's stands on another node."""
    if outgoing or edge.source.partition == node.key.partition:
        return [DeleteEdge(model_of(type(edge)), edge_key(edge), listing_of(edge))]
    return Unlinking(edge).writes()


@dataclass(eq=False)
class HoldTombstone(Write):
    """The node is being deleted still: nobody has ended that and made another of the same name."""

    verb: ClassVar[str] = "delete_node"
    model: Model[Any]
    key: KeyOf[Any]
    where: Condition | None = None

    def main(self, current: Any, moment: Moment) -> Part:
        action = CheckItem(self.model.table.name, self.model.key_item(self.key), guard(self.model, self._marked))
        return Part(action, self._refusal, refusal_needs_item=False)

    @property
    def _marked(self) -> Condition:
        return is_type(self.model) & Condition("attribute_exists", (Stored(TOMBSTONE),))

    def _refusal(self, stored: Item | None) -> SingletableError:
        return NotFound("the node was deleted by another call", key=self.key, table=self.model.table.name)


class RemoveNode(HoldTombstone):
    """The node's own item, and the guards of its unique values."""

    def main(self, current: Any, moment: Moment) -> Part:
        action = DeleteItem(self.model.table.name, self.model.key_item(self.key), guard(self.model, self._marked), RAW)
        return Part(action, self._refusal, refusal_needs_item=False)

    def claims(self, current: Any) -> Iterator[Claim]:
        for unique in self.model.uniques:
            yield Claim(self.model, unique, self.key, getattr(current, unique.name), None)
