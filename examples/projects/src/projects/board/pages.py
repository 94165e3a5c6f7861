"""The pages: the boards of one's organisation, one board, and the way in."""

from __future__ import annotations

from typing import cast
from urllib.parse import quote

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, RedirectResponse

from examples_shared.forms import Form
from examples_shared.principal import DAY_SECONDS
from examples_shared.refused_forms import form_on
from examples_shared.signing_in import bearer, keep_signed_in
from projects.board.branch_pages import name_in
from projects.board.callers import COOKIE
from projects.board.rendering import error_page, render
from projects.board.requests import App, Caller, callers_of
from projects.errors import Missing
from singletable import NotFound

routes = APIRouter(default_response_class=HTMLResponse, include_in_schema=False)


@routes.get("/")
async def start(app: App, caller: Caller, after: str | None = None) -> HTMLResponse:
    """The boards of one's organisation."""
    found = await app.projects(caller, limit=100, after=after)
    return render("projects.html", projects=found.projects, after=found.after, user=caller, demo=app.is_demo)


@routes.post("/projects", dependencies=form_on("/"))
async def create(app: App, caller: Caller, form: Form) -> RedirectResponse:
    made = await app.create(caller, name_in(form))
    return RedirectResponse(f"/projects/{quote(made.id, safe='')}", 303)


@routes.get("/projects/{project_id:path}")
async def board(request: Request, app: App, caller: Caller, project_id: str) -> HTMLResponse:
    """One board. The page is the same for each; what is on it comes by Replicache's pull."""
    absent = cast(list[str], request.app.state.missing)
    if absent:
        return error_page(503, "The board’s packages are not installed", f"Run `npm ci`. Missing: {', '.join(absent)}")
    try:
        await app.admit(caller, project_id)
    except (Missing, NotFound):
        return error_page(404, "There is no such board", "It was deleted, or its address is another. Nothing was made.")
    return render("board.html", project=project_id, user=caller, demo=app.is_demo)


@routes.get("/sign-in")
def sign_in() -> HTMLResponse:
    return render("sign_in.html", refused=False)


@routes.post("/sign-in", response_model=None)
async def signed_in(request: Request, form: Form) -> HTMLResponse | RedirectResponse:
    token = form.text("token")
    if callers_of(request)(bearer(token)) is None:
        return render("sign_in.html", 403, refused=True)
    return keep_signed_in(COOKIE, token, is_secure=request.url.scheme == "https", max_age_seconds=DAY_SECONDS)


@routes.post("/sign-out")
def sign_out() -> RedirectResponse:
    """What this browser kept of the boards goes too."""
    answer = RedirectResponse("/sign-in", 303, {"Clear-Site-Data": '"cache", "storage"'})
    answer.delete_cookie(COOKIE)
    return answer
