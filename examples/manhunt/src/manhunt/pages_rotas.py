"""The pages of rotas, with their calendar."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Annotated, Any

from fastapi import APIRouter, Query
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from examples_shared.as_read import check_as_read
from examples_shared.cost import metered
from examples_shared.errors import in_field
from examples_shared.forms import Fields, Form
from examples_shared.refused_forms import form_on
from manhunt.choosing import CONTACT, choices, chosen, more_chosen, more_fields, names_of
from manhunt.input_formats import length, moment, seconds_of
from manhunt.model import Rota
from manhunt.pages_contacts import number
from manhunt.rendering import path_to, render
from manhunt.service import Service
from manhunt.web import App, PageDomain
from manhunt.zones import OnCall, at_local, check_year, on_call, on_call_between, zone_of

Limit = Annotated[int, Query(ge=1, le=100)]
WEEKS = 4
MORE = more_fields("add")
"""The fields for more members."""
routes = APIRouter(default_response_class=HTMLResponse, include_in_schema=False)


@dataclass(frozen=True)
class Seat:
    """A turn of a rota: the field that holds its number, and whose it is."""

    field: str
    contact_id: str


@dataclass(frozen=True)
class Day:
    """A day of a calendar: who is on call in it, one after the other."""

    date: date
    turns: tuple[OnCall, ...]


def calendar_of(rota: Rota, first: date, weeks: int = WEEKS) -> Iterator[Day]:
    """The days of whole weeks, from one midnight of the rota's zone to the next."""
    zone, start = zone_of(rota.zone), datetime(first.year, first.month, first.day) - timedelta(days=first.weekday())
    for at in (start + timedelta(days=day) for day in range(7 * weeks)):
        since, until = at_local(at, zone), at_local(at + timedelta(days=1), zone)
        yield Day(at.date(), tuple(on_call_between(rota, since, until)))


def seats_of(rota: Rota) -> list[Seat]:
    """In the order of the turns. Who has several turns has several fields."""
    seen: list[str] = []
    for id in rota.members:
        seen.append(f"turn-{id}" if f"turn-{id}" not in seen else f"turn-{id}.{len(seen)}")
    return [Seat(field, id) for field, id in zip(seen, rota.members, strict=True)]


def shown_in(rota: Rota) -> dict[str, str]:
    """The form's fields."""
    turns = {seat.field: str(number) for number, seat in enumerate(seats_of(rota), start=1)}
    return {"name": rota.name, "turn_seconds": length(rota.turn_seconds), "zone": rota.zone} | turns


# --- rotas ------------------------------------------------------------------------------------------------------------
@routes.get("/rotas")
def rotas(app: App, domain: PageDomain, limit: Limit = 25, after: str | None = None) -> Response:
    def ask() -> dict[str, Any]:
        found = app.rotas_of_domain(domain, limit=limit, after=after)
        turns = {rota.rota_id: on_call(rota, app.now()) for rota in found.items}
        names = names_of(app, CONTACT, (turn.contact_id for turn in turns.values() if turn is not None))
        return {"found": found, "turns": turns, "names": names, "choices": choices(app, domain, CONTACT)}

    values, took = metered(app.db, ask)
    return render("rotas.html", **values, more=MORE, took=took, after=after, now=app.now())


@routes.post("/rotas", dependencies=form_on("/rotas"))
def create_rota(app: App, domain: PageDomain, form: Form) -> Response:
    zone = form.text("zone") or "UTC"
    made = app.create_rota(
        domain,
        form.text("name"),
        [who.id for who in more_chosen(app, domain, form, MORE, CONTACT)],
        starts_at=moment_in(form, "starts_at", zone) if form.text("starts_at") else app.now(),
        turn_seconds=seconds_in(form, "turn_seconds"),
        zone=zone,
    )
    return RedirectResponse(path_to("rotas", made.rota_id), 303)


