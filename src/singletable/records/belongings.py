"""Belongings: what is erased with a subject. Records and each layer say what that is, and how it goes.

A layer's class offers `belongings()`, as it offers `checks()`. What it finds goes by the layer's own functions, which
keep guards, edge sets and contents right.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Literal, Protocol

from msgspec import Struct

from singletable.flow import Port
from singletable.operations import Item
from singletable.records.unreadable import OnUnreadable
from singletable.schema.models import Model
from singletable.schema.references import Reference
from singletable.schema.table import Table

Place = tuple[str, str]
"""The two texts of an item's primary key."""


Together = Callable[[Port, "Sequence[Belonging]"], Awaitable[list[bool]]]
"""Deletes several, and says of each whether it is gone."""


class Subject(Struct, frozen=True):
    """Whose belongings are looked for: an item, by what is known of it."""

    kind: type[Any]
    values: Mapping[str, Any]
    place: Place

    def __repr__(self) -> str:
        """Without the values, as logs show it."""
        return f"<Subject of {self.kind.__name__}>"


def subject_of(model: Model[Any], entity: Any, place: Place) -> Subject:
    """An item as one that others may belong to."""
    values = {name: getattr(entity, name) for name in model.by_name if hasattr(entity, name)}
    return Subject(model.kind, values, place)


class Belonging(Struct, frozen=True):
    """One thing that is deleted, or an item that a mention is cleared in."""

    kind: str
    """What it is counted as: the name of its class."""
    place: Place
    """Where it lies, to be told from others of its kind; the key of its item where it has one."""
    erase: Callable[[Port], Awaitable[bool]]
    """Deletes or clears it, on condition of what it was found by. False where that holds no longer."""
    does: Literal["delete", "clear"] = "delete"
    write_units: float = 0.0
    what: str = ""
    """What is cleared, or goes with it, in words and without values."""
    subject: Subject | None = None
    """As whose belongings others are found; None where nothing can refer to it."""
    together: Together | None = None
    """Where given, it is deleted with others that have the same one, by one call."""
    of: Any = None
    """What the layer that found it knows it by."""
    again: str = ""
    """By what its layer finds it again where it was half deleted, and nothing refers to it any more."""

    def __repr__(self) -> str:
        """Without the place, which may name a person."""
        return f"<Belonging {self.kind}: {self.does}>"


class Kept(Struct, frozen=True):
    """What stays, and why a person has to look at it."""

    kind: str
    why: str
    count: int = 1


class LayerBelongings:
    """What a layer adds to an erasure. By default nothing."""

    left_out: tuple[str, ...] = ()
    """What is not looked for here, in words."""
    references: tuple[Reference, ...] = ()
    """That items of the layer's own have, besides what their classes declare."""
    kinds: frozenset[type[Any]] = frozenset()
    """The layer's own classes whose items go as any other."""

    def belongings(self) -> LayerBelongings:
        return self

    async def of(self, port: Port, subjects: Sequence[Subject], unreadable: OnUnreadable = None) -> list[Belonging]:
        """What belongs to subjects, besides the items of records. `unreadable` is told of what can't be read."""
        return []

    async def at(self, port: Port, model: Model[Any], item: Item) -> Belonging | None:
        """How an item of one of the layer's classes goes; None for an item that is none of the layer's."""
        return None

    async def again(self, port: Port, text: str) -> Belonging | None:
        """What was half deleted, by its `again`; None where it is gone, or another layer's."""
        return None

    def is_left(self, model: Model[Any], item: Item) -> bool:
        """Whether an item stays for another reason, as a mark of the layer's own without any data."""
        return False


class HasBelongings(Protocol):
    """What an erasure can be given besides a table: `Tasks`, `Changes`, `Documents(db, Kind)`, `Sync`."""

    def belongings(self) -> LayerBelongings: ...


def belongings_of(table: Table, layers: Sequence[HasBelongings]) -> list[LayerBelongings]:
    """Of the table's own layer, and of those that an erasure was given."""
    own = table.belongings()
    return [*([] if own is None else [own]), *(layer.belongings() for layer in layers)]
