"""What the routes of the web application share: the service, and who asks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, cast

from fastapi import Depends, HTTPException, Request

from examples_shared.principal import Principal
from examples_shared.signing_in import viewer_by
from manhunt.links import Links
from manhunt.notifiers import Telephone
from manhunt.service import Service

COOKIE = "manhunt"


@dataclass(frozen=True)
class Web:
    """What the application was made with."""

    service: Service
    principal: Principal
    links: Links
    telephone: Telephone | None = None
    """The account whose provider may send us replies and keys; nobody may without one."""


def web_of(request: Request) -> Web:
    return cast(Web, request.app.state.web)


def _service(request: Request) -> Service:
    return web_of(request).service


def domain_of(request: Request) -> str | None:
    """The domain that asks: by its token, in a header or in the cookie of the sign-in page."""
    return viewer_by(web_of(request).principal, request, COOKIE)


def _domain(request: Request) -> str:
    """The domain of a program's request: a cookie is for pages alone, as other sites can make a browser send it."""
    found = web_of(request).principal(request.headers)
    if found is None:
        raise HTTPException(401, "send a token", {"WWW-Authenticate": "Bearer"})
    return found


def signed_in(request: Request) -> str:
    """The domain of somebody at a page."""
    domain = domain_of(request)
    if domain is None:
        raise HTTPException(401, "sign in first")
    return domain


App = Annotated[Service, Depends(_service)]
Domain = Annotated[str, Depends(_domain)]
PageDomain = Annotated[str, Depends(signed_in)]
