"""The writes that keep an edge and its source's edge set in step: one for the edge, one for each node.

An edge carries a `revision`; its member lies in `edges0` when that is even, in `edges1` when odd, because one update
can't add to and take from the same set. A revision begins anywhere, so that an edge that was unlinked and linked again
is another; what the member is made of is held beside it, so that a changed object can't take another's member.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from os import urandom
from typing import Any, ClassVar, TypeVar

from singletable.errors import AlreadyExists, Conflict, InvalidRequest, NotFound, SingletableError
from singletable.expressions import Condition, Expressions, Given, Stored
from singletable.graph.edges import LISTED, REVISION, Edge
from singletable.graph.members import form_of
from singletable.graph.nodes import EDGE_SETS, OVERFLOW, TOMBSTONE
from singletable.operations import CheckItem, DeleteItem, Guard, Item, PutItem, UpdateItem
from singletable.operations.answers import RAW
from singletable.records.models import Model, model_of
from singletable.records.patterns import KeyOf
from singletable.records.planning import Moment, Part, Write
from singletable.records.rules import both, guard, is_type

D = TypeVar("D", bound=Edge[Any, Any])

CAP = 100
"""Members of one edge type in a node's edge set: at 100 a link costs 20 write units, at 1,000 it would cost 140."""


def counter_of(edge: type[Edge[Any, Any]]) -> str:
    """The node's attribute that counts its listed edges of a type."""
    return f"n_{model_of(edge).type}"


def first_revision() -> int:
    """An even number that no earlier edge between the same nodes has had."""
    return int.from_bytes(urandom(5)) & ~1


@dataclass
class Listing:
    """Whether and where an edge's member stands, decided together by the writes of its edge and its node."""

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
    """The item of an edge: new, or in the place of the revision `before`."""

    verb: ClassVar[str] = "link"
    model: Model[Any]
    key: KeyOf[Any]
    listing: Listing
    before: Listing | None = None
    where: Condition | None = None

    def main(self, current: Any, moment: Moment) -> Part:
        item = self.model.item(self.listing.edge)
        item[REVISION] = {"N": str(self.listing.revision)}
        if not self.listing.listed:
            item[LISTED] = {"BOOL": False}
        absent = Condition("attribute_not_exists", (Stored(self.model.key_attributes[0]),))
        condition = absent if self.before is None else is_as_read(self.before)
        return Part(PutItem(self.model.table.name, item, guard(self.model, condition)), self._refusal)

    def _refusal(self, stored: Item | None) -> SingletableError:
        if self.before is None:
            return AlreadyExists(
                f"there is such a {self.model.kind.__name__} already",
                key=self.key,
                table=self.model.table.name,
                operation=self.verb,
                hint="relink() it to change its data.",
            )
        return edge_moved(self.model, self.key, "relink", stored)

    def done(self) -> None:
        """The caller's edge is as it would be read."""
        note(self.listing)


@dataclass(eq=False)
class DeleteEdge(Write):
    """Take an edge away, as it was read."""

    verb: ClassVar[str] = "unlink"
    model: Model[Any]
    key: KeyOf[Any]
    listing: Listing
    where: Condition | None = None

    def main(self, current: Any, moment: Moment) -> Part:
        condition = is_as_read(self.listing)
        key = self.model.key_item(self.key)
        action = DeleteItem(self.model.table.name, key, guard(self.model, condition), RAW)
        return Part(action, lambda stored: edge_moved(self.model, self.key, self.verb, stored))


