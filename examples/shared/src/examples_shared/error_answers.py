"""What a web application answers to an error: JSON to a program; to a browser the form that was refused, or a page.

What is missing has one answer, that of an unknown path: whoever may not know that something is there doesn't hear it.
The library's own errors are not passed on.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse, Response
from starlette.exceptions import HTTPException

from examples_shared.errors import ApplicationError, words_of
from examples_shared.refused_forms import NOT_THERE, form_page

ErrorPage = Callable[[Request, int, str], Response]


class ErrorAnswers:
    """`answer_errors(app)` makes them the application's."""

    def __init__(
        self, statuses: Mapping[type[Exception], int], is_api: Callable[[str], bool], error_page: ErrorPage
    ) -> None:
        self._statuses, self._is_api, self._error_page = statuses, is_api, error_page

    def answer_errors(self, app: FastAPI) -> None:
        for kind, status in self._statuses.items():
            app.add_exception_handler(kind, self._handler(status))
        app.add_exception_handler(404, self._handler(404))
        app.add_exception_handler(HTTPException, self._of_http)

    def _handler(self, status: int) -> Callable[[Request, Exception], Awaitable[Response]]:
        async def answer(request: Request, error: Exception) -> Response:
            said = "Not Found" if status == 404 else words_of(error)
            return await self._answer(request, status, said, cause=error)

        return answer

    async def _of_http(self, request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        return await self._answer(request, error.status_code, str(error.detail), error.headers)

    async def _answer(
        self,
        request: Request,
        status: int,
        said: str,
        headers: Mapping[str, str] | None = None,
        cause: Exception | None = None,
    ) -> Response:
        if self._is_api(request.url.path):
            return JSONResponse({"detail": said}, status, headers)
        field = cause.field if isinstance(cause, ApplicationError) else None
        shown = await form_page(request, status, NOT_THERE if status == 404 else said, field, cause)
        return shown or self._error_page(request, status, said)
