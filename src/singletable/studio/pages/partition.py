"""Partition: an item collection in key order, each class in its colour, field name over value in each key."""

from __future__ import annotations

from base64 import b64decode
from collections import Counter
from collections.abc import Mapping
from decimal import Decimal
from itertools import groupby
from typing import Any

from msgspec import Struct

from singletable.errors import InvalidRequest
from singletable.foundation import COVERED, Table, entity_name, place_in, ready, type_in
from singletable.operations import RAW, Item, Key, Query, Scan, Selection
from singletable.studio.items import KeyTextPart, ShownItem, key_parts, shown_item
from singletable.studio.page import Page, Section
from singletable.studio.site import colour_of, model_of_type, name_of_type
from singletable.studio.view import View
from singletable.studio.visit import Visit

MOST_ITEMS = 50
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


class Tab(Struct, frozen=True):
    text: str
    address: str
    is_here: bool


class PartitionGroup(Struct, frozen=True):
    """Items that lie together: in the partition itself, or in one of an index."""

    parts: tuple[KeyTextPart, ...]
    address: str
    items: tuple[ShownItem, ...]


class PartitionPage(View, frozen=True, kw_only=True):
    """The page."""

    table: str
    index: str
    attribute: str
    """The partition key's name."""
    parts: tuple[KeyTextPart, ...]
    count: int
    classes: tuple[ClassCount, ...]
    tabs: tuple[Tab, ...]
    """The same items as they lie in the table, and in each index."""
    groups: tuple[PartitionGroup, ...]
    next: str


class Partitions(View, frozen=True, kw_only=True):
    """The form for a partition's key, and partitions to begin with."""

    table: str
    indexes: tuple[str, ...]
    key: tuple[str, str]
    declared: tuple[DeclaredPartition, ...]
    some: tuple[FoundPartition, ...]


async def load_partition(visit: Visit) -> View:
    """One request: up to 50 items of a partition; without a key up to 100 of any. 1 MB at most.

    Items that the user may not read are left out, as if they were not there; what the request costs has them.
    """
    table = visit.table
    if not visit.query.get("pk") and "k" not in visit.query:
        return Partitions(
            title="Partition",
            table=table.name,
            indexes=tuple(table.definition.indexes),
            key=table.definition.key,
            declared=declared_partitions(visit, table),
            some=await some_partitions(visit, table),
        )
    index = visit.query.get("index", "")
    if index and index not in table.definition.indexes:
        raise InvalidRequest(f"table {table.name} has no index of this name")
    text = visit.key[0]
    items, after = await _page(visit, table, index, text)
    return _shown(visit, table, index, text, items, after)


async def _page(visit: Visit, table: Table, index: str, text: str) -> tuple[list[Item], Key | None]:
    port = visit.db.port
    await ready(port, table)
    cursor, binding = visit.query.get("after"), _binding(table, index, text)
    position = visit.links.seal.open(cursor, binding, visit.site.now()) if cursor else None
    name = table.definition.index_keys(index or None)[0]
    selection = Selection(
        index or None,
        names={"#0": name},
        values={":0": {table.definition.kinds.get(name, "S"): text}},
        limit=MOST_ITEMS,
        after=position,
    )
    found = await port.send(Query(table.name, "#0 = :0", selection, RAW))
    return [item for item in found.items if visit.may_read_type(table, type_in(table, item))], found.after


def _shown(visit: Visit, table: Table, index: str, text: str, items: list[Item], after: Key | None) -> PartitionPage:
    names = table.definition.index_keys(index or None)
    parts = partition_parts(visit, table, index, text, items)
    hidden = any(part.text == COVERED for part in parts)
    by = visit.query.get("by", index)
    own = [(item, shown_item(visit, table, item, (index, text))) for item in items]
    shown = [each for _, each in own]
    following = ""
    if after is not None:
        cursor = visit.links.seal.seal(after, _binding(table, index, text), visit.site.now())
        following = visit.links.partition(table.name, text, index=index, after=cursor, hidden=hidden)
    return PartitionPage(
        title="".join(part.text for part in parts),
        table=table.name,
        index=index,
        attribute=names[0],
        parts=parts,
        count=len(shown),
        classes=class_counts(table, items),
        tabs=_tabs(visit, table, index, text, by, hidden),
        groups=_groups(visit, table, by, own) if by != index else (PartitionGroup((), "", tuple(shown)),),
        next=following,
    )


def _tabs(visit: Visit, table: Table, index: str, text: str, by: str, hidden: bool) -> tuple[Tab, ...]:
    base = visit.links.partition(table.name, text, index=index, hidden=hidden)
    return tuple(
        Tab(
            name or "table",
            base if name == index else f"{base}&by={name or 'table'}",
            (by if by != "table" else "") == name,
        )
        for name in ("", *table.definition.indexes)
    )


def _groups(visit: Visit, table: Table, by: str, own: list[tuple[Item, ShownItem]]) -> tuple[PartitionGroup, ...]:
    """The same items as they lie in another place: together where they have one partition key there, in its order."""
    index = "" if by == "table" else by
    if index and index not in table.definition.indexes:
        raise InvalidRequest(f"table {table.name} has no index of this name")
    names = [name for name in table.definition.index_keys(index or None) if name]
    partition = names[0]
    there = [pair for pair in own if pair[0].keys() >= {*names}]
    there.sort(key=lambda pair: [_sorting(pair[0][name]) for name in names])
    groups: list[PartitionGroup] = []
    for _, pairs in groupby(there, key=lambda pair: pair[0][partition]):
        shown = [each for _, each in pairs]
        cell = next((c for each in shown for c in each.cells if c.name == partition), None)
        groups.append(PartitionGroup(cell.parts if cell else (), cell.address if cell else "", tuple(shown)))
    if left := tuple(each for item, each in own if not item.keys() >= {*names}):
        groups.append(PartitionGroup((), "", left))
    return tuple(groups)


def _sorting(value: Mapping[str, str]) -> Any:
    """A key's value, in the order of DynamoDB: numbers by size, texts and bytes by their bytes."""
    ((tag, text),) = value.items()
    if tag == "N":
        return Decimal(text)
    return b64decode(text) if tag == "B" else text.encode()


def _binding(table: Table, index: str, text: str) -> tuple[str, ...]:
    return ("studio partition", table.name, index, text)


# --- partitions to begin with -----------------------------------------------------------------------------------------
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


SECTION = Section(
    pages=(Page("/partition/{table}", "partition.html", load_partition, nav="Partition", order=20, style="items.css"),),
)
