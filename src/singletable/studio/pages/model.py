"""The model of a table: its classes drawn, where the live table differs, what a plan would do; and a page a class."""

from __future__ import annotations

from msgspec import Struct

from singletable.documents.inspect import documents_of
from singletable.errors import NotFound
from singletable.foundation import Table, entity_name
from singletable.migrations import PlanRefused, Step
from singletable.migrations.inspect import compared_with_live
from singletable.studio.addresses import segment
from singletable.studio.model import ClassView, Diagram, ModelView, TableView, diagram_of, model_view
from singletable.studio.model.declarations import own_models
from singletable.studio.model.diagram import colours_of
from singletable.studio.model.visibility import readable
from singletable.studio.page import Page, Section
from singletable.studio.view import View
from singletable.studio.visit import Visit
from singletable.tables import Difference, differences


class LiveTable(Struct, frozen=True):
    """The differences of the live table from its declaration, and the steps that would bring it there."""

    is_missing: bool = False
    differences: tuple[Difference, ...] = ()
    steps: tuple[Step, ...] = ()
    left: tuple[str, ...] = ()
    """The differences that stay, each with its reason."""
    unsupported: tuple[str, ...] = ()
    """Declared settings that the engine doesn't have."""
    refused: str = ""
    """The reason why a plan is not possible."""


class ModelPage(View, frozen=True, kw_only=True):
    """A table: its declaration and its live state."""

    table: TableView
    diagram: Diagram
    colours: dict[str, str]
    live: LiveTable | None
    """The live table; None for a visitor who may not read every class: steps name classes."""
    plan: str
    """The command that counts what each step takes."""
    static: str
    """The command that writes these pages."""


class ClassPage(View, frozen=True, kw_only=True):
    """A class: its declaration."""

    shown: ClassView
    colours: dict[str, str]


async def load_model(visit: Visit) -> ModelPage:
    table, view = visit.table, _view(visit)
    return ModelPage(
        title=f"Model of {table.name}",
        table=view,
        diagram=diagram_of(view, lambda each: visit.links.entity(table.name, each.name)),
        colours=colours_of(view),
        live=await _live(visit, table) if visit.reads_all else None,
        plan=visit.site.command("plan"),
        static=f"singletable studio {visit.site.module or 'MODULE'} --static docs/model",
    )


async def load_class(visit: Visit) -> ClassPage:
    view, name = _view(visit), visit.path["entity"]
    shown = next((each for each in view.classes if segment(each.name) == segment(name)), None)
    if shown is None:
        known = ", ".join(each.name for each in view.classes) or "none"
        raise NotFound(f"the table has no class {name!r}", table=view.name, hint=f"It has {known}.")
    return ClassPage(title=shown.name, shown=shown, colours=colours_of(view))


def _view(visit: Visit) -> TableView:
    """The table's declarations, of the classes that the visitor may read."""
    kept: ModelView | None = visit.site.kept.get("model")
    if kept is None:
        kept = visit.site.kept["model"] = model_view(visit.site.tables, visit.site.title)
    view = next(each for each in kept.tables if each.name == visit.table.name)
    if visit.reads_all:
        return view
    kinds = (*(model.kind for model in own_models(visit.table)), *documents_of(visit.table))
    return visit.told(readable(view, {entity_name(kind) for kind in kinds if visit.may_read(kind)}))


async def _live(visit: Visit, table: Table) -> LiveTable:
    """A few requests, whatever the table's size: what steps take is counted by `singletable plan`."""
    db = visit.db
    try:
        plan, live, _ = await db.run(compared_with_live(db.port, table))
    except PlanRefused as error:
        return LiveTable(differences=tuple(await db.diff_table(table)), refused=str(error))
    found = () if live is None else tuple(differences(table.definition, live.description))
    return LiveTable(live is None, found, plan.steps, plan.left, plan.unsupported)


SECTION = Section(
    pages=(
        Page("/model/{table}", "model.html", load_model, nav="Model", order=80, style="model.css"),
        Page("/model/{table}/{entity}", "model_class.html", load_class, style="model.css"),
    ),
)
