"""The ASGI application: routes to pages, their twins in JSON, actions and feeds; and their errors as pages."""

from __future__ import annotations

import dataclasses
import secrets
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from http import HTTPStatus
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

from msgspec.structs import replace
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import Receive, Scope, Send

from singletable.errors import (
    Conflict,
    Corrupt,
    Denied,
    InvalidRequest,
    Mistake,
    NotFound,
    SingletableError,
    Unavailable,
)
from singletable.events import PageFailed, PageRefused
from singletable.flow import Meter
from singletable.records import CursorSeal
from singletable.studio.addresses import PERSONAL, SHOWN, Addresses
from singletable.studio.gates import Gate, TokenSigner, cookies_of
from singletable.studio.guard import USER, StudioGuard, first_part
from singletable.studio.html import environment, render
from singletable.studio.navigation import chrome_of
from singletable.studio.page import Action, Feed, Page, PageAnswer
from singletable.studio.pages import actions, feeds, pages
from singletable.studio.site import Site
from singletable.studio.spent import forget_spent, keep_spent, spent_before
from singletable.studio.text import encoded
from singletable.studio.view import FailurePage, PageCost, View
from singletable.studio.visit import Visit

_MOST_BODY_BYTES = 8_000_000
"""An item of 400 KB as a form and as it was seen: each byte is eight characters at most, as in `%5Cu0001`."""
_FORM_TOKEN, _TABLE_NAME = "form_token", "table_name"
_STATUSES: tuple[tuple[type[SingletableError], int], ...] = (
    (NotFound, 404),
    (Denied, 403),
    (Mistake, 400),
    (Conflict, 409),
    (Corrupt, 422),  # the item that the page is of can't be read
    (Unavailable, 503),
)
_JSON = "application/json"


class Confirm(View, frozen=True, kw_only=True):
    """The question before the first write to a table on AWS."""

    table: str
    account: str
    region: str
    action: str
    fields: dict[str, str]
    is_wrong: bool
    """Whether another name was given."""


