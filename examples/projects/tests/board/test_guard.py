"""What stands before every request, by the headers that browsers and programs send."""

from __future__ import annotations

from collections.abc import Mapping

import httpx
import pytest
from starlette.responses import PlainTextResponse

from examples_shared.guard import MOST_BODY_BYTES, Guard
from projects.board.app import takes_large
from projects.board.rendering import HEADERS

HERE = "http://127.0.0.1:8080"
GUARD = Guard(PlainTextResponse("done"), HEADERS, takes_large)
CLIENT = httpx.AsyncClient(transport=httpx.ASGITransport(GUARD), base_url=HERE)


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"origin": HERE, "sec-fetch-site": "same-origin"}, 200),
        ({"sec-fetch-site": "none"}, 200),
        ({"origin": "https://evil.example", "sec-fetch-site": "cross-site"}, 403),
        ({"origin": "https://evil.example"}, 403),
        ({"origin": "http://127.0.0.1:9999", "sec-fetch-site": "same-site"}, 403),
        ({"origin": "null"}, 403),
    ],
)
async def test_no_other_site_changes_anything(headers: Mapping[str, str], status: int) -> None:
    assert (await CLIENT.post("/projects", headers=headers)).status_code == status
    assert (await CLIENT.get("/projects", headers=headers)).status_code == 200


async def test_only_a_push_may_be_large() -> None:
    large = b"x" * (MOST_BODY_BYTES + 1)
    assert (await CLIENT.post("/api/projects", content=large)).status_code == 413
    assert (await CLIENT.post("/api/projects", headers={"transfer-encoding": "chunked"})).status_code == 413
    assert (await CLIENT.post("/api/projects", content=large[1:])).status_code == 200
    assert (await CLIENT.post("/replicache/push", content=large)).status_code == 200


async def test_every_answer_has_the_policy() -> None:
    for answer in (await CLIENT.get("/"), await CLIENT.post("/", headers={"origin": "https://evil.example"})):
        policy = answer.headers["content-security-policy"]
        assert policy.startswith("default-src 'none'; script-src 'self' 'sha256-")
        assert "unsafe" not in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
