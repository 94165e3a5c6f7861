"""Sync: the documents of one class, synchronised with Replicache clients.

    documents = AsyncDocuments(db, Project, blobs=LocalBlobs("data/blobs"))
    sync = Sync(documents, authenticate=user_of_session, authorise=is_member)
    app.mount("/replicache", sync.asgi())

Who applies what was pushed is the processor: this process, right after it has answered (`inline`); workers of a queue,
to which each push sends a pointer (`Queue(url, Pointer)`); or whoever handles changes of the inbox (`elsewhere`). Any
number of them, of any kind, may work on one project at once: they are only slower, never wrong.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any, Literal, Protocol, TypeVar

from singletable.documents import Home, Outcome, Version
from singletable.documents.flows import create, newest, organisation_of
from singletable.errors import (
    AlreadyExists,
    Conflict,
    InvalidRequest,
    InvalidValue,
    NotFound,
    OutcomeUnknown,
    Unavailable,
)
from singletable.failure_text import error_text
from singletable.flow.shells import Awaiting, is_of_shell
from singletable.flow.stop import Stop, stopping
from singletable.foundation import Finding
from singletable.queues import Message, Queue, consume
from singletable.sync.access import READ, Access, Authenticate, Authorise, Create, HttpRequest, answer_of
from singletable.sync.apply import Applier, OnUnknown
from singletable.sync.asgi import Afterwards, Gap, Missing, SyncApp
from singletable.sync.check import check
from singletable.sync.client_groups import Bindings, Owner, bind_group, group_keys, known_clients
from singletable.sync.event_wait import Turns, from_threads
from singletable.sync.limits import Limits, Rates
from singletable.sync.notifications import Arrival, Pointer, follow, follow_message, wake
from singletable.sync.pokes import Pokes
from singletable.sync.protocol import CLIENT_STATE_NOT_FOUND, Pull, Pulled, Push, Refusal
from singletable.sync.pull import Puller, Sight
from singletable.sync.push import Pusher

T = TypeVar("T")
Processor = Literal["inline", "elsewhere"] | Queue[Pointer]
_REMEMBERED = 20_000
_TRIES = 5
_FIRST_WAIT_SECONDS = 0.1

log = logging.getLogger("singletable.sync")


class NewVersion(Protocol):
    """An inserted version, as `changes` tells of it."""

    @property
    def new(self) -> Version: ...


class AsyncDocuments(Protocol):
    """Documents of an `AsyncDatabase`, as far as sync knows them."""

    @property
    def db(self) -> Awaiting: ...

    @property
    def home(self) -> Home[Any]: ...


class Sync:
    """Push, pull and pokes for the documents of one class, as an ASGI application.

    `authenticate` says who asks, `authorise` what they may do; `create` in which organisation a project is made that
    is not there yet, by default in none. `schema_versions` are those of the clients' code that are served still, by
    default all; a client of another loads the application anew. `poll_seconds` is how often the head of a project is
    read, for a unit or two, while somebody listens for pokes, to find commits of other processes.
    """

    def __init__(
        self,
        documents: AsyncDocuments,
        *,
        authenticate: Authenticate,
        authorise: Authorise,
        create: Create | None = None,
        processor: Processor = "inline",
        schema_versions: Collection[str] = (),
        limits: Limits = Limits(),  # noqa: B008 frozen
        poll_seconds: float = 1.0,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        _check_wiring(documents, processor)
        self.limits, self.schema_versions = limits, schema_versions
        self.rates = Rates(limits.requests_per_second, limits.burst, limits.users)
        self.pokes = Pokes(limits, poll_seconds, monotonic)
        self.monotonic = monotonic
        self._db, self._home = documents.db, documents.home
        self._authenticate, self._authorise, self._create = authenticate, authorise, create
        self._processor: Processor = processor
        self._keys, self._seen = group_keys(self._home.model.table), Bindings()
        self._pusher = Pusher(self._home, self._keys, self._seen)
        self._puller = Puller(self._home, self._keys, self._seen, limits.versions)
        self._applier = Applier(self._home, authorise)
        self._turns = Turns()
        self._there: dict[str, None] = {}

    def __repr__(self) -> str:
        return f"<Sync of {self._home.kind.__name__}>"

    def asgi(self) -> SyncApp:
        """The application to mount: `POST /push`, `POST /pull`, `GET /pokes`, each with `?project=ID`."""
        return SyncApp(self)

    def close(self) -> None:
        """End the streams of pokes: their clients come back to whoever serves them then. For a server's shutdown."""
        self.pokes.close()

    def told(self, project: str, version: int) -> None:
        """Poke the listeners of a project that has reached a version. Commits of this process do it by themselves."""
        self.pokes.told(project, version)

    async def process(self, project: str) -> list[Outcome]:
        """Apply what waits in a project's inbox until nothing can be applied; gives what this call did with each."""
        return await self._process(project)

    async def check(self) -> list[Finding]:
        """What sync keeps of clients that is not as it should be; nothing for a sound table. Reads the whole table."""
        return await check(self._db.port, self._home)

    async def on_inbox(self, change: Arrival) -> None:
        """A handler of changes: `changes.on(Project.Inbox).inserted(sync.on_inbox)`."""
        await follow(self.process, change.new.project)

    async def on_version(self, change: NewVersion) -> None:
        """A handler of changes that pokes at once: `changes.on(Project.Version).inserted(sync.on_version)`."""
        self.told(change.new.project, change.new.number)

    async def work(
        self,
        queue: Queue[Pointer],
        *,
        stop: Stop | None = None,
        signals: bool = True,
        at_once: int = 4,
        visibility_seconds: int = 30,
        wait_seconds: int = 5,
    ) -> int:
        """Follow the pointers of a queue until SIGTERM or SIGINT, or until `stop` says so; gives how many it did."""
        with stopping(stop, signals) as told:
            return await consume(
                self._db.port,
                queue,
                self._handle,
                stop=told,
                at_once=at_once,
                visibility_seconds=visibility_seconds,
                wait_seconds=wait_seconds,
            )

    # --- what the application calls -----------------------------------------------------------------------------------
    async def user_of(self, request: HttpRequest) -> str | None:
        return await answer_of(self._authenticate(request)) or None

    async def admit(self, user: str, project: str) -> None:
        """Missing, where the user may not read the project, or it is not there and is not made."""
        if not await answer_of(self._authorise(user, project, READ)):
            raise Missing
        if project not in self._there:
            await self._find(user, project)
            self._there[project] = None
            if len(self._there) > _REMEMBERED:
                self._there.pop(next(iter(self._there)))

    async def push(self, user: str, project: str, push: Push) -> tuple[Refusal | None, Afterwards]:
        """The refusal, if any. What was pushed is durable then, and whoever is to apply it is woken.

        Gap, where some of it was not taken in.
        """
        port = self._db.port
        pushed = await self._pusher.push(port, user, project, await self._permitted(user, project, push))
        if pushed.refusal is not None or not push.mutations:
            return pushed.refusal, None
        if isinstance(self._processor, Queue) and pushed.left < len(push.mutations):
            await wake(port, self._processor, project, port.token())
        if pushed.left:
            raise Gap(pushed.left)
        return None, partial(self._go_on, project) if self._processor == "inline" else None

    async def _permitted(self, user: str, project: str, push: Push) -> Push:
        """The push; without any arguments, to be rejected, where the user may make none of its mutations now.

        Which ones a user may make who may make some is asked when they are applied.
        """
        for each in push.mutations:
            if not each.flaw and await self._may_now(user, project, Access(each.name, each.args)):
                return push
        refused = [replace(each, args=None, flaw=each.flaw or "the user may not do this") for each in push.mutations]
        return replace(push, mutations=refused)

    async def _may_now(self, user: str, project: str, access: Access) -> bool:
        """Also where the application can't say: it is asked again when the mutation is applied."""
        try:
            return bool(await answer_of(self._authorise(user, project, access)))
        except (OSError, Unavailable):
            return True
        except Exception as error:
            log.warning("authorise failed at a push, which is a no: %s", error_text(error))
            return False

    async def pull(self, user: str, project: str, pull: Pull) -> tuple[Pulled | Refusal, Afterwards]:
        """The answer. What waits in the inbox, as after a crash, is seen to when it is out.

        What the group itself has pushed is applied first, if that is for this process: its pull shows it.
        """
        port = self._db.port
        owner = Owner(user, self._home.model.words.document, project)
        if not await bind_group(port, self._keys, self._seen, pull.group, owner):
            return CLIENT_STATE_NOT_FOUND, None
        sight = await self._puller.look(port, project)
        if self._processor == "inline" and await self._waits_for(pull.group, sight):
            await self._turns.take(project, lambda: self._take_turn(project))
            sight = await self._puller.look(port, project)
        return await self._puller.pull(port, pull, sight.head), self._after_sight(project, sight)

    async def _waits_for(self, group: str, sight: Sight) -> bool:
        """Whether something in the inbox is of this group. No request for clients that this process has seen."""
        return bool(await known_clients(self._db.port, self._keys, self._seen, group, sight.waiting))

    def _after_sight(self, project: str, sight: Sight) -> Afterwards:
        if not sight.waiting or self._processor == "elsewhere":
            return None
        if isinstance(self._processor, Queue):
            return partial(wake, self._db.port, self._processor, project, f"at {sight.head.number}")
        return partial(self._go_on, project)

    async def _go_on(self, project: str) -> None:
        """Apply what waits. What keeps failing stays in the inbox, for the next push or pull."""
        for tried in range(_TRIES):
            try:
                while await self._turns.take(project, lambda: self._take_turn(project)):
                    continue
            except (Unavailable, Conflict, OutcomeUnknown) as error:
                log.warning("what was pushed is still in the inbox: %s", error.code)
                await self._db.port.sleep(_FIRST_WAIT_SECONDS * 2**tried * self._db.port.random())
            else:
                return

    async def head(self, project: str) -> int:
        return (await newest(self._db.port, self._home, project)).number

    async def aside(self, call: Callable[[], T]) -> T:
        """The result of a plain function, without holding up the event loop."""
        (result,) = await self._db.port.call_all([call])
        return result

    async def _handle(self, message: Message[Pointer]) -> None:
        await follow_message(self._process, message)

    async def _process(self, project: str, on_unknown: OnUnknown | None = None) -> list[Outcome]:
        done: list[Outcome] = []
        while more := await self._next_version(project, on_unknown):
            done += more
        return done

    async def _take_turn(self, project: str) -> bool:
        return bool(await self._next_version(project))

    async def _next_version(self, project: str, on_unknown: OnUnknown | None = None) -> list[Outcome]:
        done = await self._applier.next(self._db.port, project, from_threads(), on_unknown)
        if done:
            self.told(project, max(outcome.version or 0 for outcome in done))
        return done

    async def _find(self, user: str, project: str) -> None:
        port, home = self._db.port, self._home
        try:
            home.contents(home.model.words.parent, project)
            await organisation_of(port, home, project)
        except InvalidValue:  # no id of a project at all
            raise Missing from None
        except NotFound:
            organisation = await answer_of(self._create(user, project)) if self._create is not None else None
            if organisation is None:
                raise Missing from None
            with suppress(AlreadyExists):  # another request was quicker
                await create(port, home, organisation, project, {})


def _check_wiring(documents: Any, processor: Any) -> None:
    if not is_of_shell(getattr(documents, "db", None), awaiting=True):
        raise InvalidRequest(
            f"Sync takes AsyncDocuments, not {type(documents).__name__}",
            hint="Make them over the AsyncDatabase of connect_async(). Blocking Documents have a Worker.",
        )
    if not isinstance(processor, Queue) and processor not in ("inline", "elsewhere"):
        raise InvalidRequest(
            "Sync knows no such processor",
            hint='Say processor="inline", processor="elsewhere", or processor=Queue(url, Pointer).',
        )