class Studio:
    """A site, shown. Made by `studio(...)` for an application, or by `loopback_studio(...)` for one person."""

    def __init__(self, site: Site, gate: Gate, *, secret: str = "", close: bool = False) -> None:
        self.site = site
        self._gate = gate
        self._signer = TokenSigner(secret or secrets.token_urlsafe(32))
        self._seal = CursorSeal([self._signer.text("seal")])
        self._templates = environment()
        self._pages = pages()
        self._app = StudioGuard(self._routed(close), gate, site.db.port.events)

    def __repr__(self) -> str:
        return f"<Studio of {self.site.title}>"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._app(scope, receive, send)

    def _routed(self, close: bool) -> Starlette:
        routes = _static_files(self._pages)
        for page in self._pages:
            routes.append(Route(f"{page.path}.json", self._page(page, as_json=True), methods=["GET"]))
        routes += [Route(action.path, self._action(action), methods=["POST"]) for action in actions()]
        routes += [Route(page.path, self._page(page, as_json=False), methods=["GET"]) for page in self._pages]
        routes += [Route(feed.path, self._feed(feed), methods=["GET"]) for feed in feeds()]

        @asynccontextmanager
        async def lifespan(app: Starlette) -> AsyncGenerator[None]:
            yield
            if close:
                await self.site.db.close()

        return Starlette(routes=routes, exception_handlers={HTTPException: self._missing}, lifespan=lifespan)

    # --- the three kinds of answers ----------------------------------------------------------------------------------
    def _page(self, page: Page, *, as_json: bool) -> Callable[[Request], Awaitable[Response]]:
        async def answer(request: Request) -> Response:
            visit = await self._visit(request)
            view, failed = await self._measured(lambda: page.load(visit))
            view = replace(view, unread=visit.unread_items())
            if as_json:
                return _as_json(view)
            if isinstance(view, FailurePage):
                return await self._html("failure.html", visit, view, view.status)
            assert not failed
            spent = spent_before(request, self._signer, visit.user)
            response = await self._html(page.template, visit, view, 200, page, spent=spent)
            if spent is not None:
                forget_spent(response)
            return response

        return answer

    def _action(self, action: Action) -> Callable[[Request], Awaitable[Response]]:
        async def answer(request: Request) -> Response:
            visit = await self._visit(request)
            results: list[str | PageAnswer] = []
            confirmed = False

            async def act() -> View:
                nonlocal confirmed
                if action.writes and not self.site.write:
                    raise Denied("this studio is read-only", hint="Start it with --write, or make it with write=True.")
                form = await _form_of(request)
                if not self._signer.is_text(form.pop(_FORM_TOKEN, ""), "form", visit.user):
                    raise Denied("the form has no valid token", hint="Open its page again, and send it from there.")
                sent = dataclasses.replace(visit, form=form)
                asked = await self._to_confirm(sent, request) if action.writes else None
                confirmed = action.writes and asked is None
                results.append(asked or await action.perform(sent))
                return View(title="")

            view, _ = await self._measured(act)
            if isinstance(view, FailurePage):
                if view.status == HTTPStatus.FORBIDDEN:
                    page = first_part(request.url.path)
                    self.site.db.port.events.emit(
                        PageRefused(method="POST", page=page, status=view.status, why=view.what, user=visit.user)
                    )
                return await self._html("failure.html", visit, view, view.status)
            result = results[0]
            if isinstance(result, PageAnswer):
                shown = replace(result.view, cost=view.cost)
                response = await self._html(result.template, visit, shown, result.status, style=result.style)
            else:
                response = RedirectResponse(result, 303)
                keep_spent(response, self._signer, visit.user, result, view.cost)
            if confirmed:
                self._remember(response, visit)
            return response

        return answer

    def _feed(self, feed: Feed) -> Callable[[Request], Awaitable[Response]]:
        async def answer(request: Request) -> Response:
            visit = await self._visit(request)
            events = feed.events(visit)
            try:
                first = await anext(events)  # what is refused is an answer of its own
            except SingletableError as error:
                return _as_json(_failure(error))

            async def lines() -> AsyncIterator[bytes]:
                yield _event(first)
                async for view in events:
                    yield _event(view)

            return StreamingResponse(lines(), media_type="text/event-stream")

        return answer

    # --- a request ---------------------------------------------------------------------------------------------------
    async def _visit(self, request: Request) -> Visit:
        user: str = request.scope[USER]
        query = dict(parse_qsl(request.url.query, keep_blank_values=True))
        personal = query.pop(PERSONAL, "") == SHOWN
        root: str = request.scope.get("root_path", "")

        async def asks_to_write(kind: type[Any]) -> bool:
            return await self._gate.may_write(user, kind)

        return Visit(
            self.site,
            Addresses(root, self._seal, self.site.now, personal),
            user,
            request.path_params,
            query,
            {},
            await self._gate.readable(user, self.site.tables),
            asks_to_write,
            self._signer.text("form", user),
            self._signer.text("secret", user),
        )

    async def _measured(self, load: Callable[[], Awaitable[View]]) -> tuple[View, bool]:
        """A view with its cost; or what is shown for an error."""
        monotonic = self.site.db.port.monotonic
        began, failed = monotonic(), False
        with Meter() as meter:
            try:
                view = await load()
            except SingletableError as error:
                view, failed = _failure(error), True
            except Exception as error:
                self.site.db.port.events.emit(PageFailed(error=error))
                said = f"{type(error).__name__} while the page was made: this is a defect of the studio"
                view, failed = FailurePage(title="Error", status=500, what=said), True
        cost = PageCost.of(meter, monotonic() - began)
        self.site.totals.add(cost)
        return replace(view, cost=cost), failed

    async def _html(
        self,
        template: str,
        visit: Visit,
        view: View,
        status: int,
        page: Page | None = None,
        style: str = "",
        spent: PageCost | None = None,
    ) -> Response:
        chrome = await chrome_of(visit, self._pages, page)
        names = {
            "view": view,
            "visit": visit,
            "site": self.site,
            "links": visit.links,
            "chrome": chrome,
            "spent": spent,
        }
        names |= {"style": page.style if page is not None else style, "script": page.script if page is not None else ""}
        return HTMLResponse(render(self._templates, template, names), status)

    async def _missing(self, request: Request, error: Exception) -> Response:
        status = error.status_code if isinstance(error, HTTPException) else 500
        visit = await self._visit(request)
        said = "This studio has no such page." if status == 404 else "This page does not answer that."
        view = FailurePage(title="Not found" if status == 404 else "Error", status=status, what=said)
        if request.url.path.endswith(".json"):
            return _as_json(view)
        return await self._html("failure.html", visit, view, status)

    # --- the first write to a table on AWS ---------------------------------------------------------------------------
    async def _to_confirm(self, visit: Visit, request: Request) -> PageAnswer | None:
        """The question for a table's name, unless it was answered, or the table is not on AWS."""
        if not self.site.place.is_aws or self._is_confirmed(visit, request):
            return None
        form = dict(visit.form)
        given = form.pop(_TABLE_NAME, None)
        if given == visit.table.name:
            return None
        account = await self.site.account_of(visit.table)
        view = Confirm(
            title=f"Write to {visit.table.name}?",
            table=visit.table.name,
            account=account,
            region=self.site.place.region,
            action=visit.links.of(request.scope["path"].removeprefix(visit.links.root), visit.query),
            fields=form,
            is_wrong=given is not None,
        )
        return PageAnswer("confirm.html", view, 409)

    def _is_confirmed(self, visit: Visit, request: Request) -> bool:
        given = cookies_of(request.headers).get(_confirmed(visit), "")
        return self._signer.is_text(given, "confirmed", visit.user, visit.table.name)

    def _remember(self, response: Response, visit: Visit) -> None:
        if self.site.place.is_aws:
            text = self._signer.text("confirmed", visit.user, visit.table.name)
            response.set_cookie(_confirmed(visit), text, path="/", httponly=True, samesite="strict")


