"""The applications' forms are those of the table, no other site's page changes anything, and no field is taken in
silence that nobody reads."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, get_args

import httpx
import pytest
from fastapi import FastAPI
from fastapi.routing import APIRoute
from pydantic import BaseModel

from examples.manhunt.tests.support import BASE, LINKS
from examples_shared.principal import InsecureUser
from examples_shared.testing.forms_table import FORMS
from goals import Service as Goals
from goals.api import create_app as goals_app
from manhunt import Service as Manhunt
from manhunt.api import create_app as manhunt_app
from manhunt.web import Web
from organisations import Service as Organisations
from organisations.api import create_app as organisations_app
from projects.board.app import create_app as projects_app
from projects.board.callers import Callers
from projects.board.opening import open_boards
from singletable.documents import LocalBlobs
from singletable.studio.pages import actions as studio_actions
from tests.support.engines import fresh, fresh_async

APPLICATIONS = sorted(FORMS.keys() - {"studio"})
SOMEBODY = InsecureUser("ada@example.org")
FOREIGN = (
    {"origin": "https://evil.example", "sec-fetch-site": "cross-site"},
    {"origin": "https://evil.example"},
    {"sec-fetch-site": "cross-site"},
    {"sec-fetch-site": "same-site"},
    {"origin": "null"},
    {"origin": "http://[evil"},
)
"""As browsers send them, old ones and new."""
CHANGING = {"POST", "PUT", "PATCH", "DELETE"}


@asynccontextmanager
async def serving(name: str, folder: Path) -> AsyncIterator[FastAPI]:
    """An application as `--insecure-user` serves it: whoever asks is somebody."""
    if name == "projects":
        async with fresh_async() as db:
            yield projects_app(open_boards(db, LocalBlobs(folder), Callers.demo(), is_demo=True), Callers.demo())
        return
    with fresh() as db:
        if name == "goals":
            yield goals_app(Goals(db), SOMEBODY)
        elif name == "organisations":
            yield organisations_app(Organisations(db), SOMEBODY)
        else:
            yield manhunt_app(Web(Manhunt(db), SOMEBODY, LINKS))


def routes_of(app: FastAPI) -> list[APIRoute]:
    """Those of the routers that it includes, too."""
    every: list[Any] = [*app.routes, *(each for part in app.routes for each in _included(part))]
    found = [route for route in every if isinstance(route, APIRoute)]
    assert len(found) > 15, "FastAPI keeps its routes elsewhere now"
    return found


def _included(part: Any) -> list[Any]:
    router = getattr(part, "original_router", None)
    return router.routes if router is not None else []


def methods_of(route: APIRoute) -> set[str]:
    return route.methods or set()


def changing(app: FastAPI) -> list[APIRoute]:
    return [route for route in routes_of(app) if methods_of(route) & CHANGING]


@pytest.mark.parametrize("name", APPLICATIONS)
async def test_every_form_is_in_the_table(name: str, tmp_path: Path) -> None:
    async with serving(name, tmp_path) as app:
        forms = {route.path for route in changing(app) if not route.include_in_schema}
    of_provider = {path for path in forms if path.startswith("/telephone/")}
    assert forms - of_provider == FORMS[name].keys()


def test_every_form_of_the_studio_is_in_the_table() -> None:
    assert {action.path for action in studio_actions()} == FORMS["studio"].keys()


@pytest.mark.parametrize("name", APPLICATIONS)
async def test_no_page_of_another_site_changes_anything(name: str, tmp_path: Path) -> None:
    """Whether it sends a body or none: the guard stands before all routes."""
    async with serving(name, tmp_path) as app:
        asked = [(min(methods_of(route) & CHANGING), re.sub(r"\{.*?\}", "x", route.path)) for route in changing(app)]
        asked += [("POST", "/replicache/push?project=x"), ("POST", "/no-such-page")]
        transport = httpx.ASGITransport(app, raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url=BASE) as client:
            for method, path in asked:
                for headers in FOREIGN:
                    for body in (b"", b"name=x"):
                        answer = await client.request(method, path, content=body, headers=headers)
                        assert answer.status_code == 403, (method, path, headers, body)
                        assert "another site" in answer.text
            for headers in ({}, {"origin": BASE, "sec-fetch-site": "same-origin"}, {"sec-fetch-site": "none"}):
                answer = await client.request("POST", "/no-such-page", headers=headers)
                assert answer.status_code in (404, 405), headers


# --- what programs send -----------------------------------------------------------------------------------------------
def bodies(app: FastAPI) -> dict[str, type[BaseModel]]:
    """The classes of JSON that routes take, and those within them."""
    found: dict[str, type[BaseModel]] = {}
    waiting: list[Any] = [
        field.field_info.annotation
        for route in routes_of(app)
        for field in (*route.dependant.body_params, *route.dependant.query_params)
    ]
    while waiting:
        each = waiting.pop()
        waiting += [*get_args(each), *getattr(each, "__metadata__", ())]
        if isinstance(each, type) and issubclass(each, BaseModel) and each.__name__ not in found:
            found[each.__name__] = each
            waiting += [field.annotation for field in each.model_fields.values()]
    return found


@pytest.mark.parametrize("name", APPLICATIONS)
async def test_no_field_is_taken_that_nobody_reads(name: str, tmp_path: Path) -> None:
    async with serving(name, tmp_path) as app:
        found = bodies(app)
    assert len(found) >= 5
    assert [kind for kind, model in found.items() if model.model_config.get("extra") != "forbid"] == []


@pytest.mark.parametrize("name", APPLICATIONS)
async def test_no_question_is_asked_that_nobody_reads(name: str, tmp_path: Path) -> None:
    """A mistyped filter would otherwise show everything."""
    async with serving(name, tmp_path) as app:
        asked: list[tuple[str, str]] = [
            (min(methods_of(route)), re.sub(r"\{.*?\}", "x", route.path))
            for route in routes_of(app)
            if route.include_in_schema and not route.path.startswith("/telephone/")
        ]
        transport = httpx.ASGITransport(app, raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url=BASE) as client:
            for method, path in asked:
                answer = await client.request(method, path, params={"statsu": "open"})
                assert answer.status_code == 422, (method, path, answer.text)
                assert "statsu" in answer.text
