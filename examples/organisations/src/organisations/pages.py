"""The web pages: one's organisations and invitations; an organisation's people, services, invitations, trail; who may.

Pages read as the API does, with the role of whoever has signed in. A form that the organisation refuses shows why.
"""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, HTTPException, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from examples_shared.as_read import check_as_read
from examples_shared.cost import metered
from examples_shared.errors import in_field
from examples_shared.forms import Fields, Form
from examples_shared.refused_forms import form_on, typed
from examples_shared.signing_in import bearer, keep_signed_in, viewer_by
from organisations.addresses import address
from organisations.errors import Invalid, NoSuchMember, NoSuchUser
from organisations.groups import Group
from organisations.invitations import OpenInvitation
from organisations.matrix import Matrix, Seen, matrix, seen_by, services_of
from organisations.model import GroupMember, Organisation, OrganisationService, TrailEntry, User
from organisations.permissions import Decision, Grant
from organisations.rendering import path_to, render
from organisations.roles import CAPABILITIES, Capability
from organisations.web import App, principal_of
from singletable import Page

COOKIE = "organisations"
DETAILS = ("first_name", "last_name", "phone")
_WHO_MAY = "/o/{organisation_id}/who-may"
routes = APIRouter(default_response_class=HTMLResponse, include_in_schema=False)


def _user(request: Request) -> str | None:
    """Who has signed in: by the cookie of the sign-in page, or as the API's callers do."""
    return viewer_by(principal_of(request), request, COOKIE)


def _signed_in(request: Request) -> str:
    user = _user(request)
    if user is None:
        raise HTTPException(401, "sign in first")
    return user


Me = Annotated[str, Depends(_signed_in)]


# --- oneself ----------------------------------------------------------------------------------------------------------
@routes.get("/")
def start(request: Request, app: App) -> Response:
    """One's organisations and open invitations, or the way in."""
    me = _user(request)
    if me is None:
        return render("sign_in.html", wrong=False)
    try:
        found, took = metered(app.db, lambda: app.refresh_user(me))
    except NoSuchUser:
        return render("start.html", me=me, profile=None, shown=shown_details(None))
    return render("start.html", me=me, profile=found, shown=shown_details(found.user), took=took)


@routes.post("/sign-in")
def sign_in(request: Request, form: Form) -> Response:
    token = form.text("token")
    if principal_of(request)(bearer(token)) is None:
        return render("sign_in.html", 401, wrong=True)
    return keep_signed_in(COOKIE, token, is_secure=request.url.scheme == "https")


@routes.post("/sign-out")
def sign_out() -> Response:
    answer = RedirectResponse("/", 303)
    answer.delete_cookie(COOKIE)
    return answer


@routes.post("/me", dependencies=form_on("/"))
def put_me(app: App, me: Me, form: Form) -> Response:
    given = {name: _short(form, name) for name in DETAILS}
    app.put_user(me, **given, check=lambda user: check_as_read(form, shown_details(user)))
    return RedirectResponse("/", 303)


@routes.post("/o", dependencies=form_on("/"))
def create(app: App, me: Me, form: Form) -> Response:
    made = app.create_organisation(_said(form, "name"), owner=me)
    return RedirectResponse(path_to(made.organisation_id), 303)


@routes.post("/o/{organisation_id}/accept", dependencies=form_on("/"))
def accept(app: App, me: Me, organisation_id: str) -> Response:
    app.accept(organisation_id, me)
    return RedirectResponse(path_to(organisation_id), 303)


@routes.post("/o/{organisation_id}/decline", dependencies=form_on("/"))
def decline(app: App, me: Me, organisation_id: str) -> Response:
    app.decline(organisation_id, me)
    return RedirectResponse("/", 303)


@routes.post("/o/{organisation_id}/leave", dependencies=form_on("/o/{organisation_id}"))
def leave(app: App, me: Me, organisation_id: str) -> Response:
    app.leave(organisation_id, me)
    return RedirectResponse("/", 303)


# --- an organisation --------------------------------------------------------------------------------------------------
@routes.get("/o/{organisation_id}")
def people(app: App, me: Me, organisation_id: str, begins: str = "", after: str | None = None) -> Response:
    """The people and their groups, a page at a time."""

    def read() -> tuple[Seen, Matrix]:
        seen = seen_by(app, organisation_id, me)
        return seen, matrix(app, seen.organisation, begins=begins.strip(), after=after)

    (seen, found), took = metered(app.db, read)
    return _page("people.html", seen, "people", matrix=found, begins=begins, after=after, took=took)


