"""Raw items for pages: their classes, their keys part by part, with links to related keys, and attributes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any, cast

from msgspec import Struct

from singletable.errors import InvalidRequest, NotFound, SingletableError
from singletable.foundation import (
    COVERED,
    Captured,
    KeyOf,
    Model,
    Reference,
    Table,
    Template,
    model_of,
    personal_names,
    place_in,
    ready,
    references_of,
    type_in,
)
from singletable.operations import RAW, GetItem, Item
from singletable.studio.rows import plain
from singletable.studio.site import colour_of, model_of_type, name_of_type
from singletable.studio.visit import Visit
from singletable.values import from_attribute_value, item_size

MOST_COMPARED = 150
"""Attributes that the condition of a write can compare."""
MOST_ATTRIBUTES = 24
"""Attributes of an item that a list shows; the item's own page has all."""


class KeyTextPart(Struct, frozen=True):
    """A part of a key's text: a literal, or a value with the name of its attribute."""

    text: str
    name: str = ""
    address: str = ""
    """Another partition that this value is the key of."""


class ItemKeyCell(Struct, frozen=True):
    """A key attribute of an item."""

    name: str
    index: str
    """The name of an index; empty for the table."""
    parts: tuple[KeyTextPart, ...]
    address: str
    """The partition, or for a sort key of the table the item; empty if the item lacks the key."""

    @property
    def text(self) -> str:
        return "".join(part.text for part in self.parts)


class ItemAttribute(Struct, frozen=True):
    name: str
    value: Any
    stored: str
    """Its name in the table, where that is another."""


class ShownItem(Struct, frozen=True):
    """An item in a list."""

    kind: str
    type: str
    colour: str
    address: str
    bytes: int
    cells: tuple[ItemKeyCell, ...]
    attributes: tuple[ItemAttribute, ...]
    """The attributes that its key does not show."""
    more: int
    """Attributes that the list leaves out."""


def shown_item(visit: Visit, table: Table, item: Item, here: tuple[str, str] = ("", "")) -> ShownItem:
    """An item for a list. `here` is the index and the partition of the page that shows it."""
    type_name, place = type_in(table, item), place_in(table, item)
    kind, colour = name_of_type(table, type_name) or "no type", colour_of(table, type_name)
    cells = tuple(_cells(visit, table, item, here))
    in_key = {part.name for cell in cells if not cell.index for part in cell.parts}
    attributes = tuple(each for each in attributes_of(visit, table, item) if each.name not in in_key)
    return ShownItem(
        kind,
        type_name,
        colour,
        visit.item_address(table, type_name, place),
        item_size(item),
        cells,
        attributes[:MOST_ATTRIBUTES],
        max(0, len(attributes) - MOST_ATTRIBUTES),
    )


def attributes_of(visit: Visit, table: Table, item: Item) -> Iterator[ItemAttribute]:
    """All but keys, type and version, in the order of the declaration, then the undeclared ones."""
    model = model_of_type(table, type_in(table, item))
    names = {field.stored: field.name for field in model.fields} if model is not None else {}
    order = {stored: number for number, stored in enumerate(names)}
    reserved = {*table.definition.reserved}
    for stored in sorted(item, key=lambda name: (order.get(name, len(order)), name)):
        if stored in reserved or not is_told(visit, names.get(stored)):
            continue
        name = names.get(stored, stored)
        value = COVERED if is_covered(visit, table, model, name) else plain(visit, from_attribute_value(item[stored]))
        yield ItemAttribute(name, value, stored if stored != name else "")


def is_told(visit: Visit, name: str | None) -> bool:
    """True if an attribute of an item that the user may read may be shown to them: a node also holds its edges, and
    their numbers, of every class. None: no class declares it."""
    return visit.reads_all or (name is not None and not name.startswith("_"))


def is_covered(visit: Visit, table: Table, model: Model[Any] | None, name: str) -> bool:
    """True if an attribute's value is covered: it is personal, or its meaning is unknown, as in the library's items."""
    if not visit.covered:
        return False
    if model is not None and not model.is_system:
        return name in personal_names(model.kind)
    return any(personal_names(each.kind) for each in table.models if not each.is_system)


def _cells(visit: Visit, table: Table, item: Item, here: tuple[str, str]) -> Iterator[ItemKeyCell]:
    model = model_of_type(table, type_in(table, item))
    for index in (None, *table.definition.indexes):
        captured = None if model is None else model.key if index is None else model.indexes.get(index)
        names = table.definition.index_keys(index)
        for at, name in enumerate(names):
            if not name or (index is not None and name in table.definition.key):
                continue
            text = item.get(name, {}).get(table.definition.kinds.get(name, "S"))
            if text is None:
                yield ItemKeyCell(name, index or "", (), "")
                continue
            parts = tuple(key_parts(visit, table, model, captured, at, text, here))
            hidden = any(part.text == COVERED for part in parts)
            yield ItemKeyCell(name, index or "", parts, _address(visit, table, item, index, at, here, hidden))


