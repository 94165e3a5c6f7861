"""Pushes and pulls as a program sends them: one client, its mutations numbered."""

from __future__ import annotations

from itertools import count
from typing import Any

import httpx

Mutation = tuple[str, dict[str, Any]]


class Client:
    """A Replicache client's requests, without its memory."""

    def __init__(self, http: httpx.AsyncClient, project: str, name: str = "client") -> None:
        self._http, self._project, self._name = http, project, name
        self._ids = count(1)

    async def push(self, *mutations: Mutation) -> httpx.Response:
        listed = [
            {"clientID": self._name, "id": next(self._ids), "name": name, "args": args, "timestamp": 1.5}
            for name, args in mutations
        ]
        return await self._send("push", {"pushVersion": 1, "mutations": listed})

    async def pull(self, cookie: Any = None) -> httpx.Response:
        return await self._send("pull", {"pullVersion": 1, "cookie": cookie})

    async def view(self) -> dict[str, Any]:
        """The client view, from nothing."""
        patch = (await self.pull()).raise_for_status().json()["patch"]
        return {step["key"]: step["value"] for step in patch if step["op"] == "put"}

    async def _send(self, verb: str, body: dict[str, Any]) -> httpx.Response:
        whose = {"clientGroupID": f"group-{self._name}", "profileID": "p", "schemaVersion": ""}
        return await self._http.post(f"/replicache/{verb}", params={"project": self._project}, json=body | whose)
