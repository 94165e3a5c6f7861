"""The web application as its clients see it: signed tokens, real requests through the whole application."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

import httpx

from examples.manhunt.tests.support import BASE, LINKS, SECRET
from examples_shared.testing.applications import Served
from manhunt import Service
from manhunt.api import create_app
from manhunt.links import Links
from manhunt.notifiers import Telephone
from manhunt.principal import YEAR_SECONDS, DomainTokens
from manhunt.telephone import signature
from manhunt.web import Web

TOKENS = DomainTokens([SECRET], YEAR_SECONDS)
TELEPHONE = Telephone("AC1", "the account's token", "+15550000000")
SERVED = Served[Web](create_app, "web")


@dataclass(frozen=True)
class Client:
    """Requests of one domain; of nobody, without a name."""

    service: Service
    domain: str | None = None
    links: Links = LINKS
    telephone: Telephone | None = TELEPHONE
    cookies: dict[str, str] = field(default_factory=dict[str, str])

    async def ask(
        self,
        method: str,
        path: str,
        json: Any = None,
        headers: dict[str, str] | None = None,
        form: dict[str, str] | None = None,
    ) -> httpx.Response:
        signed = {"Authorization": f"Bearer {TOKENS.issue(self.domain)}"} if self.domain is not None else {}
        body = None
        if form is not None:
            body, signed["Content-Type"] = urlencode(form).encode(), "application/x-www-form-urlencoded"
        return await self._ask(method, path, json=json, content=body, headers=signed | (headers or {}))

    async def get(self, path: str) -> httpx.Response:
        return await self.ask("GET", path)

    async def send(self, method: str, path: str, body: str) -> httpx.Response:
        """A form as a browser sends it."""
        headers = {"Content-Type": "application/x-www-form-urlencoded"} if body else {}
        return await self._ask(method, path, content=body, headers=headers)

    async def _ask(self, method: str, path: str, **request: Any) -> httpx.Response:
        with SERVED.by(Web(self.service, TOKENS, self.links, self.telephone)) as app:
            transport = httpx.ASGITransport(app)
            async with httpx.AsyncClient(transport=transport, base_url=BASE, cookies=self.cookies) as client:
                return await client.request(method, path, **request)

    async def phone(self, path: str, form: dict[str, str], token: str = TELEPHONE.token) -> httpx.Response:
        """As the provider asks: signed over the address and the fields."""
        headers = {"X-Twilio-Signature": signature(token, f"{BASE}{path}", form)}
        return await self.ask("POST", path, headers=headers, form=form)
