"""The lag of a consumer: how old the changes are that its handlers have not had, and who holds its shards."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

from msgspec import Struct

from singletable.errors import NotFound, SingletableError
from singletable.flow import DYNAMODB_STREAMS, Port
from singletable.foundation import Table, get
from singletable.operations import GetRecords, GetShardIterator, Records, Shard
from singletable.streams import leases
from singletable.streams.acquisition import label_of
from singletable.streams.consumer import Consumer
from singletable.streams.embedded import leaves_hole
from singletable.streams.leases import all_leases
from singletable.streams.router import Router
from singletable.streams.shard_tree import all_shards, find_stream
from singletable.streams.state import ConsumerItem, LeaseItem

MOST_LAGS = 8
"""Shards whose lag is measured: two requests each."""
KEPT_SECONDS = 86_400.0
"""A stream keeps a change for a day: the least lag of one that was trimmed."""
_LOOKED_AT = 100
"""Changes of a shard that are looked at for the first of the application."""


class ShardLag(Struct, frozen=True):
    """A shard that workers read, or that waits for one: it has no lease, or the shard before it has not ended."""

    shard: str
    owner: str
    """The mark of the worker that holds it; empty for none."""
    process: str
    """The host and the id of that worker's process; empty where the program of that process does not store it."""
    beat_at: datetime | None
    """When its owner wrote the lease last, by its clock."""
    beat_seconds: float | None
    """How long ago that was; None without an owner, or where a program that does not write it holds the lease."""
    seconds: float | None
    """The age of the oldest change after the checkpoint, a day where it was trimmed; 0 without one; None if it was not
    measured."""
    trouble: str = ""
    """The loss, or the error that its lag was not measured for; empty for neither."""


class ChangeLag(Struct, frozen=True):
    """The lag of one consumer."""

    consumer: str
    seconds: float | None
    """The longest of its shards; None if none was measured, as before its first worker."""
    shards: tuple[ShardLag, ...]
    trouble: str = ""
    """The first of its shards', or that its stream was replaced."""


class UnhandledChanges(Struct, frozen=True):
    """The changes of a shard that a consumer has not handled: those after a position, or since a time."""

    shard: str
    after: str = ""
    since: float = 0.0


class MeasuredLag(Struct, frozen=True):
    """The lag of a shard; the fields are those of `ShardLag`."""

    seconds: float | None = None
    trouble: str = ""


_NOT_MEASURED: Final = MeasuredLag()
_TRIMMED: Final = MeasuredLag(KEPT_SECONDS, "changes after its checkpoint were trimmed: they are lost")
_REPLACED: Final = "its stream was replaced: what it had not handled of the one before is lost"


async def consumer_lag(port: Port, consumer: Consumer) -> ChangeLag:
    """The lag of a consumer. Reads the table's description, the consumer, its leases and the stream's shards; two
    requests more for each of up to 8 shards that have not ended, which count against the five readings a second that a
    shard allows. NotConfigured without its leases."""
    stream = await find_stream(port, consumer.table)
    key: Any = consumer.state.consumer.by_name(consumer.name)
    begun: ConsumerItem | None = await get(port, key.consistent())
    if begun is None:
        return ChangeLag(consumer.name, None, ())
    stored = await all_leases(port, consumer.state, consumer.name, label_of(stream))
    shards, trouble = await _shards(port, stream)
    due = unhandled_of(begun, stored, shards)
    lags = await lags_of(port, consumer.table, stream, due)
    known = {lease.shard: lease for lease in stored}
    told = tuple(_shard(port, one.shard, known.get(one.shard), lags.get(one.shard, _NOT_MEASURED)) for one in due)
    troubles = [_REPLACED if begun.stream != stream else "", trouble, *(shard.trouble for shard in told)]
    measured = [shard.seconds for shard in told if shard.seconds is not None]
    return ChangeLag(consumer.name, max(measured, default=None), told, next(filter(None, troubles), ""))


async def _shards(port: Port, stream: str) -> tuple[Sequence[Shard], str]:
    """A stream's shards, or the error that they can't be listed for."""
    try:
        return await all_shards(port, stream), ""
    except SingletableError as error:
        return (), trouble_of(error)


