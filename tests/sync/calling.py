"""An ASGI application called as a server calls it: replies come when they are sent, what goes on after them goes on."""

from __future__ import annotations

import asyncio  # noqa: TID251
import json
from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

Message = MutableMapping[str, Any]
PATIENCE_SECONDS = 60.0


@dataclass
class Answer:
    """A reply, and the call that may still be going on."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    task: asyncio.Task[None]

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    async def done(self) -> Answer:
        """When the application has returned, whatever it did after its reply."""
        await asyncio.wait_for(self.task, PATIENCE_SECONDS)
        return self


@dataclass
class Exchange:
    """One request and what the application sends."""

    body: bytes
    chunk_bytes: int = 1 << 16
    sent: asyncio.Queue[Message] = field(default_factory=asyncio.Queue[Message])
    gone: asyncio.Event = field(default_factory=asyncio.Event)
    blocked: bool = False
    _at: int = 0
    _over: bool = False

    async def receive(self) -> Message:
        if self._over:
            await self.gone.wait()
            return {"type": "http.disconnect"}
        part = self.body[self._at : self._at + self.chunk_bytes]
        self._at += len(part)
        self._over = self._at >= len(self.body)
        return {"type": "http.request", "body": part, "more_body": not self._over}

    async def send(self, message: Message) -> None:
        if self.blocked:
            await asyncio.Event().wait()
        await self.sent.put(message)


def scope_of(method: str, path: str, query: Mapping[str, str], headers: Mapping[str, str]) -> dict[str, Any]:
    return {
        "type": "http",
        "method": method,
        "path": path,
        "root_path": "",
        "query_string": urlencode(query).encode(),
        "headers": [(name.lower().encode(), value.encode()) for name, value in headers.items()],
    }


async def call(
    app: Any,
    path: str,
    body: Any = None,
    *,
    method: str = "POST",
    project: str | None = "p1",
    headers: Mapping[str, str] | None = None,
    chunk_bytes: int = 1 << 16,
    **query: str,
) -> Answer:
    """The reply to a request; a body that is not bytes is sent as JSON."""
    given = {"content-type": "application/json", **(headers or {})}
    asked = {**({} if project is None else {"project": project}), **query}
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    exchange = Exchange(content, chunk_bytes)
    task = asyncio.ensure_future(app(scope_of(method, path, asked, given), exchange.receive, exchange.send))
    start = await first(exchange, task)
    parts: list[bytes] = []
    while True:
        message = await first(exchange, task)
        parts.append(message.get("body", b""))
        if not message.get("more_body", False):
            break
    found = {name.decode(): value.decode() for name, value in start["headers"]}
    return Answer(start["status"], found, b"".join(parts), task)


async def first(exchange: Exchange, task: asyncio.Task[None]) -> Message:
    """The next message; what the application raised, where it ended without one."""
    getting = asyncio.ensure_future(exchange.sent.get())
    done, _ = await asyncio.wait({getting, task}, timeout=PATIENCE_SECONDS, return_when=asyncio.FIRST_COMPLETED)
    if getting in done:
        return getting.result()
    if not exchange.sent.empty():
        return await getting
    getting.cancel()
    if task in done:
        task.result()
        raise AssertionError("the application ended without a reply")
    raise AssertionError(f"no reply for {PATIENCE_SECONDS} s")


class Stream:
    """A listener of pokes."""

    def __init__(self, app: Any, project: str = "p1", headers: Mapping[str, str] | None = None, **query: str) -> None:
        self.exchange = Exchange(b"")
        scope = scope_of("GET", "/pokes", {"project": project, **query}, headers or {})
        self.task: asyncio.Task[None] = asyncio.ensure_future(app(scope, self.exchange.receive, self.exchange.send))

    async def start(self) -> int:
        """The status."""
        return int((await first(self.exchange, self.task))["status"])

    async def next(self) -> str:
        """The next event or comment; '' when the stream has ended."""
        message = await first(self.exchange, self.task)
        said = bytes(message.get("body", b"")).decode()
        assert message.get("more_body", False) == bool(said), "a server ends a reply where no more is to come"
        return said

    async def poke(self) -> int:
        """The version of the next poke, past signs of life."""
        while (said := await self.next()).startswith(":"):
            continue
        assert said.startswith("event: poke\ndata: "), said
        return int(json.loads(said.partition("data: ")[2])["version"])

    async def leave(self) -> None:
        self.exchange.gone.set()
        await asyncio.wait_for(self.task, PATIENCE_SECONDS)
