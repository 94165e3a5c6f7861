"""Processors in other processes: pointers to documents over a queue, changes of inboxes, and the blocking worker.

worker = Worker(Documents(db, Project, blobs=store), authorise=is_member)
worker.run(Queue(url, Pointer))                       # until SIGTERM
handler = worker.lambda_handler(Queue(url, Pointer))   # AWS Lambda
changes.on(Project.Inbox).inserted(worker.on_inbox)    # by changes

A pointer names a document and nothing else: a forged one makes a worker look, and no more. On a FIFO queue the document
is the message group, so its pointers are handled in order, and other documents' concurrently. A pointer that is lost,
duplicated, late or dead-lettered loses no mutation: the pushed mutations are in the inbox, and the next pointer, or the
next pull, applies all of them.

While programs of two versions receive from one queue, the older one may receive a pointer to a mutation that only the
newer one knows. It returns the pointer to the queue, for the newer program.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from typing import Any, Protocol

from msgspec import Struct

from singletable.documents import Context, InboxRow, Outcome
from singletable.errors import DeclarationError, InvalidRequest, InvalidValue, NotFound
from singletable.events import MessageDropped
from singletable.flow import UNGATED, Blocking, LambdaAnswer, LambdaHandler, Port, Stop, is_of_shell, stopping
from singletable.hidden_fields import repr_without
from singletable.queues import Message, Outgoing, Queue, RetryLater, consume, partial_failures, send
from singletable.sync.access import Authoriser, Viewer
from singletable.sync.apply import Applier, OnUnknown
from singletable.sync.turns import InboxTurns

Apply = Callable[[str], Awaitable[list[Outcome]]]
"""Applies the mutations in a document's inbox."""
ApplyTelling = Callable[[str, OnUnknown], Awaitable[list[Outcome]]]
"""The same; it calls a function with each mutation that waits for a newer program."""
AGAIN_SECONDS, AGAIN_SECONDS_FIFO = 300, 5
"""The longest delay of a returned pointer. On a FIFO queue the document's other pointers wait behind it."""
LAMBDA_MARGIN_SECONDS = 5.0
"""A Lambda function that has less time left begins no further pointer."""


class Pointer(Struct, frozen=True, rename={"document_id": "project"}):
    """The message of a queue: `Queue(url, Pointer)`."""

    document_id: str

    __repr__ = repr_without("document_id")


class Arrival(Protocol):
    """The change event of an inserted inbox row."""

    @property
    def new(self) -> InboxRow: ...


async def wake(port: Port, queue: Queue[Pointer], document_id: str, once: str) -> None:
    """Send a pointer; one request. A FIFO queue drops a second one with the same `once`."""
    group = document_id if queue.is_fifo else ""
    await send(port, queue, [Outgoing(Pointer(document_id), group, f"{document_id} {once}" if queue.is_fifo else "")])


async def follow(port: Port, apply: Apply, document_id: str) -> None:
    """Apply the inbox of the pointer's document. A missing document and an invalid id are logged, and nothing else."""
    try:
        await apply(document_id)
    except NotFound:
        why = "it points to a document that is missing, or was deleted"
        port.events.emit(MessageDropped(why=why, is_expected=True))
    except InvalidValue as error:
        port.events.emit(MessageDropped(why=f"it can't name a document: {error.what}"))


async def follow_message(port: Port, apply: ApplyTelling, message: Message[Pointer]) -> None:
    """Apply the inbox of a message's document. Raises RetryLater if a mutation waits for a newer program.

    The delays double, beginning with two seconds. They end when the mutation is rejected: after
    `Bounds.unknown_seconds`, an hour by default.
    """
    unknown: list[InboxRow] = []
    await follow(port, lambda document_id: apply(document_id, unknown.append), message.body.document_id)
    if unknown:
        longest = AGAIN_SECONDS_FIFO if message.group else AGAIN_SECONDS
        raise RetryLater(min(longest, 2 ** min(message.receives, 10)))


