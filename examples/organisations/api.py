"""The HTTP API. OpenAPI at /openapi.json, a page to try it at /docs.

Users see and change themselves; members read their organisations; owners change them. Whoever may not know that
something is there gets the answer that it is not: 404 for foreign and missing alike, byte for byte.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, cast

from fastapi import APIRouter, Depends, FastAPI, HTTPException, Request
from fastapi.responses import JSONResponse
from starlette.middleware.trustedhost import TrustedHostMiddleware

from examples.organisations.addresses import address
from examples.organisations.errors import ApplicationError, Invalid, Missing, NotAnOwner, Refused
from examples.organisations.schemas import (
    GroupsIn,
    InviteIn,
    NameIn,
    OrganisationOut,
    ProfileOut,
    RosterOut,
    UserIn,
    UserOut,
)
from examples.organisations.service import Service
from examples.shared.principal import Principal
from singletable import InvalidValue, Unavailable
from singletable.errors import TooLarge, TransactionConflict

LOCAL_HOSTS = ("127.0.0.1", "localhost")

_STATUS: dict[type[Exception], int] = {
    Missing: 404,
    NotAnOwner: 403,
    Refused: 409,
    Invalid: 422,
    InvalidValue: 422,
    TooLarge: 413,
    TransactionConflict: 503,
    Unavailable: 503,
}


def create_app(service: Service, principal: Principal, hosts: Sequence[str] = LOCAL_HOSTS) -> FastAPI:
    """The application over a service. `hosts` are the names it answers to: a page of another site can't reach it by a
    name of its own that leads here."""
    app = FastAPI(title="Organisations", description="Users, organisations, groups and services in one DynamoDB table.")
    app.state.service, app.state.principal = service, principal
    app.add_middleware(TrustedHostMiddleware, allowed_hosts=list(hosts))
    app.include_router(users)
    app.include_router(routes)
    for kind, status in _STATUS.items():
        app.add_exception_handler(kind, _handler(status))
    return app


def _handler(status: int) -> Callable[[Request, Exception], JSONResponse]:
    def answer(_: Request, error: Exception) -> JSONResponse:
        """What is missing has one answer, that of an unknown path; the library's own errors are not passed on."""
        detail = "Not Found" if status == 404 else str(error) if isinstance(error, ApplicationError) else "refused"
        return JSONResponse({"detail": detail}, status)

    return answer


def _service(request: Request) -> Service:
    return cast(Service, request.app.state.service)


def _caller(request: Request) -> str:
    email = cast(Principal, request.app.state.principal)(request.headers)
    if email is None:
        raise HTTPException(401, "sign in first", {"WWW-Authenticate": "Bearer"})
    return email


def _myself(email: str, caller: Annotated[str, Depends(_caller)]) -> str:
    """The address in the path, where it is the caller's; another's looks like one that nobody has."""
    if address(email) != caller:
        raise HTTPException(404)
    return email


App = Annotated[Service, Depends(_service)]
Caller = Annotated[str, Depends(_caller)]
Myself = Annotated[str, Depends(_myself)]

# --- oneself ----------------------------------------------------------------------------------------------------------
users = APIRouter(prefix="/users/{email}", tags=["users"])


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
    """With organisations, and the invitations that wait for an answer."""
    return ProfileOut.of(app.user_details(me))


@users.post("/invitations/{organisation_id}/accept", status_code=204)
def accept(app: App, me: Myself, organisation_id: str) -> None:
    app.accept(organisation_id, me)


@users.post("/invitations/{organisation_id}/decline", status_code=204)
def decline(app: App, me: Myself, organisation_id: str) -> None:
    app.decline(organisation_id, me)


# --- organisations ----------------------------------------------------------------------------------------------------
routes = APIRouter(prefix="/organisations", tags=["organisations"])


@routes.post("", status_code=201)
def create_organisation(app: App, caller: Caller, given: NameIn) -> OrganisationOut:
    """The caller becomes its owner."""
    return OrganisationOut.of(app.create_organisation(given.name, owner=caller))


@routes.get("/{organisation_id}")
def get_organisation(app: App, caller: Caller, organisation_id: str) -> OrganisationOut:
    return OrganisationOut.of(app.get_organisation(organisation_id, by=caller))


@routes.put("/{organisation_id}")
def put_organisation(app: App, caller: Caller, organisation_id: str, given: NameIn) -> OrganisationOut:
    return OrganisationOut.of(app.put_organisation(organisation_id, given.name, by=caller))


@routes.get("/{organisation_id}/details")
def organisation_details(app: App, caller: Caller, organisation_id: str) -> RosterOut:
    """Members, groups and services."""
    return RosterOut.of(app.organisation_details(organisation_id, by=caller))


@routes.put("/{organisation_id}/services/{service_id:path}", status_code=204)
def put_service(app: App, caller: Caller, organisation_id: str, service_id: str, given: NameIn) -> None:
    app.put_service(organisation_id, service_id, given.name, by=caller)


@routes.delete("/{organisation_id}/services/{service_id:path}", status_code=204)
def delete_service(app: App, caller: Caller, organisation_id: str, service_id: str) -> None:
    """Its groups go from all members."""
    app.delete_service(organisation_id, service_id, by=caller)


@routes.post("/{organisation_id}/invitations", status_code=204)
def invite(app: App, caller: Caller, organisation_id: str, given: InviteIn) -> None:
    """An address, registered or not; a member gets the groups at once."""
    app.invite(organisation_id, given.email, [g.group() for g in given.groups], by=caller)


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
