"""The web application: the JSON API under /api, the pages, and what stands before both.

Reading is free to all who reach it; what changes something asks who the caller is, and `rights` what they may do.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse, Response
from starlette.exceptions import HTTPException
from starlette.staticfiles import StaticFiles

from examples_shared.errors import LIBRARY_STATUS, words_of
from examples_shared.forms import page_headers
from examples_shared.guard import guarded
from examples_shared.principal import Principal
from examples_shared.refused_forms import form_page
from goals import api_routes, forms, pages
from goals.errors import ApplicationError, Changed, Invalid, Missing, NotAllowed, Refused
from goals.requests import is_api
from goals.service import Service

LOCAL_HOSTS = ("127.0.0.1", "localhost")
FOLDER = Path(__file__).parent
HEADERS = page_headers()

STATUS: dict[type[Exception], int] = {
    Missing: 404,
    NotAllowed: 403,
    Refused: 409,
    Invalid: 422,
    **LIBRARY_STATUS,
}


def create_app(service: Service, principal: Principal, hosts: Sequence[str] = LOCAL_HOSTS) -> FastAPI:
    """The application over a service. `hosts` are the names it answers to."""
    app = guarded(hosts, HEADERS, title="Goals", openapi_url="/api/openapi.json", docs_url=None, redoc_url=None)
    app.state.service, app.state.principal = service, principal
    for routes in (api_routes.routes, pages.routes, forms.routes):
        app.include_router(routes)
    app.mount("/static", StaticFiles(directory=FOLDER / "static"), name="static")
    for kind, status in STATUS.items():
        app.add_exception_handler(kind, _handler(status))
    app.add_exception_handler(HTTPException, _http_error)
    return app


def _handler(status: int) -> Callable[[Request, Exception], Awaitable[Response]]:
    async def answer(request: Request, error: Exception) -> Response:
        own = error if isinstance(error, ApplicationError) else None
        said = words_of(error)
        if not is_api(request):
            return await form_page(request, status, said, own.field if own else None, error) or pages.error_page(
                request, status, said
            )
        more = {"differences": {n: vars(d) for n, d in error.differences.items()}} if isinstance(error, Changed) else {}
        return JSONResponse({"detail": said, **more}, status)

    return answer


def _http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    said = "there is no such page" if error.status_code == 404 else str(error.detail)
    if is_api(request):
        return JSONResponse({"detail": said}, error.status_code, error.headers)
    return pages.error_page(request, error.status_code, said)
