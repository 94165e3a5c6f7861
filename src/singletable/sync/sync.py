"""Sync: the documents of one class, synchronised with Replicache clients.

    documents = AsyncDocuments(db, Project, blobs=LocalBlobs("data/blobs"))
    sync = Sync(documents, authenticate=user_of_session, authorise=is_member)
    app.mount("/replicache", sync.asgi())

The processor applies the pushed mutations. It is this process, after it has answered (`inline`); or the workers of a
queue, to which each push sends a pointer (`Queue(url, Pointer)`); or a handler of the inbox's changes (`elsewhere`).
Any number of processors may work on one document concurrently: that costs time, but the result is right.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Collection
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any, Literal, Protocol, TypeVar

from singletable.documents import Context, InboxRow, Outcome, Version
from singletable.documents.flows import create, newest, parent_of
from singletable.errors import (
    AlreadyExists,
    Conflict,
    InvalidRequest,
    InvalidValue,
    NotFound,
    OutcomeUnknown,
    Unavailable,
)
from singletable.events import AnswerRefused, MutationsDropped, MutationsWaiting, described
from singletable.flow import UNGATED, Awaiting, Stop, check_going_on, is_of_shell, stopping
from singletable.foundation import Finding, LayerBelongings, LayerChecks
from singletable.queues import Message, Queue, consume
from singletable.sync.access import READ, Access, Authenticator, Authoriser, CreationRule, HttpRequest, Viewer, resolve
from singletable.sync.apply import Applier, OnUnknown
from singletable.sync.asgi import Afterwards, Missing, SyncApp
from singletable.sync.check import check, sync_checks
from singletable.sync.client_groups import (
    Bindings,
    ClientGroupOwner,
    SyncBelongings,
    bind_group,
    declare_items,
    group_keys,
    known_clients,
)
from singletable.sync.event_loop import DocumentLocks, waiter_for_threads
from singletable.sync.limits import Limits, Rates
from singletable.sync.pokes import Pokes
from singletable.sync.presence import PresenceRooms
from singletable.sync.protocol import CLIENT_STATE_NOT_FOUND, Pull, Pulled, Push, Refusal
from singletable.sync.pull import Puller, PullStart
from singletable.sync.push import Pusher
from singletable.sync.turns import AppliedIds
from singletable.sync.worker import Arrival, Pointer, follow, follow_message, wake

T = TypeVar("T")
Processor = Literal["inline", "elsewhere"] | Queue[Pointer]
_REMEMBERED = 20_000
_TRIES = 5
_FIRST_WAIT_SECONDS = 0.1


class NewVersion(Protocol):
    """The change event of an inserted version."""

    @property
    def new(self) -> Version: ...


class SyncedDocuments(Protocol):
    """The part of an `AsyncDatabase`'s documents that sync uses."""

    @property
    def db(self) -> Awaiting: ...

    @property
    def context(self) -> Context[Any]: ...


