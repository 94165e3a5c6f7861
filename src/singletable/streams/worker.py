"""The worker: reads the shards it holds, hands their records to the handlers, and says how far it is. Two flows.

One works in rounds: look for shards, read, handle every lane's records side by side, then write down tries and
checkpoints. The other shows life while handlers take their time. A shard whose lease is lost is dropped at once; before
each handler is called the lease must have been renewed within its length, by this worker's own clock.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from singletable.errors import Unavailable
from singletable.expressions import attr
from singletable.operations.stream import GetRecords, GetShardIterator, Records, StreamRecord
from singletable.records import flows
from singletable.streams import leases
from singletable.streams.acquiring import Search
from singletable.streams.aside import set_aside
from singletable.streams.consumer import Consumer, Pace
from singletable.streams.embedded import TEND_EVERY_SECONDS, leaves_hole, tend
from singletable.streams.gaps import tell_of_gap
from singletable.streams.lanes import handle_lane
from singletable.streams.lineage import find_stream
from singletable.streams.shards import Entry, HeldShard
from singletable.wire import DYNAMODB_STREAMS
from singletable.wire.port import Port
from singletable.wire.shells import refuse_async

_log = logging.getLogger("singletable.streams")
_MOST_WAITING = 4000
"""Records of one shard that are held in memory; past it the shard is not read on."""
_LONGEST_BACKOFF_SECONDS = 30.0
_FIRST_SLICE_SECONDS, _LONGEST_SLICE_SECONDS = 0.001, 0.05
_PATIENCE_SECONDS = 1.0


async def run(port: Port, consumer: Consumer, pace: Pace, stop: Callable[[], bool]) -> None:
    """Work until `stop` says so: the round that runs is finished, checkpoints are written, leases let go."""
    worker = Worker(port, consumer, pace, stop)
    await worker.live()


async def drain(port: Port, consumer: Consumer, pace: Pace) -> None:
    """Handle what is in the stream now, and what the handlers' own writes add, then return."""
    worker = Worker(port, consumer, pace, lambda: False, until_caught_up=True)
    await worker.live()


