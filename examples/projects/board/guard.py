"""What stands before every request: our headers on each answer, no change that another site's page asks for, and no
large body but to Replicache's push, which has limits of its own.
"""

from __future__ import annotations

from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from examples.projects.board.rendering import HEADERS

MOST_BODY_BYTES = 64 * 1024
_SAFE = frozenset({"GET", "HEAD", "OPTIONS"})


class Guard:
    """As plain ASGI, so that a stream of events goes through untouched."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self._app(scope, receive, send)

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        refused = _refusal(scope)
        return await (refused or self._app)(scope, receive, with_headers)


def _refusal(scope: Scope) -> PlainTextResponse | None:
    headers = Headers(scope=scope)
    if scope["method"] not in _SAFE and is_of_another_site(headers):
        return PlainTextResponse("this request comes from another site's page", 403)
    if not scope["path"].startswith("/replicache/") and not has_small_body(headers):
        return PlainTextResponse("this request is too large, or doesn't say how large it is", 413)
    return None


def is_of_another_site(headers: Headers) -> bool:
    """Whether a browser says that a page of another origin sends this. Programs send neither header."""
    if headers.get("sec-fetch-site", "same-origin") not in {"same-origin", "none"}:
        return True
    origin = headers.get("origin")
    return origin is not None and urlsplit(origin).netloc != headers.get("host")


def has_small_body(headers: Headers) -> bool:
    said = headers.get("content-length", "0")
    return "transfer-encoding" not in headers and said.isdecimal() and int(said) <= MOST_BODY_BYTES