@routes.get("/o/{organisation_id}/person")
def one_person(app: App, me: Me, organisation_id: str, who: str) -> Response:
    """A member's groups by service: given by whom, since when."""

    def read() -> tuple[Seen, Decision, list[OrganisationService]]:
        seen = seen_by(app, organisation_id, me)
        return seen, app.grants_of(who, organisation_id), services_of(app, organisation_id)

    (seen, found, services), took = metered(app.db, read)
    if not found.may:
        raise NoSuchMember(organisation_id, who)
    of_service: dict[str | None, list[Grant]] = {}
    for grant in found.grants:
        of_service.setdefault(grant.group.service_id, []).append(grant)
    return _page("person.html", seen, "people", who=address(who), of_service=of_service, services=services, took=took)


@routes.get("/o/{organisation_id}/services")
def services(app: App, me: Me, organisation_id: str) -> Response:
    (seen, found), took = metered(
        app.db, lambda: (seen_by(app, organisation_id, me), services_of(app, organisation_id))
    )
    return _page("services.html", seen, "services", services=found, took=took)


@routes.get("/o/{organisation_id}/who-may")
def who_may(
    app: App,
    me: Me,
    organisation_id: str,
    service: str | None = None,
    group: str | None = None,
    after: str | None = None,
) -> Response:
    """A page of the people in the groups of a service, or of the organisation itself."""

    def read() -> tuple[Seen, Page[GroupMember]]:
        return seen_by(app, organisation_id, me), app.who_may(
            organisation_id, service=service or None, group=group or None, after=after, by=me
        )

    def whole() -> tuple[Seen, Page[GroupMember], OrganisationService | None]:
        seen, page = read()
        renames = service and not group and Capability.MANAGE_SERVICES in CAPABILITIES[seen.role]
        key = OrganisationService.of_organisation(organisation_id, service or "")
        return seen, page, app.db.get(key.consistent()) if renames else None

    (seen, found, named), took = metered(app.db, whole)
    return _page(
        "who_may.html", seen, "services", found=found, after=after, service=service, group=group, named=named, took=took
    )


@routes.get("/o/{organisation_id}/may")
def may(app: App, me: Me, organisation_id: str, user: str = "", service: str = "", group: str = "") -> Response:
    """A question, and its answer with the reason."""
    asked = {"service": service.strip() or None, "group": group.strip() or None}

    def read() -> tuple[Seen, Decision | None]:
        seen = seen_by(app, organisation_id, me)
        is_asked = bool(user.strip() and (asked["service"] or asked["group"]))
        with in_field("user"):
            return seen, app.explain(user.strip(), organisation_id, by=me, **asked) if is_asked else None

    (seen, found), took = metered(app.db, read)
    return _page("may.html", seen, "may", decision=found, user=user, service=service, group=group, took=took)


@routes.get("/o/{organisation_id}/invitations")
def invitations(app: App, me: Me, organisation_id: str, after: str | None = None) -> Response:
    def read() -> tuple[Seen, Page[OpenInvitation]]:
        return seen_by(app, organisation_id, me), app.open_invitations(organisation_id, after=after, by=me)

    (seen, found), took = metered(app.db, read)
    return _page("invitations.html", seen, "invitations", found=found, after=after, took=took)


@routes.get("/o/{organisation_id}/trail")
def trail(app: App, me: Me, organisation_id: str, after: str | None = None) -> Response:
    def read() -> tuple[Seen, Page[TrailEntry]]:
        return seen_by(app, organisation_id, me), app.trail(organisation_id, after=after, by=me)

    (seen, found), took = metered(app.db, read)
    return _page("trail.html", seen, "trail", found=found, after=after, took=took)


@routes.get("/j/{job_id}")
def job(app: App, me: Me, job_id: str) -> Response:
    """How far work is; the page asks again until it is done."""
    found, took = metered(app.db, lambda: app.job(job_id, by=me))
    return render("job.html", job=found, took=took)


# --- changes ----------------------------------------------------------------------------------------------------------
@routes.post("/o/{organisation_id}/rename", dependencies=form_on("/o/{organisation_id}"))
def rename(app: App, me: Me, organisation_id: str, form: Form) -> Response:
    def check(stored: Organisation) -> None:
        check_as_read(form, {"name": stored.organisation_name})

    renamed = app.put_organisation(organisation_id, _said(form, "name"), by=me, check=check)
    return RedirectResponse(f"/j/{renamed.job.job_id}" if renamed.job else path_to(organisation_id), 303)


@routes.post("/o/{organisation_id}/delete", dependencies=form_on("/o/{organisation_id}"))
def delete(app: App, me: Me, organisation_id: str, form: Form) -> Response:
    """The name is typed again: a click alone deletes nothing."""
    name = app.get_organisation(organisation_id, by=me).organisation_name
    if form.text("name") != name.strip():
        raise Invalid("to delete the organisation type its name as it is", "name")
    return RedirectResponse(f"/j/{app.delete_organisation(organisation_id, by=me).job_id}", 303)


