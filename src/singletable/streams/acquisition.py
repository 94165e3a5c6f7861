"""Finding shards to read: the stream's shards against the leases, and a fair share of the free ones."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass, field
from typing import Any

from singletable.events import LeaseTaken
from singletable.expressions import attr
from singletable.flow import DYNAMODB_STREAMS, Observations, Port, instant
from singletable.foundation import flows
from singletable.operations import GetShardIterator, Shard
from singletable.streams import leases
from singletable.streams.consumer import Consumer, ConsumerOptions, report_gap
from singletable.streams.shard import HeldShard
from singletable.streams.shard_tree import all_shards, describe_shards, newest, readable_shards
from singletable.streams.state import ConsumerItem, LeaseItem, leases_needed

SAFE_SECONDS = 23 * 3600.0
"""A stream keeps its records for a day. The time since a shard was read is measured by the wall clocks of different
workers, which may differ by an hour. It is better to report a gap that was none than to miss one."""
MARGIN_SECONDS = 15 * 60.0
"""A consumer with `start="now"` that died before its first checkpoint begins this much earlier. A clock can't be
further ahead of the service's: requests signed by such a clock are refused."""

_FRESH_SECONDS = 10.0
"""The time for which a consumer with `start="now"` may begin at the end of a shard; later it could miss records."""


@dataclass(eq=False)
class ShardSearch:
    """One worker's search for shards."""

    port: Port
    consumer: Consumer
    options: ConsumerOptions
    begun: ConsumerItem
    owner: str
    greedy: bool
    """Takes every free shard, not only its share."""
    observations: Observations[tuple[int, int, str]]
    began_at: float
    """Seconds of the monotonic clock."""
    looked_at: float = -math.inf
    """Seconds of the monotonic clock."""
    left: list[str] = field(default_factory=list[str])
    """The shards that are not over and that this worker does not hold."""
    is_closed: bool = False
    """Whether the stream gets no more records."""

    @classmethod
    async def begin(
        cls, port: Port, consumer: Consumer, options: ConsumerOptions, stream: str, *, greedy: bool
    ) -> ShardSearch:
        began_at = port.monotonic()
        begun = await _register_consumer(port, consumer, options, stream)
        observations = Observations[tuple[int, int, str]](options.lease_seconds)
        return cls(port, consumer, options, begun, port.token(), greedy, observations, began_at)

    def look_soon(self) -> None:
        """Look again at once: a shard has ended, and its children may be read."""
        self.looked_at = -math.inf

    def is_due(self) -> bool:
        pause = self.options.poll_seconds if self.left and self.greedy else self.options.lease_seconds / 3
        return self.port.monotonic() - self.looked_at >= min(pause, 10.0)

    async def look(self, held: dict[str, HeldShard]) -> None:
        """Take shards. Each is in `held` at once.

        Leases are read before shards, because the worker may be paused between the two. A lease had its shard, so a
        shard that is not listed afterwards is gone. A lease that is made in between can't be made again.
        """
        self.looked_at = self.port.monotonic()
        every = await leases.all_leases(self.port, self.consumer.state, self.consumer.name, self.label)
        described = await describe_shards(self.port, self.begun.stream)
        shards, self.is_closed = described.shards, described.is_closed
        known = {lease.shard: lease for lease in every}
        await self._delete_ended(shards, known)
        turn = [shard for shard in readable_shards(shards, known) if shard.id not in held]
        free = [shard for shard in turn if shard.id not in known or self._is_free(known[shard.id])]
        wanted = len(turn) if self.greedy else self._share(len(turn) + len(held), known.values()) - len(held)
        there = {shard.id for shard in shards}
        before = len(held)
        for shard in free[: max(0, wanted)]:
            if (mine := await self._take(shard, known.get(shard.id), there)) is not None:
                held[shard.id] = mine
        if len(held) == before and not self.greedy and wanted > 0:
            await self._request_release(turn, known, len(turn) + before)
        waiting = {s.id for s in shards if not (s.id in known and known[s.id].is_over)}
        self.left = sorted(waiting - held.keys())

    @property
    def label(self) -> str:
        return label_of(self.begun.stream)

    def _is_free(self, lease: LeaseItem) -> bool:
        """Whether it has no owner, or a dead one."""
        return not lease.owner or self.observations.is_dead(lease.shard, leases.sign_of(lease), self.port.monotonic())

    def _share(self, shards: int, known: Iterable[LeaseItem]) -> int:
        owners = {lease.owner for lease in known if lease.owner and not lease.is_over} | {self.owner}
        return math.ceil(shards / len(owners))

    async def _take(self, shard: Shard, lease: LeaseItem | None, there: Set[str]) -> HeldShard | None:
        began = self.port.monotonic()
        state, stream = self.consumer.state, self.label
        if lease is None:
            process = self.port.events.process
            mine = make_lease(self.port, self.consumer, stream, shard.id, owner=self.owner, process=process, fence=1)
            taken = mine if await leases.make(self.port, mine) else None
        else:
            taken = await leases.take(self.port, state, lease, self.owner)
        if taken is None:
            return None
        holder = lease.process if lease is not None and lease.owner else None
        told = LeaseTaken(
            worker=self.consumer.name,
            lease=shard.id,
            fence=taken.fence,
            is_takeover=holder is not None,
            seconds=self.options.lease_seconds,
            holder=holder or "",
        )
        self.port.events.emit(told)
        if self._may_have_lost(shard, lease, there):
            await report_gap(self.port, self.consumer, shard.id, "", "trimmed")
        tries: list[Any] = []
        if taken.fence > 1:
            query: Any = state.attempt.by_sequence(self.consumer.name, stream, shard.id)
            tries = await flows.read_all(self.port, query.consistent())
        held = HeldShard(taken, self.begun.stream, renewed_at=began, tried={one.sequence: one.tries for one in tries})
        if taken.is_latest and not taken.position:
            if taken.fence == 1:
                held.latest_until = self.began_at + _FRESH_SECONDS
            held.skip_before = self.begun.began_at.timestamp() - MARGIN_SECONDS
        return held

    def _may_have_lost(self, shard: Shard, lease: LeaseItem | None, there: Set[str]) -> bool:
        """Whether a shard without a checkpoint waited for so long that its first records may be trimmed."""
        waited_since = self.begun.began_at if lease is None else lease.made_at
        if lease is None and shard.parent is not None:
            return shard.parent not in there  # its parent was closed over a day ago, and it began then
        waited = self.port.now() - waited_since.timestamp()
        return waited >= SAFE_SECONDS and (lease is None or not lease.position)

    async def _request_release(self, turn: list[Shard], known: Mapping[str, LeaseItem], shards: int) -> None:
        """Ask the worker with the most shards for one of them, where it has more than its share."""
        others = [known[s.id] for s in turn if s.id in known and known[s.id].owner]
        counted = Counter(lease.owner for lease in others)
        share = self._share(shards, known.values())
        if any(lease.wanted_by == self.owner for lease in others):
            return
        for lease in others:
            if counted[lease.owner] == max(counted.values()) > share and not lease.wanted_by:
                await leases.request_release(self.port, self.consumer.state, lease, self.owner)
                return

    async def _delete_ended(self, shards: list[Shard], known: dict[str, LeaseItem]) -> None:
        """Delete the leases of shards that the stream no longer has; report a gap for those not read to their end."""
        there = {shard.id for shard in shards}
        for lease in [lease for lease in known.values() if lease.shard not in there]:
            if (not lease.is_over and not self._is_free(lease)) or not await self._is_gone(lease):
                continue
            last = lease
            if not lease.is_over:
                taken = await leases.take(self.port, self.consumer.state, lease, self.owner)
                if taken is None:
                    continue
                await report_gap(self.port, self.consumer, taken.shard, taken.position, "trimmed")
                last = taken
            await leases.delete(self.port, self.consumer.state, last)
            del known[lease.shard]

    async def _is_gone(self, lease: LeaseItem) -> bool:
        """Asks for the shard itself, because a list of shards may be stale."""
        source = self.port.to(DYNAMODB_STREAMS)
        return await source.send(GetShardIterator(self.begun.stream, lease.shard)) is None


