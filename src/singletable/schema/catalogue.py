"""The catalogue: every access pattern of a table as a value, for people, documentation and tools. Sends nothing.

for pattern in catalogue(app):
    print(pattern.shown, pattern.partition, pattern.sort, pattern.requests)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from inspect import cleandoc
from typing import Any, Literal

from msgspec import Struct

from singletable.schema.attached_items import models_of
from singletable.schema.capture import ANY
from singletable.schema.collections import BoundCollection, Collection
from singletable.schema.docstrings import class_doc
from singletable.schema.key_reads import missing_in
from singletable.schema.key_text import Slot
from singletable.schema.models import Model
from singletable.schema.patterns import Captured, Query
from singletable.schema.table import Table
from singletable.schema.type_filter import needs_type_filter
from singletable.values import TOP

PatternKind = Literal["key", "index", "search", "collection"]


class Parameter(Struct, frozen=True):
    """One argument of an access pattern."""

    name: str
    type: str
    takes_range: bool
    """Part of the sort key: it also takes `before(x)`, `between(x, y)` and the other ranges."""
    may_be_open: bool
    """It may be omitted, for every value."""

    @property
    def shown(self) -> str:
        return f"{self.name}: {self.type} = ANY" if self.may_be_open else f"{self.name}: {self.type}"


class AccessPattern(Struct, frozen=True):
    """One named way to read: its arguments, its key, and its cost."""

    entity: str
    """The class's name in its module: `User`, or `Project.Listing` for one inside another."""
    name: str
    kind: PatternKind
    table: str
    index: str | None
    partition: str
    """The template of the partition key: `user#{email}`."""
    sort: str
    parameters: tuple[Parameter, ...]
    requests: str
    capacity: str
    may_be_consistent: bool
    needs_type_filter: bool
    """Items of other classes can be in its range: a filter leaves them out, but they are paid for."""
    sparse_by: tuple[str, ...]
    """Attributes without which an item is not in the index."""
    description: str
    reads_first: tuple[str, ...] = ()
    """Attributes whose update by key reads the item first: it needs another part of this index's key, or the old unique
    value. An update of an index key by an entity that was read doesn't."""

    @property
    def shown(self) -> str:
        """`User.by_email(email: str)`."""
        return f"{self.entity}.{self.name}({', '.join(p.shown for p in self.parameters)})"


def catalogue(table: Table, *, system: bool = False) -> tuple[AccessPattern, ...]:
    """The patterns of a table's entities in declaration order, then those of its collections.

    `system` includes those of the library's own items, such as tasks.
    """
    models = (model for model in models_of(table) if system or not model.is_system)
    of_entities = (_of_entity(model, captured) for model in models for captured in captured_of(model))
    of_collections = (_of_collection(kind, name, bound) for kind, name, bound in collections_of(table))
    return (*of_entities, *of_collections)


def captured_of(model: Model[Any]) -> tuple[Captured, ...]:
    """The patterns of one entity: by its key, by its indexes, and the ones that its layer adds."""
    return (model.key, *model.indexes.values(), *model.searches.values(), *model.kind.__readers__())


def entity_name(kind: type[Any]) -> str:
    """A class's name in its module: `User`, or `Project.Listing` for one inside another."""
    return kind.__qualname__.rpartition("<locals>.")[2]


def collections_of(table: Table) -> Iterator[tuple[type[Collection], str, BoundCollection[..., Any]]]:
    """The collections that read a table, with the name of each of their patterns."""
    kinds = {(kind.__module__, kind.__qualname__): kind for kind in _subclasses(Collection)}
    for kind in kinds.values():
        for name in dict.fromkeys(n for base in reversed(kind.__mro__) for n in vars(base)):
            bound = getattr(kind, name, None)
            if isinstance(bound, BoundCollection) and bound.pattern.captured.model.table is table:
                yield kind, name, bound


def _of_entity(model: Model[Any], captured: Captured) -> AccessPattern:
    open_ = _first_open(captured)
    at = len(captured.templates[1].parts) if open_ is None else open_
    widest: Query[Any] = Query((captured.owner,), captured, "", "", TOP, at)
    pages = captured.index is not None or captured is not model.key
    is_query = pages or open_ is not None
    partition, sort = captured.templates
    return AccessPattern(
        entity_name(model.kind),
        captured.name,
        "search" if captured.is_search else "key" if captured.index is None else "index",
        model.table.name,
        captured.index,
        partition.shown,
        sort.shown,
        _parameters(captured),
        _requests(model, captured, is_query=pages, may_be_open=open_ is not None),
        _capacity(_may_be_consistent(captured), is_query, of_search=captured.is_search),
        _may_be_consistent(captured),
        is_query and not captured.is_search and needs_type_filter(widest),
        _sparse_by(model, captured),
        cleandoc(captured.function.__doc__ or ""),
        _reads_first(model, captured),
    )


