"""The partitions of a table to begin with: the ones that its classes declare, and some existing ones."""

from __future__ import annotations

from collections import Counter

from msgspec import Struct

from singletable.foundation import COVERED, Table, entity_name, place_in, ready, type_in
from singletable.operations import RAW, Item, Scan, Selection
from singletable.studio.items import KeyTextPart, key_parts
from singletable.studio.site import colour_of, model_of_type, name_of_type
from singletable.studio.visit import Visit

MOST_SCANNED = 100
"""Items that are read to find some partitions."""
MOST_LISTED = 20


class ClassLink(Struct, frozen=True):
    """A class, and the pattern that its items of a partition are read by."""

    kind: str
    colour: str
    address: str


class DeclaredPartition(Struct, frozen=True):
    """A form of partition keys, and the classes whose items lie under it."""

    index: str
    """Empty for the table."""
    template: str
    classes: tuple[ClassLink, ...]


class ClassCount(Struct, frozen=True):
    """The number of items of a class in a list."""

    kind: str
    colour: str
    count: int


class FoundPartition(Struct, frozen=True):
    """A partition with the items that were read; it may have more."""

    parts: tuple[KeyTextPart, ...]
    address: str
    classes: tuple[ClassCount, ...]


def declared_partitions(visit: Visit, table: Table) -> tuple[DeclaredPartition, ...]:
    """The forms of partition keys, of the table and then of each index. Nothing is sent."""
    links_of: dict[tuple[str, str], list[ClassLink]] = {}
    for index in (None, *table.definition.indexes):
        for model in table.models:
            captured = model.key if index is None else model.indexes.get(index)
            if captured is None or model.is_system or not visit.may_read(model.kind):
                continue
            name = entity_name(model.kind)
            address = visit.links.pattern(table.name, name, captured.name)
            link = ClassLink(name, colour_of(table, model.type), address)
            links_of.setdefault((index or "", captured.templates[0].shown), []).append(link)
    return tuple(DeclaredPartition(index, template, tuple(links)) for (index, template), links in links_of.items())


async def some_partitions(visit: Visit, table: Table) -> tuple[FoundPartition, ...]:
    """Up to 20 partitions, of the first 100 items that a scan meets. One request, half a unit for each 4 KB."""
    port = visit.db.port
    await ready(port, table)
    limit = min(port.traits.scan_page_limit or MOST_SCANNED, MOST_SCANNED)
    page = await port.send(Scan(table.name, Selection(limit=limit), RAW))
    partitions: dict[str, list[Item]] = {}
    for item in page.items:
        if visit.may_read_type(table, type_in(table, item)):
            partitions.setdefault(place_in(table, item)[0], []).append(item)
    shown = [_found(visit, table, text, items) for text, items in partitions.items()]
    return tuple(shown[:MOST_LISTED])


def _found(visit: Visit, table: Table, text: str, items: list[Item]) -> FoundPartition:
    parts = partition_parts(visit, table, "", text, items)
    hidden = any(part.text == COVERED for part in parts)
    return FoundPartition(parts, visit.links.partition(table.name, text, hidden=hidden), class_counts(table, items))


def partition_parts(visit: Visit, table: Table, index: str, text: str, items: list[Item]) -> tuple[KeyTextPart, ...]:
    """The key of a partition, as the class of its first item writes it."""
    model = model_of_type(table, type_in(table, items[0])) if items else None
    captured = None if model is None else model.indexes.get(index) if index else model.key
    return tuple(key_parts(visit, table, model, captured, 0, text, (index, text)))


def class_counts(table: Table, items: list[Item]) -> tuple[ClassCount, ...]:
    """The classes of items, in the order in which they come."""
    counts = Counter(type_in(table, item) for item in items)
    return tuple(
        ClassCount(name_of_type(table, type_name) or "no type", colour_of(table, type_name), count)
        for type_name, count in counts.items()
    )
