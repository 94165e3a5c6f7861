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

from singletable.errors import PASSING, SingletableError, Unavailable
from singletable.expressions import attr
from singletable.flow.port import Port
from singletable.foundation import flows
from singletable.streams import leases
from singletable.streams.acquisition import Search
from singletable.streams.consumer import Consumer, Pace
from singletable.streams.dead_letters import set_aside
from singletable.streams.dispatch import handle_lane
from singletable.streams.embedded import TEND_EVERY_SECONDS, tend
from singletable.streams.shard import Entry, HeldShard
from singletable.streams.shard_reader import Reader
from singletable.streams.shard_tree import find_stream
from singletable.wire.shells import refuse_async

_log = logging.getLogger("singletable.streams")
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
        refuse_async(self.port, self.consumer.async_functions())
        if await self._outliving(self.begin):
            both: list[Callable[[], Awaitable[None] | None]] = [self.work, self.show_life]
            await self.port.call_all(both)

    async def begin(self) -> bool:
        stream = await find_stream(self.port, self.consumer.table)
        await self._tend(stream)  # first: an engine that can't be tended is refused before anything is written
        self.search = await Search.begin(self.port, self.consumer, self.pace, stream, greedy=self.until_caught_up)
        self.reader = Reader(self.port, self.consumer, self.pace, ends=self.until_caught_up)
        self.busy_at = self.port.monotonic()
        return True

    async def _tend(self, stream: str) -> None:
        self.tended_at = self.port.monotonic()
        await tend(self.port, stream, self.consumer.table.name)

    async def _outliving(self, flow: Callable[[], Awaitable[bool]]) -> bool:
        """Do it again and again until it is done, over all that passes; False where the worker is to stop. A drain
        waits for nothing: its caller does."""
        while not (self.stop() or self.is_broken):
            try:
                return await flow()
            except PASSING as error:
                if self.until_caught_up:
                    raise
                self._log("going on in %g s", error, _PATIENCE_SECONDS)
            await self.port.sleep(_PATIENCE_SECONDS)
        return False

    def _log(self, then: str, error: SingletableError, *values: object) -> None:
        _log.warning(f"%s: %s: %s; {then}", self.consumer.name, type(error).__name__, error, *values)

    # --- the two flows ------------------------------------------------------------------------------------------------
    async def work(self) -> None:
        try:
            while await self._outliving(self._round_and_rest):
                pass
            await self._let_go_of_all()
        finally:
            self.is_over = True

    async def _round_and_rest(self) -> bool:
        """Whether there is more to do, now or later."""
        if await self._round():
            self.busy_at = self.port.monotonic()
        elif self.until_caught_up and self._is_caught_up():
            return False
        else:
            self._refuse_to_wait_for_others()
            await self.port.sleep(self._idle_seconds())
        return True

    def _refuse_to_wait_for_others(self) -> None:
        """A drain waits until a dead worker's leases are over, not until a living one ends."""
        waited = self.port.monotonic() - self.busy_at
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
                if self.port.monotonic() - shard.renewed_at >= self.pace.lease_seconds / 3 and not self.is_over:
                    await self._renew(shard)

    async def _renew(self, shard: HeldShard) -> None:
        began = self.port.monotonic()
        try:
            shard.beats += 1
            renewed = await leases.beat(self.port, self.consumer.books, shard.lease, shard.beats)
        except PASSING as error:
            self._log("a lease could not be renewed", error)
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
        if self.port.monotonic() - self.tended_at >= TEND_EVERY_SECONDS:
            await self._tend(self.search.begun.stream)
        if self.search.is_due():
            await self._look()
        read = await self.reader.read(self.held)
        handled = await self._handle()
        await self._settle()
        return read or handled

    async def _look(self) -> None:
        """Where shards can't be listed now, those that are held are read on."""
        try:
            await self.search.look(self.held)
        except PASSING as error:
            if self.until_caught_up:
                raise
            self._log("looking for shards again later", error)

    async def _handle(self) -> bool:
        now = self.port.monotonic()
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
        late = self.port.monotonic() - shard.renewed_at >= self.pace.lease_seconds
        return not (late or shard.is_lost or self.stop())

    # --- after it -----------------------------------------------------------------------------------------------------
    async def _settle(self) -> None:
        for shard in list(self.held.values()):
            await self._settle_tries(shard)
            shard.advance()
            shard.leave_answers()
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
        return shard.has_news and self.port.monotonic() - shard.saved_at >= self.pace.checkpoint_seconds

    async def _checkpoint(self, shard: HeldShard, *, is_over: bool = False) -> None:
        kind: Any = self.consumer.books.lease
        began = self.port.monotonic()
        shard.beats += 1  # it shows life too: no heartbeat is due after it
        changes = [attr(kind.position).set(shard.position), attr(kind.beats).set(shard.beats)]
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
                    await self._note_failure(shard, entry, entry.error)
                    break
                if not entry.place.done:
                    break
                if entry.tries:
                    await flows.delete(self.port, self._try_key(shard, entry))

    async def _note_failure(self, shard: HeldShard, entry: Entry, error: BaseException) -> None:
        """Write it down. Until that has succeeded the error stays, and the handler is not called again."""
        tries = entry.tries + 1
        named = self.consumer.router.name_of(entry.record)
        lease = shard.lease
        _log.warning("%s: %s failed, try %d of %d", self.consumer.name, named, tries, self.pace.tries, exc_info=error)
        if tries >= self.pace.tries:
            type_ = named.partition("#")[0]
            await set_aside(self.port, self.consumer.books, lease, entry.record, type_, tries, error)
            entry.place.done = True
        else:
            attempt = self.consumer.books.attempt(
                consumer=lease.consumer,
                stream=lease.stream,
                shard=lease.shard,
                sequence=entry.sequence,
                tries=tries,
            )
            await flows.put(self.port, attempt)
            wait = min(_LONGEST_BACKOFF_SECONDS, self.pace.backoff_seconds * 2.0 ** (tries - 1))
            entry.wait_until = self.port.monotonic() + wait * (0.5 + self.port.random() / 2)
        entry.tries, entry.error = tries, None

    def _try_key(self, shard: HeldShard, entry: Entry) -> Any:
        lease = shard.lease
        return self.consumer.books.attempt.by_sequence(lease.consumer, lease.stream, lease.shard, entry.sequence)

    # --- the end ------------------------------------------------------------------------------------------------------
    async def _let_go_of_all(self) -> None:
        for shard in list(self.held.values()):
            if not shard.is_lost:
                try:
                    await self._let_go(shard)
                except PASSING as error:
                    self._log("its lease ends by itself", error)

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
        now = self.port.monotonic()
        waits = [at - now for shard in self.held.values() if (at := shard.next_try_at()) is not None]
        return max(0.0, min([self.pace.poll_seconds, *waits]))


_EMPTY_READS_ON_AWS = 5
"""There an empty answer doesn't mean the end: the next may have records."""
