"""The pages of incidents: what is wrong, who is looked for, and what people do about it."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Query
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from examples_shared.cost import metered
from examples_shared.errors import in_field
from examples_shared.forms import Fields, Form
from examples_shared.refused_forms import form_on
from manhunt.choosing import CONTACT, POLICY, ROTA, choices, chosen, more_chosen, more_fields
from manhunt.input_formats import moment
from manhunt.model import IncidentStatus
from manhunt.pages_rotas import seconds_in
from manhunt.queries import Window
from manhunt.rendering import path_to, render
from manhunt.web import App, PageDomain

Limit = Annotated[int, Query(ge=1, le=100)]
TARGETS = more_fields("target")
routes = APIRouter(default_response_class=HTMLResponse, include_in_schema=False)


def window_of(since: str, until: str) -> Window:
    """The part of the time that a form asks for; an empty field is not a bound."""
    return Window(_bound("since", since), _bound("until", until))


def _bound(field: str, text: str) -> datetime | None:
    with in_field(field):
        return moment(text) if text else None


@routes.get("/incidents")
def incidents(
    app: App,
    domain: PageDomain,
    status: str = "",
    since: str = "",
    until: str = "",
    limit: Limit = 25,
    after: str | None = None,
) -> Response:
    """The newest first: all or of a status, between two moments."""
    asked = next((each for each in IncidentStatus if each.value == status), None)

    def ask() -> Any:
        page = app.incidents_of_domain(domain, status=asked, window=window_of(since, until), limit=limit, after=after)
        return page, choices(app, domain, POLICY)

    (found, offered), took = metered(app.db, ask)
    values = {"status": status, "since": since, "until": until}
    return render(
        "incidents.html",
        found=found,
        choices=offered,
        took=took,
        after=after,
        asked=values,
        statuses=list(IncidentStatus),
    )


@routes.post("/incidents", dependencies=form_on("/incidents"))
def open_incident(app: App, domain: PageDomain, form: Form) -> Response:
    opened = app.open_incident(
        domain,
        chosen(app, domain, form, "policy", POLICY)[1],
        form.text("summary"),
        alarm_key=form.text("alarm_key"),
        urgent="urgent" in form,
    )
    return _shown(opened.incident.incident_id)


@routes.get("/incidents/{incident_id}")
def incident(app: App, domain: PageDomain, incident_id: str, live: bool = False) -> Response:
    """It goes on before one's eyes, as a search does. The script that looks again asks for it `live`: without whom its
    form offers."""

    def ask() -> Any:
        found = app.incident_with_all(domain, incident_id)
        return found, app.searches_of_incident(found), [] if live else choices(app, domain, ROTA, CONTACT)

    (found, searches, offered), took = metered(app.db, ask)
    links = {link.search_id: link for link in found.searches}
    return render(
        "incident.html",
        details=found,
        incident=found.incident,
        searches=searches,
        links=links,
        choices=offered,
        more_targets=TARGETS,
        now=app.now(),
        took=took,
    )


@routes.post("/incidents/{incident_id}/acknowledge", dependencies=form_on("/incidents/{incident_id}"))
def acknowledge(app: App, domain: PageDomain, form: Form, incident_id: str) -> Response:
    app.acknowledge(domain, incident_id, **_who(form))
    return _shown(incident_id)


@routes.post("/incidents/{incident_id}/snooze", dependencies=form_on("/incidents/{incident_id}"))
def snooze(app: App, domain: PageDomain, form: Form, incident_id: str) -> Response:
    app.snooze(domain, incident_id, seconds=seconds_in(form, "seconds"), **_who(form))
    return _shown(incident_id)


@routes.post("/incidents/{incident_id}/reassign", dependencies=form_on("/incidents/{incident_id}"))
def reassign(app: App, domain: PageDomain, form: Form, incident_id: str) -> Response:
    with in_field(TARGETS[0]):
        app.reassign(domain, incident_id, more_chosen(app, domain, form, TARGETS, ROTA, CONTACT), **_who(form))
    return _shown(incident_id)


@routes.post("/incidents/{incident_id}/resolve", dependencies=form_on("/incidents/{incident_id}"))
def resolve(app: App, domain: PageDomain, form: Form, incident_id: str) -> Response:
    app.resolve(domain, incident_id, **_who(form))
    return _shown(incident_id)


@routes.post("/incidents/{incident_id}/resources", dependencies=form_on("/incidents/{incident_id}"))
def add_resource(app: App, domain: PageDomain, form: Form, incident_id: str) -> Response:
    app.add_resource(domain, incident_id, form.text("title"), form.text("url"))
    return _shown(incident_id)


def _who(form: Fields) -> dict[str, Any]:
    return {"by": form.text("by") or "somebody at the page", "said": form.text("said")}


def _shown(incident_id: str) -> Response:
    return RedirectResponse(path_to("incidents", incident_id), 303)
