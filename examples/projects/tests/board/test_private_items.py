"""A shape or a comment that is its user's alone: nobody else is sent it, by sync or by the API, or changes it."""

from __future__ import annotations

from typing import Any

import httpx

from examples.projects.tests.board.conftest import Application
from examples.projects.tests.board.pushing import Client

ADA, BEN = "ada@example.com", "ben@example.com"
SHAPE: dict[str, Any] = {"kind": "note", "x": 1, "y": 2, "text": "the secret plan"}
OWN = SHAPE | {"only": ADA}


async def board(http: httpx.AsyncClient) -> str:
    """A board with a shape of everybody's, and one of ada's alone with a comment."""
    id: str = (await http.post("/api/projects", json={"name": "Plan"})).raise_for_status().json()["id"]
    await Client(http, id, "ada").push(
        ("put_shape", {"id": "all", "shape": SHAPE | {"text": "for all"}}),
        ("put_shape", {"id": "own", "shape": OWN}),
        ("put_comment", {"id": "c", "comment": {"text": "a secret too", "author": ADA, "shape": "own", "only": ADA}}),
    )
    return id


async def test_nobody_else_is_sent_it(signed: Application) -> None:
    ada, ben = signed.user(ADA), signed.user(BEN)
    id = await board(ada)
    assert sorted(await Client(ada, id, "a").view()) == ["comments/c", "project", "shapes/all", "shapes/own"]
    assert sorted(await Client(ben, id, "b").view()) == ["project", "shapes/all"]
    await ada.post(f"/api/projects/{id}/tags", json={"name": "now"})
    paths = ("", "/versions", "/versions/1", "/diff?from=0&to=1", "/diff?from=1&to=0", "/tags")
    for path in paths:
        answer = await ben.get(f"/api/projects/{id}{path}")
        assert answer.status_code == 200
        assert "secret" not in answer.text, path
        assert "own" not in answer.text, path
    assert "secret" in (await ada.get(f"/api/projects/{id}")).text


async def changes(http: httpx.AsyncClient, id: str, item: str, **options: int) -> list[tuple[int, str]]:
    found = await http.get(f"/api/projects/{id}/history", params={"item": item, **options})
    return [(each["version"], each["change"]) for each in found.raise_for_status().json()["changes"]]


async def test_its_history_is_its_users_alone_also_when_it_is_deleted(signed: Application) -> None:
    ada, ben = signed.user(ADA), signed.user(BEN)
    id = await board(ada)
    client = Client(ada, id, "second")
    assert await changes(ben, id, "shapes/own") == await changes(ben, id, "shapes/never") == []
    await client.push(("delete_shape", {"id": "own"}))
    assert await changes(ben, id, "shapes/own") == []
    assert await changes(ada, id, "shapes/own") == [(2, "removed"), (1, "added")]


async def test_its_history_shows_when_it_was_everybodys(signed: Application) -> None:
    ada, ben = signed.user(ADA), signed.user(BEN)
    id = await board(ada)
    client = Client(ada, id, "second")
    for x in range(2, 5):
        await client.push(("put_shape", {"id": "own", "shape": OWN | {"x": x}}))
    await client.push(("put_shape", {"id": "own", "shape": SHAPE}))  # version 5
    await client.push(("put_shape", {"id": "own", "shape": OWN}))
    await client.push(("put_shape", {"id": "own", "shape": OWN | {"x": 9}}))
    assert await changes(ben, id, "shapes/own") == [(6, "changed"), (5, "changed")]
    assert await changes(ben, id, "shapes/own", limit=1) == [(6, "changed")], "what is hidden does not end a page"
    assert await changes(ben, id, "shapes/own", limit=1, before=6) == [(5, "changed")]
    assert await changes(ben, id, "shapes/own", before=5) == []
    assert len(await changes(ada, id, "shapes/own")) == 7
    new = (await ben.post(f"/api/projects/{id}/branch", json={"version": 5})).json()["id"]
    assert await changes(ben, new, "shapes/own") == [(5, "changed")]


