"""Notifying processors in other processes: a pointer to a document over a queue, or a change of its inbox.

A pointer names a document and nothing else: a forged one makes a worker look, and no more. On a FIFO queue the document
is the message group, so its pointers are handled in order, and other documents' concurrently. A pointer that is lost,
duplicated, late or dead-lettered loses no mutation: the pushed mutations are in the inbox, and the next pointer, or the
next pull, applies all of them.

While programs of two versions receive from one queue, the older one may receive a pointer to a mutation that only the
newer one knows. It returns the pointer to the queue, for the newer program.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from typing import Any, Protocol

from msgspec import Struct

from singletable.documents import InboxRow, Outcome
from singletable.errors import InvalidValue, NotFound
from singletable.flow import Port
from singletable.queues import Message, Outgoing, Queue, RetryLater, partial_failures, send
from singletable.sync.apply import OnUnknown

Apply = Callable[[str], Awaitable[list[Outcome]]]
"""Applies the mutations in a document's inbox."""
ApplyTelling = Callable[[str, OnUnknown], Awaitable[list[Outcome]]]
"""The same; it calls a function with each mutation that waits for a newer program."""
AGAIN_SECONDS, AGAIN_SECONDS_FIFO = 300, 5
"""The longest delay of a returned pointer. On a FIFO queue the document's other pointers wait behind it."""
LAMBDA_MARGIN_SECONDS = 5.0
"""A Lambda function that has less time left begins no further pointer."""

log = logging.getLogger("singletable.sync")


class Pointer(Struct, frozen=True, rename={"document_id": "project"}):
    """The message of a queue: `Queue(url, Pointer)`."""

    document_id: str


class Arrival(Protocol):
    """The change event of an inserted inbox row."""

    @property
    def new(self) -> InboxRow: ...


async def wake(port: Port, queue: Queue[Pointer], document_id: str, once: str) -> None:
    """Send a pointer; one request. A FIFO queue drops a second one with the same `once`."""
    group = document_id if queue.is_fifo else ""
    await send(port, queue, [Outgoing(Pointer(document_id), group, f"{document_id} {once}" if queue.is_fifo else "")])


async def follow(apply: Apply, document_id: str) -> None:
    """Apply the inbox of the pointer's document. A missing document and an invalid id are logged, and nothing else."""
    try:
        await apply(document_id)
    except NotFound:
        log.info("a pointer to a document that is missing, or was deleted, was dropped")
    except InvalidValue as error:
        log.warning("a pointer that can't name a document was dropped: %s", error.what)


async def follow_message(apply: ApplyTelling, message: Message[Pointer]) -> None:
    """Apply the inbox of a message's document. Raises RetryLater if a mutation waits for a newer program.

    The delays double, beginning with two seconds. They end when the mutation is rejected: after
    `Bounds.unknown_seconds`, an hour by default.
    """
    unknown: list[InboxRow] = []
    await follow(lambda document_id: apply(document_id, unknown.append), message.body.document_id)
    if unknown:
        longest = AGAIN_SECONDS_FIFO if message.group else AGAIN_SECONDS
        raise RetryLater(min(longest, 2 ** min(message.receives, 10)))


Handler = Callable[[Message[Pointer]], Any]
"""Handles a pointer: async in an event loop, else a plain function."""


def handle_event(
    port: Port, queue: Queue[Pointer], handle: Handler, event: Mapping[str, Any], context: Any
) -> Coroutine[Any, Any, dict[str, list[dict[str, str]]]]:
    """Handle the pointers of a Lambda event. Returns the ids of the failed ones."""
    left = getattr(context, "get_remaining_time_in_millis", None)

    def has_time() -> bool:
        return left is None or left() > LAMBDA_MARGIN_SECONDS * 1000

    return partial_failures(port, queue, handle, event, has_time)
