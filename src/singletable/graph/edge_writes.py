"""The writes of an edge's own item, and the values that make its member in the source's edge set.

An edge has a `revision`. Its member is in `edges0` if the revision is even and in `edges1` if it is odd, because one
update can't add to and delete from the same set. A revision begins at a random number, so that an edge that was
unlinked and linked again differs from the first. The values that make the member are conditions too: an object that
the program has changed can't remove another edge's member.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from os import urandom
from typing import Any, ClassVar, TypeVar

from singletable.errors import AlreadyExists, Conflict, NotFound, SingletableError
from singletable.expressions import Condition, Given, Stored
from singletable.foundation import KeyOf, Model, Moment, Write, WritePart, delete_if, is_absent, model_of, put_if
from singletable.graph.edges import LISTED, REVISION, Edge
from singletable.graph.members import form_of
from singletable.graph.nodes import COUNTER, EDGE_SETS
from singletable.operations import Item

D = TypeVar("D", bound=Edge[Any, Any])


def counter_of(edge: type[Edge[Any, Any]]) -> str:
    """The node's attribute that counts its listed edges of a type."""
    return f"{COUNTER}{model_of(edge).type}"


def first_revision() -> int:
    """A random even number, so that no earlier edge between the same nodes had it."""
    return int.from_bytes(urandom(5)) & ~1


@dataclass
class EdgeSetPlace:
    """Whether an edge is in its source's edge set, and in which half. The writes of edge and node share it."""

    edge: Edge[Any, Any]
    listed: bool = True
    revision: int = field(default_factory=first_revision)

    @property
    def member(self) -> str:
        return form_of(type(self.edge)).text(self.edge)

    @property
    def attribute(self) -> str:
        return EDGE_SETS[self.revision % 2]


@dataclass(eq=False)
class PutEdge(Write):
    """The put of an edge's item: a new one, or in place of the revision `before`."""

    verb: ClassVar[str] = "link"
    key: KeyOf[Any]
    listing: EdgeSetPlace
    before: EdgeSetPlace | None = None

    def main(self, current: Any, moment: Moment) -> WritePart:
        item = self.model.item(self.listing.edge)
        item[REVISION] = {"N": str(self.listing.revision)}
        if not self.listing.listed:
            item[LISTED] = {"BOOL": False}
        condition = is_absent(self.model) if self.before is None else is_as_read(self.before)
        action = put_if(self.key, item, condition)
        return WritePart(action, self._refusal, refusal_needs_item=self.before is not None)

    def _refusal(self, stored: Item | None) -> SingletableError:
        if self.before is None:
            return AlreadyExists(
                "there is such an edge already",
                key=self.key,
                operation=self.verb,
                hint="relink() it to change its data.",
            )
        return edge_moved(self.model, self.key, "relink", stored)

    def done(self) -> None:
        """Update the caller's edge to match what was written."""
        note(self.listing)


@dataclass(eq=False)
class DeleteEdge(Write):
    """Delete an edge that was read, if it is unchanged."""

    verb: ClassVar[str] = "unlink"
    key: KeyOf[Any]
    listing: EdgeSetPlace

    def main(self, current: Any, moment: Moment) -> WritePart:
        action = delete_if(self.key, is_as_read(self.listing))
        return WritePart(action, lambda stored: edge_moved(self.model, self.key, self.verb, stored))


def listing_of(edge: Edge[Any, Any]) -> EdgeSetPlace:
    """The listing of an edge that was read."""
    return EdgeSetPlace(edge, getattr(edge, "_listed", True), getattr(edge, "_revision", 0))


def was_read(edge: Edge[Any, Any]) -> bool:
    return hasattr(edge, "_revision")


def edge_key(edge: Edge[Any, Any]) -> KeyOf[Any]:
    return model_of(type(edge)).key_of(edge)


def note(listing: EdgeSetPlace) -> None:
    listing.edge.__dict__.update(_revision=listing.revision, _listed=listing.listed)


def is_as_read(listing: EdgeSetPlace) -> Condition:
    """The condition that the edge still has the revision and the member with which it was read."""
    edge, listed = type(listing.edge), Stored(LISTED)
    condition = Condition("=", (Stored(REVISION), Given({"N": str(listing.revision)})))
    if listing.listed:
        condition = condition & Condition("attribute_not_exists", (listed,))
    else:
        condition = condition & Condition("=", (listed, Given({"BOOL": False})))
    for name in edge.__mirrors__ or ():
        condition = condition & Condition("=", (getattr(edge, name), getattr(listing.edge, name)))
    return condition


class EdgeMoved(Conflict):
    """The edge was changed or deleted after it was read."""

    code = "conflict.edge-moved"


def edge_moved(model: Model[Any], key: KeyOf[Any], verb: str, stored: Item | None) -> SingletableError:
    if stored is None:
        return NotFound("there is no such edge", key=key, operation=verb)
    return EdgeMoved(
        "the edge was changed since it was read", key=key, operation=verb, hint="Read it again, then decide."
    )
