"""Editing and deleting an item: a form, what would change, and a write under the item as it was seen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from singletable.errors import ConditionFailed, InvalidRequest
from singletable.foundation import COVERED, Model, Table, as_read, place_in, type_in
from singletable.operations import Item
from singletable.shown_values import as_shown
from singletable.studio.edits import (
    NONE,
    VALUE,
    WHY_COVERED,
    AttributeDifference,
    EditConflict,
    EditField,
    changed,
    conflicts,
    digest_of,
    fields_of,
    seen_text,
    seen_values,
    updates_of,
    wanted,
)
from singletable.studio.items import ItemKeyCell, below, read_item, shown_item, why_fixed
from singletable.studio.page import Action, Page, PageAnswer, Section
from singletable.studio.rows import plain, values_of
from singletable.studio.site import model_of_type
from singletable.studio.view import View
from singletable.studio.visit import Visit


class EditPage(View, frozen=True, kw_only=True):
    """The form of an item."""

    table: str
    kind: str
    colour: str
    cells: tuple[ItemKeyCell, ...]
    fields: tuple[EditField, ...]
    seen: str
    """The digest of the item when the form was made."""
    seen_values: str
    """Its attributes then, as JSON; what is covered is covered."""
    action: str
    delete_action: str
    item_address: str
    may_delete: bool
    covered: int
    """Attributes that can't be edited while personal values are covered."""


class ConfirmPage(View, frozen=True, kw_only=True):
    """The changes of a write; or, for a refused one, the seen, the present and the wanted values."""

    kind: str
    colour: str
    cells: tuple[ItemKeyCell, ...]
    differences: tuple[AttributeDifference, ...]
    conflicts: tuple[EditConflict, ...]
    """The conflicts of a refused write."""
    action: str
    fields: dict[str, str]
    """The sent fields, to be sent again."""
    item_address: str
    edit_address: str
    knows_seen: bool
    """Whether the form said what was seen at first."""
    is_conflict: bool
    is_delete: bool


async def load_edit(visit: Visit) -> EditPage:
    """One request."""
    table = visit.table
    item = await read_item(visit, table)
    model, entity = await _editable(visit, table, item)
    fields = tuple(fields_of(model, entity, covered=visit.covered))
    return _edit_page(visit, table, model, item, entity, fields)


async def edit(visit: Visit) -> str | PageAnswer:
    """Show what would change; when that was confirmed, write it, if the item is what was seen. Two requests."""
    table = visit.table
    item = await read_item(visit, table)
    model, entity = await _editable(visit, table, item)
    if digest_of(item, visit.secret) != visit.form.get("seen"):
        return _conflict(visit, table, model, item, entity, delete=False)
    values, fields = changed(model, entity, visit.form, covered=visit.covered)
    if any(field.problem for field in fields):
        page = _edit_page(visit, table, model, item, entity, tuple(fields))
        return PageAnswer("item_edit.html", page, 400, style="items.css")
    if not values or visit.form.get("confirmed") != "1":
        return _confirm(visit, table, model, item, entity, values, delete=False)
    visit.log_write("update", table, model.type, place_in(table, item))
    try:
        await visit.db.update(entity, *updates_of(model, values), where=as_read(model, item))
    except ConditionFailed:
        now = await read_item(visit, table)
        return _conflict(visit, table, model, now, model.load(now), delete=False)
    return visit.item_address(table, model.type, place_in(table, item))


async def delete(visit: Visit) -> str | PageAnswer:
    """Show what would be deleted; when that was confirmed, delete it, if it is what was seen. Two requests."""
    table = visit.table
    item = await read_item(visit, table)
    model, entity = await _editable(visit, table, item, "delete")
    if digest_of(item, visit.secret) != visit.form.get("seen"):
        return _conflict(visit, table, model, item, entity, delete=True)
    if visit.form.get("confirmed") != "1":
        return _confirm(visit, table, model, item, entity, {}, delete=True)
    visit.log_write("delete", table, model.type, place_in(table, item))
    try:
        await visit.db.delete(entity, where=as_read(model, item))
    except ConditionFailed:
        now = await read_item(visit, table)
        return _conflict(visit, table, model, now, model.load(now), delete=True)
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