def _confirmed(visit: Visit) -> str:
    return f"singletable_confirmed_{visit.table.name}"


def _static_files(shown: Sequence[Page]) -> list[BaseRoute]:
    """The studio's styles and scripts, and those of the packages that pages name."""
    names = (name for page in shown for name in (page.style, page.script))
    packages = {name.partition("/")[0] for name in names if "/" in name}
    own = Mount("/static", StaticFiles(directory=Path(__file__).with_name("static")))
    mounts = (Mount(f"/static/{package}", StaticFiles(packages=[(package, "static")])) for package in packages)
    return [*mounts, own]


async def _form_of(request: Request) -> dict[str, str]:
    """The fields of a form. InvalidRequest for a body that is too long, or none."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip()
    if kind != "application/x-www-form-urlencoded":
        raise InvalidRequest("a form is sent as application/x-www-form-urlencoded")
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > _MOST_BODY_BYTES:
            raise InvalidRequest(f"the form has more than {_MOST_BODY_BYTES:,} bytes")
    try:
        pairs = parse_qsl(body.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=20_000)
    except ValueError:
        raise InvalidRequest("the form can't be read") from None
    return dict(pairs)


def _failure(error: SingletableError) -> FailurePage:
    status = next((status for kind, status in _STATUSES if isinstance(error, kind)), 500)
    bare = SingletableError(
        error.what, table=error.table, key=error.key, attribute=error.attribute, operation=error.operation
    )
    return FailurePage(
        title="Refused" if status == 403 else "Not found" if status == 404 else "That did not work",
        status=status,
        what=str(bare),
        hint=error.hint,
        code=error.code,
    )


def _event(view: View) -> bytes:
    return b"data: " + encoded(view) + b"\n\n"


def _as_json(view: View) -> Response:
    return Response(encoded(view), view.status if isinstance(view, FailurePage) else 200, media_type=_JSON)
