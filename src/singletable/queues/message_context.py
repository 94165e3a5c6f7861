"""The context of a trace in the attributes of a message, under the names that other programs use too."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from msgspec.structs import replace

from singletable.events import TraceContext
from singletable.flow import Port
from singletable.operations import MAX_BATCH_MESSAGE_BYTES, MessageAttribute, QueueEntry, Received
from singletable.queues.queue import Queue

CONTEXT_ATTRIBUTES: Final = ("traceparent", "tracestate")
_NONE: Final[Mapping[str, Any]] = {}


def with_context(port: Port, queue: Queue[Any], entry: QueueEntry) -> QueueEntry:
    """The entry with the context that a listener gives, if any, and if there is room for it."""
    context = port.events.context("message", queue.name, queue.name)
    if context is None:
        return entry
    texts = zip(CONTEXT_ATTRIBUTES, (context.parent, context.bounded_state), strict=True)
    carried = replace(entry, message_attributes={name: MessageAttribute(text) for name, text in texts if text})
    return carried if carried.size <= MAX_BATCH_MESSAGE_BYTES else entry


def contexts_of(received: Received) -> tuple[TraceContext, ...]:
    """The context of a received message, if it has one."""
    return _contexts(lambda name: received.message_attributes.get(name, MessageAttribute()).string_value)


def contexts_of_record(record: Mapping[str, Any]) -> tuple[TraceContext, ...]:
    """The same, from a record of a Lambda event."""
    attributes: Mapping[str, Any] = record.get("messageAttributes") or _NONE
    return _contexts(lambda name: attributes.get(name, _NONE).get("stringValue"))


def _contexts(text_of: Callable[[str], object]) -> tuple[TraceContext, ...]:
    context = TraceContext.of_headers(*map(text_of, CONTEXT_ATTRIBUTES))
    return () if context is None else (context,)
