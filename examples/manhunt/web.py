"""What the routes of the web application share: the service, who asks, and forms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, cast
from urllib.parse import parse_qsl, urlsplit

from fastapi import Depends, HTTPException, Request

from examples.manhunt.links import Links
from examples.manhunt.notifiers import Telephone
from examples.manhunt.service import Service
from examples.shared.principal import Principal

COOKIE = "manhunt"
MAX_FORM_BYTES = 64 * 1024
MAX_FIELDS = 1000


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
    web = web_of(request)
    headers = request.headers
    if "authorization" in headers or COOKIE not in request.cookies:
        return web.principal(headers)
    return web.principal({"authorization": f"Bearer {request.cookies[COOKIE]}"})


def _domain(request: Request) -> str:
    """The domain of a program's request: a cookie is for pages alone, as other sites can make a browser send it."""
    found = web_of(request).principal(request.headers)
    if found is None:
        raise HTTPException(401, "send a token", {"WWW-Authenticate": "Bearer"})
    return found


class Fields(dict[str, str]):
    """The fields of a form, the last of each name; `all` has each of a name."""

    def __init__(self, pairs: Sequence[tuple[str, str]]) -> None:
        super().__init__(pairs)
        self.pairs = pairs

    def text(self, name: str) -> str:
        return self.get(name, "").strip()

    def all(self, name: str) -> list[str]:
        return [value for key, value in self.pairs if key == name]


async def _form(request: Request) -> Fields:
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > MAX_FORM_BYTES:
            raise HTTPException(413, "the form is too large")
    if body.count(b"&") >= MAX_FIELDS:
        raise HTTPException(413, "the form has too many fields")
    return Fields(parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True))


def _from_our_pages(request: Request) -> None:
    """Refuse what a page of another site makes a browser send."""
    site = request.headers.get("sec-fetch-site", "same-origin")
    origin = request.headers.get("origin")
    foreign = origin is not None and urlsplit(origin).netloc != request.headers.get("host")
    if foreign or site not in ("same-origin", "none"):
        raise HTTPException(403, "this form belongs to another site")


def signed_in(request: Request) -> str:
    """The domain of somebody at a page."""
    domain = domain_of(request)
    if domain is None:
        raise HTTPException(401, "sign in first")
    return domain


App = Annotated[Service, Depends(_service)]
Domain = Annotated[str, Depends(_domain)]
PageDomain = Annotated[str, Depends(signed_in)]
Form = Annotated[Fields, Depends(_form)]
OUR_PAGES = Depends(_from_our_pages)
