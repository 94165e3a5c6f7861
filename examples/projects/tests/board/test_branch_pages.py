"""The page of branches and tags, and the report of a merge: forms over HTTP."""

from __future__ import annotations

import re
from html import unescape
from typing import Any

import httpx
import pytest

from examples.projects.tests.board.conftest import Application
from examples.projects.tests.board.pushing import Client
from examples.projects.tests.board.test_branches_api import SHAPE, board
from examples_shared.testing.page_forms import Page, pairs_of

HOSTILE = "<script>alert(1)</script>"


async def branched(http: httpx.AsyncClient, id: str, version: str = "") -> str:
    made = await http.post(f"/projects/{id}/branches", data={"version": version})
    assert made.status_code == 303
    return made.headers["location"].removeprefix("/projects/")


def choices(page: httpx.Response) -> set[str]:
    return {unescape(name) for name in re.findall(r'name="(choose:[^"]*)"', page.text)}


def _cells(page: str, attribute: str) -> list[tuple[str, str]]:
    """Each column with its cell, of an attribute's row."""
    found = re.search(rf'<th scope="row"[^>]*>{attribute}</th>(.*?)</tr>', page)
    return re.findall(r'data-column="([^"]*)">([^<]*)<', found[1]) if found else []


async def test_a_branch_is_made_listed_and_merged(demo: Application) -> None:
    http = demo.anybody
    id = await board(http)
    new = await branched(http, id)
    early = await branched(http, id, "0")
    page = (await http.get(f"/projects/{id}/branches")).text
    assert f'data-id="{new}"' in page
    assert "branched from this board at version 0" in page
    assert f'data-id="{id}"' in (await http.get(f"/projects/{early}/branches")).text
    listed = (await http.get(f"/api/projects/{new}/branches")).json()["branches"]
    assert {each["id"]: each["origin"] for each in listed} == {
        id: None,
        early: {"project": id, "version": 0},
    }
    await Client(http, new, "b").push(("move_shape", {"id": "s1", "x": 9, "y": 9}))
    merged = await http.post(f"/projects/{id}/merge", data={"from": new})
    assert merged.status_code == 200
    assert "1 change was taken" in merged.text
    assert (await http.get(f"/api/projects/{id}")).json()["shapes"]["s1"]["x"] == 9
    assert "nothing new" in (await http.post(f"/projects/{id}/merge", data={"from": new})).text


async def test_conflicts_are_shown_and_chosen_one_by_one(demo: Application) -> None:
    http = demo.anybody
    id = await board(http)
    new = await branched(http, id)
    await Client(http, new, "b").push(
        ("put_shape", {"id": "s1", "shape": SHAPE | {"x": 9, "text": HOSTILE}}),
        ("put_shape", {"id": "s2", "shape": SHAPE | {"x": 8}}),
        ("rename", {"name": "New"}),
    )
    await Client(http, id, "c").push(
        ("put_shape", {"id": "s1", "shape": SHAPE | {"x": 7}}),
        ("delete_shape", {"id": "s2"}),
        ("rename", {"name": "Mine"}),
    )
    report = await http.post(f"/projects/{id}/merge", data={"from": new})
    assert report.status_code == 409
    assert choices(report) == {"choose:shapes/s1", "choose:shapes/s2", "choose:/name"}
    assert HOSTILE not in report.text
    assert _cells(report.text, "x") == [("Before", "1"), ("Here", "7"), ("Branch", "9")]
    of_s1 = report.text.partition("shapes/s1")[0]
    assert _cells(of_s1, "kind") == [], "what is the same in all is left out"
    some = {"from": new, "choose:shapes/s1": "theirs", "choose:shapes/s2": "ours"}
    left = await http.post(f"/projects/{id}/merge", data=some)
    assert left.status_code == 409
    assert (await http.get(f"/api/projects/{id}")).json()["version"] == 2, "nothing is written before all is chosen"
    merged = await http.post(f"/projects/{id}/merge", data={**some, "choose:/name": "ours"})
    assert merged.status_code == 200
    head = (await http.get(f"/api/projects/{id}")).json()
    assert (head["name"], head["shapes"]) == ("Mine", {"s1": SHAPE | {"x": 9, "text": HOSTILE}})


