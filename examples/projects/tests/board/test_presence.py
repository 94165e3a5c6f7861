"""Who is here, over HTTP: what one client posts the other clients' streams of events are sent."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx

from examples.projects.tests.board.conftest import SECRET
from examples.projects.tests.board.serving import Server, served
from projects.board.callers import ProjectTokens

ADA, BEN, EVE = "ada@example.com", "ben@example.com", "eve@evil.example"


def signed_in(server: Server, user: str) -> httpx.Client:
    token = ProjectTokens([SECRET]).issue(user)
    return httpx.Client(base_url=server.url, headers={"authorization": f"Bearer {token}"}, timeout=20)


def say(http: httpx.Client, project: str, client: str, state: Any) -> httpx.Response:
    return http.post("/replicache/presence", params={"project": project}, json={"client": client, "state": state})


def presence(lines: Iterator[str]) -> dict[str, Any]:
    """The next event of presence."""
    while next(lines) != "event: presence":
        continue
    found: dict[str, Any] = json.loads(next(lines).removeprefix("data: "))
    return found


def test_people_of_one_domain_see_each_other_come_and_go(tmp_path: Path) -> None:
    with (
        served(tmp_path, "--auth", "--secret", SECRET) as server,
        signed_in(server, ADA) as ada,
        signed_in(server, BEN) as ben,
        signed_in(server, EVE) as eve,
    ):
        id = ada.post("/api/projects", json={"name": "Plan"}).json()["id"]
        pokes = {"project": id, "client": "tab-b"}
        with ben.stream("GET", "/replicache/pokes", params=pokes) as stream:
            lines = stream.iter_lines()
            assert presence(lines) == {"clear": True}
            with ada.stream("GET", "/replicache/pokes", params={"project": id, "client": "tab-a"}) as own:
                own_lines = own.iter_lines()
                assert presence(own_lines) == {"clear": True}
                assert say(ada, id, "tab-a", {"cursor": {"x": 1, "y": 2}}).json() == {"id": 1}
                shown = {"id": 1, "user": ADA, "state": {"cursor": {"x": 1, "y": 2}}}
                assert presence(lines) == {"put": [shown]}
            assert presence(lines) == {"del": [1]}, "her stream has ended"
            assert say(ada, id, "tab-a", {}).status_code == 200
            assert presence(lines)["put"][0]["user"] == ADA
            assert say(ada, id, "tab-a", None).json() == {}
            assert presence(lines)["del"]
            assert say(eve, id, "tab-e", {}).status_code == 404
            assert say(ada, id, "tab-a", {"x": "x" * 3000}).status_code == 413
            form = {"content-type": "application/x-www-form-urlencoded"}
            refused = ada.post("/replicache/presence", params={"project": id}, content=b"x", headers=form)
            assert refused.status_code == 415
            other = {"origin": "https://evil.example"}
            body = {"client": "t", "state": {}}
            refused = ada.post("/replicache/presence", params={"project": id}, json=body, headers=other)
            assert refused.status_code == 403