class Sync:
    """Push, pull and pokes for the documents of one class, as an ASGI application.

    `authenticate` returns the user of a request; `authorise` decides what a user may do. `create` returns the parent
    under which to create a missing document; by default none is created. `view` returns the `View` that a user has of a
    document, or None for everything; by default everybody sees everything. `schema_versions` are the versions of the
    clients' code that are served, by default all; other clients reload the application. While a document has listeners
    for pokes, its head is read every `poll_seconds`, for one or two units, to find commits of other processes.
    `belongs_to` is the attribute of an entity that users are named by, as in `User.id`: an erasure of the user deletes
    what is bound to them.
    """

    def __init__(
        self,
        documents: SyncedDocuments,
        *,
        authenticate: Authenticator,
        authorise: Authoriser,
        create: CreationRule | None = None,
        view: Viewer | None = None,
        processor: Processor = "inline",
        schema_versions: Collection[str] = (),
        limits: Limits = Limits(),  # noqa: B008 frozen
        poll_seconds: float = 1.0,
        monotonic: Callable[[], float] = time.monotonic,
        belongs_to: Any = None,
    ) -> None:
        _check_wiring(documents, processor)
        self.limits, self.schema_versions = limits, schema_versions
        self.rates = Rates(limits.requests_per_second, limits.burst, limits.users)
        self.presence_rates = Rates(limits.presence_per_second, limits.presence_burst, limits.users)
        self.presence = PresenceRooms(limits, monotonic)
        self.pokes = Pokes(limits, poll_seconds, monotonic, self.presence)
        self.monotonic = monotonic
        self._db, self._context = documents.db, documents.context
        self._authenticate, self._authorise, self._create, self._view = authenticate, authorise, create, view
        self._processor: Processor = processor
        declare_items(self._context.model.table, belongs_to=belongs_to)
        self._keys, self._seen = group_keys(self._context.model.table), Bindings()
        self._pusher = Pusher(self._context, self._keys, self._seen)
        self._puller = Puller(self._context, self._keys, self._seen, limits.versions)
        self._applier = Applier(self._context, authorise, view)
        self._locks, self._applied = DocumentLocks(), AppliedIds()
        self._existing: dict[str, None] = {}

    def __repr__(self) -> str:
        return f"<Sync of {self._context.kind.__name__}>"

    def asgi(self) -> SyncApp:
        """The application to mount: `POST /push`, `/pull` and `/presence`, `GET /pokes`, each with `?project=ID`."""
        return SyncApp(self)

    def close(self) -> None:
        """End the streams of pokes, at a server's shutdown. Their clients reconnect to another server."""
        self.pokes.close()

    def notify(self, document_id: str, version: int) -> None:
        """Poke the listeners of a document that has reached a version. Commits of this process call it themselves."""
        self.pokes.notify(document_id, version)

    async def process(self, document_id: str) -> list[Outcome]:
        """Apply the document's inbox until no mutation can be applied. Returns what this call applied or rejected."""
        return await self._process(document_id)

    def belongings(self) -> LayerBelongings:
        """The finds of `Erasure(db, table, sync)`, beyond records: the client groups of the subject."""
        return SyncBelongings(self._context.model.table)

    def checks(self) -> LayerChecks:
        """The checks of `db.check(table, sync)`, beyond those of records."""
        return sync_checks(self._context.model.table, [self._context.model])

    async def check(self) -> list[Finding]:
        """Findings in the items that sync keeps of clients; [] for a sound table. Reads the whole table."""
        return await check(self._db.port, self._context)

    async def on_inbox(self, change: Arrival) -> None:
        """A handler of changes: `changes.on(Project.Inbox).inserted(sync.on_inbox)`.

        Returns once the row's mutation is applied. Rows that are handled concurrently share versions of a document,
        which are applied one at a time.
        """
        await follow(self._db.port, partial(self._apply_row, change.new), change.new.document_id)

    async def on_version(self, change: NewVersion) -> None:
        """A handler of changes that pokes at once: `changes.on(Project.Version).inserted(sync.on_version)`."""
        self.notify(change.new.document_id, change.new.number)

    async def run(
        self,
        queue: Queue[Pointer],
        *,
        stop: Stop | None = None,
        signals: bool = True,
        at_once: int = 4,
        visibility_seconds: int = 30,
        wait_seconds: int = 5,
    ) -> int:
        """Handle the pointers of a queue until SIGTERM, SIGINT or `stop`. Returns the number handled."""
        with stopping(stop, signals) as should_stop:
            return await consume(
                self._db.port,
                queue,
                self._handle,
                stop=should_stop,
                at_once=at_once,
                visibility_seconds=visibility_seconds,
                wait_seconds=wait_seconds,
                gate=UNGATED,  # an inbox that becomes versions has no effect outside of the table
            )

    # --- what the ASGI application calls
    # --------------------------------------------------------------------------------
    async def user_of(self, request: HttpRequest) -> str | None:
        """The user of a request, by `authenticate`; None for nobody."""
        return await resolve(self._authenticate(request)) or None

    async def admit(self, user: str, document_id: str) -> None:
        """Raise Missing if the user may not read the document, or it is missing and is not created."""
        if not await resolve(self._authorise(user, document_id, READ)):
            raise Missing
        if document_id not in self._existing:
            await self._find(user, document_id)
            self._existing[document_id] = None
            if len(self._existing) > _REMEMBERED:
                self._existing.pop(next(iter(self._existing)))

    async def push(self, user: str, document_id: str, push: Push) -> tuple[Refusal | None, Afterwards]:
        """The refusal, if any. Otherwise the mutations are durable, and the processor is notified.

        Raises Unavailable if some mutations were not accepted, as they are too far ahead of the last one applied.
        """
        port, permitted = self._db.port, await self._permitted(user, document_id, push)
        pushed = await self._found(user, document_id, lambda: self._pusher.push(port, user, document_id, permitted))
        if pushed.refusal is not None or not push.mutations:
            return pushed.refusal, None
        if isinstance(self._processor, Queue) and pushed.skipped < len(push.mutations):
            await wake(port, self._processor, document_id, port.token())
        if pushed.skipped:
            raise Unavailable(
                f"{pushed.skipped} mutations are too far ahead of the last one that was applied",
                table=self._context.model.table.name,
                operation="push",
                hint="Push them again when those before them have been applied.",
            )
        return None, partial(self._apply_inbox, document_id) if self._processor == "inline" else None

    async def _permitted(self, user: str, document_id: str, push: Push) -> Push:
        """Return the push. If the user may not make any of its mutations now, all are marked, to be rejected without
        arguments.

        Otherwise each mutation is authorised when it is applied.
        """
        for mutation in push.mutations:
            if not mutation.flaw and await self._may_now(user, document_id, Access(mutation.name, mutation.args)):
                return push
        refused = [
            replace(mutation, args=None, flaw=mutation.flaw or "the user is not allowed to do this")
            for mutation in push.mutations
        ]
        return replace(push, mutations=refused)

    async def _may_now(self, user: str, document_id: str, access: Access) -> bool:
        """True if the user may do it now, or `authorise` is unavailable: it is called again later."""
        try:
            return bool(await resolve(self._authorise(user, document_id, access)))
        except (OSError, Unavailable):
            return True
        except Exception as error:
            self._db.port.events.emit(AnswerRefused(function="authorise", then="the push is refused", error=error))
            return False

    async def pull(self, user: str, document_id: str, pull: Pull) -> tuple[Pulled | Refusal, Afterwards]:
        """The answer. Mutations that are still in the inbox, as after a crash, are applied after it has been sent.

        An inline processor applies those of the group itself first: its pull then shows them. The two reads of a start
        are not of one moment. If this process applies mutations meanwhile, the version may be older than the inbox, and
        both are read again.
        """
        port = self._db.port
        owner = ClientGroupOwner(user, self._context.model.words.document, document_id)
        if not await bind_group(port, self._keys, self._seen, pull.group, owner):
            return CLIENT_STATE_NOT_FOUND, None
        with self._locks.watch(document_id) as is_applied:
            start = await self._found(user, document_id, lambda: self._puller.read_start(port, document_id))
            is_late = is_applied()
        if self._processor == "inline" and (is_late or await self._waits_for(pull.group, start)):
            await self._locks.run(document_id, lambda: self._apply_next(document_id))
            start = await self._puller.read_start(port, document_id)
        view = await resolve(self._view(user, document_id)) if self._view is not None else None
        return await self._puller.pull(port, pull, start.head, view), self._apply_later(document_id, start)

    async def _waits_for(self, group: str, start: PullStart) -> bool:
        """Whether the inbox holds mutations of this group. Costs no request for cached clients."""
        return bool(await known_clients(self._db.port, self._keys, self._seen, group, start.waiting))

    def _apply_later(self, document_id: str, start: PullStart) -> Afterwards:
        if not start.waiting or self._processor == "elsewhere":
            return None
        if isinstance(self._processor, Queue):
            return partial(wake, self._db.port, self._processor, document_id, f"at {start.head.number} {start.head.id}")
        return partial(self._apply_inbox, document_id)

    async def _apply_inbox(self, document_id: str) -> None:
        """Apply the inbox. A mutation that keeps failing stays in it, for the next push or pull."""
        events = self._db.port.events
        fields = self._context.event_fields(events, document_id)
        for tried in range(_TRIES):
            try:
                while await self._locks.run(document_id, lambda: self._apply_next(document_id)):
                    continue
            except NotFound:
                events.emit(MutationsDropped(**fields, why="the document was deleted", is_expected=True))
                return
            except (Unavailable, Conflict, OutcomeUnknown) as error:
                is_last = tried == _TRIES - 1
                events.emit(MutationsWaiting(**fields, why=described(error), is_retried=not is_last))
                await self._db.port.sleep(_FIRST_WAIT_SECONDS * 2**tried * self._db.port.random())
            else:
                return

    async def head(self, document_id: str) -> int:
        """The newest version of a document, as `SyncedDocuments.head` reads it."""
        return (await newest(self._db.port, self._context, document_id)).number

    async def run_blocking(self, call: Callable[[], T]) -> T:
        """The result of a plain function, run off the event loop."""
        (result,) = await self._db.port.call_all([call])
        return result

    async def _handle(self, message: Message[Pointer]) -> None:
        await follow_message(self._db.port, self._process, message)

    async def _process(self, document_id: str, on_unknown: OnUnknown | None = None) -> list[Outcome]:
        done: list[Outcome] = []
        while more := await self._next_version(document_id, on_unknown):
            done += more
        return done

    async def _apply_row(self, row: InboxRow, document_id: str) -> list[Outcome]:
        with self._applied.handling(document_id):
            while not self._applied.has(row):
                if not await self._locks.run(document_id, lambda: self._apply_next(document_id)):
                    break
        return []

    async def _apply_next(self, document_id: str) -> bool:
        check_going_on()
        outcomes = await self._next_version(document_id)
        self._applied.note(document_id, outcomes)
        return bool(outcomes)

    async def _next_version(self, document_id: str, on_unknown: OnUnknown | None = None) -> list[Outcome]:
        done = await self._applier.next(self._db.port, document_id, waiter_for_threads(), on_unknown)
        if done:
            self.notify(document_id, max(outcome.version or 0 for outcome in done))
        return done

    async def _found(self, user: str, document_id: str, call: Callable[[], Awaitable[T]]) -> T:
        """The result of a call that needs the document. Where one is missing that was there, as the table was restored
        under this process, it is looked for anew, and may be created."""
        try:
            return await call()
        except NotFound:
            self._existing.pop(document_id, None)
            await self.admit(user, document_id)
        return await call()

    async def _find(self, user: str, document_id: str) -> None:
        port, context = self._db.port, self._context
        try:
            await parent_of(port, context, document_id)
        except InvalidValue:  # not an id of a document_id
            raise Missing from None
        except NotFound:
            parent = await resolve(self._create(user, document_id)) if self._create is not None else None
            if parent is None:
                raise Missing from None
            with suppress(AlreadyExists):  # another request has created it
                await create(port, context, parent, document_id, {})


def _check_wiring(documents: Any, processor: Any) -> None:
    if not is_of_shell(getattr(documents, "db", None), awaiting=True):
        raise InvalidRequest(
            f"Sync takes AsyncDocuments, not {type(documents).__name__}",
            hint="Make them over the AsyncDatabase of connect_async(). Blocking Documents have a Worker.",
        )
    if not isinstance(processor, Queue) and processor not in ("inline", "elsewhere"):
        raise InvalidRequest(
            "processor is unknown to Sync",
            hint='Use processor="inline", processor="elsewhere", or processor=Queue(url, Pointer).',
        )