async def test_the_api_takes_choices_too(demo: Application) -> None:
    http = demo.anybody
    id = await board(http)
    new = (await http.post(f"/api/projects/{id}/branch", json={})).json()["id"]
    await Client(http, new, "b").push(("rename", {"name": "New"}), ("move_shape", {"id": "s1", "x": 9, "y": 9}))
    await Client(http, id, "c").push(("rename", {"name": "Mine"}), ("move_shape", {"id": "s1", "x": 7, "y": 7}))
    choose = [{"collection": "", "id": "name", "side": "theirs"}]
    body: dict[str, Any] = {"onto": id, "prefer": "ours", "choose": choose}
    merged = await http.post(f"/api/projects/{new}/merge", json=body)
    assert (merged.status_code, merged.json()["merged"]) == (200, True)
    head = (await http.get(f"/api/projects/{id}")).json()
    assert (head["name"], head["shapes"]["s1"]["x"]) == ("New", 7)
    wrong = {**body, "choose": [{"collection": "", "id": "name", "side": "both"}]}
    assert (await http.post(f"/api/projects/{new}/merge", json=wrong)).status_code == 422


async def test_tags_are_made_and_removed(demo: Application) -> None:
    http = demo.anybody
    id = await board(http)
    tags = f"/projects/{id}/tags"
    for name, version in (("first", "0"), (HOSTILE, "")):
        assert (await http.post(tags, data={"name": name, "version": version})).status_code == 303
    page = (await http.get(f"/projects/{id}/branches")).text
    assert f'href="/projects/{id}#version=0"' in page
    assert HOSTILE not in page
    assert HOSTILE in unescape(page)
    again = await http.post(tags, data={"name": "first"})
    assert again.status_code == 409
    assert "There is a tag" in again.text
    assert (await http.post(tags, data={"remove": "first"})).status_code == 303
    assert [tag["name"] for tag in (await http.get(f"/api/projects/{id}/tags")).json()["tags"]] == [HOSTILE]


@pytest.mark.parametrize("said", ["x", "-1", "1e3", "9" * 13, "7"])
async def test_a_version_that_is_none_is_said_so(demo: Application, said: str) -> None:
    http = demo.anybody
    id = await board(http)
    for path, more in (("branches", {}), ("tags", {"name": "n"})):
        answer = await http.post(f"/projects/{id}/{path}", data={"version": said, **more})
        assert answer.status_code == (404 if said == "7" else 422)
        (back,) = [each for each in Page(answer.text).forms if each.problem]
        assert (back.action, dict(pairs_of(back, {}))["version"]) == (f"/projects/{id}/{path}", said)


async def test_boards_of_two_families_are_not_merged(demo: Application) -> None:
    http = demo.anybody
    one, other = await board(http), (await http.post("/api/projects", json={"name": "Other"})).json()["id"]
    answer = await http.post(f"/projects/{one}/merge", data={"from": other})
    assert answer.status_code == 409
    assert "no version in common" in answer.text


async def test_another_organisation_s_board_is_not_there(signed: Application) -> None:
    ada, eve = signed.user("ada@example.com"), signed.user("eve@evil.example")
    id, own = await board(ada), (await eve.post("/api/projects", json={"name": "Eve's"})).json()["id"]
    asked = [
        await eve.get(f"/projects/{id}/branches"),
        await eve.get(f"/api/projects/{id}/branches"),
        await eve.post(f"/projects/{id}/branches", data={}),
        await eve.post(f"/projects/{id}/tags", data={"name": "x"}),
        await eve.post(f"/projects/{id}/tags", data={"remove": "x"}),
        await eve.post(f"/projects/{id}/merge", data={"from": own}),
        await eve.post(f"/projects/{own}/merge", data={"from": id}),
    ]
    assert [answer.status_code for answer in asked] == [404] * len(asked)
    foreign = {"origin": "https://evil.example"}
    for path in ("branches", "tags", "merge"):
        assert (await ada.post(f"/projects/{id}/{path}", data={}, headers=foreign)).status_code == 403


