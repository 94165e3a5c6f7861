"""The page of a board's branches and tags, and the report of a merge with its conflicts."""

from __future__ import annotations

from urllib.parse import quote

from fastapi import APIRouter
from fastapi.responses import HTMLResponse, RedirectResponse

from examples.projects.board.merge_report import choices_in, report_of, side_of
from examples.projects.board.rendering import render
from examples.projects.board.requests import App, Caller
from examples.projects.board.service import Boards
from examples.projects.errors import ApplicationError, Invalid, Missing
from examples.shared.forms import Fields, Form
from singletable import InvalidRequest, InvalidValue, NotFound

routes = APIRouter(default_response_class=HTMLResponse, include_in_schema=False)
ONE = "/projects/{project_id:path}"


@routes.get(ONE + "/branches")
async def branches(app: App, caller: Caller, project_id: str, after: str | None = None) -> HTMLResponse:
    """Its tags, its branches and what it was branched from."""
    return await _page(app, caller, project_id, after=after)


@routes.post(ONE + "/branches", response_model=None)
async def branch(app: App, caller: Caller, project_id: str, form: Form) -> HTMLResponse | RedirectResponse:
    """A new board that begins as this one; then it is open."""
    try:
        made = await app.branch(caller, project_id, _version_in(form))
    except (ApplicationError, NotFound) as error:
        return await _page(app, caller, project_id, error)
    return RedirectResponse(_address(made.id), 303)


@routes.post(ONE + "/tags", response_model=None)
async def tag(app: App, caller: Caller, project_id: str, form: Form) -> HTMLResponse | RedirectResponse:
    """Name a version, or take a name away."""
    try:
        if "remove" in form:
            await app.untag(caller, project_id, form["remove"])
        else:
            await app.tag(caller, project_id, _name_in(form), version=_version_in(form))
    except (ApplicationError, InvalidValue, NotFound) as error:
        return await _page(app, caller, project_id, error)
    return RedirectResponse(f"{_address(project_id)}/branches", 303)


@routes.post(ONE + "/merge")
async def merge(app: App, caller: Caller, project_id: str, form: Form) -> HTMLResponse:
    """Merge another board into this one. Where both changed something, the report asks which to keep."""
    source = form.text("from")
    try:
        prefer = side_of(form.text("prefer"))
        found = await app.merge(caller, source, onto=project_id, prefer=prefer, choose=choices_in(form.pairs))
    except InvalidRequest:
        return await _page(app, caller, project_id, Invalid("these two boards have no version in common"))
    return render(
        "merge.html",
        200 if found.merged else 409,
        ours=await app.listed(caller, project_id),
        theirs=await app.listed(caller, source),
        found=found,
        report=report_of(found.conflicts),
        address=_address,
    )


async def _page(
    app: Boards, caller: str, project_id: str, trouble: Exception | None = None, after: str | None = None
) -> HTMLResponse:
    """With what did not work, if anything. Where it is the board itself that is missing, that is raised again."""
    said = "there is no such version" if isinstance(trouble, (Missing, NotFound)) else trouble
    status = 200 if trouble is None else 409
    return render(
        "branches.html",
        status,
        board=await app.listed(caller, project_id),
        branches=await app.branches(caller, project_id),
        tags=await app.tags(caller, project_id, limit=100, after=after),
        trouble=said,
        address=_address,
    )


def _address(project_id: str) -> str:
    return f"/projects/{quote(project_id, safe='')}"


def _name_in(form: Fields) -> str:
    name = form.text("name")
    if not 0 < len(name) <= 200:
        raise Invalid("a tag has a name of 1 to 200 characters")
    return name


def _version_in(form: Fields) -> int | None:
    """None where the field is empty: the newest."""
    said = form.text("version")
    if not said:
        return None
    if not said.isascii() or not said.isdecimal() or len(said) > 12:
        raise Invalid(f"a version is a number, not {said!r}")
    return int(said)