@dataclass(eq=False)
class HoldNode(Write):
    """What a transaction does to one node: members that come and go, or only that it has to be there."""

    verb: ClassVar[str] = "link"
    model: Model[Any]
    key: KeyOf[Any]
    comes: tuple[Listing, ...] = ()
    goes: tuple[Listing, ...] = ()
    keeps: bool = True
    """The node has to be there and must not be being deleted."""
    where: Condition | None = None

    def joined_with(self, other: Write) -> Write | None:
        if not isinstance(other, HoldNode):
            return None
        joined = replace(
            self,
            comes=self.comes + other.comes,
            goes=self.goes + other.goes,
            keeps=self.keeps or other.keeps,
        )
        joined.settle_sets()
        return joined

    def settle_sets(self) -> None:
        """Give new members the set that no member leaves; InvalidRequest where members leave both."""
        left = {gone.attribute for gone in self.goes if gone.listed}
        for new in self.comes:
            if new.attribute in left:
                new.revision += 1
            if new.attribute in left:
                raise InvalidRequest(
                    "members come into and leave both halves of a node's edge set in one transaction",
                    key=self.key,
                    table=self.model.table.name,
                    operation="link",
                    hint="Do it in two transactions.",
                )

    def main(self, current: Any, moment: Moment) -> Part:
        name, key = self.model.table.name, self.model.key_item(self.key)
        counted = self._counts()
        conditions: Condition | None = is_type(self.model)
        if self.keeps:
            conditions = both(conditions, Condition("attribute_not_exists", (Stored(TOMBSTONE),)))
        for edge, more in counted.items():
            if more > 0:
                conditions = both(conditions, is_under_cap(edge, more))
        text = self._update_text(counted)
        if not text:
            return Part(CheckItem(name, key, guard(self.model, conditions)), self._refusal)
        expressions = Expressions((self.model.kind,))
        update = self._rendered(expressions, counted)
        assert conditions is not None
        held = Guard(expressions.condition(conditions), expressions.names, expressions.values)
        return Part(UpdateItem(name, key, update, held, RAW), self._refusal)

    def is_stale(self, current: Any, stored: Item | None, now: float) -> bool:
        """Whether the node is at its cap: then the edges are written unlisted."""
        if stored is None or not self.model.is_mine(stored) or (self.keeps and TOMBSTONE in stored):
            return False
        full = False
        for edge, more in self._counts().items():
            has = int(stored.get(counter_of(edge), {"N": "0"})["N"])
            if more > 0 and has + more > CAP:
                room = max(0, CAP - has)
                for listing in [new for new in self.comes if type(new.edge) is edge and new.listed][room:]:
                    listing.listed, full = False, True
        return full

    def _counts(self) -> dict[type[Edge[Any, Any]], int]:
        counts: dict[type[Edge[Any, Any]], int] = {}
        for listings, step in ((self.comes, 1), (self.goes, -1)):
            for listing in listings:
                if listing.listed:
                    counts[type(listing.edge)] = counts.get(type(listing.edge), 0) + step
        return counts

    def _update_text(self, counted: dict[type[Edge[Any, Any]], int]) -> bool:
        return bool(counted or any(not new.listed for new in self.comes))

    def _rendered(self, expressions: Expressions, counted: dict[type[Edge[Any, Any]], int]) -> str:
        adds, deletes = list[str](), list[str]()
        for attribute in EDGE_SETS:
            new = sorted({x.member for x in self.comes if x.listed and x.attribute == attribute})
            gone = sorted({x.member for x in self.goes if x.listed and x.attribute == attribute})
            if new:
                adds.append(f"{expressions.name(attribute)} {expressions.value({'SS': new})}")
            if gone:
                deletes.append(f"{expressions.name(attribute)} {expressions.value({'SS': gone})}")
        for edge, step in counted.items():
            if step:
                adds.append(f"{expressions.name(counter_of(edge))} {expressions.value({'N': str(step)})}")
        unlisted = sorted({model_of(type(x.edge)).type for x in self.comes if not x.listed})
        if unlisted:
            adds.append(f"{expressions.name(OVERFLOW)} {expressions.value({'SS': unlisted})}")
        clauses = (("ADD", adds), ("DELETE", deletes))
        return " ".join(f"{verb} {', '.join(parts)}" for verb, parts in clauses if parts)

    def _refusal(self, stored: Item | None) -> SingletableError:
        kind, table = self.model.kind.__name__, self.model.table.name
        if stored is not None and self.model.is_mine(stored) and TOMBSTONE in stored:
            what, hint = f"the {kind} is being deleted", "Link to another."
        else:
            what, hint = f"there is no such {kind}", "Create the node first."
        return NotFound(what, hint=hint, key=self.key, table=table, operation=self.verb)


def listing_of(edge: Edge[Any, Any]) -> Listing:
    """Where the member of an edge, as it was read, stands."""
    return Listing(edge, getattr(edge, "_listed", True), getattr(edge, "_revision", 0))


def was_read(edge: Edge[Any, Any]) -> bool:
    return hasattr(edge, "_revision")


def edge_key(edge: Edge[Any, Any]) -> KeyOf[Any]:
    return model_of(type(edge)).key_of(edge)


def note(listing: Listing) -> None:
    listing.edge.__dict__.update(_revision=listing.revision, _listed=listing.listed)


def is_as_read(listing: Listing) -> Condition:
    """The edge has its revision still, and the member that it was read with."""
    edge, listed = type(listing.edge), Stored(LISTED)
    condition = Condition("=", (Stored(REVISION), Given({"N": str(listing.revision)})))
    if listing.listed:
        condition = condition & Condition("attribute_not_exists", (listed,))
    else:
        condition = condition & Condition("=", (listed, Given({"BOOL": False})))
    for name in edge.__mirrors__ or ():
        condition = condition & Condition("=", (getattr(edge, name), getattr(listing.edge, name)))
    return condition


def is_under_cap(edge: type[Edge[Any, Any]], more: int) -> Condition:
    counter = Stored(counter_of(edge))
    room = Condition("<=", (counter, Given({"N": str(CAP - more)})))
    return Condition("attribute_not_exists", (counter,)) | room


class EdgeMoved(Conflict):
    """The edge was changed or taken away since it was read."""

    code = "conflict.edge-moved"


def edge_moved(model: Model[Any], key: KeyOf[Any], verb: str, stored: Item | None) -> SingletableError:
    if stored is None:
        return NotFound(f"there is no such {model.kind.__name__}", key=key, table=model.table.name, operation=verb)
    return EdgeMoved(
        f"the {model.kind.__name__} was changed since it was read",
        key=key,
        table=model.table.name,
        operation=verb,
        hint="Read it again, then decide.",
    )
