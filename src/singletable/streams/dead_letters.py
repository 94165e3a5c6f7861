"""Records that failed too often: set aside whole, with their error, and given back to their handlers on request."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timezone
from itertools import groupby
from typing import Any

import msgspec

from singletable.failure_text import error_text
from singletable.flow.port import Port
from singletable.foundation import KeyOf, Transaction, flows
from singletable.operations.stream import EventName, StreamRecord, read_records
from singletable.streams.state import AsideItem, Books, LeaseItem, leases_needed

_PART_BYTES = 350_000
"""Two images of 400 KB each don't fit into one item."""
_LONGEST_ERROR = 2000


@dataclass(frozen=True)
class SetAside:
    """A change that its handlers failed at, as it was read."""

    consumer: str
    stream: str
    shard: str
    sequence: str
    type: str
    event: EventName
    error: str
    """The last one: its class and text, which may hold the item's values, as `payload` does."""
    tries: int
    at: datetime
    payload: bytes = field(repr=False)
    """The record as JSON: keys and both images."""

    @property
    def record(self) -> StreamRecord:
        return read_records(b"[" + self.payload + b"]")[0]


async def set_aside(
    port: Port, books: Books, lease: LeaseItem, record: StreamRecord, type: str, tries: int, error: BaseException
) -> None:
    """Keep a record with its error, and forget its tries: one transaction. Done again, it changes nothing."""
    packed = zlib.compress(msgspec.json.encode(record))
    parts = [packed[i : i + _PART_BYTES] for i in range(0, len(packed), _PART_BYTES)]
    place: dict[str, Any] = {
        "consumer": lease.consumer,
        "stream": lease.stream,
        "shard": lease.shard,
        "sequence": record.sequence,
    }
    transaction = Transaction()
    for number, payload in enumerate(parts[1:], 1):
        transaction.put(books.aside(**place, part=number, payload=payload))
    transaction.put(
        books.aside(
            **place,
            part=0,
            payload=parts[0],
            parts=len(parts),
            kind=type,
            event=record.event,
            error=error_text(error, most=_LONGEST_ERROR),
            tries=tries,
            at=datetime.fromtimestamp(port.now(), timezone.utc),
        )
    )
    transaction.delete(books.attempt.by_sequence(**place))
    await flows.commit(port, transaction.pending)


async def all_set_aside(port: Port, books: Books, consumer: str) -> list[SetAside]:
    """Everything that a consumer has set aside, in the order of its shards."""
    query: Any = books.aside.by_sequence(consumer)
    with leases_needed(port, books):
        items: list[AsideItem] = await flows.everything(port, query.consistent())
    return list(_joined(items))


async def forget(port: Port, books: Books, aside: SetAside) -> None:
    """Delete what was set aside."""
    parts: list[KeyOf[Any]] = [
        books.aside.by_sequence(aside.consumer, aside.stream, aside.shard, aside.sequence, part)
        for part in range(_count(aside))
    ]
    await flows.write_many(port, (), parts)


def _count(aside: SetAside) -> int:
    return -(-len(zlib.compress(aside.payload)) // _PART_BYTES)


def _joined(items: Iterable[AsideItem]) -> Iterator[SetAside]:
    for _, parts in groupby(items, key=lambda item: (item.stream, item.shard, item.sequence)):
        first, *rest = parts
        if first.part != 0 or len(rest) + 1 != first.parts:
            continue  # being forgotten just now
        payload = zlib.decompress(b"".join([first.payload, *(part.payload for part in rest)]))
        event: Any = first.event
        assert first.at is not None
        yield SetAside(
            first.consumer,
            first.stream,
            first.shard,
            first.sequence,
            first.kind,
            event,
            first.error,
            first.tries,
            first.at,
            payload,
        )