def _of_collection(kind: type[Collection], name: str, bound: BoundCollection[..., Any]) -> AccessPattern:
    captured = bound.pattern.captured
    kinds = tuple(place.kind for place in kind.__collection_fields__.values())
    whole: Query[Any] = Query(kinds, captured, "", "", TOP, -1)
    return AccessPattern(
        entity_name(kind),
        name,
        "collection",
        captured.model.table.name,
        captured.index,
        captured.templates[0].shown,
        "",
        tuple(p for p in _parameters(captured) if not p.may_be_open),
        "1 request for each MB of the partition",
        _capacity(_may_be_consistent(captured), True),
        _may_be_consistent(captured),
        needs_type_filter(whole),
        (),
        class_doc(kind),
    )


def _first_open(captured: Captured) -> int | None:
    """The first part of the sort key whose value may be omitted."""
    for i, part in enumerate(captured.templates[1].parts):
        if part.slot and captured.parameters[part.slot.name].default is ANY:
            return i
    return None


def _parameters(captured: Captured) -> tuple[Parameter, ...]:
    ranged, slots = {*captured.templates[1].names} - captured.fixed, slots_of(captured)
    return tuple(
        Parameter(name, slots[name].type.__name__, name in ranged, parameter.default is ANY)
        for name, parameter in captured.parameters.items()
    )


def slots_of(captured: Captured) -> Mapping[str, Slot]:
    """The place of each parameter in a key; in both texts, that in the partition key, unless it is a shard."""
    partition, sort = ([part.slot for part in template.parts if part.slot] for template in captured.templates)
    ordered = (*(s for s in partition if s.key_type.shards), *sort, *(s for s in partition if not s.key_type.shards))
    found = {slot.name: slot for slot in ordered}
    return {name: found[name] for name in captured.parameters}


def _requests(model: Model[Any], captured: Captured, *, is_query: bool, may_be_open: bool) -> str:
    if captured.is_search:
        return "2 requests a page: its words, then the items"
    one = "1 request a page" if is_query else "1 request"
    shard = captured.templates[0].spread
    if shard is not None and captured.parameters[shard.name].default is ANY:
        was = captured.was and captured.was.templates[0].spread
        old = 0 if captured.was is None else len(was.key_type.shards) if was else 1
        return f"{one}; without {shard.name}, {len(shard.key_type.shards) + old} a page, side by side"
    if is_query:
        return f"{one}; hydrated, 2" if captured.index and missing_in(model, captured.index) else one
    if captured.was is not None:
        one += f", 2 of what lies under {captured.was.declared}"
        return f"{one}; left open, 2 a page" if may_be_open else one
    return f"{one}; left open, 1 a page" if may_be_open else one


def _may_be_consistent(captured: Captured) -> bool:
    return captured.model.table.definition.may_be_consistent(captured.index)


def _capacity(consistent: bool, is_query: bool, *, of_search: bool = False) -> str:
    of_page = " of a page of words, and of each item" if of_search else " of a page" if is_query else ""
    cost = "0.5 read units for each 4 KB" + of_page
    return f"{cost}; consistent, 1" if consistent else cost


def _sparse_by(model: Model[Any], captured: Captured) -> tuple[str, ...]:
    if captured.index is None and not captured.is_search:
        return ()
    names = dict.fromkeys(n for t in captured.templates for n in t.names)
    return tuple(n for n in names if model.by_name[n].optional)


def _reads_first(model: Model[Any], captured: Captured) -> tuple[str, ...]:
    if captured is model.key:
        return tuple(name for name, role in model.roles.items() if role == "unique")
    if captured.is_search:
        made_of = (name for template in captured.templates for name in template.names)
        return tuple(name for name in made_of if name not in model.identity)
    if captured.index is None:
        return ()
    texts = [frozenset(template.names) for template in captured.templates]
    if _sparse_by(model, captured):  # the item enters or leaves the index: both texts are written
        texts = [frozenset[str]().union(*texts)]
    names = dict.fromkeys(name for template in captured.templates for name in template.names)
    return tuple(
        name
        for name in names
        if name not in model.identity and any(name in text and text - {name} - model.identity for text in texts)
    )


def _subclasses(kind: type[Collection]) -> Iterator[type[Collection]]:
    for sub in kind.__subclasses__():
        yield sub
        yield from _subclasses(sub)
