"""The web pages: contacts, a contact with its searches, a search as it goes on, and the page that answers."""

from __future__ import annotations

from contextlib import suppress
from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from examples_shared.cost import metered
from examples_shared.errors import in_field
from examples_shared.forms import Form
from examples_shared.refused_forms import form_on, typed
from examples_shared.signing_in import bearer, keep_signed_in
from manhunt import searches
from manhunt.errors import AlreadyEnded
from manhunt.model import Kind, Status
from manhunt.pages_contacts import shown_method, shown_quiet
from manhunt.pages_incidents import window_of
from manhunt.picture import COLUMNS, picture
from manhunt.rendering import path_to, render
from manhunt.views import search_view
from manhunt.web import COOKIE, App, domain_of, signed_in, web_of

Limit = Annotated[int, Query(ge=1, le=100)]
routes = APIRouter(default_response_class=HTMLResponse, include_in_schema=False)


@routes.get("/")
def start(request: Request, app: App, limit: Limit = 50, after: str | None = None) -> Response:
    """The domain's contacts, or the way in."""
    domain = domain_of(request)
    if domain is None:
        return render("sign_in.html", wrong=False)
    found, took = metered(app.db, lambda: app.contacts_of_domain(domain, limit=limit, after=after))
    return render("contacts.html", found=found, domain=domain, took=took, after=after)


@routes.post("/sign-in")
def sign_in(request: Request, form: Form) -> Response:
    web, token = web_of(request), form.text("token")
    if web.principal(bearer(token)) is None:
        return render("sign_in.html", 401, wrong=True)
    return keep_signed_in(COOKIE, token, is_secure=web.links.base_url.startswith("https:"))


@routes.post("/sign-out")
def sign_out() -> Response:
    answer = RedirectResponse("/", 303)
    answer.delete_cookie(COOKIE)
    return answer


@routes.get("/contacts/{contact_id}")
def contact(
    request: Request,
    app: App,
    contact_id: str,
    status: str = "",
    since: str = "",
    until: str = "",
    limit: Limit = 25,
    after: str | None = None,
) -> Response:
    """With its methods, and its searches: all or of a status, between two moments."""
    domain = signed_in(request)
    asked = next((each for each in Status if each.value == status), None)
    window = window_of(since, until)
    found, took = metered(
        app.db,
        lambda: (
            app.contact_with_methods(domain, contact_id),
            app.some_searches(domain, contact_id, asked, window=window, newest_first=True, limit=limit, after=after),
        ),
    )
    return render(
        "contact.html",
        details=found[0],
        searches=found[1],
        took=took,
        after=after,
        asked={"status": status, "since": since, "until": until},
        statuses=list(Status),
        kinds=list(Kind),
        shown_method=shown_method,
        shown_quiet=shown_quiet,
    )


@routes.get("/contacts/{contact_id}/searches")
def searches_of(
    request: Request,
    app: App,
    contact_id: str,
    status: str = "",
    since: str = "",
    until: str = "",
    first: str = "newest",
    limit: Limit = 25,
    after: str | None = None,
) -> Response:
    """A contact alone, and its searches by time: all or of a status, between two moments, from either end."""
    domain = signed_in(request)
    asked = next((each for each in Status if each.value == status), None)
    window, newest = window_of(since, until), first != "oldest"
    found, took = metered(
        app.db,
        lambda: (
            app.contact_by_id(domain, contact_id),
            app.some_searches(domain, contact_id, asked, window=window, newest_first=newest, limit=limit, after=after),
        ),
    )
    return render(
        "contact_searches.html",
        contact=found[0],
        searches=found[1],
        took=took,
        after=after,
        asked={"status": status, "since": since, "until": until, "first": first},
        statuses=list(Status),
    )


@routes.post("/contacts/{contact_id}/searches", dependencies=form_on("/contacts/{contact_id}"))
def open_search(request: Request, app: App, form: Form, contact_id: str) -> Response:
    metadata = {"summary": form.text("summary") or "please get in touch"}
    with in_field("summary"):
        opened = app.open_search(signed_in(request), contact_id, metadata, urgent="later" not in form)
    return RedirectResponse(path_to("searches", opened.search_id), 303)


@routes.get("/searches/{search_id}")
def search(request: Request, app: App, search_id: str) -> Response:
    """It goes on before one's eyes: the script asks for this page again, and takes over what changed."""
    domain = signed_in(request)
    found, took = metered(app.db, lambda: app.search_with_attempts(domain, search_id))
    return render("search.html", view=search_view(found), now=app.now(), took=took)


@routes.get("/searches/{search_id}/plan")
def plan(request: Request, app: App, search_id: str) -> Response:
    """A search alone: what was copied into it when it was opened."""
    domain = signed_in(request)
    found, took = metered(app.db, lambda: app.search_by_id(domain, search_id))
    return render("plan.html", search=found, took=took)


@routes.post("/searches/{search_id}/cancel", dependencies=form_on("/searches/{search_id}"))
def cancel(request: Request, app: App, form: Form, search_id: str) -> Response:
    by = form.text("by") or "somebody at the page"
    with suppress(AlreadyEnded):  # which the page shows
        app.cancel(signed_in(request), search_id, by=by, reason=form.text("reason"))
    return RedirectResponse(path_to("searches", search_id), 303)


@routes.get("/table")
def table(request: Request, app: App) -> Response:
    """The published picture, drawn from the live table."""
    domain = signed_in(request)
    rows, took = metered(app.db, lambda: picture(app, domain))
    return render("table.html", rows=rows, columns=COLUMNS, took=took)


@routes.get("/answer/{token}")
def answer_page(request: Request, app: App, token: str) -> Response:
    """Only looks: programs that scan mail open every link."""
    search_id, _ = web_of(request).links.read("answer", token)
    found = searches.read(app.db, search_id)
    return render("answer.html", search=found, thanks=False)


@routes.post("/answer/{token}", dependencies=form_on("/answer/{token}"))
def answer(request: Request, app: App, token: str, form: Form) -> Response:
    """The button."""
    search_id, step = web_of(request).links.read("answer", token)
    try:
        with in_field("said"):
            found = app.answer(search_id, step, how="link", said=form.text("said"))
    except AlreadyEnded:
        found = searches.read(app.db, search_id)
    own = found.status is Status.ANSWERED
    return render("answer.html", search=found, thanks=own)


def error_page(request: Request, status: int, said: str) -> HTMLResponse:
    """What went wrong and, where no page has the form any more, what was typed into it."""
    return render("error.html", status, code=status, said=said, typed=typed(request))