@dataclass(eq=False)
class Worker:
    """One worker of a consumer."""

    port: Port
    consumer: Consumer
    pace: Pace
    stop: Callable[[], bool]
    until_caught_up: bool = False
    held: dict[str, HeldShard] = field(default_factory=dict[str, HeldShard])
    is_over: bool = False
    is_broken: bool = False
    busy_at: float = 0.0

    async def live(self) -> None:
        await self.begin()
        both: list[Callable[[], Awaitable[None] | None]] = [self.work, self.show_life]
        await self.port.call_all(both)

    async def begin(self) -> None:
        refuse_async(self.port, self.consumer.async_functions())
        stream = await find_stream(self.port, self.consumer.table)
        await self._tend(stream)  # first: an engine that can't be tended is refused before anything is written
        self.search = await Search.begin(self.port, self.consumer, self.pace, stream, greedy=self.until_caught_up)
        self.source = self.port.to(DYNAMODB_STREAMS)
        self.busy_at = self.port.now()

    async def _tend(self, stream: str) -> None:
        self.tended_at = self.port.now()
        await tend(self.port, stream, self.consumer.table.name)

    # --- the two flows ------------------------------------------------------------------------------------------------
    async def work(self) -> None:
        try:
            while not (self.stop() or self.is_broken):
                try:
                    busy = await self._round()
                except Unavailable as error:
                    if self.until_caught_up:
                        raise
                    _log.warning("%s: %s; going on in %g s", self.consumer.name, error, _PATIENCE_SECONDS)
                    await self.port.sleep(_PATIENCE_SECONDS)
                    continue
                if busy:
                    self.busy_at = self.port.now()
                elif self.until_caught_up and self._is_caught_up():
                    break
                else:
                    self._refuse_to_wait_for_others()
                    await self.port.sleep(self._idle_seconds())
            await self._let_go_of_all()
        finally:
            self.is_over = True

    def _refuse_to_wait_for_others(self) -> None:
        """A drain waits until a dead worker's leases are over, not until a living one ends."""
        waited = self.port.now() - self.busy_at
        if self.until_caught_up and self.search.left and waited > 2 * self.pace.lease_seconds:
            raise Unavailable(
                f"another worker of {self.consumer.name!r} reads {len(self.search.left)} of the stream's shards",
                table=self.consumer.table.name,
                operation="drain",
                hint="Stop it first, or give this one a name of its own: Changes(table, name=...).",
            )

    async def show_life(self) -> None:
        """Renew the leases in time, in short slices at first: a drain ends soon."""
        try:
            await self._renew_in_time()
        except BaseException:
            self.is_broken = True
            raise

    async def _renew_in_time(self) -> None:
        slice_seconds = _FIRST_SLICE_SECONDS
        while not self.is_over:
            await self.port.sleep(slice_seconds)
            slice_seconds = min(slice_seconds * 2, _LONGEST_SLICE_SECONDS, self.pace.lease_seconds / 10)
            for shard in list(self.held.values()):
                if self.port.now() - shard.renewed_at >= self.pace.lease_seconds / 3 and not self.is_over:
                    await self._renew(shard)

    async def _renew(self, shard: HeldShard) -> None:
        began = self.port.now()
        try:
            shard.beats += 1
            renewed = await leases.beat(self.port, self.consumer.books, shard.lease, shard.beats)
        except Unavailable as error:
            _log.warning("%s: a lease could not be renewed: %s", self.consumer.name, error)
            return
        self._note(shard, renewed, began)

    def _note(self, shard: HeldShard, lease: Any, began: float) -> None:
        if lease is None:
            shard.is_lost = True
            return
        shard.lease, shard.renewed_at = lease, began
        shard.is_wanted = lease.wanted_by != ""

    # --- a round ------------------------------------------------------------------------------------------------------
    async def _round(self) -> bool:
        """Whether there was anything to do."""
        if self.port.now() - self.tended_at >= TEND_EVERY_SECONDS:
            await self._tend(self.search.begun.stream)
        if self.search.is_due():
            for shard in await self.search.look(self.held):
                self.held[shard.lease.shard] = shard
        read = await self._read()
        handled = await self._handle()
        await self._settle()
        return read or handled

    async def _read(self) -> bool:
        now = self.port.now()
        due = [s for s in self.held.values() if self._is_to_be_read(s, now)]
        for shard in due:
            if shard.iterator is None:
                await self._open(shard)
        due = [s for s in due if s.iterator is not None]
        if not due:
            return False
        calls = [GetRecords(shard.stream, shard.iterator or "") for shard in due]
        answers = await self.source.send_all(calls)
        for shard, answer in zip(due, answers, strict=True):
            await self._take_in(shard, answer, now)
        return any(answer.records for answer in answers)

    def _is_to_be_read(self, shard: HeldShard, now: float) -> bool:
        if shard.is_lost or shard.is_read_out or shard.is_wanted or shard.backlog >= _MOST_WAITING:
            return False
        return not shard.empty_reads or now - shard.read_at >= self.pace.poll_seconds or self.until_caught_up

    async def _open(self, shard: HeldShard) -> None:
        lease, after = shard.lease, shard.read_to
        latest = lease.is_latest and lease.fence == 1 and not after
        shard.iterator = await self.source.send(
            GetShardIterator(shard.stream, lease.shard, after or None, latest=latest)
        )
        if shard.iterator is None:
            await self._over_the_gap(shard)

    async def _over_the_gap(self, shard: HeldShard) -> None:
        """Tell of what is gone, then go on from the oldest record there is."""
        await tell_of_gap(self.port, self.consumer, shard.lease.shard, shard.position, "trimmed")
        shard.forget_position()
        lease = shard.lease
        shard.iterator = await self.source.send(GetShardIterator(shard.stream, lease.shard))
        if shard.iterator is None:
            shard.is_read_out = True

    async def _take_in(self, shard: HeldShard, answer: Records, now: float) -> None:
        shard.read_at = now
        if answer.refused:
            shard.iterator = None
            if answer.refused == "trimmed":
                await self._over_the_gap(shard)
            return
        shard.iterator = answer.next_shard_iterator
        shard.is_read_out = shard.iterator is None
        shard.empty_reads = 0 if answer.records else shard.empty_reads + 1
        if answer.records and leaves_hole(shard.stream, shard.read_to, answer.records[0].sequence):
            await tell_of_gap(self.port, self.consumer, shard.lease.shard, shard.read_to, "trimmed")
        for record in answer.records:
            if record.sequence > shard.read_to:  # not again what an answer repeats
                shard.add(self._entry(shard, record))

    def _entry(self, shard: HeldShard, record: StreamRecord) -> Entry:
        router = self.consumer.router
        old = record.dynamodb.approximate_creation_date_time < shard.skip_before
        return Entry(record, record.sequence, router.is_system(record), done=old or not router.is_wanted(record))

    async def _handle(self) -> bool:
        now = self.port.now()
        calls: list[Callable[[], Awaitable[None] | None]] = [
            partial(handle_lane, self.port, self.consumer.router, lane, partial(self._may_go_on, shard))
            for shard in self.held.values()
            if not shard.is_lost
            for lane in shard.ready_lanes(now)
        ]
        if calls:
            await self.port.call_all(calls)
            for shard in self.held.values():
                shard.empty_reads = 0  # a handler may have written to any of them
        return bool(calls)

    def _may_go_on(self, shard: HeldShard) -> bool:
        late = self.port.now() - shard.renewed_at >= self.pace.lease_seconds
        return not (late or shard.is_lost or self.stop())

    # --- after it -----------------------------------------------------------------------------------------------------
    async def _settle(self) -> None:
        for shard in list(self.held.values()):
            await self._settle_tries(shard)
            shard.advance()
            if not shard.is_lost and shard.is_done:
                await self._checkpoint(shard, is_over=True)
                self.search.hurry()
            elif not shard.is_lost and shard.is_wanted:
                await self._let_go(shard)
            elif self._is_checkpoint_due(shard):
                await self._checkpoint(shard)
            if shard.is_lost or shard.is_done:
                self.held.pop(shard.lease.shard, None)

    def _is_checkpoint_due(self, shard: HeldShard) -> bool:
        return shard.has_news and self.port.now() - shard.saved_at >= self.pace.checkpoint_seconds

    async def _checkpoint(self, shard: HeldShard, *, is_over: bool = False) -> None:
        kind: Any = self.consumer.books.lease
        began = self.port.now()
        changes = [attr(kind.position).set(shard.position)]
        if is_over:
            changes += [attr(kind.is_over).set(True), attr(kind.owner).set("")]
        written = await leases.write(self.port, self.consumer.books, shard.lease, *changes)
        self._note(shard, written, began)
        shard.saved_at, shard.has_news = began, False

    async def _settle_tries(self, shard: HeldShard) -> None:
        """Count what failed, set aside what failed too often, and forget the tries of what went well in the end."""
        if shard.is_lost:
            return
        for lane in list(shard.lanes.values()):
            for entry in lane:
                if entry.error is not None:
                    await self._note_failure(shard, entry)
                    break
                if not entry.done:
                    break
                if entry.tries:
                    await flows.delete(self.port, self._try_key(shard, entry))

    async def _note_failure(self, shard: HeldShard, entry: Entry) -> None:
        error, entry.error = entry.error, None
        assert error is not None
        entry.tries += 1
        named = self.consumer.router.name_of(entry.record)
        _log.warning(
            "%s: %s failed, try %d of %d", self.consumer.name, named, entry.tries, self.pace.tries, exc_info=error
        )
        lease = shard.lease
        if entry.tries >= self.pace.tries:
            type_ = named.partition("#")[0]
            await set_aside(self.port, self.consumer.books, lease, entry.record, type_, entry.tries, error)
            entry.done = True
            return
        attempt = self.consumer.books.attempt(
            consumer=lease.consumer,
            stream=lease.stream,
            shard=lease.shard,
            sequence=entry.sequence,
            tries=entry.tries,
        )
        await flows.put(self.port, attempt)
        wait = min(_LONGEST_BACKOFF_SECONDS, self.pace.backoff_seconds * 2.0 ** (entry.tries - 1))
        entry.wait_until = self.port.now() + wait * (0.5 + self.port.random() / 2)

    def _try_key(self, shard: HeldShard, entry: Entry) -> Any:
        lease = shard.lease
        return self.consumer.books.attempt.by_sequence(lease.consumer, lease.stream, lease.shard, entry.sequence)

    # --- the end ------------------------------------------------------------------------------------------------------
    async def _let_go_of_all(self) -> None:
        for shard in list(self.held.values()):
            if not shard.is_lost:
                await self._let_go(shard)

    async def _let_go(self, shard: HeldShard) -> None:
        """Say how far it is, and leave it to others."""
        kind: Any = self.consumer.books.lease
        changes = [attr(kind.owner).set(""), attr(kind.wanted_by).set("")]
        if shard.has_news:
            changes.append(attr(kind.position).set(shard.position))
        await leases.write(self.port, self.consumer.books, shard.lease, *changes)
        shard.is_lost = True
        self.held.pop(shard.lease.shard, None)

    def _is_caught_up(self) -> bool:
        needed = 1 if self.port.traits.creates_tables else _EMPTY_READS_ON_AWS
        return not self.search.left and all(
            not shard.backlog and shard.empty_reads >= needed for shard in self.held.values()
        )

    def _idle_seconds(self) -> float:
        now = self.port.now()
        waits = [at - now for shard in self.held.values() if (at := shard.next_try_at()) is not None]
        return max(0.0, min([self.pace.poll_seconds, *waits]))


_EMPTY_READS_ON_AWS = 5
"""There an empty answer doesn't mean the end: the next may have records."""