@routes.get("/rotas/{rota_id}")
def rota(app: App, domain: PageDomain, rota_id: str, day: date | None = None) -> Response:
    """With the calendar of the weeks from a day on."""

    def ask() -> dict[str, Any]:
        found = app.rota_by_id(domain, rota_id)
        now = app.now().astimezone(zone_of(found.zone))
        check_year(day or now, "day")
        days = list(calendar_of(found, day or now.date()))
        shown = [*found.members, *(each.contact_id for each in found.overrides)]
        names = names_of(app, CONTACT, [*shown, *(turn.contact_id for each in days for turn in each.turns)])
        return {"rota": found, "now": now, "days": days, "names": names, "choices": choices(app, domain, CONTACT)}

    values, took = metered(app.db, ask)
    found, first, weeks = values["rota"], values["days"][0].date, timedelta(weeks=WEEKS)
    values |= {"shown": shown_in(found), "seats": seats_of(found), "zone": zone_of(found.zone), "more": MORE}
    return render("rota.html", **values, took=took, before=first - weeks, later=first + weeks)


@routes.post("/rotas/{rota_id}", dependencies=form_on("/rotas/{rota_id}"))
def change_rota(app: App, domain: PageDomain, form: Form, rota_id: str) -> Response:
    """What somebody typed; what they left stays as it is."""
    app.edit_rota(domain, rota_id, lambda rota: _changes(app, domain, form, rota))
    return RedirectResponse(path_to("rotas", rota_id), 303)


@routes.post("/rotas/{rota_id}/delete", dependencies=form_on("/rotas/{rota_id}"))
def delete_rota(app: App, domain: PageDomain, rota_id: str) -> Response:
    app.delete_rota(domain, rota_id)
    return RedirectResponse("/rotas", 303)


@routes.post("/rotas/{rota_id}/overrides", dependencies=form_on("/rotas/{rota_id}"))
def add_override(app: App, domain: PageDomain, form: Form, rota_id: str) -> Response:
    """Times are those of the rota's zone."""
    zone = app.rota_by_id(domain, rota_id).zone
    starts, ends = moment_in(form, "starts_at", zone), moment_in(form, "ends_at", zone)
    app.add_override(domain, rota_id, chosen(app, domain, form, "contact", CONTACT)[1], starts, ends)
    return RedirectResponse(path_to("rotas", rota_id), 303)


@routes.post("/rotas/{rota_id}/overrides/{override_id}/delete", dependencies=form_on("/rotas/{rota_id}"))
def delete_override(app: App, domain: PageDomain, rota_id: str, override_id: str) -> Response:
    app.delete_override(domain, rota_id, override_id)
    return RedirectResponse(path_to("rotas", rota_id), 303)


def moment_in(form: Fields, name: str, zone: str) -> datetime:
    with in_field(name):
        return moment(form.text(name), zone_of(zone))


def seconds_in(form: Fields, name: str) -> int:
    with in_field(name):
        return seconds_of(form.text(name))


def _changes(app: Service, domain: str, form: Fields, rota: Rota) -> dict[str, Any]:
    """What a form makes of a rota. Changed where it is not as the form was made of."""
    check_as_read(form, shown_in(rota), lambda text: _words(app, text))
    seats, said = seats_of(rota), dict[str, Any]()
    if form.changed("name"):
        said["name"] = form.text("name")
    if form.changed("turn_seconds"):
        said["turn_seconds"] = seconds_in(form, "turn_seconds")
    if form.changed("zone"):
        said["zone"] = form.text("zone") or "UTC"
    if form.changed(*MORE, *(seat.field for seat in seats)):
        said["members"] = _members(form, seats) + [who.id for who in more_chosen(app, domain, form, MORE, CONTACT)]
    return said


def _members(form: Fields, seats: Sequence[Seat]) -> list[str]:
    """In the order of their numbers; those without one are not members any more."""
    kept = [(number(form, seat.field), place) for place, seat in enumerate(seats) if form.text(seat.field)]
    return [seats[place].contact_id for _, place in sorted(kept)]


def _words(app: Service, text: str) -> str:
    """A field's name for people."""
    id = text.removeprefix("turn-").partition(".")[0]
    if id == text:
        return text.replace("turn_seconds", "the length of a turn").replace("_", " ")
    return f"the turn of {names_of(app, CONTACT, [id]).get(id, 'somebody who was deleted')}"
