"""Notifying processors in other processes: a pointer to a project over a queue, or a change of its inbox.

A pointer names a project and nothing else: whoever can put one into the queue can make a worker look, and no more. On a
FIFO queue the project is the message group, so its pointers are handled in order, and other projects' concurrently. A
pointer that is lost, duplicated, late or dead-lettered loses no mutation: the pushed mutations are in the inbox, and
the next pointer, or the next pull, applies all of them.

While programs of two versions receive from one queue, the older one may receive a pointer to a mutation that only the
newer one knows. It returns the pointer to the queue, for the newer program.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Mapping
from contextlib import suppress
from typing import Any, Protocol

from msgspec import Struct

from singletable.documents import InboxRow, Outcome
from singletable.errors import InvalidValue, NotFound
from singletable.flow import Port
from singletable.queues import Later, Message, Outgoing, Queue, partial_failures, send
from singletable.sync.apply import OnUnknown

Apply = Callable[[str], Awaitable[list[Outcome]]]
"""Applies the mutations in a project's inbox."""
ApplyTelling = Callable[[str, OnUnknown], Awaitable[list[Outcome]]]
"""The same; it calls a function with each mutation that waits for a newer program."""
AGAIN_SECONDS, AGAIN_SECONDS_FIFO = 300, 5
"""The longest delay of a returned pointer. On a FIFO queue the project's other pointers wait behind it."""
LAMBDA_MARGIN_SECONDS = 5.0
"""A Lambda function that has less time left begins no further pointer."""


class Pointer(Struct, frozen=True):
    """The message of a queue: `Queue(url, Pointer)`."""

    project: str


class Arrival(Protocol):
    """The change event of an inserted inbox row."""

    @property
    def new(self) -> InboxRow: ...


async def wake(port: Port, queue: Queue[Pointer], project: str, once: str) -> None:
    """Send a pointer; one request. A FIFO queue drops a second one with the same `once`."""
    group = project if queue.is_fifo else ""
    await send(port, queue, [Outgoing(Pointer(project), group, f"{project} {once}" if queue.is_fifo else "")])


async def follow(apply: Apply, project: str) -> None:
    """Apply the inbox of the pointer's project. Does nothing for a missing project."""
    with suppress(NotFound, InvalidValue):
        await apply(project)


async def follow_message(apply: ApplyTelling, message: Message[Pointer]) -> None:
    """Apply the inbox of a message's project. Raises Later where a mutation waits for a newer program.

    The delays double, beginning with two seconds. They end when the mutation is rejected: after
    `Bounds.unknown_seconds`, an hour by default.
    """
    unknown: list[InboxRow] = []
    await follow(lambda project: apply(project, unknown.append), message.body.project)
    if unknown:
        longest = AGAIN_SECONDS_FIFO if message.group else AGAIN_SECONDS
        raise Later(min(longest, 2 ** min(message.receives, 10)))


Handler = Callable[[Message[Pointer]], Any]
"""Handles a pointer: async in an event loop, else a plain function."""


def handle_event(
    port: Port, queue: Queue[Pointer], handle: Handler, event: Mapping[str, Any], context: Any
) -> Coroutine[Any, Any, dict[str, list[dict[str, str]]]]:
    """Handle the pointers of a Lambda event. Returns the ids of those that failed."""
    left = getattr(context, "get_remaining_time_in_millis", None)

    def has_time() -> bool:
        return left is None or left() > LAMBDA_MARGIN_SECONDS * 1000

    return partial_failures(port, queue, handle, event, has_time)
