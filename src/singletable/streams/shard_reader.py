"""Reading the shards that are held: iterators, throttling, gaps, and the bound on memory."""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from singletable.errors import Throttled
from singletable.flow import DYNAMODB_STREAMS, Port
from singletable.operations import GetRecords, GetShardIterator, Records, StreamRecord
from singletable.streams.consumer import Consumer, ConsumerOptions
from singletable.streams.embedded import leaves_hole
from singletable.streams.gaps import report_gap
from singletable.streams.shard import HeldShard, RecordPlace

_log = logging.getLogger("singletable.streams")
_MOST_WAITING = 4000
"""Records of one shard that are kept in memory; at this number the shard is not read."""
_ANSWER_BYTES = 2 * 1024 * 1024
"""The most bytes of a GetRecords answer: it ends at 1 MB of items, which are larger as JSON."""
_FIRST_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS = 0.5, 8.0
"""Before a throttled shard is read again."""
_MOST_REFUSALS = 10
"""The refusals in a row that a drain accepts for one shard."""


@dataclass(eq=False)
class ShardReader:
    """Reads one worker's shards. All its times are of the monotonic clock."""

    port: Port
    consumer: Consumer
    options: ConsumerOptions
    ends: bool
    """True for a drain: it reads without pauses, and gives up after many refusals."""
    source: Port = field(init=False)

    def __post_init__(self) -> None:
        self.source = self.port.to(DYNAMODB_STREAMS)

    async def read(self, held: Mapping[str, HeldShard]) -> bool:
        """Read the shards that are due, the longest unread first, while there is memory; True if records came."""
        now, share = self.port.monotonic(), self.options.buffer_bytes / max(1, len(held))
        due = sorted((s for s in held.values() if self._is_to_be_read(s, now, share)), key=lambda shard: shard.read_at)
        room = self.options.buffer_bytes - sum(shard.size for shard in held.values())
        due = due[: max(1, room // _ANSWER_BYTES)]
        for shard in due:
            if shard.iterator is None:
                await self._open(shard, now)
        due = [s for s in due if s.iterator is not None]
        if not due:
            return False
        calls = [GetRecords(shard.stream, shard.iterator or "") for shard in due]
        answers = await self.source.send_all(calls)
        for shard, answer in zip(due, answers, strict=True):
            await self._take_in(shard, answer, now)
        return any(answer.records for answer in answers)

    def _is_to_be_read(self, shard: HeldShard, now: float, share: float) -> bool:
        if shard.is_lost or shard.is_read_out or shard.is_wanted or now < shard.read_again_at:
            return False
        if shard.backlog >= _MOST_WAITING or shard.size >= share:
            return False
        return not shard.empty_reads or now - shard.read_at >= self.options.poll_seconds or self.ends

    async def _open(self, shard: HeldShard, now: float) -> None:
        """Get an iterator after what was read. Where that is throttled, the other shards are read."""
        try:
            shard.iterator = await self._iterator(shard)
        except Throttled as error:
            self._pause(shard, now, error)
            return
        if shard.iterator is None:
            await self._report_and_skip(shard)

    async def _iterator(self, shard: HeldShard) -> str | None:
        after, until = shard.read_to or None, shard.latest_until
        shard.is_behind = after is None and self.port.monotonic() < until
        shard.latest_until = -math.inf  # once: another one would miss what comes in between
        iterator = await self.source.send(
            GetShardIterator(shard.stream, shard.lease.shard, after, latest=shard.is_behind)
        )
        if shard.is_behind and self.port.monotonic() >= until:
            return await self._iterator(shard)
        return iterator

    def _pause(self, shard: HeldShard, now: float, error: Throttled | None = None) -> None:
        """Pause a shard, twice as long each time; a drain gives up."""
        shard.refusals += 1
        pause = min(_LONGEST_PAUSE_SECONDS, _FIRST_PAUSE_SECONDS * 2.0 ** (shard.refusals - 1))
        shard.read_again_at = now + pause * (0.5 + self.port.random() / 2)
        trouble = error or Throttled("a shard is read more often than the service allows", table=shard.stream)
        if self.ends and shard.refusals >= _MOST_REFUSALS:
            raise trouble
        _log.warning("%s: %s; reading it again in %.1f s", self.consumer.name, trouble, pause)

    async def _report_and_skip(self, shard: HeldShard) -> None:
        """Report what is lost, then go on from the oldest record."""
        await report_gap(self.port, self.consumer, shard.lease.shard, shard.position, "trimmed")
        shard.forget_position()
        lease = shard.lease
        shard.iterator = await self.source.send(GetShardIterator(shard.stream, lease.shard))
        if shard.iterator is None:
            shard.is_read_out = True

    async def _take_in(self, shard: HeldShard, answer: Records, now: float) -> None:
        shard.read_at = now
        if answer.refused == "throttled":
            self._pause(shard, now)
            return
        shard.refusals = 0
        if answer.refused:
            shard.iterator = None
            if answer.refused == "trimmed":
                await self._report_and_skip(shard)
            return
        if answer.records and leaves_hole(shard.stream, shard.read_to, answer.records[0].sequence):
            await report_gap(self.port, self.consumer, shard.lease.shard, shard.read_to, "trimmed")
        # Only now: where the gap could not be reported, the same records are read again.
        shard.iterator = answer.next_shard_iterator
        shard.is_read_out = shard.iterator is None
        shard.empty_reads = 0 if answer.records else shard.empty_reads + 1
        for record in answer.records:
            if record.sequence > shard.read_to:  # not again what an answer repeats
                self._take_one(shard, record)

    def _take_one(self, shard: HeldShard, record: StreamRecord) -> None:
        router = self.consumer.router
        place = RecordPlace(record.sequence, router.is_system(record))
        old = not shard.is_behind and record.dynamodb.approximate_creation_date_time < shard.skip_before
        if old or not router.is_wanted(record):
            shard.skip(place)
        else:
            shard.add(record, place)
