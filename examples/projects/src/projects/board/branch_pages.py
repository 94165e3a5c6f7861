"""The page of a board's branches and tags, and the report of a merge with its conflicts."""

from __future__ import annotations

from urllib.parse import quote

from fastapi import APIRouter
from fastapi.responses import HTMLResponse, RedirectResponse

from examples_shared.errors import in_field
from examples_shared.forms import Fields, Form
from examples_shared.refused_forms import form_on
from examples_shared.textfile import shown
from projects.board.merge_report import choices_in, report_of, seen_in, side_of
from projects.board.rendering import render
from projects.board.requests import App, Caller
from projects.errors import Invalid, Refused
from singletable import InvalidRequest

routes = APIRouter(default_response_class=HTMLResponse, include_in_schema=False)
ONE = "/projects/{project_id:path}"
PAGE = "/projects/{project_id}/branches"


@routes.get(ONE + "/branches")
async def branches(app: App, caller: Caller, project_id: str, after: str | None = None) -> HTMLResponse:
    """Its tags, its branches and what it was branched from."""
    return render(
        "branches.html",
        board=await app.listed(caller, project_id),
        branches=await app.branches(caller, project_id),
        tags=await app.tags(caller, project_id, limit=100, after=after),
        address=_address,
    )


@routes.post(ONE + "/branches", dependencies=form_on(PAGE))
async def branch(app: App, caller: Caller, project_id: str, form: Form) -> RedirectResponse:
    """A new board that begins as this one; then it is open."""
    with in_field("version"):
        made = await app.branch(caller, project_id, _version_in(form))
    return RedirectResponse(_address(made.id), 303)


@routes.post(ONE + "/tags", dependencies=form_on(PAGE))
async def tag(app: App, caller: Caller, project_id: str, form: Form) -> RedirectResponse:
    """Name a version, or take a name away."""
    if "remove" in form:
        await app.untag(caller, project_id, form["remove"])
    else:
        name, version = name_in(form), _version_in(form)
        with in_field("name"):
            await app.tag(caller, project_id, name, version=version)
    return RedirectResponse(f"{_address(project_id)}/branches", 303)


@routes.post(ONE + "/merge", dependencies=form_on(PAGE))
async def merge(app: App, caller: Caller, project_id: str, form: Form) -> HTMLResponse:
    """Merge another board into this one. Where both changed something, the report asks which to keep. A choice counts
    for what it was between: where that was changed meanwhile, the report asks again."""
    source, prefer, choose = form.text("from"), side_of(form.text("prefer")), choices_in(form.pairs)
    try:
        found = await app.merge(caller, source, onto=project_id)
        seen = seen_in(found.conflicts)
        outdated = {field for field, now in seen.items() if (prefer or choose) and form.was(field) not in ("", now)}
        if not found.merged and not outdated:
            found = await app.merge(caller, source, onto=project_id, prefer=prefer, choose=choose)
    except InvalidRequest:
        raise Refused("these two boards have no version in common") from None
    return render(
        "merge.html",
        200 if found.merged else 409,
        ours=await app.listed(caller, project_id),
        theirs=await app.listed(caller, source),
        found=found,
        report=report_of(found.conflicts),
        seen=seen,
        outdated=outdated,
        chosen={field: form.text(field) for field in seen if field not in outdated},
        address=_address,
    )


def _address(project_id: str) -> str:
    return f"/projects/{quote(project_id, safe='')}"


def name_in(form: Fields) -> str:
    name = form.text("name")
    if not 0 < len(name) <= 200:
        raise Invalid("a name has 1 to 200 characters", "name")
    return name


def _version_in(form: Fields) -> int | None:
    """Where the field is empty: the newest that the page showed; None where it showed none."""
    said = form.text("version") or form.was("version")
    if not said:
        return None
    if not said.isascii() or not said.isdecimal() or len(said) > 12:
        raise Invalid(f"a version is a number, not {shown(said)}", "version")
    return int(said)
