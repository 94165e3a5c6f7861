"""The write of a node that keeps its edge set in step with the edges of the same transaction."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

from msgspec import structs

from singletable.errors import InvalidRequest, NotFound, SingletableError
from singletable.expressions import AttributeChange, Condition, Given, Stored
from singletable.foundation import CreateWrite, KeyOf, Moment, Write, WritePart, check_if, is_type, model_of, update_if
from singletable.graph.edge_writes import EdgeSetPlace, counter_of
from singletable.graph.edges import Edge
from singletable.graph.nodes import EDGE_SETS, OVERFLOW, TOMBSTONE
from singletable.operations import Item, PutItem

CAP = 100
"""Most members of one edge type in an edge set. With 100 a link costs 20 write units, with 1,000 it would cost 140."""


@dataclass(eq=False)
class UpdateEdgeSet(Write):
    """The part of a transaction that concerns one node: members added and removed, or only a check that it exists."""

    verb: ClassVar[str] = "link"
    key: KeyOf[Any]
    added: tuple[EdgeSetPlace, ...] = ()
    removed: tuple[EdgeSetPlace, ...] = ()
    must_exist: bool = True
    """The node must exist and must not be being deleted."""

    def joined_with(self, other: Write) -> Write | None:
        if isinstance(other, CreateWrite):
            return CreateLinkedNode(other.entity, other.where, other.origin).joined_with(self)
        if not isinstance(other, UpdateEdgeSet):
            return None
        joined = replace(
            self,
            added=self.added + other.added,
            removed=self.removed + other.removed,
            must_exist=self.must_exist or other.must_exist,
        )
        joined.settle_sets()
        return joined

    def settle_sets(self) -> None:
        """Put new members into the half from which none is removed. InvalidRequest if members are removed from both."""
        left = {gone.attribute for gone in self.removed if gone.listed}
        for new in self.added:
            if new.attribute in left:
                new.revision += 1
            if new.attribute in left:
                raise InvalidRequest(
                    "members come into and leave both halves of a node's edge set in one transaction",
                    key=self.key,
                    operation="link",
                    hint="Do it in two transactions.",
                )

    def main(self, current: Any, moment: Moment) -> WritePart:
        changes, condition = list(self._changes()), self._condition()
        if not changes:
            return WritePart(check_if(self.key, condition), self._refusal)
        return WritePart(update_if(self.key, changes, condition, repeatable=False), self._refusal)

    def contents(self) -> dict[str, Any]:
        """The sets and counters of a new node with these edges. A transaction has fewer edges than the cap."""
        attributes: dict[str, Any] = {}
        for attribute in EDGE_SETS:
            if members := sorted({x.member for x in self.added if x.listed and x.attribute == attribute}):
                attributes[attribute] = {"SS": members}
        attributes |= {counter_of(edge): {"N": str(count)} for edge, count in self._counts().items()}
        return attributes

    def is_stale(self, current: Any, stored: Item | None, now: float) -> bool:
        """Whether the node is at its cap. If so, the edges are marked unlisted."""
        if stored is None or not self.model.is_mine(stored) or (self.must_exist and TOMBSTONE in stored):
            return False
        full = False
        for edge, more in self._counts().items():
            has = int(stored.get(counter_of(edge), {"N": "0"})["N"])
            if more > 0 and has + more > CAP:
                room = max(0, CAP - has)
                for listing in [new for new in self.added if type(new.edge) is edge and new.listed][room:]:
                    listing.listed, full = False, True
        return full

    def _counts(self) -> dict[type[Edge[Any, Any]], int]:
        counts: dict[type[Edge[Any, Any]], int] = {}
        for listings, step in ((self.added, 1), (self.removed, -1)):
            for listing in listings:
                if listing.listed:
                    counts[type(listing.edge)] = counts.get(type(listing.edge), 0) + step
        return counts

    def _condition(self) -> Condition:
        condition = is_type(self.model)
        if self.must_exist:
            condition = condition & Condition("attribute_not_exists", (Stored(TOMBSTONE),))
        for edge, more in self._counts().items():
            if more > 0:
                condition = condition & is_under_cap(edge, more)
        return condition

    def _changes(self) -> Iterator[AttributeChange]:
        """Members and counters that are added, edge types that overflow, and members that are removed."""
        yield from self._members(self.added, "ADD")
        for edge, step in self._counts().items():
            if step:
                yield AttributeChange(counter_of(edge), {"N": str(step)}, clause="ADD")
        unlisted = sorted({model_of(type(new.edge)).type for new in self.added if not new.listed})
        if unlisted:
            yield AttributeChange(OVERFLOW, {"SS": unlisted}, clause="ADD")
        yield from self._members(self.removed, "DELETE")

    def _members(self, listings: Iterable[EdgeSetPlace], clause: Literal["ADD", "DELETE"]) -> Iterator[AttributeChange]:
        for attribute in EDGE_SETS:
            members = sorted({x.member for x in listings if x.listed and x.attribute == attribute})
            if members:
                yield AttributeChange(attribute, {"SS": members}, clause=clause)

    def _refusal(self, stored: Item | None) -> SingletableError:
        if stored is not None and self.model.is_mine(stored) and TOMBSTONE in stored:
            what, hint = "the node is being deleted", "Link to another."
        else:
            what, hint = "there is no such node", "Create the node first."
        return NotFound(what, hint=hint, key=self.key, operation=self.verb)


@dataclass(eq=False)
class CreateLinkedNode(CreateWrite):
    """The creation of a node that is linked in the same transaction: the put includes its edge set."""

    edge_set: UpdateEdgeSet | None = None

    def joined_with(self, other: Write) -> Write | None:
        if not isinstance(other, UpdateEdgeSet) or other.removed:
            return None
        edge_set = other if self.edge_set is None else self.edge_set.joined_with(other)
        assert isinstance(edge_set, UpdateEdgeSet)
        return CreateLinkedNode(self.entity, self.where, self.origin, edge_set)

    def main(self, current: Any, moment: Moment) -> WritePart:
        part = super().main(current, moment)
        assert isinstance(part.action, PutItem)
        assert self.edge_set is not None
        whole = structs.replace(part.action, item={**part.action.item, **self.edge_set.contents()})
        return structs.replace(part, action=whole)


def is_under_cap(edge: type[Edge[Any, Any]], more: int) -> Condition:
    counter = Stored(counter_of(edge))
    room = Condition("<=", (counter, Given({"N": str(CAP - more)})))
    return Condition("attribute_not_exists", (counter,)) | room
