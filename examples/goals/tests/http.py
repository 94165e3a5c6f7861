"""The web application as its clients see it: signed tokens, real requests through the whole application."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import httpx

from examples_shared.testing.applications import Served
from goals import Service
from goals.api import create_app
from goals.principal import SessionTokens

SECRET = "a secret of the tests, long enough to sign"
TOKENS = SessionTokens([SECRET])
SERVED = Served[Service](lambda service: create_app(service, TOKENS))


@dataclass(frozen=True)
class Client:
    """Requests of one caller; of nobody, without an id."""

    service: Service
    caller: str | None = None

    async def ask(
        self, method: str, path: str, json: Any = None, headers: dict[str, str] | None = None, content: str = ""
    ) -> httpx.Response:
        signed = {"Authorization": f"Bearer {TOKENS.issue(self.caller)}"} if self.caller is not None else {}
        body: dict[str, Any] = {"content": content} if content else {"json": json}
        with SERVED.by(self.service) as app:
            async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost") as client:
                return await client.request(method, path, headers=signed | (headers or {}), **body)

    async def get(self, path: str) -> httpx.Response:
        return await self.ask("GET", path)
