"""The HTTP API in the demo: boards, versions, what differs, and the way back."""

from __future__ import annotations

import pytest

from examples.projects.tests.board.conftest import Application
from examples.projects.tests.board.pushing import Client

SHAPE = {"kind": "rect", "x": 1, "y": 2.5, "text": "a"}
COMMENT = {"text": "Agreed", "author": "demo", "shape": "s1"}


async def test_a_board_is_made_named_and_listed(demo: Application) -> None:
    made = (await demo.anybody.post("/api/projects", json={"name": "Plan"})).raise_for_status().json()
    assert made["name"] == "Plan"
    assert made["version"] == 0
    listed = (await demo.anybody.get("/api/projects")).json()
    assert [each for each in listed["projects"] if each["id"] != "p"] == [made]


async def test_boards_are_listed_by_pages(demo: Application) -> None:
    for number in range(5):
        await demo.anybody.post("/api/projects", json={"name": str(number)})
    found: list[str] = []
    after: str | None = None
    while True:
        page = (
            await demo.anybody.get("/api/projects", params={"limit": 2} | ({"after": after} if after else {}))
        ).json()
        found += [project["name"] for project in page["projects"]]
        after = page["after"]
        if after is None:
            break
    assert sorted(found) == ["", "0", "1", "2", "3", "4"]


async def test_every_mutation_works(demo: Application) -> None:
    client = Client(demo.anybody, "p")
    answer = await client.push(
        ("rename", {"name": "Plan"}),
        ("put_shape", {"id": "s1", "shape": SHAPE}),
        ("put_shape", {"id": "s2", "shape": SHAPE}),
        ("move_shape", {"id": "s1", "x": 10, "y": 20.25}),
        ("move_shape", {"id": "nowhere", "x": 1, "y": 1}),
        ("delete_shape", {"id": "s2"}),
        ("delete_shape", {"id": "s2"}),
        ("put_comment", {"id": "c1", "comment": COMMENT}),
        ("put_comment", {"id": "c2", "comment": COMMENT}),
        ("delete_comment", {"id": "c2"}),
    )
    assert (answer.status_code, answer.json()) == (200, {})
    moved = SHAPE | {"x": 10, "y": 20.25}
    assert await client.view() == {
        "project": {"name": "Plan", "description": ""},
        "shapes/s1": moved,
        "comments/c1": COMMENT,
    }
    head = (await demo.anybody.get("/api/projects/p")).json()
    assert (head["name"], head["shapes"], head["comments"]) == ("Plan", {"s1": moved}, {"c1": COMMENT})


async def test_versions_history_and_difference(demo: Application) -> None:
    client = Client(demo.anybody, "p")
    await client.push(("put_shape", {"id": "s1", "shape": SHAPE}))
    await client.push(("rename", {"name": "Second"}), ("move_shape", {"id": "s1", "x": 7, "y": 7}))
    await client.push(("delete_shape", {"id": "s1"}), ("put_comment", {"id": "c1", "comment": COMMENT}))
    history = (await demo.anybody.get("/api/projects/p/versions")).json()
    assert [version["version"] for version in history["versions"]] == [3, 2, 1, 0]
    assert [applied["name"] for applied in history["versions"][1]["mutations"]] == ["rename", "move_shape"]
    second = (await demo.anybody.get("/api/projects/p/versions/2")).json()
    assert (second["version"], second["name"], second["comments"]) == (2, "Second", {})
    difference = (await demo.anybody.get("/api/projects/p/diff", params={"from": 1, "to": 2})).json()
    moved = SHAPE | {"x": 7, "y": 7}
    assert difference == {
        "scalars": {"name": {"before": "", "after": "Second"}},
        "shapes": {"added": {}, "changed": {"s1": {"before": SHAPE, "after": moved}}, "removed": {}},
        "comments": {"added": {}, "changed": {}, "removed": {}},
    }
    back = (await demo.anybody.get("/api/projects/p/diff", params={"from": 3, "to": 2})).json()
    assert (back["shapes"]["added"], back["comments"]["removed"]) == ({"s1": moved}, {"c1": COMMENT})


async def test_restore_is_a_new_version(demo: Application) -> None:
    client = Client(demo.anybody, "p")
    await client.push(("put_shape", {"id": "s1", "shape": SHAPE}), ("rename", {"name": "Good"}))
    await client.push(("delete_shape", {"id": "s1"}), ("rename", {"name": "Bad"}))
    made = await demo.anybody.post("/api/projects/p/restore", json={"version": 1})
    assert (made.status_code, made.json()) == (201, {"version": 3})
    assert await client.view() == {"project": {"name": "Good", "description": ""}, "shapes/s1": SHAPE}
    assert (await demo.anybody.post("/api/projects/p/restore", json={"version": 2})).json() == {"version": 4}


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/api/projects/none", 404),
        ("/api/projects/none/versions", 404),
        ("/api/projects/p/versions/99", 404),
        ("/api/projects/p/versions/first", 422),
        ("/api/projects/p/diff?from=0&to=99", 404),
        ("/api/projects/p/diff?from=-1&to=0", 422),
        ("/api/projects/p/versions?limit=1000", 422),
        ("/api/projects/p/versions?after=forged", 422),
        ("/api/nothing", 404),
    ],
)
async def test_what_is_not_there_and_what_can_not_be_meant(demo: Application, path: str, status: int) -> None:
    await Client(demo.anybody, "p").push(("rename", {"name": "P"}))
    assert (await demo.anybody.get(path)).status_code == status


async def test_a_restore_of_what_is_not_there(demo: Application) -> None:
    await Client(demo.anybody, "p").push(("rename", {"name": "P"}))
    for body, status in (({"version": 99}, 404), ({"version": -1}, 422), ({}, 422), ({"version": 0, "x": 1}, 422)):
        assert (await demo.anybody.post("/api/projects/p/restore", json=body)).status_code == status, body


@pytest.mark.parametrize("id", ["a/b", "ä ö", "..", "p?q#r", "%2F", "-" * 100])
async def test_any_id_works_in_a_path(demo: Application, id: str) -> None:
    """Or is not an id anywhere."""
    pushed = await Client(demo.anybody, id).push(("rename", {"name": "P"}))
    found = await demo.anybody.get("/api/projects/" + "".join(f"%{byte:02X}" for byte in id.encode()))
    assert (pushed.status_code, found.status_code) in {(200, 200), (404, 404)}
