"""Boards with people who have signed in, each in a browser profile of their own."""

from __future__ import annotations

from typing import Any

import httpx

from examples.projects.tests.board.conftest import SECRET
from examples.projects.tests.board.serving import Server
from projects.board.callers import COOKIE, ProjectTokens
from tests.browser.board.conftest import Open
from tests.browser.board_page import BoardPage


def board_of(server: Server, user: str) -> str:
    headers = {"authorization": f"Bearer {ProjectTokens([SECRET]).issue(user)}"}
    made = httpx.post(f"{server.url}/api/projects", json={"name": "Plan"}, headers=headers)
    id: str = made.raise_for_status().json()["id"]
    return id


def signed_in(user: str) -> dict[str, Any]:
    """A browser profile's options, where a user has signed in."""
    token = ProjectTokens([SECRET]).issue(user)
    cookie = {"name": COOKIE, "value": token, "domain": "127.0.0.1", "path": "/"}
    return {
        "storage_state": {
            "cookies": [{**cookie, "expires": -1, "httpOnly": True, "secure": False, "sameSite": "Strict"}]
        }
    }


def open_as(server: Server, project: str, user: str, open_board: Open) -> BoardPage:
    return open_board(server, project, **signed_in(user))
