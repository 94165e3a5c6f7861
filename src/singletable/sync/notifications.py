"""Waking processors in other processes: a pointer to a project over a queue, or a change of its inbox.

A pointer says which project to look at and nothing else: whoever could put one into the queue can make a worker look,
and no more. On a FIFO queue the project is the message group, so that its pointers are handled one after the other,
and other projects' beside them. A pointer that is lost, doubled, late or dead-lettered loses nothing: what was pushed
lies in the inbox, and the next pointer, or the next pull, is about all of it.

While programs of two versions follow one queue, a pointer may reach the older one, which does not know a mutation that
the newer one was sent. It gives the pointer back to the queue, for the newer program to receive.
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
"""Applies what waits in a project's inbox."""
ApplyTelling = Callable[[str, OnUnknown], Awaitable[list[Outcome]]]
"""The same, and calls a function with each mutation that waits for a newer program."""
AGAIN_SECONDS, AGAIN_SECONDS_FIFO = 300, 5
"""The longest time for which a pointer is given back. On a FIFO queue the project's other pointers wait behind it."""
LAMBDA_MARGIN_SECONDS = 5.0
"""Nothing is begun in a Lambda function that has less time left."""


class Pointer(Struct, frozen=True):
    """What goes over a queue: `Queue(url, Pointer)`."""

    project: str


class Arrival(Protocol):
    """An inserted row of an inbox, as `changes` tells of it."""

    @property
    def new(self) -> InboxRow: ...


async def wake(port: Port, queue: Queue[Pointer], project: str, once: str) -> None:
    """Send a pointer. `once` names an occasion for which one is enough. One request."""
    group = project if queue.is_fifo else ""
    await send(port, queue, [Outgoing(Pointer(project), group, f"{project} {once}" if queue.is_fifo else "")])


async def follow(apply: Apply, project: str) -> None:
    """Apply what a pointer leads to. One to a project that is not there leads to nothing."""
    with suppress(NotFound, InvalidValue):
        await apply(project)


async def follow_message(apply: ApplyTelling, message: Message[Pointer]) -> None:
    """Apply what a queue's pointer leads to. Later, where a mutation waits for a program that knows its name.

    The times double, from two seconds on. They end with the wait: after `Bounds.unknown_seconds`, an hour by default,
    the mutation is rejected.
    """
    unknown: list[InboxRow] = []
    await follow(lambda project: apply(project, unknown.append), message.body.project)
    if unknown:
        longest = AGAIN_SECONDS_FIFO if message.group else AGAIN_SECONDS
        raise Later(min(longest, 2 ** min(message.receives, 10)))


Handler = Callable[[Message[Pointer]], Any]
"""Follows a pointer: an async function in an event loop, a plain one elsewhere."""


def handle_event(
    port: Port, queue: Queue[Pointer], handle: Handler, event: Mapping[str, Any], context: Any
) -> Coroutine[Any, Any, dict[str, list[dict[str, str]]]]:
    """A Lambda event's pointers; the answer names those that failed."""
    left = getattr(context, "get_remaining_time_in_millis", None)

    def has_time() -> bool:
        return left is None or left() > LAMBDA_MARGIN_SECONDS * 1000

    return partial_failures(port, queue, handle, event, has_time)
