"""The ASGI application: `POST /push`, `POST /pull` and `GET /pokes`, each with `?project=ID`. Mount it anywhere.

    app.mount("/replicache", sync.asgi())

A push is answered when its mutations are durable; then this process goes on to apply them, after the answer is out.
A project that is not there and one that the user may not read look the same: 404.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Awaitable, Callable, Collection, Generator
from contextlib import contextmanager
from functools import partial
from typing import Protocol, TypeVar

import msgspec

from singletable.errors import Conflict, InvalidRequest, OutcomeUnknown, Unavailable
from singletable.sync.access import HttpRequest
from singletable.sync.event_wait import beside, within
from singletable.sync.http import (
    Answered,
    Gone,
    Receive,
    Refused,
    Reply,
    Scope,
    Send,
    body_of,
    read_head,
    send_reply,
    start_stream,
)
from singletable.sync.limits import InFlight, Limits, Rates
from singletable.sync.pokes import Full, Listener, Pokes
from singletable.sync.protocol import (
    WHOLE_BYTES,
    OtherVersion,
    Pull,
    Pulled,
    Push,
    Refusal,
    read_pull,
    read_push,
)

Asked = TypeVar("Asked", Push, Pull)
Afterwards = Callable[[], Awaitable[None]] | None
"""What is to be done when the reply is out."""
_MOST_PROJECT_BYTES = 512
_METHODS = {"push": "POST", "pull": "POST", "pokes": "GET"}
_encode = msgspec.json.encode


class Missing(Exception):
    """The project is not there, or not for this user."""


class Gap(Exception):
    """Mutations of a push were not taken in: an id before them is missing."""

    def __init__(self, left: int) -> None:
        super().__init__(f"{left} mutations come after one that is missing")


class Endpoints(Protocol):
    """What the application calls; `Sync` is one."""

    @property
    def limits(self) -> Limits: ...

    @property
    def schema_versions(self) -> Collection[str]: ...

    @property
    def rates(self) -> Rates: ...

    @property
    def pokes(self) -> Pokes: ...

    def monotonic(self) -> float: ...

    async def user_of(self, request: HttpRequest) -> str | None: ...

    async def admit(self, user: str, project: str) -> None:
        """Missing, where the user may not read the project, or it is not there and is not made."""
        ...

    async def push(self, user: str, project: str, push: Push) -> tuple[Refusal | None, Afterwards]: ...

    async def pull(self, user: str, project: str, pull: Pull) -> tuple[Pulled | Refusal, Afterwards]: ...

    async def head(self, project: str) -> int: ...

    async def aside(self, call: Callable[[], Asked]) -> Asked:
        """Its result, without holding up the event loop."""
        ...


class SyncApp:
    """The three endpoints over a `Sync`."""

    def __init__(self, sync: Endpoints) -> None:
        self._sync = sync
        self._held = InFlight(sync.limits.user_bytes, sync.limits.bytes_at_once)
        self._endpoints: dict[str, Callable[[HttpRequest, str, str, Receive, Send], Awaitable[None]]] = {
            "push": self._push,
            "pull": self._pull,
            "pokes": self._pokes,
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        elif scope["type"] == "http":
            await self._answer(scope, receive, send)
        else:
            raise RuntimeError(f"no {scope['type']} here: pokes are server-sent events")

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
            project = _project_of(request)
            user = await self._sync.user_of(request)
            if user is None:
                raise Refused(401, "unauthenticated", "the request says nobody's name", www_authenticate="Bearer")
            self._check_rate(user)
            await self._endpoints[name](request, user, project, receive, send)
        except Answered as answered:
            await send_reply(send, answered.reply)
        except Full as full:
            refused = _too_many(self._sync.limits.heartbeat_seconds) if full.of_user else _unavailable()
            await send_reply(send, refused.reply)
        except Gone:
            return

    def _check_method(self, request: HttpRequest, name: str) -> None:
        method = _METHODS.get(name)
        if method is None:
            raise Refused(404, "not-found", "there is nothing here")
        if request.method != method:
            raise Refused(405, "method", f"{name} takes {method}", allow=method)

    def _check_rate(self, user: str) -> None:
        seconds = self._sync.rates.wait_seconds(user, self._sync.monotonic())
        if seconds:
            raise _too_many(seconds)

    async def _understood(self, body: bytes, read: Callable[[], Asked]) -> Asked:
        """What a body says, a large one read in a thread. 400 for what no client sends; another version is answered."""
        try:
            asked = read() if len(body) <= WHOLE_BYTES else await self._sync.aside(read)
            if self._sync.schema_versions and asked.schema not in self._sync.schema_versions:
                raise OtherVersion("schema")
        except OtherVersion as error:
            raise Answered(Reply(_encode(Refusal("VersionNotSupported", error.version_type)))) from None
        except InvalidRequest as error:
            raise Refused(400, error.code, str(error)) from None
        return asked

    async def _push(self, request: HttpRequest, user: str, project: str, receive: Receive, send: Send) -> None:
        refusal, afterwards = await self._pushed(request, user, project, receive)
        await send_reply(send, Reply(b"{}" if refusal is None else _encode(refusal)))
        if afterwards is not None:
            await afterwards()

    async def _pushed(
        self, request: HttpRequest, user: str, project: str, receive: Receive
    ) -> tuple[Refusal | None, Afterwards]:
        """Apart, so that nothing holds the body any more while what it asked for is applied."""
        limits = self._sync.limits
        async with body_of(request, receive, limits, self._held, user, limits.body_bytes) as body:
            push = await self._understood(body, partial(read_push, body, limits))
            with _errors_as_statuses():
                await self._sync.admit(user, project)
                return await self._sync.push(user, project, push)

    async def _pull(self, request: HttpRequest, user: str, project: str, receive: Receive, send: Send) -> None:
        limits = self._sync.limits
        async with body_of(request, receive, limits, self._held, user, limits.pull_bytes) as body:
            pull = await self._understood(body, partial(read_pull, body))
            with _errors_as_statuses():
                await self._sync.admit(user, project)
                answer, afterwards = await self._sync.pull(user, project, pull)
        await send_reply(send, Reply(_encode(answer)))
        if afterwards is not None:
            await afterwards()

    async def _pokes(self, request: HttpRequest, user: str, project: str, receive: Receive, send: Send) -> None:
        with _errors_as_statuses():
            await self._sync.admit(user, project)
        with self._sync.pokes.joined(project, user) as listener:
            async with beside(_end_when_gone(receive, listener)):
                await self._tell(user, project, listener, send)

    async def _tell(self, user: str, project: str, listener: Listener, send: Send) -> None:
        """Until the listener has gone, is too slow, may not read any more, or the server goes down."""
        limits = self._sync.limits
        await start_stream(send, "text/event-stream; charset=utf-8")
        while not listener.ended:
            version = await self._sync.pokes.news(project, listener, self._sync.head, limits.heartbeat_seconds)
            if version is None and not await self._may_stay(user, project):
                break
            event = b": still here\n\n" if version is None else b'event: poke\ndata: {"version":%d}\n\n' % version
            try:
                await within(
                    limits.send_seconds, send({"type": "http.response.body", "body": event, "more_body": True})
                )
            except (TimeoutError, OSError):
                return
        await send({"type": "http.response.body", "body": b""})

    async def _may_stay(self, user: str, project: str) -> bool:
        try:
            await self._sync.admit(user, project)
        except Missing:
            return False
        except Unavailable:
            return True  # asked again at the next heartbeat
        return True


@contextmanager
def _errors_as_statuses() -> Generator[None, None, None]:
    """What stands in the way as the status that a client acts on; none tells what is stored."""
    try:
        yield
    except Missing:
        raise Refused(404, "not-found", "there is no such project") from None
    except Gap as gap:
        raise Refused(409, "gap", f"{gap}: push again from the first that is not confirmed") from None
    except (Unavailable, Conflict, OutcomeUnknown):
        raise _unavailable() from None


async def _end_when_gone(receive: Receive, listener: Listener) -> None:
    while (await receive())["type"] != "http.disconnect":
        continue
    listener.ended = True
    listener.bell.ring()


def _project_of(request: HttpRequest) -> str:
    """An id that a key takes; any other one is missing, as those are that nobody has."""
    project = request.query.get("project", "")
    if not project:
        raise Refused(400, "project", "the query has to name a project: ?project=ID")
    sound = unicodedata.is_normalized("NFC", project) and project.isprintable()
    if not sound or len(project.encode(errors="replace")) > _MOST_PROJECT_BYTES:
        raise Refused(404, "not-found", "there is no such project")
    return project


def _too_many(seconds: float) -> Refused:
    return Refused(429, "too-many", "too many requests of this user", retry_after=str(math.ceil(seconds)))


def _unavailable() -> Refused:
    return Refused(503, "unavailable", "try again", retry_after="1")
