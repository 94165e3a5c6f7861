"""The guard before every page: host, origin, method and user are checked, and each answer gets its headers."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from urllib.parse import parse_qsl

from starlette.datastructures import MutableHeaders
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from singletable.events import Listeners, PageRefused
from singletable.studio.gates import Gate
from singletable.sync import HttpRequest

USER = "singletable.user"
"""The scope's key for the user."""
_METHODS = ("GET", "HEAD", "POST")
_HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "referrer-policy": "same-origin",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}


class StudioGuard:
    """Lets a request through to the pages, or answers it."""

    def __init__(self, app: ASGIApp, gate: Gate, events: Listeners) -> None:
        self._app, self._gate, self._events = app, gate, events

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            elif scope["type"] == "websocket":
                await send({"type": "websocket.close", "code": 1008})
            return

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.update(_HEADERS)
                headers.setdefault("cache-control", "no-store")
            await send(message)

        answer = await self._answer(scope)
        await (answer or self._app)(scope, receive, guarded)

    async def _answer(self, scope: Scope) -> Response | None:
        """The answer to a request that does not come to the pages."""
        request = _request_of(scope)
        host = request.headers.get("host", "")
        if [name for name, _ in scope["headers"]].count(b"host") != 1 or not self._gate.knows_host(host):
            return self._refused(request, 421, "This studio has another host: use the address that it printed.")
        if request.method not in _METHODS:
            return self._refused(request, 405, "Only GET and POST are answered.")
        if not self._comes_from_here(request, host):
            return self._refused(request, 403, "The request comes from another site.")
        if (cookie := self._gate.cookie_for(request)) is not None:
            path = scope["path"] or "/"
            return RedirectResponse(
                path if path.startswith("/") and path[1:2] != "/" else "/", 303, {"set-cookie": cookie}
            )
        user = await self._gate.user_of(request)
        if not user:
            return self._refused(request, *self._gate.refusal)
        scope[USER] = user
        return None

    def _refused(self, request: HttpRequest, status: int, text: str) -> Response:
        self._events.emit(PageRefused(method=request.method, page=first_part(request.path), status=status, why=text))
        return PlainTextResponse(f"{status} {HTTPStatus(status).phrase}. {text}\n", status)

    def _comes_from_here(self, request: HttpRequest, host: str) -> bool:
        origin = request.headers.get("origin")
        if origin is not None:
            return self._gate.knows_origin(origin, host)
        return request.method != "POST" or request.headers.get("sec-fetch-site") == "same-origin"


def _request_of(scope: Scope) -> HttpRequest:
    headers: Mapping[str, str] = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
    query = dict(parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True))
    return HttpRequest(scope["method"], scope["path"], headers, query)


def first_part(path: str) -> str:
    """The page that a path leads to: the rest may hold an item's key."""
    return f"/{path.strip('/').partition('/')[0]}"
