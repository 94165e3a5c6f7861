"""The lag of a consumer: how old the changes are that its handlers have not had, and who holds its shards."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from msgspec import Struct

from singletable.errors import NotFound, SingletableError
from singletable.flow import DYNAMODB_STREAMS, Port
from singletable.foundation import Table, get
from singletable.operations import GetRecords, GetShardIterator, Records
from singletable.streams import leases
from singletable.streams.acquisition import label_of
from singletable.streams.consumer import Consumer
from singletable.streams.leases import all_leases
from singletable.streams.router import Router
from singletable.streams.shard_tree import find_stream
from singletable.streams.state import LeaseItem

MOST_LAGS = 8
"""Shards whose lag is measured: two requests each."""
_LOOKED_AT = 100
"""Changes of a shard that are looked at for the first of the application."""


class ShardLag(Struct, frozen=True):
    """An open shard that workers read."""

    shard: str
    owner: str
    """The worker that holds it; empty for none."""
    beat_at: datetime | None
    """When its owner wrote the lease last, by its clock."""
    beat_seconds: float | None
    """How long ago that was; None without an owner, or where a program that does not write it holds the lease."""
    seconds: float | None
    """The age of the oldest change after the checkpoint; 0 without one; None if it was not measured."""


class ChangeLag(Struct, frozen=True):
    """The lag of one consumer."""

    consumer: str
    seconds: float | None
    """The longest of its shards; None if none was measured, as before its first worker."""
    shards: tuple[ShardLag, ...]


async def consumer_lag(port: Port, consumer: Consumer) -> ChangeLag:
    """The lag of a consumer. Reads the table's description and the leases; two requests more for each of up to 8 open
    shards, which count against the five readings a second that a shard allows. NotConfigured without its leases."""
    stream = await find_stream(port, consumer.table)
    stored = await all_leases(port, consumer.state, consumer.name, label_of(stream))
    open_ = [lease for lease in stored if not lease.is_over]
    lags = await lags_of(port, consumer.table, stream, open_)
    measured = [lag for lag in lags.values() if lag is not None]
    return ChangeLag(
        consumer.name,
        max(measured, default=None),
        tuple(_shard(port, lease, lags.get(lease.shard)) for lease in open_),
    )


def _shard(port: Port, lease: LeaseItem, lag: float | None) -> ShardLag:
    is_held = bool(lease.owner) and lease.beat_at is not None
    ago = max(0.0, port.now() - lease.beat_at.timestamp()) if is_held and lease.beat_at is not None else None
    return ShardLag(lease.shard, lease.owner, lease.beat_at, ago, lag)


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


async def lags_of(port: Port, table: Table, stream: str, leases: Sequence[LeaseItem]) -> dict[str, float | None]:
    """The age of the oldest change after each checkpoint, for up to 8 open shards."""
    open_ = [lease for lease in leases if not lease.is_over and not (lease.is_latest and not lease.position)][
        :MOST_LAGS
    ]
    source = port.to(DYNAMODB_STREAMS)
    try:
        iterators = await source.send_all(
            [GetShardIterator(stream, lease.shard, lease.position or None) for lease in open_]
        )
        known = {lease.shard: each for lease, each in zip(open_, iterators, strict=True) if each is not None}
        answers = await source.send_all([GetRecords(stream, each, _LOOKED_AT) for each in known.values()])
    except SingletableError:
        return {}
    router = Router(table)
    return {shard: _age(port, router, answer) for shard, answer in zip(known, answers, strict=True)}


def _age(port: Port, router: Router, answer: Records) -> float | None:
    """No checkpoint is written for the library's own items: theirs are not waited for."""
    if answer.refused:
        return None
    first = next((record for record in answer.records if not router.is_system(router.events_of(record))), None)
    if first is not None:
        return max(0.0, port.now() - first.dynamodb.approximate_creation_date_time)
    return 0.0 if len(answer.records) < _LOOKED_AT else None
