"""Editing and deleting an item: a form, what would change, and a write under the item as it was seen."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from singletable.errors import ConditionFailed, InvalidRequest
from singletable.foundation import COVERED, Model, Table, as_read, place_in, type_in
from singletable.operations import Item
from singletable.studio.edits import Difference, EditField, changed, digest_of, fields_of, updates_of
from singletable.studio.items import KeyCell, shown_item
from singletable.studio.one_item import below, read_item, why_fixed
from singletable.studio.page import Action, Page, Shown
from singletable.studio.rows import plain, values_of
from singletable.studio.site import model_of_type
from singletable.studio.view import View
from singletable.studio.visit import Visit


class EditPage(View, frozen=True, kw_only=True):
    """The form of an item."""

    table: str
    kind: str
    colour: str
    cells: tuple[KeyCell, ...]
    fields: tuple[EditField, ...]
    seen: str
    """What the item was when the form was made."""
    action: str
    delete_action: str
    item_address: str
    may_delete: bool


class ConfirmPage(View, frozen=True, kw_only=True):
    """What a write would change; or, for one that was refused, what the item is now beside what was wanted."""

    kind: str
    colour: str
    cells: tuple[KeyCell, ...]
    differences: tuple[Difference, ...]
    action: str
    fields: dict[str, str]
    """What was sent, to be sent again."""
    item_address: str
    edit_address: str
    is_conflict: bool
    is_delete: bool


async def load_edit(visit: Visit) -> EditPage:
    """One request."""
    table = visit.table
    item = await read_item(visit, table)
    model, entity = await _editable(visit, table, item)
    fields = tuple(fields_of(model, entity, covered=visit.covered))
    return _edit_page(visit, table, model, item, fields)


async def edit(visit: Visit) -> str | Shown:
    """Show what would change; when that was confirmed, write it, if the item is what was seen. Two requests."""
    table = visit.table
    item = await read_item(visit, table)
    model, entity = await _editable(visit, table, item)
    values, fields = changed(model, entity, visit.form, covered=visit.covered)
    if digest_of(item) != visit.form.get("seen"):
        return _confirm(visit, table, model, item, entity, values, conflict=True)
    if any(field.problem for field in fields):
        page = _edit_page(visit, table, model, item, tuple(fields))
        return Shown("item_edit.html", page, 400, style="items.css")
    if not values or visit.form.get("confirmed") != "1":
        return _confirm(visit, table, model, item, entity, values)
    visit.log_write("update", table, model.type, place_in(table, item))
    try:
        await visit.db.update(entity, *updates_of(model, values), where=as_read(model, item))
    except ConditionFailed:
        now = await read_item(visit, table)
        return _confirm(visit, table, model, now, model.load(now), values, conflict=True)
    return visit.item_address(table, model.type, place_in(table, item))


async def delete(visit: Visit) -> str | Shown:
    """Show what would be deleted; when that was confirmed, delete it, if it is what was seen. Two requests."""
    table = visit.table
    item = await read_item(visit, table)
    model, entity = await _editable(visit, table, item, "delete")
    is_same = digest_of(item) == visit.form.get("seen")
    if not is_same or visit.form.get("confirmed") != "1":
        return _confirm(visit, table, model, item, entity, {}, conflict=not is_same, delete=True)
    visit.log_write("delete", table, model.type, place_in(table, item))
    try:
        await visit.db.delete(entity, where=as_read(model, item))
    except ConditionFailed:
        now = await read_item(visit, table)
        return _confirm(visit, table, model, now, model.load(now), {}, conflict=True, delete=True)
    hidden = COVERED in "".join(visit.shown_place(table, model.type, place_in(table, item)))
    return visit.links.partition(table.name, visit.key[0], hidden=hidden)


async def _editable(visit: Visit, table: Table, item: Item, verb: str = "update") -> tuple[Model[Any], Any]:
    """The class of an item and the item as its entity, where it can be written here."""
    model = model_of_type(table, type_in(table, item))
    if model is None:
        raise InvalidRequest("no class of this program has the item's type, so its keys and guards can't be kept")
    if why := why_fixed(model, item, verb):
        raise InvalidRequest(why)
    await visit.must_write(model.kind)
    return model, model.load(item)


def _edit_page(visit: Visit, table: Table, model: Model[Any], item: Item, fields: tuple[EditField, ...]) -> EditPage:
    shown = shown_item(visit, table, item)
    query = shown.address.partition("?")[2]
    return EditPage(
        title=f"Edit {shown.kind}",
        table=table.name,
        kind=shown.kind,
        colour=shown.colour,
        cells=shown.cells,
        fields=fields,
        seen=digest_of(item),
        action=f"{below(visit, table, 'edit')}?{query}",
        delete_action=f"{below(visit, table, 'delete')}?{query}",
        item_address=shown.address,
        may_delete="delete" not in model.refuses,
    )


def _confirm(
    visit: Visit,
    table: Table,
    model: Model[Any],
    item: Item,
    entity: Any,
    values: Mapping[str, Any],
    *,
    conflict: bool = False,
    delete: bool = False,
) -> Shown:
    shown = shown_item(visit, table, item)
    query = shown.address.partition("?")[2]
    names = [each.name for each in model.fields if each.is_written] if delete or conflict else list(values)
    before = values_of(visit, entity, names)
    wanted = zip(names, before, strict=True)
    after = [None if delete else plain(visit, values[name]) if name in values else now for name, now in wanted]
    verb = "Delete" if delete else "Change"
    view = ConfirmPage(
        title=f"{shown.kind} was changed by somebody else" if conflict else f"{verb} {shown.kind}?",
        kind=shown.kind,
        colour=shown.colour,
        cells=shown.cells,
        differences=tuple(Difference(n, b, a) for n, b, a in zip(names, before, after, strict=True)),
        action=f"{below(visit, table, 'delete' if delete else 'edit')}?{query}",
        fields={**visit.form, "confirmed": "1"},
        item_address=shown.address,
        edit_address=f"{below(visit, table, 'edit')}?{query}",
        is_conflict=conflict,
        is_delete=delete,
    )
    return Shown("item_confirm.html", view, 409 if conflict else 200, style="items.css")


PAGES = (Page("/item/{table}/edit", "item_edit.html", load_edit, style="items.css"),)
ACTIONS = (Action("/item/{table}/edit", edit), Action("/item/{table}/delete", delete))
