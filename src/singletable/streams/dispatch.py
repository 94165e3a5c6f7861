"""Handling records: one record by all of its handlers, and the queue of an item in order."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial

from singletable.failure_text import Caught
from singletable.flow import FlowSuspended, HandedBack, Port, handling_while, refuse_awaitable
from singletable.operations import StreamRecord
from singletable.streams.consumer import Consumer
from singletable.streams.events import AnyChange
from singletable.streams.router import Handler, RecordEvents, Router
from singletable.streams.shard import ItemQueue, PendingRecord

_LONGEST_SECONDS = 1.0
"""A queue with many records leaves the round after this time, so that the others are handled."""


async def handle_queue(
    port: Port,
    consumer: Consumer,
    queue: ItemQueue,
    may_go_on: Callable[[PendingRecord], Awaitable[bool]],
    goes_on: Callable[[], bool],
) -> None:
    """Handle an item's records in order, until one fails or the time is up; marks what is done and what failed.

    A handler that takes long may ask `goes_on` (`flow.handing_back`), and leave its record to the next worker.
    """
    until = port.monotonic() + _LONGEST_SECONDS
    for number, entry in enumerate(queue):
        # At least one: otherwise a slow machine would make no progress.
        if not await may_go_on(entry) or (number and port.monotonic() > until):
            return
        entry.begun_at = port.monotonic()
        with handling_while(goes_on):
            error = await handle_record(port, consumer, entry.record, entry.events, entry.tries + 1)
        entry.begun_at = None
        if isinstance(error, HandedBack):
            return
        entry.error = error
        if error is not None:
            return
        entry.place.done = True


async def handle_record(
    port: Port, consumer: Consumer, record: StreamRecord, events: RecordEvents, attempt: int = 1
) -> BaseException | None:
    """Call a record's handlers; returns the first error, or None if all have returned.

    FlowSuspended, of an async handler in the blocking shell, is the program's fault and ends it.
    """
    router = consumer.router
    if port.events.carrier is None:
        return await _call_handlers(port, router, record, events)
    with port.events.handling(
        "change",
        router.name_of(record),
        router.table.name,
        consumer=consumer.name,
        contexts=router.contexts_of(record),
        key_hash=router.hash_of(record, port.events),
        attempt=attempt,
        expected=(HandedBack,),
    ) as work:
        work.error = await _call_handlers(port, router, record, events)
    return work.error


async def _call_handlers(
    port: Port, router: Router, record: StreamRecord, events: RecordEvents
) -> BaseException | None:
    try:
        for handler, change in router.calls(record, events):
            error = await _call(port, handler, change)
            if error is not None:
                return error
    except FlowSuspended:
        raise
    except Exception as error:  # an image that can't be read
        return error
    return None


async def _call(port: Port, handler: Handler, change: AnyChange) -> BaseException | None:
    if not (handler.is_flow or handler.is_async):
        # Its error comes back as a value: a SystemExit that left a thread would end the event loop too.
        outcomes = await port.call_all([partial(_error_of, handler, change)])
        return outcomes[0]
    with Caught() as caught:
        await (handler.function(port, change) if handler.is_flow else handler.function(change))
    if isinstance(caught.error, FlowSuspended):
        raise caught.error
    return caught.error


def _error_of(handler: Handler, change: AnyChange) -> BaseException | None:
    with Caught() as caught:
        refuse_awaitable(handler.function(change), f"the {handler.what} handler of {handler.type}")
    return caught.error
