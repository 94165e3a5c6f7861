"""The HTTP API: branches and merges with their conflicts, names of versions, who changed what, deletion."""

from __future__ import annotations

from typing import Any

import httpx

from examples.projects.tests.board.conftest import Application
from examples.projects.tests.board.pushing import Client

SHAPE = {"kind": "note", "x": 1, "y": 2, "text": "old"}


async def board(http: httpx.AsyncClient) -> str:
    """A board with two shapes, and a name."""
    id: str = (await http.post("/api/projects", json={"name": "Plan"})).raise_for_status().json()["id"]
    await Client(http, id).push(
        ("put_shape", {"id": "s1", "shape": SHAPE}), ("put_shape", {"id": "s2", "shape": SHAPE})
    )
    return id


async def branch_of(http: httpx.AsyncClient, id: str) -> str:
    made = (await http.post(f"/api/projects/{id}/branch", json={})).raise_for_status().json()
    assert (made["name"], made["version"]) == ("Plan", 0)
    return str(made["id"])


async def test_a_branch_is_merged_where_both_changed_other_things(demo: Application) -> None:
    id = await board(demo.anybody)
    new = await branch_of(demo.anybody, id)
    await Client(demo.anybody, new, "b").push(("move_shape", {"id": "s1", "x": 9, "y": 9}), ("rename", {"name": "New"}))
    await Client(demo.anybody, id, "c").push(("delete_shape", {"id": "s2"}))
    merged = await demo.anybody.post(f"/api/projects/{new}/merge", json={"onto": id})
    assert (merged.status_code, merged.json()) == (
        200,
        {
            "merged": True,
            "version": 3,
            "taken": 2,
            "conflicts": [],
            "hidden": 0,
        },
    )
    head = (await demo.anybody.get(f"/api/projects/{id}")).json()
    assert (head["name"], head["shapes"]) == ("New", {"s1": SHAPE | {"x": 9, "y": 9}})
    view = await Client(demo.anybody, id, "d").view()
    assert view["shapes/s1"]["x"] == 9


async def test_a_conflict_is_shown_with_its_three_contents(demo: Application) -> None:
    id = await board(demo.anybody)
    new = await branch_of(demo.anybody, id)
    await Client(demo.anybody, new, "b").push(("move_shape", {"id": "s1", "x": 9, "y": 9}), ("rename", {"name": "New"}))
    await Client(demo.anybody, id, "c").push(("delete_shape", {"id": "s1"}), ("rename", {"name": "Mine"}))
    left = await demo.anybody.post(f"/api/projects/{new}/merge", json={"onto": id})
    assert left.status_code == 409
    assert left.json() == {
        "merged": False,
        "version": None,
        "taken": 0,
        "conflicts": [
            {"collection": "shapes", "id": "s1", "base": SHAPE, "ours": None, "theirs": SHAPE | {"x": 9, "y": 9}},
            {"collection": "", "id": "name", "base": "Plan", "ours": "Mine", "theirs": "New"},
        ],
        "hidden": 0,
    }
    assert (await demo.anybody.get(f"/api/projects/{id}")).json()["version"] == 2
    merged = await demo.anybody.post(f"/api/projects/{new}/merge", json={"onto": id, "prefer": "theirs"})
    assert (merged.status_code, len(merged.json()["conflicts"])) == (200, 2)
    head = (await demo.anybody.get(f"/api/projects/{id}")).json()
    assert (head["name"], sorted(head["shapes"])) == ("New", ["s1", "s2"])


async def test_versions_have_names(demo: Application) -> None:
    id = await board(demo.anybody)
    url = f"/api/projects/{id}/tags"
    made = await demo.anybody.post(url, json={"name": "the first", "version": 0})
    assert (made.status_code, made.json()) == (201, {"name": "the first", "version": 0})
    assert (await demo.anybody.post(url, json={"name": "now"})).json() == {"name": "now", "version": 1}
    assert (await demo.anybody.post(url, json={"name": "now"})).status_code == 409
    listed: dict[str, Any] = {
        "tags": [{"name": "now", "version": 1}, {"name": "the first", "version": 0}],
        "after": None,
    }
    assert (await demo.anybody.get(url)).json() == listed
    assert (await demo.anybody.delete(f"{url}/now")).status_code == 204
    assert (await demo.anybody.get(url)).json()["tags"] == listed["tags"][1:]


async def test_who_changed_this_shape(signed: Application) -> None:
    ada, ben = signed.user("ada@example.com"), signed.user("ben@example.com")
    id = await board(ada)
    await Client(ben, id, "ben").push(("rename", {"name": "x"}), ("move_shape", {"id": "s1", "x": 4, "y": 4}))
    found = (await ada.get(f"/api/projects/{id}/history", params={"item": "shapes/s1"})).json()["changes"]
    assert [(c["version"], c["change"], [(b["user"], b["name"]) for b in c["by"]]) for c in found] == [
        (2, "changed", [("ben@example.com", "move_shape")]),
        (1, "added", [("ada@example.com", "put_shape")]),
    ]
    older = await ada.get(f"/api/projects/{id}/history", params={"item": "shapes/s1", "before": 2})
    assert [c["version"] for c in older.json()["changes"]] == [1]
    assert (await ada.get(f"/api/projects/{id}/history", params={"item": "name"})).status_code == 404


async def test_a_deleted_board_is_gone_for_its_clients_too(demo: Application) -> None:
    id = await board(demo.anybody)
    new = await branch_of(demo.anybody, id)
    client = Client(demo.anybody, id, "c")
    await client.push(("rename", {"name": "Last"}))
    assert (await demo.anybody.delete(f"/api/projects/{id}")).status_code == 204
    assert (await client.pull()).status_code == 404
    assert (await client.push(("rename", {"name": "Later"}))).status_code == 404
    for path in ("", "/versions/1", "/tags", "/versions"):
        assert (await demo.anybody.get(f"/api/projects/{id}{path}")).status_code == 404
    assert (await demo.anybody.delete(f"/api/projects/{id}")).status_code == 404
    listed = (await demo.anybody.get("/api/projects")).json()["projects"]
    assert sorted(project["id"] for project in listed) == sorted([new, "p"])
    assert (await demo.anybody.get(f"/api/projects/{new}")).json()["shapes"] == {"s1": SHAPE, "s2": SHAPE}


async def test_another_organisation_s_board_is_not_there(signed: Application) -> None:
    ada, eve = signed.user("ada@example.com"), signed.user("eve@evil.example")
    id, own = await board(ada), (await eve.post("/api/projects", json={"name": "Eve's"})).json()["id"]
    asked = [
        await eve.post(f"/api/projects/{id}/branch", json={}),
        await eve.post(f"/api/projects/{id}/merge", json={"onto": own}),
        await eve.post(f"/api/projects/{own}/merge", json={"onto": id}),
        await eve.get(f"/api/projects/{id}/tags"),
        await eve.post(f"/api/projects/{id}/tags", json={"name": "x"}),
        await eve.delete(f"/api/projects/{id}/tags/x"),
        await eve.get(f"/api/projects/{id}/history", params={"item": "shapes/s1"}),
        await eve.delete(f"/api/projects/{id}"),
    ]
    assert [answer.status_code for answer in asked] == [404] * len(asked)
    assert (await ada.get(f"/api/projects/{id}")).status_code == 200
