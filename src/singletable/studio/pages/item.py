"""Item: decoded and raw, what it costs and holds, whether it is right, and its changes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from msgspec import Struct

from singletable.errors import SingletableError
from singletable.flow import instant
from singletable.foundation import (
    COVERED,
    WORD_TYPE,
    Model,
    Table,
    class_summary,
    copies_in,
    guard_key,
    items_of,
    key_from,
    model_of,
    place_in,
    type_in,
    word_keys,
)
from singletable.operations import Item
from singletable.studio.edits import shown_type
from singletable.studio.item_changes import StreamedChanges, changes_of
from singletable.studio.items import (
    ItemKeyCell,
    attributes_of,
    below,
    is_covered,
    is_told,
    read_item,
    shown_item,
    why_fixed,
)
from singletable.studio.page import Page, Section
from singletable.studio.pages import item_link
from singletable.studio.site import model_of_type
from singletable.studio.text import escaped
from singletable.studio.view import Crumb, View
from singletable.studio.visit import Visit
from singletable.tables import projected_in, read_units, size_units
from singletable.values import item_size, value_size

MOST_ATTRIBUTES = 500
"""Attributes that the page lists; the raw item has all."""


class AttributeRow(Struct, frozen=True):
    name: str
    stored: str
    type: str
    value: Any
    bytes: int
    share: float
    role: str


class IndexEntry(Struct, frozen=True):
    """The item's entry in an index."""

    index: str
    is_in: bool
    bytes: int
    write_units: float
    address: str


class Beside(Struct, frozen=True):
    """A related item: a guard, or the source of a copy."""

    what: str
    of: str
    address: str


class ItemPage(View, frozen=True, kw_only=True):
    """The page."""

    table: str
    kind: str
    type: str
    colour: str
    class_address: str
    """The page of its class; empty for the library's own."""
    about: str
    cells: tuple[ItemKeyCell, ...]
    attributes: tuple[AttributeRow, ...]
    more: int
    raw: str
    bytes: int
    read_units: float
    write_units: float
    indexes: tuple[IndexEntry, ...]
    version: int
    version_known: int
    """The schema version of the class here; 0 where no class has the type."""
    expires: datetime | None
    findings: tuple[str, ...]
    """The findings of the check of records; empty for a sound item."""
    guards: tuple[Beside, ...]
    copies: tuple[Beside, ...]
    changes: StreamedChanges | None
    """The changes of this item, in the stream; None if they were not asked for."""
    changes_address: str
    has_stream: bool
    edit_address: str
    """Empty where it can't be edited, and `why_fixed` says why."""
    why_fixed: str
    layer: Crumb | None
    """The page of what it is in its layer: a node, a document, a task."""


async def load_item(visit: Visit) -> ItemPage:
    """One request for the item, and one or two for related items: a guard, a copy. Changes cost no units."""
    table = visit.table
    item = await read_item(visit, table)
    model = model_of_type(table, type_in(table, item))
    findings = await items_of(table).findings(visit.db.port, [item])
    changes = await changes_of(visit, table, item) if visit.query.get("changes") == "1" else None
    return _shown(visit, table, model, item, tuple(f"{f.code}: {f.what}" for f in findings), changes)


# --- showing ----------------------------------------------------------------------------------------------------------
def _shown(
    visit: Visit,
    table: Table,
    model: Model[Any] | None,
    item: Item,
    findings: tuple[str, ...],
    changes: StreamedChanges | None,
) -> ItemPage:
    shown = shown_item(visit, table, item)
    place, definition = place_in(table, item), table.definition
    rows = tuple(_rows(visit, table, model, item))
    size = item_size(item)
    why = "this studio is read-only: start it with --write" if not visit.site.write else why_fixed(model, item)
    version = model.version_of(item) if model is not None else 0
    address = visit.item_address(table, shown.type, place)
    return ItemPage(
        title=f"{shown.kind} {' / '.join(visit.shown_place(table, shown.type, place))}",
        layer=item_link(visit, model, place),
        table=table.name,
        kind=shown.kind,
        type=shown.type,
        colour=shown.colour,
        class_address=visit.links.entity(table.name, shown.kind) if model is not None and not model.is_system else "",
        about=visit.told(class_summary(model.kind)) if model is not None else "",
        cells=shown.cells,
        attributes=rows[:MOST_ATTRIBUTES],
        more=max(0, len(rows) - MOST_ATTRIBUTES),
        raw=_raw(visit, table, model, item),
        bytes=size,
        read_units=read_units(size),
        write_units=size_units(item),
        indexes=tuple(_entries(visit, table, item, shown.cells)),
        version=version,
        version_known=model.version if model is not None else 0,
        expires=_expiry(definition.ttl_attribute, item),
        findings=findings,
        guards=tuple(_guards(visit, table, model, item)),
        copies=tuple(_copies(visit, table, model, item)),
        changes=changes,
        changes_address=f"{address}&changes=1",
        has_stream=definition.stream is not None,
        edit_address="" if why else f"{below(visit, table, 'edit')}?{address.partition('?')[2]}",
        why_fixed=why,
    )