def _edit_page(
    visit: Visit, table: Table, model: Model[Any], item: Item, entity: Any, fields: tuple[EditField, ...]
) -> EditPage:
    shown = shown_item(visit, table, item)
    query = shown.address.partition("?")[2]
    names = _written(model)
    return EditPage(
        title=f"Edit {shown.kind}",
        table=table.name,
        kind=shown.kind,
        colour=shown.colour,
        cells=shown.cells,
        fields=tuple(replace(field, type=visit.told(field.type)) for field in fields),
        seen=digest_of(item, visit.secret),
        seen_values=seen_text(names, values_of(visit, entity, names)),
        action=f"{below(visit, table, 'edit')}?{query}",
        delete_action=f"{below(visit, table, 'delete')}?{query}",
        item_address=shown.address,
        may_delete="delete" not in model.refuses,
        covered=sum(field.why_fixed == WHY_COVERED for field in fields),
    )


def _confirm(
    visit: Visit, table: Table, model: Model[Any], item: Item, entity: Any, values: Mapping[str, Any], *, delete: bool
) -> PageAnswer:
    """The page of a write's changes."""
    names = _written(model) if delete else list(values)
    before = values_of(visit, entity, names)
    after = [None if delete else plain(visit, as_shown(model, name, values[name])) for name in names]
    differences = tuple(AttributeDifference(n, b, a) for n, b, a in zip(names, before, after, strict=True))
    return _asked(visit, table, model, item, differences=differences, delete=delete)


def _conflict(visit: Visit, table: Table, model: Model[Any], item: Item, entity: Any, *, delete: bool) -> PageAnswer:
    """The page of a conflict: the seen, the present and the wanted values."""
    names = _written(model)
    now = values_of(visit, entity, names)
    seen = seen_values(visit.form["seen_values"]) if "seen_values" in visit.form else None
    beside = dict(zip(names, now, strict=True))
    yours = now if delete else wanted(model, entity, visit.form, beside, seen or {}, covered=visit.covered)
    shown = [plain(visit, each) for each in yours]
    return _asked(visit, table, model, item, conflicts=conflicts(names, seen, now, shown), delete=delete)


def _asked(
    visit: Visit,
    table: Table,
    model: Model[Any],
    item: Item,
    *,
    differences: Sequence[AttributeDifference] = (),
    conflicts: Sequence[EditConflict] = (),
    delete: bool,
) -> PageAnswer:
    shown = shown_item(visit, table, item)
    query = shown.address.partition("?")[2]
    verb = "Delete" if delete else "Change"
    view = ConfirmPage(
        title=f"{shown.kind} was changed by somebody else" if conflicts else f"{verb} {shown.kind}?",
        kind=shown.kind,
        colour=shown.colour,
        cells=shown.cells,
        differences=tuple(differences),
        conflicts=tuple(conflicts),
        action=f"{below(visit, table, 'delete' if delete else 'edit')}?{query}",
        fields={name: text for name, text in visit.form.items() if not delete or _is_of_delete(name)}
        | {"confirmed": "1"},
        item_address=shown.address,
        edit_address=f"{below(visit, table, 'edit')}?{query}",
        knows_seen="seen_values" in visit.form,
        is_conflict=bool(conflicts),
        is_delete=delete,
    )
    return PageAnswer("item_confirm.html", view, 409 if conflicts else 200, style="items.css")


def _is_of_delete(name: str) -> bool:
    """Whether a field of the form is needed to delete: not those of attributes."""
    return not name.startswith((VALUE, NONE))


def _written(model: Model[Any]) -> list[str]:
    return [each.name for each in model.fields if each.is_written]


SECTION = Section(
    pages=(Page("/item/{table}/edit", "item_edit.html", load_edit, style="items.css"),),
    actions=(Action("/item/{table}/edit", edit), Action("/item/{table}/delete", delete)),
)