Handler = Callable[[Message[Pointer]], Any]
"""Handles a pointer: async in an event loop, else a plain function."""


def handle_event(
    port: Port, queue: Queue[Pointer], handle: Handler, event: Mapping[str, Any], context: Any
) -> Coroutine[Any, Any, LambdaAnswer]:
    """Handle the pointers of a Lambda event. Returns the ids of the failed ones."""
    left = getattr(context, "get_remaining_time_in_millis", None)

    def has_time() -> bool:
        return left is None or left() > LAMBDA_MARGIN_SECONDS * 1000

    return partial_failures(port, queue, handle, event, has_time, UNGATED)


class BlockingDocuments(Protocol):
    """The part of a `Database`'s documents that sync uses."""

    @property
    def db(self) -> Blocking: ...

    @property
    def context(self) -> Context[Any]: ...


class Worker:
    """Applies what was pushed to the documents of one class. `authorise` and `view` are those of `Sync`, not async."""

    def __init__(self, documents: BlockingDocuments, *, authorise: Authoriser, view: Viewer | None = None) -> None:
        if not is_of_shell(getattr(documents, "db", None), awaiting=False):
            raise InvalidRequest(
                f"a Worker takes Documents, not {type(documents).__name__}",
                hint="Make them over the Database of connect(). AsyncDocuments are processed by a Sync.",
            )
        if inspect.iscoroutinefunction(authorise) or inspect.iscoroutinefunction(view):
            raise DeclarationError(
                "an async authorise or view can't be asked in the blocking shell",
                hint="Write it without async, or process with a Sync over AsyncDocuments.",
            )
        self._db, self._applier = documents.db, Applier(documents.context, authorise, view)
        self._turns = InboxTurns()

    def __repr__(self) -> str:
        return f"<Worker of {self._applier.context.kind.__name__}>"

    def process(self, document_id: str) -> list[Outcome]:
        """Apply what waits in a document's inbox until nothing can be applied; returns what this call did with each."""
        return self._db.run(self._process(document_id))

    def on_inbox(self, change: Arrival) -> None:
        """A handler of changes: `changes.on(Project.Inbox).inserted(worker.on_inbox)`.

        Returns once the row's mutation is applied. Rows that are handled concurrently share versions of a document,
        which are applied one at a time.
        """

        async def apply(document_id: str) -> list[Outcome]:
            self._turns.apply(change.new, lambda: self._db.run(self._applier.next(self._db.port, document_id)))
            return []

        self._db.run(follow(self._db.port, apply, change.new.document_id))

    def run(
        self,
        queue: Queue[Pointer],
        *,
        stop: Stop | None = None,
        signals: bool = True,
        at_once: int = 4,
        visibility_seconds: int = 30,
        wait_seconds: int = 5,
    ) -> int:
        """Follow the pointers of a queue until SIGTERM or SIGINT, or until `stop` says so; returns their number."""
        with stopping(stop, signals) as is_over:
            return self._db.run(
                consume(
                    self._db.port,
                    queue,
                    self._handle,
                    stop=is_over,
                    at_once=at_once,
                    visibility_seconds=visibility_seconds,
                    wait_seconds=wait_seconds,
                    gate=UNGATED,  # an inbox that becomes versions has no effect outside of the table
                )
            )

    def lambda_handler(self, queue: Queue[Pointer]) -> LambdaHandler:
        """A function for AWS Lambda, whose event source mapping must say ReportBatchItemFailures."""

        def handler(event: Mapping[str, Any], context: Any = None) -> LambdaAnswer:
            return self._db.run(handle_event(self._db.port, queue, self._handle, event, context))

        return handler

    def _handle(self, message: Message[Pointer]) -> None:
        self._db.run(follow_message(self._db.port, self._process, message))

    async def _process(self, document_id: str, on_unknown: OnUnknown | None = None) -> list[Outcome]:
        return await self._applier.all(self._db.port, document_id, on_unknown)
