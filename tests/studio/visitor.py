"""A visitor of a studio: a client that holds its cookie, reads pages, sends their forms, and counts what was sent."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Iterable, Sequence
from contextlib import asynccontextmanager
from html import unescape
from typing import Any
from urllib.parse import unquote

import httpx

from singletable import AsyncDatabase, Table
from singletable.documents import BlobStore
from singletable.studio import Studio, loopback_studio
from singletable.studio.pages import pages

PORT = 8123
URL = f"http://127.0.0.1:{PORT}"
_TOKEN = re.compile(r'name="form_token" value="([^"]+)"')
_BETWEEN_TAGS = re.compile(r"<[^>]*>")


class Visitor:
    """One person with the address of a studio on loopback."""

    def __init__(self, studio: Studio, address: str, client: httpx.AsyncClient) -> None:
        self.studio, self.address, self.client = studio, address, client
        self.sent = recording(studio.site.db)
        """The operations that were sent to the database."""

    async def enter(self) -> None:
        answer = await self.client.get(self.address)
        assert (answer.status_code, answer.headers["location"]) == (303, "/")

    async def page(self, path: str, status: int = 200) -> str:
        """The text of a page's HTML."""
        answer = await self.client.get(path)
        assert answer.status_code == status, answer.text
        return answer.text

    async def json(self, path: str, status: int = 200) -> Any:
        answer = await self.client.get(path)
        assert answer.status_code == status, answer.text
        return answer.json()

    async def token(self, path: str = "/") -> str:
        """The token that a page's forms have."""
        found = _TOKEN.search(await self.page(path))
        assert found is not None
        return found[1]

    async def send(self, path: str, form: dict[str, str], *, headers: dict[str, str] | None = None) -> httpx.Response:
        """Send a form as it is."""
        return await self.client.post(path, data=form, headers={"origin": URL} | (headers or {}))


def recording(db: AsyncDatabase) -> list[str]:
    """The operations that are sent to a database from now on."""
    sent: list[str] = []
    port: Any = db.port
    delivery = port._delivery
    deliver = delivery.deliver

    async def recorded(exchange: Any, request: Any, *more: Any) -> Any:
        sent.append(request.operation)
        return await deliver(exchange, request, *more)

    delivery.deliver = recorded
    return sent


@asynccontextmanager
async def visiting(
    db: AsyncDatabase,
    *tables: Table,
    write: bool = False,
    module: str = "shop.model",
    export: str = "",
    blobs: BlobStore | None = None,
    queues: Sequence[str] = (),
) -> AsyncGenerator[Visitor]:
    """A visitor who has entered."""
    sources: dict[str, Any] = {"export": export, "blobs": blobs, "queues": queues}
    studio, address = loopback_studio(db, *tables, port=PORT, write=write, module=module, **sources)
    async with client_of(studio) as client:
        visitor = Visitor(studio, address, client)
        await visitor.enter()
        yield visitor


def client_of(app: Any, url: str = URL) -> httpx.AsyncClient:
    return httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url=url)


def shown(html: str) -> str:
    """What is read of a page: its text, without tags."""
    return " ".join(unescape(_BETWEEN_TAGS.sub(" ", html)).split())


def kinds_of(paths: Iterable[str]) -> set[str]:
    """Which pages of the studio they are: `/item/{table}/edit`."""
    return {page.path for path in paths for page in pages() if _is_of(page.path, unquote(path.partition("?")[0]))}


def _is_of(pattern: str, path: str) -> bool:
    parts, given = pattern.split("/"), path.split("/")
    return len(parts) == len(given) and all(p.startswith("{") or p == g for p, g in zip(parts, given, strict=True))
