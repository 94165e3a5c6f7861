"""The facts of a model, as values: the pages and their JSON are made of these and of nothing else."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from singletable.foundation import AccessPattern

Bond = Literal["belongs to", "copies", "names in its key", "starts at", "leads to", "mentions"]
ClassKind = Literal["entity", "node", "edge", "document"]


class AttributeView(Struct, frozen=True):
    """One attribute of a class."""

    name: str
    type: str
    stored: str
    """Its name in DynamoDB."""
    description: str = ""
    default: str | None = None
    """The value for an item that lacks it; None if it is required."""
    role: str = ""
    """The library's use of it: `unique`, `expires`, `version`."""
    is_personal: bool = False
    in_keys: tuple[str, ...] = ()
    """The keys that its value is a part of: `key`, and the names of indexes."""
    bonds: tuple[str, ...] = ()
    """Its references, in words: `belongs to User.email`."""


class KeyView(Struct, frozen=True):
    """A key of a class: the table's, or that of an index."""

    index: str | None
    attributes: tuple[str, str]
    """The attributes that store the two texts."""
    templates: tuple[str, str]
    pattern: str
    """The function that is the key: `by_email`."""
    sparse_by: tuple[str, ...] = ()
    """Attributes without which an item is not in the index."""
    was: tuple[str, str] | None = None
    """The key under which items lie that have not moved yet."""


class PatternView(Struct, frozen=True):
    """An access pattern, with the address of its own class's page."""

    pattern: AccessPattern
    shown: str
    """`User.by_email(email: str)`."""
    owner: str
    """The page of the class it belongs to; none of a collection."""


class RelationView(Struct, frozen=True):
    """A class that names items of another one."""

    holder: str
    subject: str
    bond: Bond
    names: tuple[tuple[str, str], ...]
    """The holder's attributes, each with the subject's that it has the value of."""

    @property
    def shown(self) -> str:
        """`email is User.email`."""
        return ", ".join(f"{own} is {self.subject}.{other}" for own, other in self.names)


class MemberView(Struct, frozen=True):
    """One part of a type, a collection or a document."""

    name: str
    type: str
    description: str = ""


class TypeView(Struct, frozen=True):
    """A type of the program that attributes have: an enum with its values, or a dataclass with its parts."""

    name: str
    kind: Literal["enum", "dataclass"]
    description: str
    members: tuple[MemberView, ...]


class FunctionView(Struct, frozen=True):
    """A function of the program: a mutation, a task, a handler."""

    name: str
    signature: str
    description: str = ""
    note: str = ""
    """The occasion of a call, or the number of tries."""


class ClassView(Struct, frozen=True):
    """One class that is stored: an entity, a node or edge of a graph, or a document."""

    name: str
    """In its module: `User`, or `Project.Listing`."""
    kind: ClassKind
    type: str
    """The type attribute of its items."""
    table: str
    module: str
    version: int
    colour: int
    """Its place among the colours of classes, from 0."""
    page: str
    """The name of its page: the same for the same declaration."""
    description: str = ""
    keys: tuple[KeyView, ...] = ()
    attributes: tuple[AttributeView, ...] = ()
    patterns: tuple[PatternView, ...] = ()
    relations: tuple[RelationView, ...] = ()
    """The relations in which it is the holder."""
    named_by: tuple[RelationView, ...] = ()
    """The relations in which it is the subject."""
    types: tuple[TypeView, ...] = ()
    ends: tuple[tuple[str, ...], tuple[str, ...]] | None = None
    """The classes of an edge's sources and of its targets."""
    mirrors: tuple[str, ...] | None = None
    """The attributes of an edge in its source's edge set; None if it is not in the set."""
    stored_as: int | None = None
    """The older schema version in whose form items are stored too."""
    upcasts: tuple[FunctionView, ...] = ()
    outside: tuple[str, ...] = ()
    """The parts of its items that lie elsewhere: guards, copies, edge sets."""
    mutations: tuple[FunctionView, ...] = ()
    handlers: tuple[FunctionView, ...] = ()
    """The handlers of its items' changes."""
    collections: tuple[str, ...] = ()
    """The collections that have its items."""


class CollectionView(Struct, frozen=True):
    """A partition that is read whole."""

    name: str
    description: str
    members: tuple[MemberView, ...]
    patterns: tuple[PatternView, ...]


class IndexView(Struct, frozen=True):
    """An index, and what is in it."""

    name: str
    attributes: tuple[str, str]
    projection: str
    classes: tuple[str, ...]


class ConsumerView(Struct, frozen=True):
    """A reader of the table's stream."""

    name: str
    handlers: tuple[FunctionView, ...]


class TableView(Struct, frozen=True):
    """One table with all that is declared of it."""

    name: str
    description: str
    key: tuple[str, str]
    separator: str
    settings: tuple[tuple[str, str], ...]
    indexes: tuple[IndexView, ...]
    classes: tuple[ClassView, ...]
    collections: tuple[CollectionView, ...] = ()
    tasks: tuple[FunctionView, ...] = ()
    consumers: tuple[ConsumerView, ...] = ()

    @property
    def relations(self) -> tuple[RelationView, ...]:
        return tuple(relation for each in self.classes for relation in each.relations)

    @property
    def patterns(self) -> tuple[PatternView, ...]:
        """Every access pattern, those of collections last."""
        of_classes = (pattern for each in self.classes for pattern in each.patterns)
        return (*of_classes, *(pattern for each in self.collections for pattern in each.patterns))


class ModelView(Struct, frozen=True):
    """All that a program declares."""

    title: str
    tables: tuple[TableView, ...]

    @property
    def pages(self) -> dict[tuple[str, str], str]:
        """The page of each class, by its table and name."""
        return {(table.name, each.name): each.page for table in self.tables for each in table.classes}
