"""The web application as its clients see it: signed tokens, real requests through the whole application."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any
from urllib.parse import urlencode

import httpx
from fastapi import FastAPI

from examples.manhunt import Service
from examples.manhunt.api import create_app
from examples.manhunt.links import Links
from examples.manhunt.notifiers import Telephone
from examples.manhunt.principal import YEAR_SECONDS, DomainTokens
from examples.manhunt.telephone import signature
from examples.manhunt.web import Web
from tests.e2e.manhunt.support import BASE, LINKS, SECRET

TOKENS = DomainTokens([SECRET], YEAR_SECONDS)
TELEPHONE = Telephone("AC1", "the account's token", "+15550000000")


@lru_cache(maxsize=4)
def app_of(service: Service, links: Links, telephone: Telephone | None) -> FastAPI:
    """Made once: its routes take longer than its answers."""
    return create_app(Web(service, TOKENS, links, telephone))


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
        transport = httpx.ASGITransport(app_of(self.service, self.links, self.telephone))
        body = None
        if form is not None:
            body, signed["Content-Type"] = urlencode(form).encode(), "application/x-www-form-urlencoded"
        async with httpx.AsyncClient(transport=transport, base_url=BASE, cookies=self.cookies) as client:
            return await client.request(method, path, json=json, content=body, headers=signed | (headers or {}))

    async def get(self, path: str) -> httpx.Response:
        return await self.ask("GET", path)

    async def send(self, method: str, path: str, body: str) -> httpx.Response:
        """A form as a browser sends it."""
        transport = httpx.ASGITransport(app_of(self.service, self.links, self.telephone))
        headers = {"Content-Type": "application/x-www-form-urlencoded"} if body else {}
        async with httpx.AsyncClient(transport=transport, base_url=BASE, cookies=self.cookies) as client:
            return await client.request(method, path, content=body, headers=headers)

    async def phone(self, path: str, form: dict[str, str], token: str = TELEPHONE.token) -> httpx.Response:
        """As the provider asks: signed over the address and the fields."""
        headers = {"X-Twilio-Signature": signature(token, f"{BASE}{path}", form)}
        return await self.ask("POST", path, headers=headers, form=form)
