"""Flows that write edges: link, relink and unlink, each one transaction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from singletable.errors import InvalidRequest, NotFound, TransactionCancelled
from singletable.expressions import Update
from singletable.flow import Port, Race
from singletable.foundation import HasWrites, KeyOf, Write, applied, commit, get, model_for
from singletable.graph.deletion import without_source
from singletable.graph.edge_writes import EdgeMoved, edge_key, was_read
from singletable.graph.edges import Edge, is_edge
from singletable.graph.link_writes import Link, Relink, Target, Unlink
from singletable.graph.nodes import is_key_of, node_key
from singletable.values import changed

D = TypeVar("D", bound=Edge[Any, Any])
_CHANGED = "another writer changed the edge"


async def link(port: Port, edge: Edge[Any, Any], target: Target = "checked") -> None:
    """Create an edge, with its member in the source's edge set. Raises AlreadyExists; NotFound if a node is missing.

    One request. A second one if the node's edge set is at its cap for the type; the edge is then written unlisted.
    """
    port.traits.check("transactions", "link()")
    await _send(port, [Link(edge, target)])


async def unlink(port: Port, edge: Any) -> bool:
    """Delete an edge that was read, or the edge of a key; returns False if it is missing. One request; for a key, one
    more read.

    An edge whose source is missing is deleted too, with one more request.
    """
    port.traits.check("transactions", "unlink()")
    race = Race(port, "unlink", _CHANGED)
    while True:
        current = await _as_read(port, edge)
        if current is None:
            return False
        try:
            await _unlink(port, current)
        except NotFound:
            return False
        except EdgeMoved:
            edge = race.key = edge_key(current)
            await race.lost()
        else:
            return True


async def _unlink(port: Port, edge: Any) -> None:
    try:
        await commit(port, Unlink(edge).writes())
    except TransactionCancelled as cancelled:
        failure = cancelled.failures[0]
        if failure.key != edge.source:
            raise failure.error from None
        await _commit(port, without_source(edge))


async def relink(port: Port, edge: Any, updates: tuple[Update, ...], target: Any = None) -> Any:
    """Change the data of an edge that was read, or of the edge of a key; returns the changed edge. Raises NotFound,
    EdgeMoved.

    Its index keys and its member change with it. A new `target` is an unlink and a link in one transaction. One
    request; for a key, one more read.
    """
    port.traits.check("transactions", "relink()")
    race = Race(port, "relink", _CHANGED)
    while True:
        current = await _as_read(port, edge)
        if current is None:
            raise _missing(edge)
        after = _after(current, updates, target)
        try:
            await _send(port, _moves(current, after))
        except EdgeMoved:
            if not isinstance(edge, KeyOf):
                raise
            race.key = edge
            await race.lost()
        else:
            return after


def _moves(before: Any, after: Any) -> list[HasWrites]:
    if edge_key(after).low == edge_key(before).low:
        return [Relink(before, after)]
    return [Unlink(before), Link(after)]


def _after(edge: Any, updates: tuple[Update, ...], target: Any) -> Any:
    model = model_for(edge)
    if not updates and target is None:
        raise InvalidRequest("relink() changes at least one attribute, or the target", operation="relink")
    after = applied(model, edge, updates) if updates else changed(edge)
    if target is not None:
        after.target = node_key(target)
    if edge_key(after).partition != edge_key(edge).partition:
        raise InvalidRequest("an edge stays with its source", operation="relink", hint="unlink() it, and link another.")
    return after


async def _as_read(port: Port, edge: Any) -> Any:
    """The stored edge. It is read if the caller gave a key, or an object that was never read."""
    if is_edge(edge) and was_read(edge):
        return edge
    return await get(port, _key(edge).consistent())


async def _send(port: Port, values: Sequence[HasWrites]) -> None:
    await _commit(port, [write for value in values for write in value.writes()])


async def _commit(port: Port, writes: Sequence[Write]) -> None:
    """Commit one graph operation. Its first failure is raised, but a missing node comes before all others: an edge to a
    node that is being deleted may still exist."""
    try:
        await commit(port, writes)
    except TransactionCancelled as cancelled:
        errors = [failure.error for failure in cancelled.failures]
        raise next((error for error in errors if isinstance(error, NotFound)), errors[0]) from None


def _missing(edge: Any) -> NotFound:
    return NotFound("there is no such edge", key=_key(edge), operation="relink")


def _key(edge: Any) -> KeyOf[Any]:
    if is_edge(edge):
        return edge_key(edge)
    if is_key_of(edge, Edge):
        return edge
    raise InvalidRequest(f"expected an edge or its key, not a {type(edge).__name__}", hint="As in Edge.between(...).")