def _rows(visit: Visit, table: Table, model: Model[Any] | None, item: Item) -> Iterator[AttributeRow]:
    whole = item_size(item)
    for attribute in attributes_of(visit, table, item):
        stored = attribute.stored or attribute.name
        size = len(stored.encode()) + value_size(item[stored])
        declared = model.types.get(attribute.name) if model is not None else None
        role = (model.roles.get(attribute.name) or "") if model is not None else ""
        yield AttributeRow(
            attribute.name,
            attribute.stored,
            visit.told(shown_type(declared)),
            attribute.value,
            size,
            size / whole,
            role,
        )


def _raw(visit: Visit, table: Table, model: Model[Any] | None, item: Item) -> str:
    """The stored item, with covered values."""
    names = {field.stored: field.name for field in model.fields} if model is not None else {}
    reserved = {*table.definition.reserved}
    shown: dict[str, Any] = {}
    partition, sort = visit.shown_place(table, type_in(table, item), place_in(table, item))
    keys = dict(zip(table.definition.key, (partition, sort), strict=True))
    covers_keys = (partition, sort) != place_in(table, item)
    for name, value in item.items():
        if name in keys:
            shown[name] = {table.definition.kinds.get(name, "S"): keys[name]}
        elif name not in reserved and not is_told(visit, names.get(name)):
            continue
        elif name in reserved:
            is_key = name not in (table.definition.type_attribute, table.definition.version_attribute)
            shown[name] = COVERED if covers_keys and is_key else value
        else:
            shown[name] = COVERED if is_covered(visit, table, model, names.get(name, name)) else value
    return escaped(json.dumps(shown, indent=2, ensure_ascii=False))


def _entries(visit: Visit, table: Table, item: Item, cells: tuple[ItemKeyCell, ...]) -> Iterator[IndexEntry]:
    for projected in projected_in(table.definition):
        entry = projected.entry(item)
        address = next((cell.address for cell in cells if cell.name == projected.keys[0] and cell.index), "")
        if entry is None:
            yield IndexEntry(projected.name, False, 0, 0.0, "")
        else:
            yield IndexEntry(projected.name, True, item_size(entry), size_units(entry), address)


def _guards(visit: Visit, table: Table, model: Model[Any] | None, item: Item) -> Iterator[Beside]:
    """The guards of unique values, and words. Whether they are there and right is among the findings."""
    if model is None or not model.has_claims:
        return
    entity = _loaded(model, item)
    for field in model.uniques:
        value = getattr(entity, field.name, None)
        if value is not None:
            key = guard_key(model, field.name, value)
            address = visit.item_address(table, key.model.type, (key.partition, key.low)) if visit.reads_all else ""
            yield Beside("unique", field.name, address)
    for search in model.searches.values() if entity is not None else ():
        for place in word_keys(model, search, model.key_at(place_in(table, item)), entity):
            yield Beside("word", search.name, visit.item_address(table, WORD_TYPE, place) if visit.reads_all else "")


def _copies(visit: Visit, table: Table, model: Model[Any] | None, item: Item) -> Iterator[Beside]:
    """The sources of copies. Whether a copy is behind is among the findings."""
    if model is None:
        return
    entity = _loaded(model, item)
    for copy in copies_in(model.kind):
        if not visit.may_read(copy.source):
            continue
        source: Model[Any] = model_of(copy.source)
        address = ""
        if entity is not None and source.identity <= model.by_name.keys():
            key = key_from(copy.source, entity)
            address = visit.item_address(table, source.type, (key.partition, key.low))
        yield Beside(copy.name, f"{copy.source.__name__}.{copy.source_name}", address)


def _loaded(model: Model[Any], item: Item) -> Any:
    try:
        return model.load_anywhere(item)
    except SingletableError:
        return None


def _expiry(attribute: str | None, item: Item) -> datetime | None:
    held = item.get(attribute or "", {}).get("N")
    try:
        return None if held is None else instant(float(held))
    except (ValueError, OverflowError):
        return None


SECTION = Section(
    pages=(Page("/item/{table}", "item.html", load_item, style="items.css"),),
)
