"""The web application: the pages, the HTTP API under /api, and Replicache's push, pull and pokes under /replicache."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request
from fastapi.responses import FileResponse, JSONResponse, RedirectResponse, Response
from starlette.staticfiles import StaticFiles

from examples_shared.errors import LIBRARY_STATUS, words_of
from examples_shared.guard import guarded
from examples_shared.refused_forms import NOT_THERE, form_page
from projects.board import api, branch_pages, npm, pages
from projects.board.callers import Callers
from projects.board.rendering import FOLDER, HEADERS, error_page
from projects.board.service import Boards
from projects.errors import ApplicationError, Invalid, Missing, Refused
from singletable import InvalidRequest, NotFound

LOCAL_HOSTS = ("127.0.0.1", "localhost")

STATUS: dict[type[Exception], int] = {
    Missing: 404,
    NotFound: 404,
    Refused: 409,
    Invalid: 422,
    InvalidRequest: 422,
    **LIBRARY_STATUS,
}
_WORDS = {401: "sign in first", 404: "there is no such page"}
"""For these statuses, whatever the error."""


def create_app(
    boards: Boards,
    callers: Callers,
    hosts: Sequence[str] = LOCAL_HOSTS,
    *,
    node_modules: Path = npm.NODE_MODULES,
) -> FastAPI:
    """The application over its boards. `hosts` are the names it answers to."""

    @asynccontextmanager
    async def live(_: FastAPI) -> AsyncGenerator[None, None]:
        yield
        await boards.close()

    options: dict[str, Any] = {"openapi_url": "/api/openapi.json", "docs_url": None, "redoc_url": None}
    app = guarded(hosts, HEADERS, takes_large, title="Boards", lifespan=live, **options)
    app.state.boards, app.state.callers, app.state.missing = boards, callers, npm.missing(node_modules)
    app.include_router(api.routes)
    app.include_router(branch_pages.routes)
    app.include_router(pages.routes)
    app.mount("/replicache", boards.sync.asgi())
    app.router.routes.extend(npm.mounts(node_modules))
    app.mount("/static", StaticFiles(directory=FOLDER / "static"))
    app.add_api_route("/worker.js", _worker, include_in_schema=False)
    for kind, status in STATUS.items():
        app.add_exception_handler(kind, _handler(status))
    for status in (401, 404):
        app.add_exception_handler(status, _handler(status))
    return app


def takes_large(path: str) -> bool:
    """Replicache's push has limits of its own."""
    return path.startswith("/replicache/")


def _worker() -> FileResponse:
    """The service worker, from where it is in charge of the whole site."""
    return FileResponse(FOLDER / "static" / "worker.js", media_type="text/javascript")


def _handler(status: int) -> Callable[[Request, Exception], Awaitable[Response]]:
    async def answer(request: Request, error: Exception) -> Response:
        """The library's own errors are not passed on."""
        said = _WORDS.get(status) or ("that can't be meant" if isinstance(error, InvalidRequest) else words_of(error))
        if request.url.path.startswith("/api/"):
            headers = {"WWW-Authenticate": "Bearer"} if status == 401 else None
            return JSONResponse({"detail": said}, status, headers)
        if status == 401:
            return RedirectResponse("/sign-in", 303)
        of_form = NOT_THERE if status == 404 else said
        field = error.field if isinstance(error, ApplicationError) else None
        return await form_page(request, status, of_form, field, error) or error_page(status, said)

    return answer
