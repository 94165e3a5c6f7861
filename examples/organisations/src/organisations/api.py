"""The web application: the HTTP API, and the pages at /. OpenAPI at /openapi.json, a page to try it at /docs.

Users see and change themselves; what members, admins and owners may do in an organisation is in `roles`. Whoever may
not know that something is there gets the answer that it is not: 404 for foreign and missing alike, byte for byte.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from fastapi import APIRouter, FastAPI, Query, Response
from starlette.staticfiles import StaticFiles

from examples_shared.bodies import ApiRoute
from examples_shared.error_answers import ErrorAnswers
from examples_shared.errors import LIBRARY_STATUS
from examples_shared.guard import guarded
from examples_shared.principal import Principal
from organisations import pages
from organisations.access import role_in
from organisations.errors import Invalid, Missing, NotAllowed, Refused
from organisations.schemas import (
    DecisionOut,
    GroupsIn,
    HoldersOut,
    InvitationsOut,
    InviteIn,
    JobOut,
    MessageIn,
    NameIn,
    OrganisationOut,
    ProfileOut,
    ReachOut,
    RoleOut,
    RosterOut,
    TrailOut,
    UserIn,
    UserOut,
)
from organisations.service import Service
from organisations.web import App, Caller, Myself, equip

LOCAL_HOSTS = ("127.0.0.1", "localhost")

STATUS: dict[type[Exception], int] = {
    Missing: 404,
    NotAllowed: 403,
    Refused: 409,
    Invalid: 422,
    **LIBRARY_STATUS,
}

Limit = Annotated[int, Query(ge=1, le=100)]


def create_app(service: Service, principal: Principal, hosts: Sequence[str] = LOCAL_HOSTS) -> FastAPI:
    """The application over a service. `hosts` are the names it answers to."""
    about = "Users, organisations, groups and services in one DynamoDB table."
    app = guarded(hosts, {}, title="Organisations", description=about)  # pages have headers; /docs has scripts
    equip(app, service, principal)
    app.include_router(users)
    app.include_router(routes)
    app.include_router(jobs)
    app.include_router(pages.routes)
    app.mount("/static", StaticFiles(directory=Path(__file__).parent / "static"), name="static")
    ErrorAnswers(STATUS, pages.is_api, pages.error_page).answer_errors(app)
    return app


# --- oneself ----------------------------------------------------------------------------------------------------------
users = APIRouter(prefix="/users/{email}", tags=["users"], route_class=ApiRoute)


@users.put("")
def put_user(app: App, me: Myself, given: UserIn) -> UserOut:
    """Register, or change one's details."""
    user = app.put_user(me, first_name=given.first_name, last_name=given.last_name, phone=given.phone)
    return UserOut.of(user)


@users.get("")
def get_user(app: App, me: Myself) -> UserOut:
    return UserOut.of(app.get_user(me))


@users.get("/details")
def user_details(app: App, me: Myself) -> ProfileOut:
    """With organisations, and the invitations that wait for an answer, under the names of this moment."""
    return ProfileOut.of(app.refresh_user(me))


@users.get("/groups")
def reach(app: App, me: Myself) -> list[ReachOut]:
    """One's own groups and services, in all organisations."""
    return [ReachOut.of(found) for found in app.reach(me)]


@users.post("/invitations/{organisation_id}/accept", status_code=204)
def accept(app: App, me: Myself, organisation_id: str) -> None:
    app.accept(organisation_id, me)


@users.post("/invitations/{organisation_id}/decline", status_code=204)
def decline(app: App, me: Myself, organisation_id: str) -> None:
    app.decline(organisation_id, me)


@users.delete("/organisations/{organisation_id}", status_code=204)
def leave(app: App, me: Myself, organisation_id: str) -> None:
    app.leave(organisation_id, me)


# --- organisations ----------------------------------------------------------------------------------------------------
routes = APIRouter(prefix="/organisations", tags=["organisations"], route_class=ApiRoute)


@routes.post("", status_code=201, response_model_exclude_none=True)
def create_organisation(app: App, caller: Caller, given: NameIn) -> OrganisationOut:
    """The caller becomes its owner."""
    return OrganisationOut.of(app.create_organisation(given.name, owner=caller))


@routes.get("/{organisation_id}", response_model_exclude_none=True)
def get_organisation(app: App, caller: Caller, organisation_id: str) -> OrganisationOut:
    return OrganisationOut.of(app.get_organisation(organisation_id, by=caller))


@routes.put("/{organisation_id}", response_model_exclude_none=True)
def put_organisation(
    app: App, caller: Caller, organisation_id: str, given: NameIn, response: Response
) -> OrganisationOut:
    """Status 202, with a job to look at, where a task brings the name to more than 99 people."""
    renamed = app.put_organisation(organisation_id, given.name, by=caller)
    if renamed.job is not None:
        response.status_code, response.headers["Location"] = 202, f"/jobs/{renamed.job.job_id}"
    return OrganisationOut.of(renamed.organisation, renamed.job)


@routes.delete("/{organisation_id}", status_code=202)
def delete_organisation(app: App, caller: Caller, organisation_id: str, response: Response) -> JobOut:
    """Hidden at once; a task deletes it."""
    job = app.delete_organisation(organisation_id, by=caller)
    response.headers["Location"] = f"/jobs/{job.job_id}"
    return JobOut.of(job)