async def conflicting(http: httpx.AsyncClient, count: int) -> tuple[str, str]:
    """A board and a branch of it that both moved so many shapes."""
    id = await board(http)
    shapes = [f"m{number:04}" for number in range(count)]

    async def put(client: Client, was: Any, to: Any) -> None:
        edits = [{"key": f"shapes/{shape}", "was": was, "to": to} for shape in shapes]
        parts = [edits[first : first + 250] for first in range(0, count, 250)]
        (await client.push(*(("revise", {"edits": part}) for part in parts))).raise_for_status()

    await put(Client(http, id, "a"), None, SHAPE)
    new = await branched(http, id)
    for each, client, x in ((new, "b", 9), (id, "c", 7)):
        await put(Client(http, each, client), SHAPE, SHAPE | {"x": x})
    return id, new


async def test_a_choice_counts_for_what_it_was_between(demo: Application) -> None:
    """In two tabs: what is kept is what the person saw, and nothing that was drawn meanwhile is lost unseen."""
    http = demo.anybody
    id, new = await conflicting(http, 2)
    (form,) = Page((await http.post(f"/projects/{id}/merge", data={"from": new})).text).forms
    typed: dict[str, str | None] = {"choose:shapes/m0000": "theirs", "choose:shapes/m0001": "theirs"}
    await Client(http, id, "d").push(("move_shape", {"id": "m0001", "x": 5, "y": 5}))
    late = await http.post(f"/projects/{id}/merge", data=dict(pairs_of(form, typed)))
    assert (late.status_code, late.text.count("changed while you chose")) == (409, 1)
    assert (await http.get(f"/api/projects/{id}")).json()["shapes"]["m0000"]["x"] == 7
    (back,) = Page(late.text).forms
    assert [each.is_ticked for each in back.controls if each.name == "choose:shapes/m0000"] == [False, True]
    assert [each.is_ticked for each in back.controls if each.name == "choose:shapes/m0001"] == [False, False]
    merged = await http.post(f"/projects/{id}/merge", data=dict(pairs_of(back, {"choose:shapes/m0001": "ours"})))
    assert merged.status_code == 200
    shapes = (await http.get(f"/api/projects/{id}")).json()["shapes"]
    assert (shapes["m0000"]["x"], shapes["m0001"]["x"]) == (9, 5)


@pytest.mark.parametrize("count", [101, pytest.param(1_000, marks=pytest.mark.soak)])
async def test_every_conflict_can_be_chosen(demo: Application, count: int) -> None:
    http = demo.anybody
    id, new = await conflicting(http, count)
    (form,) = Page((await http.post(f"/projects/{id}/merge", data={"from": new})).text).forms
    fields = sorted({each.name for each in form.controls if each.kind == "radio"})
    assert len(fields) == count
    typed: dict[str, str | None] = {name: "theirs" if number % 2 else "ours" for number, name in enumerate(fields)}
    merged = await http.post(f"/projects/{id}/merge", data=dict(pairs_of(form, typed)))
    assert merged.status_code == 200, merged.text
    shapes = (await http.get(f"/api/projects/{id}")).json()["shapes"]
    assert [shapes[f"m{number:04}"]["x"] for number in range(count)] == [9 if n % 2 else 7 for n in range(count)]


async def test_a_tag_names_the_version_that_the_page_showed(demo: Application) -> None:
    http = demo.anybody
    id = await board(http)
    form = next(each for each in Page((await http.get(f"/projects/{id}/branches")).text).forms if "name" in each.names)
    shown = (await http.get(f"/api/projects/{id}")).json()["version"]
    await Client(http, id, "b").push(("rename", {"name": "Later"}))
    assert (await http.post(form.action, data=dict(pairs_of(form, {"name": "agreed"})))).status_code == 303
    assert (await http.get(f"/api/projects/{id}/tags")).json()["tags"] == [{"name": "agreed", "version": shown}]
