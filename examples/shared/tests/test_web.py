"""What the applications' web sides share, on an application of a few routes: who is at a page, answers to errors."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlencode

import httpx
import pytest
from fastapi import FastAPI, Request, Response
from fastapi.responses import HTMLResponse

from examples_shared.error_answers import ErrorAnswers
from examples_shared.errors import ApplicationError
from examples_shared.forms import Form
from examples_shared.refused_forms import form_on
from examples_shared.signing_in import keep_signed_in, viewer_by

FORM = '<form method="post" action="/remove"><label>Name <input name="name"></label><button>Remove</button></form>'


class Missing(ApplicationError):
    """It is not there."""


def principal(headers: Mapping[str, str]) -> str | None:
    return headers.get("authorization", "").removeprefix("Bearer ") or None


def application() -> FastAPI:
    app = FastAPI()

    @app.get("/")
    def start(request: Request) -> HTMLResponse:
        return HTMLResponse(f"{viewer_by(principal, request, 'token')}{FORM}")

    @app.post("/sign-in")
    def sign_in(form: Form) -> Response:
        return keep_signed_in("token", form.text("token"), is_secure=True)

    @app.post("/remove", dependencies=form_on("/"))
    def remove(form: Form) -> None:
        raise Missing(f"no {form.text('name')}")

    @app.get("/api/missing")
    def missing() -> None:
        raise Missing("another's")

    def page(request: Request, status: int, said: str) -> HTMLResponse:
        return HTMLResponse(f"page: {said}", status)

    ErrorAnswers({Missing: 404}, lambda path: path.startswith("/api/"), page).answer_errors(app)
    return app


async def ask(method: str, path: str, body: str = "", **headers: str) -> httpx.Response:
    of_body = {"Content-Type": "application/x-www-form-urlencoded"} if body else {}
    async with httpx.AsyncClient(transport=httpx.ASGITransport(application()), base_url="https://here") as client:
        return await client.request(method, path, content=body, headers={**of_body, **headers})


@pytest.mark.parametrize(
    ("headers", "viewer"),
    [
        ({}, "None"),
        ({"Cookie": "token=ada"}, "ada"),
        ({"Authorization": "Bearer grace"}, "grace"),
        ({"Authorization": "Bearer grace", "Cookie": "token=ada"}, "grace"),
    ],
)
async def test_the_header_comes_before_the_cookie(headers: dict[str, str], viewer: str) -> None:
    assert (await ask("GET", "/", **headers)).text.removesuffix(FORM) == viewer


async def test_no_script_and_no_other_site_has_the_cookie() -> None:
    answer = await ask("POST", "/sign-in", urlencode({"token": "ada"}))
    assert answer.status_code == 303
    cookie = answer.headers["set-cookie"].lower()
    assert [word for word in ("httponly", "samesite=strict", "secure") if word not in cookie] == []


async def test_a_program_hears_of_what_is_missing_as_of_an_unknown_path() -> None:
    missing, unknown = await ask("GET", "/api/missing"), await ask("GET", "/api/nowhere")
    assert (missing.status_code, missing.content) == (unknown.status_code, unknown.content)
    assert missing.json() == {"detail": "Not Found"}


async def test_a_form_of_what_is_missing_comes_back_and_says_so() -> None:
    answer = await ask("POST", "/remove", urlencode({"name": "lamp"}))
    assert answer.status_code == 404
    assert "There is nothing of this name" in answer.text
    assert 'value="lamp"' in answer.text


async def test_a_page_that_is_not_there_is_a_page() -> None:
    answer = await ask("GET", "/nowhere")
    assert (answer.status_code, answer.text) == (404, "page: Not Found")
