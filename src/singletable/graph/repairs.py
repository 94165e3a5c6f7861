"""Repairs of a graph: an edge set that disagrees with its edges, and an edge whose source or target is missing.

An edge set is written on condition that the node's sets and counters are unchanged since they were read, and so is each
edge that they disagree about. Every link, relink and unlink changes one of these.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from singletable.expressions import AttributeChange, Condition, Stored
from singletable.flow import Port
from singletable.foundation import (
    GuardedWrite,
    KeyOf,
    Repair,
    Table,
    check_if,
    commit_repair,
    entity_at,
    is_absent,
    is_type,
    items_at,
    model_of,
    update_if,
    value_as_read,
)
from singletable.graph.edge_writes import counter_of, edge_moved, is_as_read, listing_of
from singletable.graph.edges import Edge, edge_types, is_edge
from singletable.graph.full_scan import Edges, count_in, edges_of, ends_of, members_in
from singletable.graph.members import form_of
from singletable.graph.nodes import EDGE_SETS, OVERFLOW, TOMBSTONE, Node
from singletable.graph.sweep import remove_orphan
from singletable.operations import Item

_AT_ONCE = 90
"""Edges of a transaction, which has 100 items with the node. What is left is written next."""


async def repair_of_edge(port: Port, table: Table, edge: Any) -> Repair | None:
    """Delete an edge on condition that it is unchanged since it was read, and its node is still missing."""
    if not is_edge(edge):
        return None
    there = await items_at(port, table, ends_of(edge))
    missing = [end for end in (edge.source, edge.target) if (end.partition, end.low) not in there]
    if not missing:
        return None

    async def apply(port: Port) -> bool:
        return bool(await remove_orphan(port, edge, missing))

    return Repair("delete the edge, as a node that it joins is missing", apply)


async def repair_of_set(port: Port, table: Table, node: Node, item: Item) -> Repair | None:
    """Write the edge set from its edges. None if a member is of an edge type that this program doesn't know."""
    source = item[table.definition.key[0]]["S"]
    edges = (await edges_of(port, table, [source]))[source]
    stated, real = members_in(item), {member for members in edges.listed.values() for member in members}
    wrong = sorted(stated ^ real)[:_AT_ONCE]
    keys = {member: key for member in wrong if (key := _edge_key(table, source, member)) is not None}
    if not all(member in keys or _is_former(table, member) for member in wrong):
        return None
    by_place = {(key.partition, key.low): key for key in keys.values()}
    stored = {place: entity_at(table, each) for place, each in (await items_at(port, table, by_place)).items()}
    known = [(key, stored.get(place)) for place, key in by_place.items()]
    is_same = all(
        (_member_of(stored.get((k.partition, k.low))) == member) == (member in real) for member, k in keys.items()
    )
    wanted = (stated | {member for member in wrong if member in real}) - {
        member for member in wrong if member in stated
    }
    changes = _changes(table, item, wanted, edges)

    async def apply(port: Port) -> bool:
        return is_same and bool(changes) and await _write(port, table, node, item, changes, known)

    what = f"rewrite the edge set: {len(wrong)} members, and its numbers" if wrong else "write the numbers of edges"
    return Repair(what, apply)


def _changes(table: Table, item: Item, wanted: set[str], edges: Edges) -> list[AttributeChange]:
    """The changes of the node's sets, counters and overflow."""
    changes: list[AttributeChange] = []
    for half in EDGE_SETS:
        members = sorted(text for name, _, text in (each.partition(" ") for each in wanted) if name == half)
        if set(members) != set(item.get(half, {}).get("SS", ())):
            changes.append(AttributeChange(half, {"SS": members} if members else None))
    for edge in _mirrored(table):
        count = len(edges.listed.get(model_of(edge).type, ()))
        if count_in(item, edge) != count:
            changes.append(AttributeChange(counter_of(edge), {"N": str(count)}))
    overflow = set(item.get(OVERFLOW, {}).get("SS", ()))
    if not edges.unlisted <= overflow:
        changes.append(AttributeChange(OVERFLOW, {"SS": sorted(overflow | edges.unlisted)}))
    return changes


async def _write(
    port: Port,
    table: Table,
    node: Node,
    item: Item,
    changes: list[AttributeChange],
    known: Sequence[tuple[KeyOf[Any], Edge[Any, Any] | None]],
) -> bool:
    key = model_of(type(node)).key_of(node)
    held = is_type(key.model) & Condition("attribute_not_exists", (Stored(TOMBSTONE),))
    for name in (*EDGE_SETS, OVERFLOW, *(counter_of(edge) for edge in _mirrored(table))):
        held = held & value_as_read(name, item)
    writes = [GuardedWrite(key, update_if(key, changes, held), "repair", _moved)]
    for edge_key, edge in known:
        condition = is_absent(edge_key.model) if edge is None else is_as_read(listing_of(edge))
        writes.append(GuardedWrite(edge_key, check_if(edge_key, condition), "repair", _moved))
    return await commit_repair(port, writes)


def _edge_key(table: Table, source: str, member: str) -> KeyOf[Any] | None:
    """The key of the edge that a member stands for; None if no class here has such members."""
    text = member.partition(" ")[2]
    for edge in _mirrored(table):
        for target, *_ in form_of(edge).parts([text]):
            model = model_of(edge)
            sort = f"{model.type}-{target}"
            return KeyOf((edge,), model.key, source, sort, sort, 2)
    return None


def _is_former(table: Table, member: str) -> bool:
    """Whether a member has a form that its class of edges had before its mirrors changed. It goes: the edge that it
    stood for has a member in the present form, and who links it writes the node."""
    text = member.partition(" ")[2]
    return any(text.startswith(f"{form_of(edge).word}-") for edge in _mirrored(table))


def _member_of(edge: Edge[Any, Any] | None) -> str:
    """The half and the member that an edge has; empty where it has none."""
    if edge is None:
        return ""
    listing = listing_of(edge)
    return f"{listing.attribute} {listing.member}" if listing.listed else ""


def _mirrored(table: Table) -> list[type[Edge[Any, Any]]]:
    return [edge for edge in edge_types(table) if edge.__mirrors__ is not None]


def _moved(key: KeyOf[Any], verb: str) -> Any:
    return edge_moved(key.model, key, verb, {})
