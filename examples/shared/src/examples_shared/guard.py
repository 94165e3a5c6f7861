"""What stands before every request of an application: its hosts, its headers on each answer, and no change that another
site's page asks for. An application is made by `guarded`, so no route can be without it.

    app = guarded(hosts, HEADERS, title="Goals")
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from fastapi import FastAPI
from starlette.datastructures import Headers, MutableHeaders
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

MOST_BODY_BYTES = 256 * 1024
"""A form with a thousand choices, or a message of 20,000 characters, whatever they are."""
_SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
_SAME = frozenset({"same-origin", "none"})


def guarded(
    hosts: Sequence[str], headers: Mapping[str, str], takes_large: Callable[[str], bool] | None = None, **options: Any
) -> FastAPI:
    """An application that answers to `hosts`: a page of another site can't reach it by a name of its own that leads
    here. Where `takes_large` says which paths take large bodies, no other does."""
    app = FastAPI(**options)
    app.add_middleware(Guard, headers=headers, takes_large=takes_large)
    app.add_middleware(TrustedHostMiddleware, allowed_hosts=list(hosts))
    return app


class Guard:
    """As plain ASGI, so that a stream of events goes through untouched."""

    def __init__(
        self, app: ASGIApp, headers: Mapping[str, str], takes_large: Callable[[str], bool] | None = None
    ) -> None:
        self._app, self._headers, self._takes_large = app, headers, takes_large

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self._app(scope, receive, send)

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(self._headers)
            await send(message)

        return await (self._refusal(scope) or self._app)(scope, receive, with_headers)

    def _refusal(self, scope: Scope) -> JSONResponse | None:
        headers = Headers(scope=scope)
        if is_of_another_site(scope["method"], headers):
            return JSONResponse({"detail": "this request comes from another site's page"}, 403)
        if self._takes_large and not self._takes_large(scope["path"]) and not has_small_body(headers):
            return JSONResponse({"detail": "this request is too large, or doesn't say how large it is"}, 413)
        return None


def is_of_another_site(method: str, headers: Mapping[str, str]) -> bool:
    """Whether a browser says that a page of another origin asks for a change. Programs send neither header."""
    if method in _SAFE:
        return False
    origin = headers.get("origin")
    foreign = origin is not None and origin.partition("://")[2] != headers.get("host")
    return foreign or headers.get("sec-fetch-site", "same-origin") not in _SAME


def has_small_body(headers: Mapping[str, str]) -> bool:
    said = headers.get("content-length", "0")
    return "transfer-encoding" not in headers and said.isdecimal() and int(said) <= MOST_BODY_BYTES
