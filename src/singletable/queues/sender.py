"""Sends any number of messages, ten in a request, with ids that SQS accepts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from hashlib import sha256
from typing import Any, TypeVar

from singletable.errors import Incomplete, InvalidRequest, TooLarge
from singletable.flow import SQS, Port, pause
from singletable.operations import MAX_BATCH_MESSAGE_BYTES, MAX_BATCH_MESSAGES, QueueEntry, SendMessageBatch
from singletable.queues.message_context import with_context
from singletable.queues.queue import Outgoing, Queue

_LEGAL = re.compile(r"[!-~]{1,128}")
_HASHED = "sha256:"


def legal_id(text: str) -> str:
    """The text itself if it is legal; otherwise its hash, marked as one."""
    if _LEGAL.fullmatch(text) and not text.startswith(_HASHED):
        return text
    return _HASHED + sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


T = TypeVar("T")

_TRIES = 6
_FIRST_WAIT_SECONDS = 0.05


async def send(port: Port, queue: Queue[T], messages: Sequence[Outgoing[T]]) -> None:
    """Send messages, those of a group in order. A message may arrive twice, unless a FIFO queue deduplicates it.

    One request for ten messages or 1 MiB. `Incomplete` has the messages that were not sent; of a group, also all that
    follow. TooLarge and InvalidRequest are raised before anything is sent.
    """
    there = port.to(SQS, queue.url)
    rest = [(message, _entry(queue, number, message)) for number, message in enumerate(messages)]
    if port.events.carrier is not None:
        rest = [(message, with_context(port, queue, entry)) for message, entry in rest]
    for attempt in range(_TRIES):
        rest = await _send_all(there, queue, rest)
        if not rest:
            return
        seconds = _FIRST_WAIT_SECONDS * 2**attempt * port.random()
        await pause(port, seconds, f"queue {queue.name} refused a part of the messages", is_refused=True)
    raise Incomplete(
        f"{len(rest)} of {len(messages)} messages were not sent to queue {queue.name}",
        rest=tuple(message for message, _ in rest),
        hint="Send the rest again.",
    )


_Pair = tuple[Outgoing[Any], QueueEntry]


async def _send_all(port: Port, queue: Queue[Any], pairs: Sequence[_Pair]) -> list[_Pair]:
    """Send the batches; returns the refused messages, and the ones behind them in their groups."""
    rest: list[_Pair] = []
    for batch in _batches(pairs):
        blocked = {message.group for message, _ in rest if message.group}
        rest += [pair for pair in batch if pair[0].group in blocked]
        ready = [pair for pair in batch if pair[0].group not in blocked]
        rest += await _send(port, queue, ready) if ready else []
    return rest


async def _send(port: Port, queue: Queue[Any], batch: Sequence[_Pair]) -> list[_Pair]:
    """Send one batch; returns the messages that were not sent."""
    refused = await port.send(SendMessageBatch(queue.url, [entry for _, entry in batch]))
    codes = {refusal.id: refusal for refusal in refused}
    fault = next((refusal for refusal in refused if refusal.sender_fault), None)
    if fault is not None:
        raise InvalidRequest(f"SQS refused a message to queue {queue.name}: {fault.code}", operation="send")
    return [(message, entry) for message, entry in batch if entry.id in codes]


def _entry(queue: Queue[T], number: int, message: Outgoing[T]) -> QueueEntry:
    if queue.is_fifo and not message.group:
        raise InvalidRequest(f"a message to the fifo queue {queue.name} has no group", hint="Outgoing(..., group=...).")
    if queue.is_fifo and message.delay_seconds:
        raise InvalidRequest(
            f"a message to the fifo queue {queue.name} can't have a delay of its own", hint="Send it when it is due."
        )
    text = queue.text_of(message.body)
    if len(text.encode()) > MAX_BATCH_MESSAGE_BYTES:
        raise TooLarge(f"a message of over {MAX_BATCH_MESSAGE_BYTES} bytes", hint="Send the key of what is stored.")
    group = legal_id(message.group) if message.group else ""
    deduplication = legal_id(message.deduplication) if queue.is_fifo and message.deduplication else ""
    return QueueEntry(str(number), text, message.delay_seconds, group, deduplication)


def _batches(pairs: Sequence[_Pair]) -> Iterator[list[_Pair]]:
    """Batches with one message of each group: a batch may succeed in part, and a group must stay in order."""
    batch: list[_Pair] = []
    groups: set[str] = set()
    size = 0
    for pair in pairs:
        group, length = pair[0].group, pair[1].size
        if len(batch) == MAX_BATCH_MESSAGES or size + length > MAX_BATCH_MESSAGE_BYTES or (group and group in groups):
            yield batch
            batch, groups, size = [], set[str](), 0
        batch.append(pair)
        groups.add(group)
        size += length
    if batch:
        yield batch