@routes.post("/o/{organisation_id}/services", dependencies=form_on("/o/{organisation_id}/services"))
def put_service(app: App, me: Me, organisation_id: str, form: Form) -> Response:
    service_id = _said(form, "service")
    with in_field("service"):
        app.put_service(organisation_id, service_id, _short(form, "name") or service_id, by=me, is_new=True)
    return RedirectResponse(path_to(organisation_id, "services"), 303)


@routes.post("/o/{organisation_id}/services/rename", dependencies=form_on(f"{_WHO_MAY}?service={{service}}"))
def rename_service(app: App, me: Me, organisation_id: str, form: Form) -> Response:
    service = _said(form, "service")
    app.rename_service(organisation_id, service, _said(form, "name"), was=form.was("name"), by=me)
    return RedirectResponse(path_to(organisation_id, "who-may", service=service), 303)


@routes.post("/o/{organisation_id}/services/delete", dependencies=form_on(f"{_WHO_MAY}?service={{service}}"))
def delete_service(app: App, me: Me, organisation_id: str, form: Form) -> Response:
    app.delete_service(organisation_id, _said(form, "service"), by=me)
    return RedirectResponse(path_to(organisation_id, "services"), 303)


@routes.post("/o/{organisation_id}/invitations", dependencies=form_on("/o/{organisation_id}/invitations"))
def invite(app: App, me: Me, organisation_id: str, form: Form) -> Response:
    groups = [Group(name) for name in (_short(form, "group"),) if name]
    email = _said(form, "email")
    with in_field("email"):
        is_open = app.invite(organisation_id, email, groups, by=me)
    page = path_to(organisation_id, "invitations") if is_open else path_to(organisation_id, "person", who=email)
    return RedirectResponse(page, 303)


@routes.post("/o/{organisation_id}/invitations/withdraw", dependencies=form_on("/o/{organisation_id}/invitations"))
def withdraw(app: App, me: Me, organisation_id: str, form: Form) -> Response:
    app.withdraw(organisation_id, _said(form, "email"), by=me)
    return RedirectResponse(path_to(organisation_id, "invitations"), 303)


@routes.post("/o/{organisation_id}/give", dependencies=form_on("/o/{organisation_id}/person?who={who}"))
def give(app: App, me: Me, organisation_id: str, form: Form) -> Response:
    app.add_to_groups(organisation_id, _said(form, "who"), [_group(form)], by=me)
    return RedirectResponse(path_to(organisation_id, "person", who=form.text("who")), 303)


@routes.post("/o/{organisation_id}/take", dependencies=form_on("/o/{organisation_id}/person?who={who}"))
def take(app: App, me: Me, organisation_id: str, form: Form) -> Response:
    app.remove_from_groups(organisation_id, _said(form, "who"), [_group(form)], by=me)
    return RedirectResponse(path_to(organisation_id, "person", who=form.text("who")), 303)


@routes.post("/o/{organisation_id}/remove", dependencies=form_on("/o/{organisation_id}/person?who={who}"))
def remove(app: App, me: Me, organisation_id: str, form: Form) -> Response:
    app.remove_user(organisation_id, _said(form, "who"), by=me)
    return RedirectResponse(path_to(organisation_id), 303)


@routes.post(
    "/o/{organisation_id}/messages",
    dependencies=form_on(f"{_WHO_MAY}?service={{service}}&group={{group}}"),
)
def send_message(app: App, me: Me, organisation_id: str, form: Form) -> Response:
    sent = app.send_message(organisation_id, _group(form), form.text("text"), by=me)
    return RedirectResponse(f"/j/{sent.job_id}", 303)


def error_page(request: Request, status: int, said: str) -> HTMLResponse:
    """What went wrong and, where no page has the form any more, what was typed into it."""
    return render("error.html", status, code=status, said=said, typed=typed(request))


def is_api(path: str) -> bool:
    """Whether programs ask there: an error is JSON. Under any other path it is shown as a page."""
    return path.split("/")[1] in ("users", "organisations", "jobs")


def shown_details(user: User | None) -> dict[str, str]:
    """The fields of the form of one's details."""
    return {name: getattr(user, name) if user is not None else "" for name in DETAILS}


def _page(template: str, seen: Seen, tab: str, **found: Any) -> Response:
    """A page of an organisation, with what the caller's role may."""
    may = {capability.name.lower() for capability in CAPABILITIES[seen.role]}
    return render(template, seen=seen, id=seen.organisation.organisation_id, may=may, tab=tab, **found)


def _said(form: Fields, name: str) -> str:
    """A field that has to be filled in."""
    text = form.text(name)
    if not 0 < len(text) <= 254:
        raise Invalid(f"fill in {name}, with at most 254 characters", name)
    return text


def _short(form: Fields, name: str) -> str:
    """A field that may be left empty."""
    text = form.text(name)
    if len(text) > 200:
        raise Invalid("this has at most 200 characters", name)
    return text


def _group(form: Fields) -> Group:
    return Group(_said(form, "group"), form.text("service") or None)
