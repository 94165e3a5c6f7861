"""The pages of rotas, with their calendar, and of escalation policies."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta, timezone
from typing import Annotated, Any

from fastapi import APIRouter, Query
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from examples.manhunt.input_formats import link, moment, seconds_of, target
from examples.manhunt.model import Contact, Policy, Rota, Stage
from examples.manhunt.pages_contacts import number
from examples.manhunt.policies import MAX_STAGES
from examples.manhunt.rendering import path_to, render
from examples.manhunt.service import Service
from examples.manhunt.web import App, PageDomain
from examples.manhunt.zones import OnCall, on_call, on_call_between
from examples.shared.cost import metered
from examples.shared.errors import in_field
from examples.shared.forms import Fields, Form
from examples.shared.refused_forms import form_on

Limit = Annotated[int, Query(ge=1, le=100)]
WEEKS = 4
CHOICES = 100
"""How many contacts and rotas a form offers."""
MORE_STAGES = 2
"""Empty stages that a form offers besides those that are there."""
routes = APIRouter(default_response_class=HTMLResponse, include_in_schema=False)


@dataclass(frozen=True)
class Day:
    """A day of a calendar: who is on call in it, one after the other."""

    date: date
    turns: tuple[OnCall, ...]


def calendar_of(rota: Rota, first: date, weeks: int = WEEKS) -> Iterator[Day]:
    """The days of whole weeks, by UTC."""
    start = datetime(first.year, first.month, first.day, tzinfo=timezone.utc) - timedelta(days=first.weekday())
    for number_ in range(7 * weeks):
        at = start + timedelta(days=number_)
        yield Day(at.date(), tuple(on_call_between(rota, at, at + timedelta(days=1))))


def choices(app: Service, domain: str) -> tuple[Sequence[Contact], Sequence[Rota]]:
    """Whom a form offers. 2 requests."""
    return contacts_of(app, domain), app.rotas_of_domain(domain, limit=CHOICES).items


def contacts_of(app: Service, domain: str) -> Sequence[Contact]:
    return app.contacts_of_domain(domain, limit=CHOICES).items


def names_of(app: Service, ids: Iterable[str]) -> dict[str, str]:
    """The names of contacts that are there, by id. A batch."""
    keys = [Contact.by_id(id) for id in dict.fromkeys(ids)]
    return {contact.contact_id: contact.name for contact in app.db.get_many(keys)} if keys else {}


# --- rotas ------------------------------------------------------------------------------------------------------------
@routes.get("/rotas")
def rotas(app: App, domain: PageDomain, limit: Limit = 25, after: str | None = None) -> Response:
    def ask() -> dict[str, Any]:
        found = app.rotas_of_domain(domain, limit=limit, after=after)
        turns = {rota.rota_id: on_call(rota, app.now()) for rota in found.items}
        names = names_of(app, (turn.contact_id for turn in turns.values() if turn is not None))
        return {
            "found": found,
            "turns": turns,
            "names": names,
            "contacts": app.contacts_of_domain(domain, limit=CHOICES).items,
        }

    values, took = metered(app.db, ask)
    return render("rotas.html", **values, took=took, after=after, now=app.now())


@routes.post("/rotas", dependencies=form_on("/rotas"))
def create_rota(app: App, domain: PageDomain, form: Form) -> Response:
    made = app.create_rota(
        domain,
        form.text("name"),
        members(form),
        starts_at=moment_in(form, "starts_at") if form.text("starts_at") else app.now(),
        turn_seconds=seconds_in(form, "turn_seconds"),
        zone=form.text("zone") or "UTC",
    )
    return RedirectResponse(path_to("rotas", made.rota_id), 303)


@routes.get("/rotas/{rota_id}")
def rota(app: App, domain: PageDomain, rota_id: str, day: date | None = None) -> Response:
    """With the calendar of the weeks from a day on."""

    def ask() -> dict[str, Any]:
        found = app.rota_by_id(domain, rota_id)
        days = list(calendar_of(found, day or app.now().date()))
        shown = [*found.members, *(each.contact_id for each in found.overrides)]
        names = names_of(app, [*shown, *(turn.contact_id for each in days for turn in each.turns)])
        return {
            "rota": found,
            "days": days,
            "names": names,
            "contacts": app.contacts_of_domain(domain, limit=CHOICES).items,
        }

    values, took = metered(app.db, ask)
    first: date = values["days"][0].date
    weeks = timedelta(weeks=WEEKS)
    return render(
        "rota.html",
        **values,
        took=took,
        now=app.now(),
        before=first - weeks,
        later=first + weeks,
    )


@routes.post("/rotas/{rota_id}", dependencies=form_on("/rotas/{rota_id}"))
def change_rota(app: App, domain: PageDomain, form: Form, rota_id: str) -> Response:
    app.change_rota(
        domain,
        rota_id,
        name=form.text("name"),
        members=members(form),
        turn_seconds=seconds_in(form, "turn_seconds"),
        zone=form.text("zone") or "UTC",
    )
    return RedirectResponse(path_to("rotas", rota_id), 303)


@routes.post("/rotas/{rota_id}/delete", dependencies=form_on("/rotas/{rota_id}"))
def delete_rota(app: App, domain: PageDomain, rota_id: str) -> Response:
    app.delete_rota(domain, rota_id)
    return RedirectResponse("/rotas", 303)


@routes.post("/rotas/{rota_id}/overrides", dependencies=form_on("/rotas/{rota_id}"))
def add_override(app: App, domain: PageDomain, form: Form, rota_id: str) -> Response:
    starts, ends = moment_in(form, "starts_at"), moment_in(form, "ends_at")
    app.add_override(domain, rota_id, form.text("contact_id"), starts, ends)
    return RedirectResponse(path_to("rotas", rota_id), 303)


@routes.post("/rotas/{rota_id}/overrides/{override_id}/delete", dependencies=form_on("/rotas/{rota_id}"))
def delete_override(app: App, domain: PageDomain, rota_id: str, override_id: str) -> Response:
    app.delete_override(domain, rota_id, override_id)
    return RedirectResponse(path_to("rotas", rota_id), 303)


def moment_in(form: Fields, name: str) -> datetime:
    with in_field(name):
        return moment(form.text(name))


def seconds_in(form: Fields, name: str) -> int:
    with in_field(name):
        return seconds_of(form.text(name))


def members(form: Fields) -> list[str]:
    """In the order of their numbers; those without one are not members."""
    chosen = [(number(form, f"turn-{id}"), id) for id in form.all("member") if form.text(f"turn-{id}")]
    return [id for _, id in sorted(chosen)]


# --- policies ---------------------------------------------------------------------------------------------------------
@routes.get("/policies")
def policies(app: App, domain: PageDomain, limit: Limit = 25, after: str | None = None) -> Response:
    found, took = metered(app.db, lambda: app.policies_of_domain(domain, limit=limit, after=after))
    return render("policies.html", found=found, took=took, after=after)


@routes.get("/policies/new")
def new_policy(app: App, domain: PageDomain) -> Response:
    (contacts, of_domain), took = metered(app.db, lambda: choices(app, domain))
    return render("policy.html", policy=None, stages=[None] * 3, contacts=contacts, rotas=of_domain, took=took)


@routes.get("/policies/{policy_id}")
def policy(app: App, domain: PageDomain, policy_id: str) -> Response:
    (found, (contacts, of_domain)), took = metered(
        app.db, lambda: (app.policy_by_id(domain, policy_id), choices(app, domain))
    )
    empty = [None] * min(MORE_STAGES, MAX_STAGES - len(found.stages))
    stages = [*found.stages, *empty]
    return render("policy.html", policy=found, stages=stages, contacts=contacts, rotas=of_domain, took=took)


@routes.post("/policies", dependencies=form_on("/policies/new"))
def create_policy(app: App, domain: PageDomain, form: Form) -> Response:
    return _shown(app.create_policy(domain, form.text("name"), stages_of(form), **_rest(form)))


@routes.post("/policies/{policy_id}", dependencies=form_on("/policies/{policy_id}"))
def replace_policy(app: App, domain: PageDomain, form: Form, policy_id: str) -> Response:
    return _shown(app.replace_policy(domain, policy_id, form.text("name"), stages_of(form), **_rest(form)))


@routes.post("/policies/{policy_id}/delete", dependencies=form_on("/policies/{policy_id}"))
def delete_policy(app: App, domain: PageDomain, policy_id: str) -> Response:
    app.delete_policy(domain, policy_id)
    return RedirectResponse("/policies", 303)


def stages_of(form: Fields) -> list[Stage]:
    """The stages of a form in which somebody is chosen."""
    chosen = [form.all(f"stage-{place}") for place in range(MAX_STAGES)]
    return [
        Stage([target(text) for text in texts], seconds_in(form, f"wait-{place}"))
        for place, texts in enumerate(chosen)
        if texts
    ]


def _rest(form: Fields) -> dict[str, Any]:
    with in_field("links"):
        links = [link(line) for line in form.text("links").splitlines() if line.strip()]
    return {"repeats": number(form, "repeats"), "links": links}


def _shown(made: Policy) -> Response:
    return RedirectResponse(path_to("policies", made.policy_id), 303)
