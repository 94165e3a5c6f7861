"""Dead letters: records that failed too often, stored whole with their error, and handled again on request."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import groupby
from typing import Any

import msgspec

from singletable.errors import Corrupt, NotFound, NotSupported
from singletable.failure_text import error_text
from singletable.flow import Port, instant
from singletable.foundation import KeyOf, Transaction, flows
from singletable.operations import EventName, StreamRecord, read_records
from singletable.streams.consumer import Consumer
from singletable.streams.dispatch import handle_record
from singletable.streams.state import DeadLetterItem, LeaseItem, StateEntities, leases_needed

_PART_BYTES = 350_000
"""Two images of 400 KB each don't fit into one item."""
_LONGEST_ERROR = 2000


@dataclass(frozen=True)
class DeadLetter:
    """A change that its handlers failed at."""

    consumer: str
    stream: str
    shard: str
    sequence: str
    type: str
    event: EventName
    error: str = field(repr=False)
    """The last one: its class and text, which may hold the item's values, as `payload` does."""
    tries: int
    at: datetime
    packed: bytes = field(repr=False)
    """The stored payload, compressed."""

    @property
    def payload(self) -> bytes:
        """The record as JSON: keys and both images. Raises Corrupt if the payload is damaged."""
        try:
            return zlib.decompress(self.packed)
        except zlib.error:
            raise self._damaged() from None

    @property
    def record(self) -> StreamRecord:
        """The record. Raises Corrupt if the payload is damaged."""
        try:
            (record,) = read_records(b"[" + self.payload + b"]")
        except (msgspec.MsgspecError, ValueError):
            raise self._damaged() from None
        return record

    def _damaged(self) -> Corrupt:
        return Corrupt(
            "the stored record of a dead letter is damaged",
            operation="dead letter",
            hint="Its type, event and error can be read. Put the record back from a backup, or delete the dead letter.",
        )


async def store_dead_letter(
    port: Port,
    state: StateEntities,
    lease: LeaseItem,
    record: StreamRecord,
    type: str,
    tries: int,
    error: BaseException,
) -> None:
    """Store a record with its error, and delete its tries: one transaction. Repeating it changes nothing.

    An engine without transactions takes a request for each item. The first part comes after the others, as it makes
    them visible, and the tries are deleted last: where that is left undone, all of it is repeated.
    """
    packed = zlib.compress(msgspec.json.encode(record))
    parts = [packed[i : i + _PART_BYTES] for i in range(0, len(packed), _PART_BYTES)]
    place: dict[str, Any] = {
        "consumer": lease.consumer,
        "stream": lease.stream,
        "shard": lease.shard,
        "sequence": record.sequence,
    }
    items = [state.dead_letter(**place, part=number, payload=payload) for number, payload in enumerate(parts[1:], 1)]
    first = state.dead_letter(
        **place,
        part=0,
        payload=parts[0],
        parts=len(parts),
        kind=type,
        event=record.event,
        error=error_text(error, most=_LONGEST_ERROR),
        tries=tries,
        at=instant(port.now()),
    )
    await _store(port, [*items, first], state.attempt.by_sequence(**place))


async def _store(port: Port, items: Sequence[Any], tries: Any) -> None:
    transaction = Transaction()
    for item in items:
        transaction.put(item)
    transaction.delete(tries)
    try:
        await flows.commit(port, transaction.pending)
    except NotSupported:
        for item in items:
            await flows.put(port, item)
        await flows.delete(port, tries)


async def dead_letters(port: Port, state: StateEntities, consumer: str) -> list[DeadLetter]:
    """Every dead letter of a consumer, in the order of its shards."""
    query: Any = state.dead_letter.by_sequence(consumer)
    with leases_needed(port, state):
        items: list[DeadLetterItem] = await flows.read_all(port, query.consistent())
    return list(_joined(items))


async def dead_letter_at(
    port: Port, state: StateEntities, consumer: str, stream: str, shard: str, sequence: str
) -> DeadLetter | None:
    """One dead letter, by its place; None if it was retried or dropped. One request, a unit for each 4 KB."""
    query: Any = state.dead_letter.by_sequence(consumer, stream, shard, sequence)
    with leases_needed(port, state):
        items: list[DeadLetterItem] = await flows.read_all(port, query.consistent())
    return next(_joined(items), None)


async def forget(port: Port, state: StateEntities, dead_letter: DeadLetter) -> None:
    """Delete a dead letter."""
    parts: list[KeyOf[Any]] = [
        state.dead_letter.by_sequence(
            dead_letter.consumer, dead_letter.stream, dead_letter.shard, dead_letter.sequence, part
        )
        for part in range(parts_of(dead_letter))
    ]
    await flows.write_many(port, (), parts)


def parts_of(dead_letter: DeadLetter) -> int:
    """The number of its items."""
    return -(-len(dead_letter.packed) // _PART_BYTES)


def _joined(items: Iterable[DeadLetterItem]) -> Iterator[DeadLetter]:
    for _, parts in groupby(items, key=lambda item: (item.stream, item.shard, item.sequence)):
        first, *rest = parts
        if first.part != 0 or len(rest) + 1 != first.parts:
            continue  # it is being deleted
        packed = b"".join([first.payload, *(part.payload for part in rest)])
        event: Any = first.event
        assert first.at is not None
        yield DeadLetter(
            first.consumer,
            first.stream,
            first.shard,
            first.sequence,
            first.kind,
            event,
            first.error,
            first.tries,
            first.at,
            packed,
        )


async def retry(port: Port, consumer: Consumer, change: DeadLetter) -> None:
    """Handle it, and delete it; raises a handler's error, and NotFound if it was handled before."""
    await _check_there(port, consumer, change, "retry")
    events = consumer.router.events_of(change.record)
    error = await handle_record(port, consumer, change.record, events, change.tries + 1)
    if error is not None:
        raise error
    await forget(port, consumer.state, change)


async def drop(port: Port, consumer: Consumer, change: DeadLetter) -> None:
    """Delete it without handling it. NotFound if it is gone, or was stored again since it was read."""
    await _check_there(port, consumer, change, "drop")
    await forget(port, consumer.state, change)


async def _check_there(port: Port, consumer: Consumer, change: DeadLetter, verb: str) -> None:
    place = change.stream, change.shard, change.sequence
    if await dead_letter_at(port, consumer.state, consumer.name, *place) != change:
        raise NotFound(
            f"{consumer.name!r} has no dead letter with this sequence number",
            table=consumer.state.table.name,
            operation=verb,
            hint="It was retried or dropped before: dead_letters() returns the remaining ones.",
        )
