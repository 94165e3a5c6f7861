"""The pages that manage a contact: name, quiet hours, methods."""

from __future__ import annotations

from fastapi import APIRouter
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from examples_shared.as_read import check_as_read
from examples_shared.forms import Fields, Form
from examples_shared.refused_forms import form_on
from manhunt.errors import Invalid
from manhunt.model import Contact, ContactMethod, Kind, QuietHours
from manhunt.rendering import path_to
from manhunt.web import App, PageDomain

routes = APIRouter(default_response_class=HTMLResponse, include_in_schema=False)


@routes.post("/contacts", dependencies=form_on("/"))
def create_contact(app: App, domain: PageDomain, form: Form) -> Response:
    return _back(app.create_contact(domain, form.text("name")).contact_id)


@routes.post("/contacts/{contact_id}/name", dependencies=form_on("/contacts/{contact_id}"))
def rename_contact(app: App, domain: PageDomain, form: Form, contact_id: str) -> Response:
    def check(contact: Contact) -> None:
        check_as_read(form, {"name": contact.name})

    app.rename_contact(domain, contact_id, form.text("name"), check)
    return _back(contact_id)


@routes.post("/contacts/{contact_id}/quiet-hours", dependencies=form_on("/contacts/{contact_id}"))
def set_quiet_hours(app: App, domain: PageDomain, form: Form, contact_id: str) -> Response:
    """Both times empty: none."""
    starts, ends = form.text("starts"), form.text("ends")
    quiet = QuietHours(starts, ends, form.text("zone") or "UTC") if starts or ends else None
    app.set_quiet_hours(domain, contact_id, quiet, lambda contact: check_as_read(form, shown_quiet(contact)))
    return _back(contact_id)


@routes.post("/contacts/{contact_id}/delete", dependencies=form_on("/contacts/{contact_id}"))
def delete_contact(app: App, domain: PageDomain, contact_id: str) -> Response:
    app.delete_contact(domain, contact_id)
    return RedirectResponse("/", 303)


@routes.post("/contacts/{contact_id}/methods", dependencies=form_on("/contacts/{contact_id}"))
def add_method(app: App, domain: PageDomain, form: Form, contact_id: str) -> Response:
    kinds = {kind.value: kind for kind in Kind}
    if form.text("kind") not in kinds:
        raise Invalid("choose how to reach them", "kind")
    app.add_method(
        domain,
        contact_id,
        kinds[form.text("kind")],
        form.text("destination"),
        order=number(form, "order"),
        wait_seconds=number(form, "wait_seconds"),
    )
    return _back(contact_id)


@routes.post("/contacts/{contact_id}/methods/{method_id}", dependencies=form_on("/contacts/{contact_id}"))
def change_method(app: App, domain: PageDomain, form: Form, contact_id: str, method_id: str) -> Response:
    app.change_method(
        domain,
        contact_id,
        method_id,
        destination=form.text("destination"),
        order=number(form, "order"),
        wait_seconds=number(form, "wait_seconds"),
        enabled="enabled" in form,
        check=lambda method: check_as_read(form, shown_method(method)),
    )
    return _back(contact_id)


@routes.post("/contacts/{contact_id}/methods/{method_id}/delete", dependencies=form_on("/contacts/{contact_id}"))
def delete_method(app: App, domain: PageDomain, contact_id: str, method_id: str) -> Response:
    app.delete_method(domain, contact_id, method_id)
    return _back(contact_id)


def shown_quiet(contact: Contact) -> dict[str, str]:
    """The fields of the form of quiet hours."""
    quiet = contact.quiet
    return {
        "starts": quiet.starts if quiet else "",
        "ends": quiet.ends if quiet else "",
        "zone": quiet.zone if quiet else "UTC",
    }


def shown_method(method: ContactMethod) -> dict[str, str]:
    """The fields of a method's form."""
    numbers = {"order": str(method.order), "wait_seconds": str(method.wait_seconds)}
    return {"destination": method.destination, "enabled": "on" if method.enabled else ""} | numbers


def number(form: Fields, name: str) -> int:
    """A field that holds a number; 0 where it is empty."""
    text = form.text(name) or "0"
    try:
        return int(text)
    except ValueError as error:
        raise Invalid(f"{name.replace('_', ' ')}: {text[:20]!r} is not a number", name) from error


def _back(contact_id: str) -> Response:
    return RedirectResponse(path_to("contacts", contact_id), 303)
