"""What the page is made of, as the server gives it: its policy, its scripts, and what it says without the packages."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from contextlib import AsyncExitStack
from pathlib import Path
from urllib.parse import unquote

import pytest

from examples.projects.tests.board.conftest import Application, opened
from examples.projects.tests.board.pushing import Client
from examples.projects.tests.board.replicache import needs_node
from projects.board import npm


async def test_the_policy_allows_the_one_inline_script_by_its_hash(demo: Application) -> None:
    answer = await demo.anybody.get("/projects/p")
    (inline,) = re.findall(r'<script type="importmap">(.*?)</script>', answer.text)
    digest = base64.b64encode(hashlib.sha256(inline.encode()).digest()).decode()
    rules = dict(rule.split(" ", 1) for rule in answer.headers["content-security-policy"].split("; "))
    assert rules["default-src"] == "'none'"
    assert rules["script-src"] == f"'self' 'sha256-{digest}'"
    assert {rules[name] for name in ("style-src", "img-src", "connect-src", "form-action")} == {"'self'"}
    assert {rules[name] for name in ("base-uri", "frame-ancestors")} == {"'none'"}
    assert rules["require-trusted-types-for"] == "'script'"
    assert not re.search(r"\son\w+=|style=|javascript:", answer.text)


@needs_node
async def test_the_import_map_names_what_is_there_and_all_that_is_imported(demo: Application) -> None:
    answer = await demo.anybody.get("/projects/p")
    (inline,) = re.findall(r'<script type="importmap">(.*?)</script>', answer.text)
    imports: dict[str, str] = json.loads(inline)["imports"]
    wanted = list(imports.values())
    seen: set[str] = set()
    while wanted:
        path = wanted.pop()
        if path in seen:
            continue
        seen.add(path)
        script = await demo.anybody.get(path)
        assert script.status_code == 200, path
        assert script.headers["content-type"].startswith(("text/javascript", "application/javascript"))
        for name in re.findall(r"""(?:from|import)\s*["']([^"']+)["']""", script.text):
            wanted.append(imports[name] if name in imports else f"{path.rpartition('/')[0]}/{name.removeprefix('./')}")
    assert len(seen) >= len(imports) + 1


async def test_only_the_modules_of_those_packages_are_served(demo: Application) -> None:
    for path in (
        "replicache/package.json",
        "pyright/package.json",
        "replicache/out/../package.json",
        "../package.json",
    ):
        escaped = path.replace("..", "%2E%2E")
        assert (await demo.anybody.get(f"{npm.PREFIX}/{escaped}")).status_code == 404, path


async def test_without_its_packages_the_page_says_so(tmp_path: Path) -> None:
    """And all that needs none of them works."""
    async with AsyncExitStack() as stack:
        bare = await opened(stack, tmp_path, is_demo=True, node_modules=tmp_path / "node_modules")
        answer = await bare.anybody.get("/projects/p")
        assert answer.status_code == 503
        assert "npm ci" in answer.text
        assert all(name in answer.text for name in npm.MODULES)
        assert (await bare.anybody.get("/")).status_code == 200
        assert (await bare.anybody.get("/api/projects")).json() == {"projects": [], "after": None}


async def test_the_worker_is_in_charge_of_the_whole_site(demo: Application) -> None:
    worker = await demo.anybody.get("/worker.js")
    assert worker.headers["content-type"].startswith("text/javascript")
    assert worker.text == (await demo.anybody.get("/static/worker.js")).text


@pytest.mark.parametrize("id", ["typo", "p/q", "a%20b", "ü"])
async def test_a_board_that_is_not_there_is_made_by_nobody(demo: Application, id: str) -> None:
    """Neither by opening its address, nor by what a page that was left open goes on sending."""
    http, name = demo.anybody, unquote(id)
    page = await http.get(f"/projects/{id}")
    assert (page.status_code, "There is no such board" in page.text) == (404, True)
    client = Client(http, name)
    assert (await client.push(("put_shape", {"id": "s1", "shape": {"x": 1}}))).status_code == 404
    assert (await client.pull()).status_code == 404
    assert (await http.get("/replicache/pokes", params={"project": name})).status_code == 404
    assert [each["id"] for each in (await http.get("/api/projects")).json()["projects"]] == ["p"]


async def test_a_board_that_was_deleted_is_not_made_again(demo: Application) -> None:
    client = Client(demo.anybody, "p")
    assert (await client.push(("put_shape", {"id": "s1", "shape": {"x": 1}}))).status_code == 200
    assert (await demo.anybody.delete("/api/projects/p")).status_code == 204
    assert (await demo.anybody.get("/projects/p")).status_code == 404
    assert (await client.push(("put_shape", {"id": "s2", "shape": {"x": 2}}))).status_code == 404
    assert (await client.pull()).status_code == 404
    assert (await demo.anybody.get("/api/projects")).json()["projects"] == []
