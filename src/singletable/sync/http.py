"""HTTP over ASGI for three endpoints: read a request's head and body, send a reply.

A request that is refused before push or pull raises `RefusedRequest`, with the status that the client acts on: 401
makes Replicache ask for new credentials, every other status makes it try again later.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping, MutableMapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl

import msgspec

from singletable.sync.access import HttpRequest
from singletable.sync.event_loop import with_timeout
from singletable.sync.limits import InFlight, Limits

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

_ALWAYS = {"cache-control": "no-store", "x-content-type-options": "nosniff"}
_MOST_QUERY_BYTES = 4096


@dataclass(frozen=True)
class Reply:
    """A complete response."""

    body: bytes
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict[str, str])


class Answered(Exception):
    """Ends the handling of a request with this reply."""

    def __init__(self, reply: Reply) -> None:
        super().__init__(f"answered with {reply.status}")
        self.reply = reply


class RefusedRequest(Answered):
    """Ends it with an error status. `error` is a code for programs."""

    def __init__(self, status: int, error: str, message: str, **headers: str) -> None:
        body = msgspec.json.encode({"error": error, "message": message})
        super().__init__(Reply(body, status, {name.replace("_", "-"): value for name, value in headers.items()}))


class Disconnected(Exception):
    """The client has disconnected before the answer."""


def read_head(scope: Scope) -> HttpRequest:
    """The request without its body; the path is relative to where the application is mounted."""
    path = scope["path"].removeprefix(scope.get("root_path", ""))
    query = scope.get("query_string", b"")
    if len(query) > _MOST_QUERY_BYTES:
        raise RefusedRequest(414, "too-large", "the query is too long")
    return HttpRequest(scope["method"], path, _joined(scope["headers"]), dict(parse_qsl(query.decode("latin-1"))))


def _joined(headers: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    """Headers by name. Several of one name are joined as HTTP does, so that two credentials become an invalid one."""
    joined: dict[str, str] = {}
    for raw_name, raw_value in headers:
        name, value = raw_name.decode("latin-1").lower(), raw_value.decode("latin-1")
        joint = "; " if name == "cookie" else ", "
        joined[name] = f"{joined[name]}{joint}{value}" if name in joined else value
    return joined


@asynccontextmanager
async def body_of(
    request: HttpRequest, receive: Receive, limits: Limits, held: InFlight, user: str, most: int
) -> AsyncGenerator[bytes, None]:
    """The whole body of a request whose type is JSON, which a form on another site can't send.

    Its bytes count for its user until the block ends.
    """
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise RefusedRequest(415, "content-type", "the body must be application/json")
    if _declared_length(request) > most:
        raise _too_large(most)
    _check_room(held, user, _declared_length(request), limits)
    parts: list[bytes] = []
    size = 0
    try:
        try:
            await with_timeout(limits.body_seconds, _collect(receive, parts, held, user, limits, most))
        except TimeoutError:
            raise RefusedRequest(408, "timeout", "the body did not arrive in time", connection="close") from None
        finally:
            size = sum(map(len, parts))
        body = b"".join(parts)
        parts.clear()
        yield body
    finally:
        held.add(user, -size)


def _declared_length(request: HttpRequest) -> int:
    text = request.headers.get("content-length", "0")
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 20 else 0


async def _collect(receive: Receive, parts: list[bytes], held: InFlight, user: str, limits: Limits, most: int) -> None:
    size = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Disconnected
        part = message.get("body", b"")
        size += len(part)
        if size > most:
            raise _too_large(most)
        _check_room(held, user, len(part), limits)
        held.add(user, len(part))
        parts.append(part)
        if not message.get("more_body", False):
            return


def _check_room(held: InFlight, user: str, size: int, limits: Limits) -> None:
    """Refuse `size` more bytes over a limit: the user's first (429), then that of all users (503)."""
    if not held.accepts(user, size):
        message = f"over {limits.user_bytes} bytes of this user at once"
        raise RefusedRequest(429, "too-many", message, retry_after="1", connection="close")
    if held.is_full(size):
        raise RefusedRequest(503, "unavailable", "too much at once", retry_after="1", connection="close")


def _too_large(most: int) -> RefusedRequest:
    return RefusedRequest(413, "too-large", f"the body exceeds {most} bytes", connection="close")


async def send_reply(send: Send, reply: Reply) -> None:
    headers = {**_ALWAYS, "content-type": "application/json", "content-length": str(len(reply.body)), **reply.headers}
    await send({"type": "http.response.start", "status": reply.status, "headers": encoded(headers)})
    await send({"type": "http.response.body", "body": reply.body})


async def start_stream(send: Send, content_type: str) -> None:
    headers = {**_ALWAYS, "content-type": content_type, "x-accel-buffering": "no"}
    await send({"type": "http.response.start", "status": 200, "headers": encoded(headers)})


def encoded(headers: Mapping[str, str]) -> list[tuple[bytes, bytes]]:
    return [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()]