@routes.get("/{organisation_id}/details", response_model_exclude_none=True)
def organisation_details(app: App, caller: Caller, organisation_id: str, refresh: bool = False) -> RosterOut:
    """Members, groups and services; with `refresh`, everybody's details are read from the users themselves."""
    ask = app.refresh_organisation if refresh else app.organisation_details
    return RosterOut.of(ask(organisation_id, by=caller))


@routes.get("/{organisation_id}/role")
def role(app: App, caller: Caller, organisation_id: str) -> RoleOut:
    """The caller's role, and what it may."""
    return RoleOut.of(role_in(app.get_organisation(organisation_id, by=caller), caller))


@routes.get("/{organisation_id}/trail")
def trail(app: App, caller: Caller, organisation_id: str, limit: Limit = 50, after: str | None = None) -> TrailOut:
    """What happened, newest first."""
    return TrailOut.of(app.trail(organisation_id, limit=limit, after=after, by=caller))


@routes.post("/{organisation_id}/messages", status_code=202)
def send_message(app: App, caller: Caller, organisation_id: str, given: MessageIn, response: Response) -> JobOut:
    """A mail to everybody in a group."""
    job = app.send_message(organisation_id, given.group.group(), given.text, by=caller)
    response.headers["Location"] = f"/jobs/{job.job_id}"
    return JobOut.of(job)


# --- permissions ------------------------------------------------------------------------------------------------------
@routes.get("/{organisation_id}/may", response_model_exclude_none=True)
def may(
    app: App,
    caller: Caller,
    organisation_id: str,
    user: str,
    service: str | None = None,
    group: str | None = None,
    explain: bool = False,
) -> DecisionOut:
    """Whether somebody is in a group of a service, or of the organisation where no service is named; with `explain`, by
    which groups, given by whom, since when."""
    if explain:
        return DecisionOut.of(app.explain(user, organisation_id, service=service, group=group, by=caller))
    return DecisionOut(may=app.may(user, organisation_id, service=service, group=group, by=caller))


@routes.get("/{organisation_id}/who-may")
def who_may(
    app: App,
    caller: Caller,
    organisation_id: str,
    service: str | None = None,
    group: str | None = None,
    limit: Limit = 50,
    after: str | None = None,
) -> HoldersOut:
    """A page of the people in the groups of a service, or of the organisation where no service is named."""
    found = app.who_may(organisation_id, service=service, group=group, limit=limit, after=after, by=caller)
    return HoldersOut.of(found)


# --- services, invitations, members -----------------------------------------------------------------------------------
@routes.put("/{organisation_id}/services/{service_id:path}", status_code=204)
def put_service(app: App, caller: Caller, organisation_id: str, service_id: str, given: NameIn) -> None:
    app.put_service(organisation_id, service_id, given.name, by=caller)


@routes.delete("/{organisation_id}/services/{service_id:path}", status_code=204)
def delete_service(app: App, caller: Caller, organisation_id: str, service_id: str) -> None:
    """Its groups go from all members."""
    app.delete_service(organisation_id, service_id, by=caller)


@routes.get("/{organisation_id}/invitations")
def open_invitations(
    app: App, caller: Caller, organisation_id: str, limit: Limit = 25, after: str | None = None
) -> InvitationsOut:
    """A page of those that are open, oldest first."""
    return InvitationsOut.of(app.open_invitations(organisation_id, limit=limit, after=after, by=caller))


@routes.post("/{organisation_id}/invitations", status_code=204)
def invite(app: App, caller: Caller, organisation_id: str, given: InviteIn) -> None:
    """An address, registered or not; a member gets the groups at once."""
    app.invite(organisation_id, given.email, [g.group() for g in given.groups], by=caller)


@routes.delete("/{organisation_id}/invitations/{email}", status_code=204)
def withdraw(app: App, caller: Caller, organisation_id: str, email: str) -> None:
    app.withdraw(organisation_id, email, by=caller)


@routes.post("/{organisation_id}/members/{email}/groups", status_code=204)
def add_to_groups(app: App, caller: Caller, organisation_id: str, email: str, given: GroupsIn) -> None:
    app.add_to_groups(organisation_id, email, [g.group() for g in given.groups], by=caller)


@routes.post("/{organisation_id}/members/{email}/groups/remove", status_code=204)
def remove_from_groups(app: App, caller: Caller, organisation_id: str, email: str, given: GroupsIn) -> None:
    app.remove_from_groups(organisation_id, email, [g.group() for g in given.groups], by=caller)


@routes.delete("/{organisation_id}/members/{email}", status_code=204)
def remove_user(app: App, caller: Caller, organisation_id: str, email: str) -> None:
    """A member, or an invitation."""
    app.remove_user(organisation_id, email, by=caller)


# --- jobs -------------------------------------------------------------------------------------------------------------
jobs = APIRouter(prefix="/jobs", tags=["jobs"], route_class=ApiRoute)


@jobs.get("/{job_id}")
def job(app: App, caller: Caller, job_id: str) -> JobOut:
    """How far work on many records is."""
    return JobOut.of(app.job(job_id, by=caller))
