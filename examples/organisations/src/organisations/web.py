"""What the routes of the web application share: the service, who asks, and a dependency that asks for a permission.

A route of any FastAPI application over the same service is guarded by `requires`:

    @app.get("/organisations/{organisation_id}/builds", dependencies=[Depends(requires("test-infra", "write"))])
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, cast

from fastapi import Depends, FastAPI, HTTPException, Request

from examples_shared.principal import Principal
from organisations.addresses import address
from organisations.service import Service


def equip(app: FastAPI, service: Service, principal: Principal) -> None:
    """Give an application what its routes ask for."""
    app.state.service, app.state.principal = service, principal


def principal_of(request: Request) -> Principal:
    return cast(Principal, request.app.state.principal)


def _service(request: Request) -> Service:
    return cast(Service, request.app.state.service)


def _caller(request: Request) -> str:
    """The user of a program's request: a cookie is for pages alone, as other sites can make a browser send it."""
    email = principal_of(request)(request.headers)
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


def requires(service: str | None = None, group: str | None = None) -> Callable[[App, Caller, str], str]:
    """A dependency: the caller's address, where they may, in the organisation that the path names as
    `organisation_id`. Status 403 where they may not. 1 request, 1 R."""

    def permitted(app: App, caller: Caller, organisation_id: str) -> str:
        if not app.may(caller, organisation_id, service=service, group=group):
            raise HTTPException(403, "this takes a group that you are not in")
        return caller

    return permitted