def unhandled_of(begun: ConsumerItem, stored: Sequence[LeaseItem], shards: Sequence[Shard]) -> list[UnhandledChanges]:
    """The work of a consumer: the shards of its leases that are not over, and those without a lease.

    A shard has none until a worker takes it, as one that began while no worker ran.
    """
    began, known = float(int(begun.began_at.timestamp())), {lease.shard for lease in stored}
    leased = [
        UnhandledChanges(one.shard, one.position, began if one.is_latest and not one.position else 0.0)
        for one in stored
        if not one.is_over
    ]
    return [*leased, *(UnhandledChanges(shard.id) for shard in shards if shard.id not in known)]


def _shard(port: Port, shard: str, lease: LeaseItem | None, lag: MeasuredLag) -> ShardLag:
    owner, beat_at = ("", None) if lease is None else (lease.owner, lease.beat_at)
    process = lease.process if lease is not None and lease.owner else ""
    ago = max(0.0, port.now() - beat_at.timestamp()) if owner and beat_at is not None else None
    return ShardLag(shard, owner, process, beat_at, ago, lag.seconds, lag.trouble)


async def release_shard(port: Port, consumer: Consumer, shard: str) -> None:
    """Take a shard from its owner, at its checkpoint: the next worker that looks reads it.

    An owner that lives drops it at its next beat. A request for the stream, a read and a write. NotFound for a shard
    that nobody holds.
    """
    stream = await find_stream(port, consumer.table)
    state = consumer.state
    key = state.lease.by_shard(consumer.name, label_of(stream), shard)
    lease: LeaseItem | None = await get(port, key.consistent())
    is_held = lease is not None and bool(lease.owner) and not lease.is_over
    if lease is None or not is_held or await leases.release(port, state, lease, None) is None:
        raise NotFound(
            "no worker holds this shard",
            table=consumer.state.table.name,
            operation="release",
            hint="ChangeWorker(db, changes).lag() has the shards and who holds them.",
        )


async def lags_of(port: Port, table: Table, stream: str, due: Sequence[UnhandledChanges]) -> dict[str, MeasuredLag]:
    """The lag of the first 8 of some shards, by shard. An error of the service is the trouble of each."""
    due = due[:MOST_LAGS]
    source = port.to(DYNAMODB_STREAMS)
    try:
        iterators = await source.send_all([GetShardIterator(stream, one.shard, one.after or None) for one in due])
        there = [(one, iterator) for one, iterator in zip(due, iterators, strict=True) if iterator is not None]
        answers = await source.send_all([GetRecords(stream, iterator, _LOOKED_AT) for _, iterator in there])
    except SingletableError as error:
        return {one.shard: MeasuredLag(None, trouble_of(error)) for one in due}
    router = Router(table)
    lags = {one.shard: _lag(port, router, stream, one, answer) for (one, _), answer in zip(there, answers, strict=True)}
    return {one.shard: lags.get(one.shard, _TRIMMED) for one in due}


def trouble_of(error: SingletableError) -> str:
    """An error as the trouble of a shard: the operation that met it, and what it met."""
    operation = f"{error.operation}: " if error.operation else ""
    return f"{operation}{error.what}"


def _lag(port: Port, router: Router, stream: str, due: UnhandledChanges, answer: Records) -> MeasuredLag:
    """No checkpoint is written for the library's own items: theirs are not waited for."""
    if answer.refused == "trimmed":
        return _TRIMMED
    if answer.refused:
        return MeasuredLag(None, "GetRecords: the shard is read more often than the service allows")
    if answer.records and leaves_hole(stream, due.after, answer.records[0].sequence):
        return _TRIMMED
    for record in answer.records:
        at = record.dynamodb.approximate_creation_date_time
        if at >= due.since and not router.is_system(router.events_of(record)):
            return MeasuredLag(max(0.0, port.now() - at))
    return MeasuredLag(0.0) if len(answer.records) < _LOOKED_AT else _NOT_MEASURED
