"""The web application: the HTTP API under /api, the telephone provider's requests, and the pages.

A domain sees and changes what is its own. Whoever may not know that something is there gets the answer that it is not:
404 for another domain's and for what nobody has, byte for byte. OpenAPI at /api/openapi.json.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from fastapi import APIRouter, FastAPI, Query, Request
from starlette.staticfiles import StaticFiles

from examples_shared.bodies import ApiRoute
from examples_shared.error_answers import ErrorAnswers
from examples_shared.errors import LIBRARY_STATUS
from examples_shared.guard import guarded
from manhunt import (
    api_incidents,
    pages,
    pages_contacts,
    pages_incidents,
    pages_policies,
    pages_rotas,
    telephone,
)
from manhunt.errors import Invalid, Missing, Refused
from manhunt.model import Status
from manhunt.queries import Window
from manhunt.rendering import HEADERS
from manhunt.schemas import (
    AnsweredOut,
    AnswerIn,
    CancelIn,
    ContactDetailsOut,
    ContactIn,
    ContactOut,
    ContactsOut,
    MethodChangeIn,
    MethodIn,
    MethodOut,
    Moment,
    SearchDetailsOut,
    SearchesOut,
    SearchIn,
    SearchOut,
)
from manhunt.web import App, Domain, Web, web_of

LOCAL_HOSTS = ("127.0.0.1", "localhost")
FOLDER = Path(__file__).parent

STATUS: dict[type[Exception], int] = {
    Missing: 404,
    Refused: 409,
    Invalid: 422,
    **LIBRARY_STATUS,
}

Limit = Annotated[int, Query(ge=1, le=100)]
routes = APIRouter(prefix="/api", route_class=ApiRoute)


PARTS = (
    api_incidents.routes,
    telephone.routes,
    pages.routes,
    pages_contacts.routes,
    pages_rotas.routes,
    pages_policies.routes,
    pages_incidents.routes,
)


def create_app(web: Web, hosts: Sequence[str] = LOCAL_HOSTS) -> FastAPI:
    """The application. `hosts` are the names it answers to."""
    app = guarded(hosts, HEADERS, title="Manhunt", openapi_url="/api/openapi.json", docs_url=None, redoc_url=None)
    app.state.web = web
    for router in (routes, *PARTS):
        app.include_router(router)
    app.mount("/static", StaticFiles(directory=FOLDER / "static"), name="static")
    ErrorAnswers(STATUS, is_api, pages.error_page).answer_errors(app)
    return app


def is_api(path: str) -> bool:
    """Whether a program asks."""
    return path.startswith(("/api/", "/telephone/"))


# --- contacts ---------------------------------------------------------------------------------------------------------
@routes.get("/contacts")
def contacts_of_domain(app: App, domain: Domain, limit: Limit = 25, after: str | None = None) -> ContactsOut:
    """A page of the domain's contacts, by name."""
    return ContactsOut.of(app.contacts_of_domain(domain, limit=limit, after=after))


@routes.post("/contacts", status_code=201)
def create_contact(app: App, domain: Domain, given: ContactIn) -> ContactOut:
    return ContactOut.of(app.create_contact(domain, given.name))


@routes.get("/contacts/{contact_id}")
def contact_with_methods(
    app: App, domain: Domain, contact_id: str, methods: bool = True
) -> ContactDetailsOut | ContactOut:
    """With `methods=false`, the contact alone."""
    if not methods:
        return ContactOut.of(app.contact_by_id(domain, contact_id))
    return ContactDetailsOut.details(app.contact_with_methods(domain, contact_id))


@routes.put("/contacts/{contact_id}")
def rename_contact(app: App, domain: Domain, contact_id: str, given: ContactIn) -> ContactOut:
    return ContactOut.of(app.rename_contact(domain, contact_id, given.name))


@routes.delete("/contacts/{contact_id}", status_code=204)
def delete_contact(app: App, domain: Domain, contact_id: str) -> None:
    """With its methods. Searches that are open go on."""
    app.delete_contact(domain, contact_id)


@routes.post("/contacts/{contact_id}/methods", status_code=201)
def add_method(app: App, domain: Domain, contact_id: str, given: MethodIn) -> MethodOut:
    said = {name: getattr(given, name) for name in ("order", "wait_seconds", "enabled")}
    return MethodOut.of(app.add_method(domain, contact_id, given.kind, given.destination, **said))


@routes.patch("/contacts/{contact_id}/methods/{method_id}")
def change_method(app: App, domain: Domain, contact_id: str, method_id: str, given: MethodChangeIn) -> MethodOut:
    return MethodOut.of(app.change_method(domain, contact_id, method_id, **given.model_dump()))


@routes.delete("/contacts/{contact_id}/methods/{method_id}", status_code=204)
def delete_method(app: App, domain: Domain, contact_id: str, method_id: str) -> None:
    app.delete_method(domain, contact_id, method_id)


# --- searches ---------------------------------------------------------------------------------------------------------
@routes.post("/contacts/{contact_id}/searches", status_code=201)
def open_search(app: App, domain: Domain, contact_id: str, given: SearchIn) -> SearchOut:
    """Look for a contact. Without an enabled method the search has failed at once, and says so."""
    opened = app.open_search(
        domain,
        contact_id,
        given.metadata,
        message=given.message,
        answer_seconds=given.answer_seconds,
        urgent=given.urgent,
    )
    return SearchOut.of(opened)


@routes.get("/contacts/{contact_id}/searches")
def searches_of_contact(
    app: App,
    domain: Domain,
    contact_id: str,
    status: Status | None = None,
    since: Moment | None = None,
    until: Moment | None = None,
    newest_first: bool = False,
    limit: Limit = 25,
    after: str | None = None,
) -> SearchesOut:
    """A page of a contact's searches by time: all or of a status, after `since` and before `until`."""
    window = Window(since, until)
    return SearchesOut.of(
        app.some_searches(
            domain, contact_id, status, window=window, newest_first=newest_first, limit=limit, after=after
        )
    )


@routes.get("/searches/{search_id}")
def search_with_attempts(
    app: App, domain: Domain, search_id: str, attempts: bool = True
) -> SearchDetailsOut | SearchOut:
    """With `attempts=false`, the search alone."""
    if not attempts:
        return SearchOut.of(app.search_by_id(domain, search_id))
    return SearchDetailsOut.details(app.search_with_attempts(domain, search_id))


@routes.post("/searches/{search_id}/cancel")
def cancel(app: App, domain: Domain, search_id: str, given: CancelIn) -> SearchOut:
    return SearchOut.of(app.cancel(domain, search_id, by=given.by, reason=given.reason))


@routes.post("/answers/{token}")
def answer(request: Request, app: App, token: str, given: AnswerIn | None = None) -> AnsweredOut:
    """A program answers, by the address that its webhook was given."""
    search_id, step = web_of(request).links.read("answer", token)
    asked = given or AnswerIn()
    search = app.answer(search_id, step, how="webhook", by=asked.by, said=asked.said)
    assert search.resolution is not None
    return AnsweredOut(status=search.status, by=search.resolution.by)
