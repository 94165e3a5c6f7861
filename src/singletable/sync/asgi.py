"""The ASGI application: `POST /push`, `/pull` and `/presence`, `GET /pokes`, each with `?project=ID`. Mount it.

    app.mount("/replicache", sync.asgi())

A push is answered when its mutations are durable. With `processor="inline"` this process applies them after that. A
missing document and one that the user may not read get the same answer: 404.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Awaitable, Callable, Collection, Generator
from contextlib import contextmanager
from functools import partial
from typing import Protocol, TypeVar

import msgspec

from singletable.errors import Conflict, InvalidRequest, Newer, NotFound, OutcomeUnknown, Unavailable
from singletable.sync.access import HttpRequest
from singletable.sync.event_loop import in_background, with_timeout
from singletable.sync.http import (
    Answered,
    Disconnected,
    Receive,
    RefusedRequest,
    Reply,
    Scope,
    Send,
    body_of,
    read_head,
    send_reply,
    start_stream,
)
from singletable.sync.limits import InFlight, Limits, Rates, TooMany
from singletable.sync.pokes import Listener, Pokes
from singletable.sync.presence import PresenceChange, PresenceRooms, read_presence
from singletable.sync.protocol import (
    MOST_ID_CHARACTERS,
    WHOLE_BYTES,
    OtherVersion,
    Pull,
    Pulled,
    Push,
    Refusal,
    read_pull,
    read_push,
)

Parsed = TypeVar("Parsed", Push, Pull)
Afterwards = Callable[[], Awaitable[None]] | None
"""Work to be done after the reply has been sent."""
_MOST_ID_BYTES = 512
_METHODS = {"push": "POST", "pull": "POST", "presence": "POST", "pokes": "GET"}
_encode = msgspec.json.encode


class Missing(Exception):
    """The document is missing, or the user may not read it."""


class Endpoints(Protocol):
    """The calls of the ASGI application; `Sync` implements them."""

    @property
    def limits(self) -> Limits: ...

    @property
    def schema_versions(self) -> Collection[str]: ...

    @property
    def rates(self) -> Rates: ...

    @property
    def presence_rates(self) -> Rates: ...

    @property
    def pokes(self) -> Pokes: ...

    @property
    def presence(self) -> PresenceRooms: ...

    def monotonic(self) -> float: ...

    async def user_of(self, request: HttpRequest) -> str | None: ...

    async def admit(self, user: str, document_id: str) -> None:
        """Raise Missing if the user may not read the document, or it is missing and is not created."""
        ...

    async def push(self, user: str, document_id: str, push: Push) -> tuple[Refusal | None, Afterwards]: ...

    async def pull(self, user: str, document_id: str, pull: Pull) -> tuple[Pulled | Refusal, Afterwards]: ...

    async def head(self, document_id: str) -> int: ...

    async def run_blocking(self, call: Callable[[], Parsed]) -> Parsed:
        """The result of a plain function, run off the event loop."""
        ...


class SyncApp:
    """The four endpoints over a `Sync`."""

    def __init__(self, sync: Endpoints) -> None:
        self._sync = sync
        self._held = InFlight(sync.limits.user_bytes, sync.limits.bytes_at_once)
        self._endpoints: dict[str, Callable[[HttpRequest, str, str, Receive, Send], Awaitable[None]]] = {
            "push": self._push,
            "pull": self._pull,
            "presence": self._presence,
            "pokes": self._pokes,
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        elif scope["type"] == "http":
            await self._answer(scope, receive, send)
        else:
            raise RuntimeError(f"{scope['type']} is not supported: pokes are server-sent events")

    async def _live(self, receive: Receive, send: Send) -> None:
        while True:
            message = await receive()
            if message["type"] == "lifespan.shutdown":
                self._sync.pokes.close()
                await send({"type": "lifespan.shutdown.complete"})
                return
            await send({"type": "lifespan.startup.complete"})

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            request = read_head(scope)
            name = request.path.strip("/")
            self._check_method(request, name)
            document_id = _document_id_of(request)
            user = await self._sync.user_of(request)
            if user is None:
                raise RefusedRequest(401, "unauthenticated", "not authenticated", www_authenticate="Bearer")
            self._check_rate(user, self._sync.presence_rates if name == "presence" else self._sync.rates)
            await self._endpoints[name](request, user, document_id, receive, send)
        except Answered as answered:
            await send_reply(send, answered.reply)
        except TooMany as full:
            refused = _too_many(self._sync.limits.heartbeat_seconds) if full.of_user else _unavailable()
            await send_reply(send, refused.reply)
        except Disconnected:
            return

    def _check_method(self, request: HttpRequest, name: str) -> None:
        method = _METHODS.get(name)
        if method is None:
            raise RefusedRequest(404, "not-found", "no such endpoint")
        if request.method != method:
            raise RefusedRequest(405, "method", f"{name} takes {method}", allow=method)

    def _check_rate(self, user: str, rates: Rates) -> None:
        seconds = rates.wait_seconds(user, self._sync.monotonic())
        if seconds:
            raise _too_many(seconds)

    async def _parsed(self, body: bytes, read: Callable[[], Parsed]) -> Parsed:
        """A parsed body; a large one is parsed in a thread. Refuses a malformed body, and another protocol version."""
        try:
            asked = read() if len(body) <= WHOLE_BYTES else await self._sync.run_blocking(read)
            if self._sync.schema_versions and asked.schema not in self._sync.schema_versions:
                raise OtherVersion("schema")
        except OtherVersion as error:
            raise Answered(Reply(_encode(Refusal("VersionNotSupported", error.version_type)))) from None
        except InvalidRequest as error:
            raise RefusedRequest(400, error.code, str(error)) from None
        return asked

    async def _push(self, request: HttpRequest, user: str, document_id: str, receive: Receive, send: Send) -> None:
        refusal, afterwards = await self._pushed(request, user, document_id, receive)
        await send_reply(send, Reply(b"{}" if refusal is None else _encode(refusal)))
        if afterwards is not None:
            await afterwards()

    async def _pushed(
        self, request: HttpRequest, user: str, document_id: str, receive: Receive
    ) -> tuple[Refusal | None, Afterwards]:
        """A method of its own, so that the body is released before the mutations are applied."""
        limits = self._sync.limits
        async with body_of(request, receive, limits, self._held, user, limits.body_bytes) as body:
            push = await self._parsed(body, partial(read_push, body, limits))
            with _errors_as_statuses():
                await self._sync.admit(user, document_id)
                return await self._sync.push(user, document_id, push)

    async def _pull(self, request: HttpRequest, user: str, document_id: str, receive: Receive, send: Send) -> None:
        limits = self._sync.limits
        async with body_of(request, receive, limits, self._held, user, limits.pull_bytes) as body:
            pull = await self._parsed(body, partial(read_pull, body))
            with _errors_as_statuses():
                await self._sync.admit(user, document_id)
                answer, afterwards = await self._sync.pull(user, document_id, pull)
        await send_reply(send, Reply(_encode(answer)))
        if afterwards is not None:
            await afterwards()

    async def _presence(self, request: HttpRequest, user: str, document_id: str, receive: Receive, send: Send) -> None:
        limits = self._sync.limits
        async with body_of(request, receive, limits, self._held, user, limits.presence_bytes) as body:
            try:
                post = read_presence(body, limits)
            except InvalidRequest as error:
                raise RefusedRequest(400, error.code, str(error)) from None
        with _errors_as_statuses():
            await self._sync.admit(user, document_id)
        id = self._sync.presence.post(document_id, user, post)
        await send_reply(send, Reply(_encode({} if id is None else {"id": id})))

    async def _pokes(self, request: HttpRequest, user: str, document_id: str, receive: Receive, send: Send) -> None:
        client = request.query.get("client", "")
        if len(client) > MOST_ID_CHARACTERS or not client.isascii() or not client.isprintable():
            raise RefusedRequest(
                400, "client", f"the client is not printable ASCII of at most {MOST_ID_CHARACTERS} characters"
            )
        with _errors_as_statuses():
            await self._sync.admit(user, document_id)
        with self._sync.pokes.listen(document_id, user, client) as listener:
            async with in_background(_end_on_disconnect(receive, listener)):
                await self._send_events(user, document_id, listener, send)

    async def _send_events(self, user: str, document_id: str, listener: Listener, send: Send) -> None:
        """Until the listener disconnects, is too slow, or loses its permission, or the server shuts down."""
        limits, now = self._sync.limits, self._sync.monotonic
        await start_stream(send, "text/event-stream; charset=utf-8")
        checked_at = now()
        while not listener.ended:
            left = max(0.0, checked_at + limits.heartbeat_seconds - now())
            event = await self._sync.pokes.next_event(document_id, listener, self._sync.head, left)
            if event is None or now() - checked_at >= limits.heartbeat_seconds:
                if not await self._may_stay(user, document_id):
                    break
                checked_at = now()
            try:
                body = {"type": "http.response.body", "body": _as_text(event), "more_body": True}
                await with_timeout(limits.send_seconds, send(body))
            except (TimeoutError, OSError):
                return
        await send({"type": "http.response.body", "body": b""})

    async def _may_stay(self, user: str, document_id: str) -> bool:
        try:
            await self._sync.admit(user, document_id)
        except Missing:
            return False
        except Unavailable:
            return True  # checked again at the next heartbeat
        return True


@contextmanager
def _errors_as_statuses() -> Generator[None, None, None]:
    """Errors as the statuses that a client acts on; none reveals what is stored."""
    try:
        yield
    except (Missing, NotFound):
        raise RefusedRequest(404, "not-found", "no such project") from None
    except (Unavailable, Conflict, OutcomeUnknown, Newer):  # another server may know what a newer program wrote
        raise _unavailable() from None


def _as_text(event: int | PresenceChange | None) -> bytes:
    """An event of the stream; without one, a comment."""
    if event is None:
        return b": still here\n\n"
    if isinstance(event, PresenceChange):
        return b"event: presence\ndata: %s\n\n" % _encode(event)
    return b'event: poke\ndata: {"version":%d}\n\n' % event


async def _end_on_disconnect(receive: Receive, listener: Listener) -> None:
    while (await receive())["type"] != "http.disconnect":
        continue
    listener.ended = True
    listener.signal.set()


def _document_id_of(request: HttpRequest) -> str:
    """The id in the query. An id that a key can't hold is a missing document: 404."""
    document_id = request.query.get("project", "")
    if not document_id:
        raise RefusedRequest(400, "project", "the query must name a project: ?project=ID")
    valid = unicodedata.is_normalized("NFC", document_id) and document_id.isprintable()
    if not valid or len(document_id.encode(errors="replace")) > _MOST_ID_BYTES:
        raise RefusedRequest(404, "not-found", "no such project")
    return document_id


def _too_many(seconds: float) -> RefusedRequest:
    return RefusedRequest(429, "too-many", "too many requests of this user", retry_after=str(math.ceil(seconds)))


def _unavailable() -> RefusedRequest:
    return RefusedRequest(503, "unavailable", "try again", retry_after="1")