def _address(
    visit: Visit, table: Table, item: Item, index: str | None, at: int, here: tuple[str, str], hidden: bool
) -> str:
    if at == 1:
        return visit.item_address(table, type_in(table, item), place_in(table, item)) if index is None else ""
    text = next(iter(item[table.definition.index_keys(index)[0]].values()))
    if (index or "", text) == here:
        return ""
    return visit.links.partition(table.name, text, index=index or "", hidden=hidden)


def key_parts(
    visit: Visit,
    table: Table,
    model: Model[Any] | None,
    captured: Captured | None,
    at: int,
    text: str,
    here: tuple[str, str] = ("", ""),
) -> Iterator[KeyTextPart]:
    """The parts of a key's text: field name over value. Whole where no template explains it."""
    match = _template(captured, at, text)
    if model is None or match is None:
        covered = is_covered(visit, table, model, "") or (visit.covered and model is not None and _is_personal(model))
        yield KeyTextPart(COVERED if covered and not _is_plain_type(model) else text)
        return
    template, values = match
    personal = personal_names(model.kind) if visit.covered else frozenset[str]()
    pieces, end = template.pieces
    for literal, slot in pieces:
        if literal:
            yield KeyTextPart(literal)
        value = values[slot.name]
        written = COVERED if slot.name in personal else template.text_of(slot, value)
        is_told = slot.name not in template.untold
        link = _related(visit, table, model, slot.name, value, here, slot.name in personal) if is_told else ""
        yield KeyTextPart(written, slot.name, link)
    if end:
        yield KeyTextPart(end)


def _template(captured: Captured | None, at: int, text: str) -> tuple[Template, Mapping[str, Any]] | None:
    """The template that wrote a key's text, that of an older key among them, and values that give it."""
    for form in (captured, captured.was if captured is not None else None):
        if form is not None and (values := form.templates[at].read(text, whole=True)) is not None:
            return form.templates[at], values
    return None


def _is_personal(model: Model[Any]) -> bool:
    return bool(personal_names(model.kind).intersection(model.identity))


def _is_plain_type(model: Model[Any] | None) -> bool:
    return model is not None and model.is_system and not _is_personal(model)


def _related(
    visit: Visit, table: Table, model: Model[Any], name: str, value: Any, here: tuple[str, str], hidden: bool
) -> str:
    """The partition that a value is the key of: of the class that it refers to, or of one with a key of that name."""
    if isinstance(value, KeyOf):
        key: KeyOf[Any] = cast("Any", value)
        own = ("", key.partition) == here or not visit.may_read(key.model.kind)
        return "" if own else visit.links.partition(table.name, key.partition, hidden=hidden)
    for other, attribute in _targets(table, model, name):
        template = other.key.templates[0]
        try:
            text = template.write({attribute: value})
        except (SingletableError, KeyError):
            continue
        if ("", text) != here and visit.may_read(other.kind):
            return visit.links.partition(table.name, text, hidden=hidden)
    return ""


def _targets(table: Table, model: Model[Any], name: str) -> Iterator[tuple[Model[Any], str]]:
    """The classes whose partition one value of an attribute names, with their attribute."""
    for reference in _references(table):
        if reference.holder is model.kind and list(reference.names) == [name]:
            target, attribute = model_of(reference.subject), reference.names[name]
            if target.key.templates[0].names == (attribute,):
                yield target, attribute
    for other in table.models:
        same = other.by_name.get(name)
        if other is not model and not other.is_system and other.key.templates[0].names == (name,) and same is not None:
            yield other, name


@cache
def _references(table: Table) -> Sequence[Reference]:
    return references_of(table)


# --- one item, as its address names it --------------------------------------------------------------------------------
async def read_item(visit: Visit, table: Table) -> Item:
    """The item that the address names, read consistently. NotFound, also for one of a class that the user may not
    read."""
    partition, sort = visit.key
    if not sort and table.definition.key[1]:
        raise InvalidRequest("the address names no sort key", hint="As in ?pk=user%23ada&sk=user.")
    await ready(visit.db.port, table)
    key = table.definition.key_at(partition, sort)
    item = await visit.db.port.send(GetItem(table.name, key, RAW, consistent=True))
    if item is None or not visit.may_read_type(table, type_in(table, item)):
        raise NotFound("no item lies under this key", table=table.name, hint="It may have been deleted since.")
    return item


def why_fixed(model: Model[Any] | None, item: Item, verb: str = "update") -> str:
    """Why an item can't be written here; empty where it can."""
    if model is None:
        return "no class of this program has its type"
    if verb in model.refuses:
        return model.refuses[verb]
    if model.is_system:
        return "the library keeps it"
    if len(item) > MOST_COMPARED:
        return f"it has {len(item):,} attributes, and the condition of a write compares up to {MOST_COMPARED}"
    try:
        return "it is being deleted" if model.load(item) is None else ""
    except SingletableError as error:
        return error.what


def below(visit: Visit, table: Table, word: str) -> str:
    """The address of what is done with an item, without its key."""
    return visit.links.covered().of(f"/item/{table.name}/{word}")