async def test_it_is_shown_and_hidden_by_its_user(signed: Application) -> None:
    ada, ben = signed.user(ADA), signed.user(BEN)
    id = await board(ada)
    client, seen = Client(ada, id, "second"), Client(ben, id, "b")
    cookie = (await seen.pull()).json()["cookie"]
    assert (cookie["version"], cookie["view"]) == (1, f"of {BEN}")
    await client.push(("put_shape", {"id": "own", "shape": SHAPE}))
    shown = (await seen.pull(cookie)).json()
    assert shown["patch"] == [{"op": "put", "key": "shapes/own", "value": SHAPE}]
    await client.push(("put_shape", {"id": "own", "shape": OWN}))
    hidden = (await seen.pull(shown["cookie"])).json()
    assert hidden["patch"] == [{"op": "del", "key": "shapes/own"}]
    assert (await ben.get(f"/api/projects/{id}/diff?from=2&to=3")).json()["shapes"]["removed"] == {"own": SHAPE}
    assert (await ben.get(f"/api/projects/{id}/versions/2")).json()["shapes"]["own"] == SHAPE, "it was everybody's then"


async def test_nobody_else_changes_it_or_says_it_is_theirs(signed: Application) -> None:
    ada, ben = signed.user(ADA), signed.user(BEN)
    id = await board(ada)
    edit = {"key": "shapes/own", "was": OWN, "to": None}
    await Client(ben, id, "b").push(
        ("put_shape", {"id": "own", "shape": SHAPE}),
        ("move_shape", {"id": "own", "x": 9, "y": 9}),
        ("delete_shape", {"id": "own"}),
        ("revise", {"edits": [edit]}),
        ("put_shape", {"id": "all", "shape": SHAPE | {"only": ADA}}),
        ("put_shape", {"id": "all", "shape": SHAPE | {"only": 7}}),
        ("revise", {"edits": [{"key": "shapes/all", "was": {}, "to": {"only": ADA}}]}),
        ("put_comment", {"id": "d", "comment": {"text": "x", "author": BEN, "only": ADA}}),
        ("put_shape", {"id": "bens", "shape": SHAPE | {"only": BEN}}),
    )
    head = (await ada.get(f"/api/projects/{id}")).json()
    assert head["shapes"] == {"all": SHAPE | {"text": "for all"}, "own": OWN}
    assert sorted(head["comments"]) == ["c"]
    assert sorted((await ben.get(f"/api/projects/{id}")).json()["shapes"]) == ["all", "bens"]
    (version, _) = (await ben.get(f"/api/projects/{id}/versions")).json()["versions"][:2]
    rejected = [each["name"] for each in version["mutations"] if each["rejected"]]
    assert rejected == ["put_shape", "put_shape", "put_shape", "revise", "put_comment"]


async def test_a_branch_and_a_merge_keep_it_hidden(signed: Application) -> None:
    ada, ben = signed.user(ADA), signed.user(BEN)
    id = await board(ada)
    new = (await ben.post(f"/api/projects/{id}/branch", json={})).json()["id"]
    assert list((await ben.get(f"/api/projects/{new}")).json()["shapes"]) == ["all"]
    await Client(ada, new, "a2").push(("put_shape", {"id": "own", "shape": OWN | {"x": 5}}))
    await Client(ada, id, "a3").push(("put_shape", {"id": "own", "shape": OWN | {"x": 6}}))
    merged = await ben.post(f"/api/projects/{new}/merge", json={"onto": id})
    assert merged.status_code == 409
    assert merged.json() == {"merged": False, "version": None, "taken": 0, "conflicts": [], "hidden": 1}
    page = await ben.post(f"/projects/{id}/merge", data={"from": new})
    assert "1 thing that others alone see" in page.text
    assert "shapes/own" not in page.text
    found = (await ada.post(f"/api/projects/{new}/merge", json={"onto": id})).json()
    assert [found["conflicts"][0][side]["x"] for side in ("base", "ours", "theirs")] == [1, 6, 5]
    assert found["hidden"] == 0
    taken = await ben.post(f"/projects/{id}/merge", data={"from": new, "prefer": "theirs"})
    assert "1 change was taken" in taken.text
    assert (await ada.get(f"/api/projects/{id}")).json()["shapes"]["own"]["x"] == 5


async def test_a_restore_is_of_the_whole_board(signed: Application) -> None:
    ada, ben = signed.user(ADA), signed.user(BEN)
    id = await board(ada)
    await Client(ada, id, "a2").push(("delete_shape", {"id": "own"}), ("delete_shape", {"id": "all"}))
    assert (await ben.post(f"/api/projects/{id}/restore", json={"version": 1})).status_code == 201
    assert list((await ben.get(f"/api/projects/{id}")).json()["shapes"]) == ["all"]
    assert sorted((await ada.get(f"/api/projects/{id}")).json()["shapes"]) == ["all", "own"]
