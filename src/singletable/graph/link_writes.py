"""The writes of an edge: its item, its source's edge set and counter, and checks of both nodes, in one transaction.

link     put the edge if it is absent; ADD its member, and 1 to the node's counter of the type, if the node exists, is
         not being deleted and is under the cap; check that the target exists and is not being deleted
relink   put the edge on condition of its revision; move its member to the node's other set if a mirrored value changes
unlink   delete the edge on condition of its revision; DELETE its member from the node's set, and ADD -1 to the counter

One request, no reads. Over the cap an edge is written with `listed` false, and the node is marked in `overflow`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Generic, Literal, TypeVar

from singletable.foundation import Write
from singletable.graph.edge_set_writes import UpdateEdgeSet
from singletable.graph.edge_writes import (
    DeleteEdge,
    EdgeMoved as EdgeMoved,
    EdgeSetPlace,
    PutEdge,
    edge_key,
    listing_of,
)
from singletable.graph.edges import Edge

D = TypeVar("D", bound=Edge[Any, Any])

Target = Literal["checked", "unchecked"]


@dataclass(frozen=True)
class Link(Generic[D]):
    """The link of an edge, as a value. `Graph(db).link(edge)` sends it alone, `tx.add(link(edge))` in a transaction."""

    edge: D = field(repr=False)
    target: Target = "checked"

    def writes(self) -> Sequence[Write]:
        """The writes that a transaction takes: the edge, its member, the check of its target."""
        edge, listing = self.edge, EdgeSetPlace(self.edge)
        held = type(edge).__mirrors__ is not None
        writes: list[Write] = [
            PutEdge(edge_key(edge), listing),
            UpdateEdgeSet(edge.source, (listing,) if held else ()),
        ]
        if self.target == "checked":
            writes.append(UpdateEdgeSet(edge.target))
        return writes


@dataclass(frozen=True)
class Unlink(Generic[D]):
    """The deletion of an edge that was read."""

    edge: D = field(repr=False)

    def writes(self) -> Sequence[Write]:
        """The writes that a transaction takes: the edge and its member."""
        edge, listing = self.edge, listing_of(self.edge)
        writes: list[Write] = [DeleteEdge(edge_key(edge), listing)]
        if type(edge).__mirrors__ is not None and listing.listed:
            writes.append(UpdateEdgeSet(edge.source, removed=(listing,), must_exist=False))
        return writes


@dataclass(frozen=True)
class Relink(Generic[D]):
    """The change of an edge that was read; it stays between the same nodes."""

    before: D = field(repr=False)
    after: D = field(repr=False)

    def writes(self) -> Sequence[Write]:
        old = listing_of(self.before)
        moves = old.listed and type(self.before).__mirrors__ is not None and _mirrors_differ(self.before, self.after)
        # An unchanged member stays in its half of the set: the revision keeps its parity.
        new = EdgeSetPlace(self.after, old.listed, old.revision + (1 if moves else 2))
        writes: list[Write] = [PutEdge(edge_key(self.after), new, old)]
        if moves:
            source = self.after.source
            writes.append(_Moving(source, (new,), (old,)))
        return writes


@dataclass(eq=False)
class _Moving(UpdateEdgeSet):
    """The update of a member: it moves from one half of the set to the other; the counter stays."""

    verb: ClassVar[str] = "relink"


def link(edge: D, *, target: Target = "checked") -> Link[D]:
    """A link to a new edge. `target="unchecked"` omits the check of the target, for nodes that are never deleted.

    Links to one checked target conflict with each other, because each checks it.
    """
    return Link(edge, target)


def _mirrors_differ(one: Edge[Any, Any], other: Edge[Any, Any]) -> bool:
    return any(getattr(one, n) != getattr(other, n) for n in type(one).__mirrors__ or ())
