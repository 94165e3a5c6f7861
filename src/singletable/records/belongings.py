"""Belongings: what is erased with a subject. Records and each layer say what that is, and how it goes.

A layer's class offers `belongings()`, as it offers `checks()`. The layer's own functions delete its finds, which
keep guards, edge sets and contents right.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from datetime import datetime
from typing import Any, Literal, Protocol

from msgspec import Struct

from singletable.flow import Port
from singletable.operations import Item
from singletable.records.unreadable import OnUnreadable
from singletable.schema import Model, Reference, Table

Place = tuple[str, str]
"""The two texts of an item's primary key."""


Together = Callable[[Port, "Sequence[Belonging]"], Awaitable[list[bool]]]
"""Deletes several; returns True for each that is gone."""


class Subject(Struct, frozen=True):
    """An item whose belongings are searched."""

    kind: type[Any]
    values: Mapping[str, Any]
    place: Place

    def __repr__(self) -> str:
        """The form in logs, without the values."""
        return f"<Subject of {self.kind.__name__}>"


def subject_of(model: Model[Any], entity: Any, place: Place) -> Subject:
    """An item as one that others may belong to."""
    values = {name: getattr(entity, name) for name in model.by_name if hasattr(entity, name)}
    return Subject(model.kind, values, place)


class Belonging(Struct, frozen=True):
    """One thing that is deleted, or an item that a mention is cleared in."""

    kind: str
    """The name of its class, under which it is counted."""
    place: Place
    """The place that identifies it among its kind: the key of its item, if it has one."""
    erase: Callable[[Port], Awaitable[bool]]
    """Deletes or clears it, on condition that it still belongs to the subject. False if it doesn't."""
    does: Literal["delete", "clear"] = "delete"
    write_units: float = 0.0
    what: str = ""
    """The parts that are cleared, or go with it, in words and without values."""
    subject: Subject | None = None
    """The subject of further belongings; None if nothing can refer to it."""
    together: Together | None = None
    """If given, one call deletes all that have the same one."""
    of: Any = None
    """The layer's own data about it."""
    again: str = ""
    """The text by which its layer finds it again if it was half deleted, and nothing refers to it any more."""

    def __repr__(self) -> str:
        """Without the place, which may name a person."""
        return f"<Belonging {self.kind}: {self.does}>"


class Kept(Struct, frozen=True):
    """A kind of items that stay, and the reason why a person has to look at them."""

    kind: str
    why: str
    count: int = 1


class Remaining(Struct, frozen=True):
    """A place where copies of what was deleted still are."""

    where: str
    what: str
    """The advice, as a sentence."""
    until: datetime | None = None
    """When it goes by itself; None if somebody has to delete it."""


class LayerBelongings:
    """A layer's additions to an erasure. By default nothing."""

    identity: tuple[Any, ...] = ()
    """Its name among layers: of those with an equal one, an erasure takes the first."""
    left_out: tuple[str, ...] = ()
    """The parts that are not searched here, in words."""
    references: tuple[Reference, ...] = ()
    """The references of the layer's own items, in addition to declared ones."""
    kinds: frozenset[type[Any]] = frozenset()
    """The layer's own classes whose items go as any other."""
    looks_by: str = ""
    """The declarations that `wants` decides by, as a text: a process whose layer has another one takes all items."""

    def belongings(self) -> LayerBelongings:
        return self

    async def of(self, port: Port, subjects: Sequence[Subject], unreadable: OnUnreadable = None) -> list[Belonging]:
        """The belongings of subjects, without the items of records. `unreadable` is called with unreadable items."""
        return []

    async def at(self, port: Port, model: Model[Any], item: Item) -> Belonging | None:
        """The belonging for an item of one of the layer's classes; None for any other item."""
        return None

    async def again(self, port: Port, text: str) -> Belonging | None:
        """The half deleted belonging with this `again`; None if it is gone, or another layer's."""
        return None

    def scans(self, subjects: Sequence[Subject]) -> Collection[str]:
        """The types of all items that the layer wants to see before it is asked for the belongings of subjects: one
        scan of the table shows them to `see`."""
        return ()

    def beside(self, others: Sequence[LayerBelongings]) -> None:
        """Take note of the other layers of the erasure."""

    def names(self, model: Model[Any], item: Item, subjects: Sequence[Subject]) -> bool:
        """Whether an item of one of the layer's classes, as it was at some time, is of subjects or mentions one."""
        return False

    def wants(self, model: Model[Any], item: Item) -> bool:
        """Whether `see` takes an item of a scan, after `scans`: a scan by several processes brings no other."""
        return True

    def see(self, model: Model[Any], item: Item) -> None:
        """An item of a scan."""

    def keeps(self) -> Sequence[Kept]:
        """The things that stay and need a person, as far as the layer has found any."""
        return ()

    def remains(self) -> Sequence[Remaining]:
        """The places of the layer where copies still are after an erasure."""
        return ()

    def is_left(self, model: Model[Any], item: Item) -> bool:
        """Whether an item stays for another reason, as a mark of the layer's own without any data."""
        return False


class HasBelongings(Protocol):
    """A layer that an erasure takes in addition to a table: `Tasks`, `Changes`, `Documents(db, Kind)`, `Sync`."""

    def belongings(self) -> LayerBelongings: ...


def belongings_of(table: Table, layers: Sequence[HasBelongings]) -> list[LayerBelongings]:
    """The belongings of the table's own layer, and of the layers that an erasure was given."""
    own = table.belongings()
    return [*([] if own is None else [own]), *(layer.belongings() for layer in layers)]
