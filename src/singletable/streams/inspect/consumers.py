"""The consumers of a table's changes: their shards, leases and lag, the changes that are tried again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from singletable.errors import SingletableError
from singletable.flow import DYNAMODB_STREAMS, Port
from singletable.foundation import CursorSeal, Table, get, page
from singletable.operations import DescribeStream, Shard, TableCall
from singletable.streams.acquisition import label_of
from singletable.streams.changes import Changes, changes_of
from singletable.streams.lag import MeasuredLag, lags_of, trouble_of, unhandled_of
from singletable.streams.leases import state_of
from singletable.streams.state import ConsumerItem, LeaseItem, LeasesIn, StateEntities, TryItem, state_entities

MOST_LEASES = 50
MOST_TRIES = 25


class ConsumerName(Struct, frozen=True):
    """A consumer, and the table of its state."""

    name: str
    leases_in: LeasesIn
    is_declared: bool
    """Whether this program has its handlers: only then its dead letters can be retried."""


class ShardInfo(Struct, frozen=True):
    """A shard of the stream with its lease."""

    shard: str
    parent: str
    state: str
    """`held`, `free`, `over`; `unread` without a lease."""
    owner: str
    fence: int
    beats: int
    """The heartbeat: it stands still where the owner died."""
    position: str
    wanted_by: str
    lag_seconds: float | None
    """The age of the application's oldest change after the checkpoint, a day where it was trimmed; 0 without one; None
    if it was not measured, or the next 100 changes are all the library's own."""
    is_in_stream: bool
    trouble: str = ""
    """The loss, or the error that its lag was not measured for."""


class TryInfo(Struct, frozen=True):
    """A change that failed and is tried again."""

    shard: str
    sequence: str
    tries: int


class ConsumerInfo(Struct, frozen=True):
    """A consumer of a table's changes."""

    table: str
    consumer: ConsumerName
    kept_in: str
    """The table of its state."""
    has_run: bool
    stream: str
    began: str
    start: str
    shards: tuple[ShardInfo, ...]
    cursor: str | None
    tries: tuple[TryInfo, ...]
    tries_cursor: str | None
    lag_seconds: float | None
    """The longest of its shards."""
    handles: tuple[str, ...]
    """The changes that it handles, `contact inserted`; empty for a consumer that is not declared here."""
    note: str = ""


def consumers_of(table: Table) -> list[ConsumerName]:
    """The consumers of a table that this program has declared."""
    return [ConsumerName(made.name, leases_of(made), is_declared=True) for made in changes_of(table)]


def leases_of(changes: Changes) -> LeasesIn:
    return "same" if changes.leases is changes.table else "own"


def changes_named(table: Table, name: str) -> Changes | None:
    """The declared consumer of a name."""
    return next((made for made in changes_of(table) if made.name == name), None)


def state_at(table: Table, consumer: ConsumerName) -> StateEntities:
    """The entities of a consumer's state."""
    made = changes_named(table, consumer.name) if consumer.is_declared else None
    return made.consumer.state if made is not None else state_entities(table, consumer.leases_in)


async def inspect_consumer(
    port: Port,
    seal: CursorSeal,
    table: Table,
    consumer: ConsumerName,
    *,
    after: str | None = None,
    tries_after: str | None = None,
    with_lag: bool = True,
) -> ConsumerInfo:
    """A consumer with up to 50 leases and 25 changes that are tried again, each from a cursor on.

    Five requests: whether its table is there, the consumer, its leases, its tries, the stream's first 100 shards; a
    unit for each 4 KB. With the lag two requests more for each of up to 8 shards that are read, which count against
    the five readings a second that a shard allows. Nothing is made or written. InvalidCursor.
    """
    state = state_at(table, consumer)
    made = changes_named(table, consumer.name) if consumer.is_declared else None
    handles = () if made is None else tuple(dict.fromkeys(f"{h.type} {h.what}" for h in made.consumer.router.handlers))
    never = ConsumerInfo(
        table.name, consumer, state.table.name, False, "", "", "", (), None, (), None, None, handles, "it has never run"
    )
    if state.table is not table and not await is_there(port, state.table):
        return never
    key: Any = state.consumer.by_name(consumer.name)
    item: ConsumerItem | None = await get(port, key.consistent())
    if item is None:
        return never
    label = label_of(item.stream)
    leases = await page(port, state.lease.by_shard(consumer.name, label), MOST_LEASES, after, seal)
    tries = await page(port, state.attempt.by_sequence(consumer.name, label), MOST_TRIES, tries_after, seal)
    shards, note = await _shards(port, item.stream)
    unleased = shards if after is None and leases.cursor is None else ()
    due = unhandled_of(item, leases.items, unleased)
    lags = await lags_of(port, table, item.stream, due) if with_lag else {}
    measured = [lag.seconds for lag in lags.values() if lag.seconds is not None]
    return ConsumerInfo(
        table.name,
        consumer,
        state.table.name,
        True,
        item.stream,
        item.began_at.isoformat(),
        item.start,
        tuple(_shard_infos(shards, leases.items, lags, is_first=after is None)),
        leases.cursor,
        tuple(map(_try, tries.items)),
        tries.cursor,
        max(measured) if measured else None,
        handles,
        note,
    )


async def is_there(port: Port, table: Table) -> bool:
    """Whether a table exists. One request; nothing is made."""
    if table.name in port.ready:
        return True
    call = TableCall("DescribeTable", {"TableName": table.name}, or_none="ResourceNotFoundException")
    return await port.send(call) is not None


async def _shards(port: Port, stream: str) -> tuple[Sequence[Shard], str]:
    """The first 100 shards of a stream, and why there are none."""
    try:
        described = await port.to(DYNAMODB_STREAMS).send(DescribeStream(stream))
    except SingletableError as error:
        return (), f"the stream can't be described: {trouble_of(error)}"
    more = (
        "" if described.last_evaluated_shard_id is None else "the stream has more than 100 shards; these are the first"
    )
    return described.shards, more


def _shard_infos(
    shards: Sequence[Shard], leases: Sequence[LeaseItem], lags: Mapping[str, MeasuredLag], *, is_first: bool
) -> list[ShardInfo]:
    none = MeasuredLag()
    parents = {shard.id: shard.parent or "" for shard in shards}
    infos = [
        ShardInfo(
            lease.shard,
            parents.get(lease.shard, ""),
            state_of(lease).name.lower(),
            lease.owner,
            lease.fence,
            lease.beats,
            lease.position,
            lease.wanted_by,
            lags.get(lease.shard, none).seconds,
            lease.shard in parents,
            lags.get(lease.shard, none).trouble,
        )
        for lease in leases
    ]
    known = {lease.shard for lease in leases}
    unread = [shard for shard in shards if is_first and shard.id not in known]
    return [*infos, *(_unread(shard, lags.get(shard.id, none)) for shard in unread)]


def _unread(shard: Shard, lag: MeasuredLag) -> ShardInfo:
    return ShardInfo(shard.id, shard.parent or "", "unread", "", 0, 0, "", "", lag.seconds, True, lag.trouble)


def _try(item: TryItem) -> TryInfo:
    return TryInfo(item.shard, item.sequence, item.tries)
