"""The HTTP API as its clients see it: signed tokens, real requests through the whole application."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import httpx

from examples_shared.testing.applications import Served
from organisations.api import create_app
from organisations.principal import SessionTokens
from organisations.service import Service

SECRET = "a secret of the tests, long enough to sign"
TOKENS = SessionTokens([SECRET])
SERVED = Served[Service](lambda service: create_app(service, TOKENS))


@dataclass(frozen=True)
class Client:
    """Requests of one caller; of nobody, without an address."""

    service: Service
    caller: str | None = None

    async def ask(
        self, method: str, path: str, json: Any = None, headers: dict[str, str] | None = None
    ) -> httpx.Response:
        signed = {"Authorization": f"Bearer {TOKENS.issue(self.caller)}"} if self.caller is not None else {}
        with SERVED.by(self.service) as app:
            async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost") as client:
                return await client.request(method, path, json=json, headers=signed | (headers or {}))