def label_of(stream: str) -> str:
    """The last part of a stream's ARN, which differs between all streams of a table."""
    return stream.rpartition("/stream/")[2]


def make_lease(port: Port, consumer: Consumer, stream: str, shard: str, **more: Any) -> LeaseItem:
    now = instant(port.now())
    lease: LeaseItem = consumer.state.lease(consumer=consumer.name, stream=stream, shard=shard, made_at=now, **more)
    return lease


async def _register_consumer(port: Port, consumer: Consumer, options: ConsumerOptions, stream: str) -> ConsumerItem:
    """Read the consumer's stream and the time of its start; stored the first time."""
    kind: Any = consumer.state.consumer
    key: Any = consumer.state.consumer.by_name(consumer.name)
    with leases_needed(port, consumer.state):
        known: Any = await flows.get_any(port, key.consistent())
    if known is None:
        now = instant(port.now())
        fresh = consumer.state.consumer(name=consumer.name, stream=stream, start=options.start, began_at=now)
        if options.start == "now":
            await _begin_at_latest(port, consumer, stream)
        known = fresh if await leases.make(port, fresh) else await flows.get_any(port, key.consistent())
    if known.stream != stream:
        await report_gap(port, consumer, "", "", "replaced")
        changes = attr(kind.stream).set(stream), attr(kind.start).set("horizon")
        known = await flows.update(port, key, changes)
    begun: ConsumerItem = known
    return begun


async def _begin_at_latest(port: Port, consumer: Consumer, stream: str) -> None:
    """Make the leases of a consumer with `start="now"`: the newest shards start at their end, all others are over."""
    shards = await all_shards(port, stream)
    open_ = newest(shards)
    for shard in shards:
        is_open = shard.id in open_
        lease = make_lease(port, consumer, label_of(stream), shard.id, is_latest=is_open, is_over=not is_open)
        await leases.make(port, lease)
