"""HTTP as ASGI has it, as far as three endpoints need it: a request's head and body in, a reply out.

What is refused before it reaches push or pull is `Refused` here, with the status that a client acts on: 401 makes
Replicache ask for new credentials, every other one makes it try again later.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping, MutableMapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl

import msgspec

from singletable.sync.access import HttpRequest
from singletable.sync.event_wait import within
from singletable.sync.limits import InFlight, Limits

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

_ALWAYS = {"cache-control": "no-store", "x-content-type-options": "nosniff"}
_MOST_QUERY_BYTES = 4096


@dataclass(frozen=True)
class Reply:
    """A whole answer."""

    body: bytes
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict[str, str])


class Answered(Exception):
    """A request that gets no further; this is its answer."""

    def __init__(self, reply: Reply) -> None:
        super().__init__(f"answered with {reply.status}")
        self.reply = reply


class Refused(Answered):
    """One with a status of its own. `error` is a word for a program."""

    def __init__(self, status: int, error: str, message: str, **headers: str) -> None:
        body = msgspec.json.encode({"error": error, "message": message})
        super().__init__(Reply(body, status, {name.replace("_", "-"): value for name, value in headers.items()}))


class Gone(Exception):
    """The caller has left before it was answered."""


def read_head(scope: Scope) -> HttpRequest:
    """What is known before the body; the path is below where the application is mounted."""
    path = scope["path"].removeprefix(scope.get("root_path", ""))
    query = scope.get("query_string", b"")
    if len(query) > _MOST_QUERY_BYTES:
        raise Refused(414, "too-large", "the query is too long")
    return HttpRequest(scope["method"], path, _joined(scope["headers"]), dict(parse_qsl(query.decode("latin-1"))))


def _joined(headers: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    """Header by name; of several of one name all, as HTTP joins them: two credentials are then none."""
    found: dict[str, str] = {}
    for raw_name, raw_value in headers:
        name, value = raw_name.decode("latin-1").lower(), raw_value.decode("latin-1")
        joint = "; " if name == "cookie" else ", "
        found[name] = f"{found[name]}{joint}{value}" if name in found else value
    return found


@asynccontextmanager
async def body_of(
    request: HttpRequest, receive: Receive, limits: Limits, held: InFlight, user: str, most: int
) -> AsyncGenerator[bytes, None]:
    """The whole body of a request that says it is JSON: a form of another site's page can't say so.

    It counts among the bytes that are held for its user until the block ends.
    """
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise Refused(415, "content-type", "the body has to be application/json")
    if _said_length(request) > most:
        raise _too_large(most)
    _check_room(held, user, _said_length(request), limits)
    parts: list[bytes] = []
    size = 0
    try:
        try:
            await within(limits.body_seconds, _collect(receive, parts, held, user, limits, most))
        except TimeoutError:
            raise Refused(408, "timeout", "the body did not arrive in time", connection="close") from None
        finally:
            size = sum(map(len, parts))
        body = b"".join(parts)
        parts.clear()
        yield body
    finally:
        held.add(user, -size)


def _said_length(request: HttpRequest) -> int:
    said = request.headers.get("content-length", "0")
    return int(said) if said.isascii() and said.isdecimal() and len(said) < 20 else 0


async def _collect(receive: Receive, parts: list[bytes], held: InFlight, user: str, limits: Limits, most: int) -> None:
    size = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Gone
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
    """Whether so many bytes more may be held. Who sends too much at once is refused before all others are."""
    if not held.takes(user, size):
        said = f"over {limits.user_bytes} bytes of this user at once"
        raise Refused(429, "too-many", said, retry_after="1", connection="close")
    if held.is_full(size):
        raise Refused(503, "unavailable", "too much at once", retry_after="1", connection="close")


def _too_large(most: int) -> Refused:
    return Refused(413, "too-large", f"the body is over {most} bytes", connection="close")


async def send_reply(send: Send, reply: Reply) -> None:
    headers = {**_ALWAYS, "content-type": "application/json", "content-length": str(len(reply.body)), **reply.headers}
    await send({"type": "http.response.start", "status": reply.status, "headers": encoded(headers)})
    await send({"type": "http.response.body", "body": reply.body})


async def start_stream(send: Send, content_type: str) -> None:
    headers = {**_ALWAYS, "content-type": content_type, "x-accel-buffering": "no"}
    await send({"type": "http.response.start", "status": 200, "headers": encoded(headers)})


def encoded(headers: Mapping[str, str]) -> list[tuple[bytes, bytes]]:
    return [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()]
