"""A form that is refused comes back: its page, with the error beside the field, and all that was typed still there.

A route says on which page its form stands, by what is in the route's path or in the form itself:

    @routes.post("/contacts/{contact_id}/name", dependencies=form_on("/contacts/{contact_id}"))

and the application's error handlers ask for that page first:

    return await form_page(request, status, said, field) or error_page(...)

A form with method="get" that its own page refuses needs nothing said.
"""

from __future__ import annotations

import re
from collections.abc import MutableMapping, Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import quote, unquote

from fastapi import Depends, Request
from fastapi.params import Depends as DependsParameter
from fastapi.responses import HTMLResponse

from examples_shared.errors import Changed
from examples_shared.filling import Sent, filled
from examples_shared.forms import WAS, Fields

NOT_THERE = "there is nothing of this name, or not any more"
"""What a form hears of what is missing, and of what is not for whoever sent it."""
_NAME = re.compile(r"\{(\w+)\}")
_OF_BODY = (b"content-length", b"content-type", b"transfer-encoding")


def form_on(page: str) -> Sequence[DependsParameter]:
    """The dependencies of a route that takes a form: it stands on this page."""

    def stands(request: Request) -> None:
        request.state.form_page = page

    return [Depends(stands)]


async def form_page(
    request: Request, status: int, said: str, field: str | None = None, error: Exception | None = None
) -> HTMLResponse | None:
    """The page with the form that was sent, as it was sent, and why it was refused: a request's worth of reading.

    Where somebody else `Changed` what the form was made of, it is made of what is there now, and holds what the person
    typed: sent again, it is stored.

    None where there is no such page, or the form stands on it no more: then what was typed is `typed(request)`.
    """
    sent, page = _sent(request), _page(request)
    if sent is not None and isinstance(error, Changed):
        sent = replace(sent, is_outdated=True)
        said += ". Nothing of yours is stored yet: look at both, then save again to keep what the form says"
    if sent is None or page is None:
        return None
    html = await _rendered(request, page)
    text = html and filled(html, sent, said[:1].upper() + said[1:], field, page.partition("?")[0])
    return HTMLResponse(text, status) if text else None


def typed(request: Request) -> dict[str, str]:
    """What somebody typed into a form, without what the page hid in it and without tokens."""
    fields: dict[str, str] = getattr(request.state, "form", {})
    return {name: value for name, value in fields.items() if value and not name.startswith(WAS) and name != "token"}


def _sent(request: Request) -> Sent | None:
    path: str = request.scope["path"]
    if request.method == "GET":
        pairs = request.query_params.multi_items()
        return Sent(path, "get", Fields(pairs)) if pairs else None
    form: Fields | None = getattr(request.state, "form", None)
    if form is None and request.headers.get("content-length", "0") != "0":
        return None  # it was not read: it is too large
    return Sent(path, "post", form or Fields([]))


def _page(request: Request) -> str | None:
    """The path and query of the page; without the query, where it is the page that refused a query."""
    if request.method == "GET":
        return quote(request.scope["path"])
    page: str | None = getattr(request.state, "form_page", None)
    named = getattr(request.state, "form", {}) | request.path_params
    return page and _NAME.sub(lambda found: quote(str(named.get(found[1], "")), safe=""), page)


async def _rendered(request: Request, page: str) -> str | None:
    """What the application answers to whoever sent the form, asked for the page."""
    path, _, query = page.partition("?")
    scope: MutableMapping[str, Any] = {
        **request.scope,
        "method": "GET",
        "path": unquote(path),
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "headers": [(name, value) for name, value in request.scope["headers"] if name not in _OF_BODY],
        "state": {},
    }
    body, answers = bytearray(), list[int]()

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: MutableMapping[str, Any]) -> None:
        answers.extend([message["status"]] if message["type"] == "http.response.start" else [])
        body.extend(message.get("body", b""))

    await request.app.router(scope, receive, send)
    return body.decode() if answers == [200] else None
