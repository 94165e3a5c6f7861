"""Slices: the items that some items of a table can't do without, so that a part of a table hangs together.

    edge       its two nodes
    node       its edges in both directions, and their other nodes (without the others' further edges)
    reference  what `belongs_to=`, `mentions=` and a copy name, and what that names in turn
    parent     the item that is known by the partition key of one of its keys: an order line's customer
    document   all of it, with its parent and the documents that it shares contents with

So a slice is complete: it has the items that its items name, if the source has them. Items that name an item are not
searched, except a node's edges: an order takes its customer along, a customer not its orders.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, cast

from msgspec import Struct

from singletable.errors import InvalidValue, SingletableError
from singletable.flow import FAN_OUT, Port, patiently
from singletable.foundation import (
    TOP,
    Model,
    Query,
    Reference,
    Table,
    items_at,
    model_for,
    model_of,
    models_of,
    named_in_keys,
    partition_items,
    place_in,
    references_of,
    type_in,
)
from singletable.operations import Item

Place = tuple[str, str]


class PartitionSlice(Struct, frozen=True):
    """A partition of the table or of one of its indexes: all of it, or its items of one type, or with one sort key."""

    index: str | None
    text: str
    type: str | None = None
    sort: str = ""


class Slices:
    """Finds what items of a table need."""

    def __init__(self, port: Port, table: Table) -> None:
        self.port, self.table = port, table
        self._references: dict[type[Any], list[Reference]] = {}
        for reference in references_of(table):
            self._references.setdefault(reference.holder, []).append(reference)
        models = models_of(table)
        self._parents = {
            child.type: [(m, each) for m in models if m is not child for each in named_in_keys(child, m)]
            for child in models
        }

    async def around(self, items: Sequence[Item]) -> list[Item]:
        """The items, and all that they need. A round trip or more for each step from an item to what it needs: batches
        of keys, and a query for each partition."""
        taken = {place_in(self.table, item): item for item in items}
        read: set[PartitionSlice] = set()
        near = [
            PartitionSlice(q.index, q.partition) for entity in self._loaded(items) for q in self.table.around(entity)
        ]
        frontier = [*items, *await self._read(near, (), taken, read)]
        while frontier:
            partitions: list[PartitionSlice] = []
            keys: list[Place] = []
            for entity in self._loaded(frontier):
                for query, type_name in self._needs(entity):
                    if query.is_one_key and query.index is None:
                        keys.append((query.partition, query.low))
                    else:
                        sort = query.low if query.is_one_key else ""
                        partitions.append(PartitionSlice(query.index, query.partition, type_name, sort))
            frontier = await self._read(partitions, keys, taken, read)
        return list(taken.values())

    async def _read(
        self,
        partitions: Iterable[PartitionSlice],
        keys: Iterable[Place],
        taken: dict[Place, Item],
        read: set[PartitionSlice],
    ) -> list[Item]:
        """The items that were not found before."""
        new: dict[Place, Item] = {}
        asked = [each for each in dict.fromkeys(partitions) if each not in read]
        read.update(asked)
        for i in range(0, len(asked), FAN_OUT):
            calls: list[Callable[[], Any]] = [partial(self._partition, each) for each in asked[i : i + FAN_OUT]]
            for items in await self.port.call_all(calls):
                new |= {place_in(self.table, item): item for item in items}
        wanted = [place for place in dict.fromkeys(keys) if place not in taken and place not in new]
        new |= await patiently(self.port, lambda: items_at(self.port, self.table, wanted))
        new = {place: item for place, item in new.items() if place not in taken}
        taken |= new
        return list(new.values())

    async def _partition(self, asked: PartitionSlice) -> list[Item]:
        items = await patiently(self.port, lambda: partition_items(self.port, self.table, asked.index, asked.text))
        name = self.table.definition.index_keys(asked.index)[1]
        sorts = [asked.sort and next(iter(item[name].values())) for item in items]
        same = [item for item, sort in zip(items, sorts, strict=True) if sort == asked.sort]
        return same if asked.type is None else [item for item in same if type_in(self.table, item) == asked.type]

    def _loaded(self, items: Iterable[Item]) -> list[Any]:
        """The entities of items whose class is known, and can read them."""
        return [entity for item in items if (entity := self._entity(item)) is not None]

    def _entity(self, item: Item) -> Any:
        model = self.table.model_here(type_in(self.table, item))
        try:
            return None if model is None else model.load_anywhere(item)
        except SingletableError:
            return None

    def _needs(self, entity: Any) -> Iterator[tuple[Query[Any], str | None]]:
        """Queries, each with the type of what is taken of its partition; None for all."""
        yield from ((query, None) for query in entity.__whole__())
        for reference in self._references.get(type(entity), ()):
            subject = model_of(reference.subject)
            for values in _values_in(entity, reference):
                if (query := _query_of(subject, values)) is not None:
                    yield query, subject.type
        for parent, names in self._parents.get(model_for(entity).type, ()):
            found = {other: getattr(entity, name) for name, other in names}
            if None not in found.values() and (query := _query_of(parent, found)) is not None:
                yield query, parent.type


def _values_in(entity: Any, reference: Reference) -> Iterator[Mapping[str, Any]]:
    """The subject's values in a reference; one that holds several has each."""
    if len(reference.names) > 1:
        yield {other: getattr(entity, name) for name, other in reference.names.items()}
        return
    ((name, other),) = reference.names.items()
    for value in _leaves(getattr(entity, name)):
        yield {other: value}


def _leaves(held: Any) -> Iterator[Any]:
    if isinstance(held, dict):
        for pair in cast("Any", held).items():
            yield from _leaves(pair)
    elif isinstance(held, (set, frozenset, list, tuple)):
        for each in cast("Iterable[Any]", held):
            yield from _leaves(each)
    elif dataclasses.is_dataclass(held) and not isinstance(held, type):
        for part in dataclasses.fields(held):
            yield from _leaves(getattr(held, part.name))
    elif held is not None:
        yield held


def _query_of(subject: Model[Any], values: Mapping[str, Any]) -> Query[Any] | None:
    """The key or the index partition that finds a subject by what is known of it; None if there is none."""
    for captured in (subject.key, *subject.indexes.values()):
        partition, sort = captured.templates
        if partition.names and {*partition.names} <= values.keys():
            try:
                text = partition.write(values)
                whole = sort.write(values) if {*sort.names} <= values.keys() else None
            except (InvalidValue, TypeError, ValueError, AttributeError):
                continue  # a leaf of another type than the subject's attribute
            low, high = ("", TOP) if whole is None else (whole, whole)
            return Query((subject.kind,), captured, text, low, high, -1)
    return None
