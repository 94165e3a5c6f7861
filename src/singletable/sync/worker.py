"""A worker: applies what was pushed, in a program that serves no clients itself; for the blocking shell, and Lambda.

worker = Worker(Documents(db, Project, blobs=store), authorise=is_member)
worker.run(Queue(url, Pointer))                       # until SIGTERM
handler = worker.lambda_handler(Queue(url, Pointer))   # AWS Lambda
changes.on(Project.Inbox).inserted(worker.on_inbox)    # by changes
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from singletable.documents import Context, Outcome
from singletable.errors import DeclarationError, InvalidRequest
from singletable.flow import Blocking, Stop, is_of_shell, stopping
from singletable.queues import Message, Queue, consume
from singletable.sync.access import Authoriser, Viewer
from singletable.sync.apply import Applier, OnUnknown
from singletable.sync.notifications import Arrival, Pointer, follow, follow_message, handle_event

LambdaHandler = Callable[[Mapping[str, Any], Any], dict[str, list[dict[str, str]]]]


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

    def __repr__(self) -> str:
        return f"<Worker of {self._applier.context.kind.__name__}>"

    def process(self, document_id: str) -> list[Outcome]:
        """Apply what waits in a document's inbox until nothing can be applied; returns what this call did with each."""
        return self._db.run(self._process(document_id))

    def on_inbox(self, change: Arrival) -> None:
        """A handler of changes: `changes.on(Project.Inbox).inserted(worker.on_inbox)`."""
        self._db.run(follow(self._process, change.new.document_id))

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
                )
            )

    def lambda_handler(self, queue: Queue[Pointer]) -> LambdaHandler:
        """A function for AWS Lambda, whose event source mapping must say ReportBatchItemFailures."""

        def handler(event: Mapping[str, Any], context: Any) -> dict[str, list[dict[str, str]]]:
            return self._db.run(handle_event(self._db.port, queue, self._handle, event, context))

        return handler

    def _handle(self, message: Message[Pointer]) -> None:
        self._db.run(follow_message(self._process, message))

    async def _process(self, document_id: str, on_unknown: OnUnknown | None = None) -> list[Outcome]:
        return await self._applier.all(self._db.port, document_id, on_unknown)
