"""The worker: reads the shards it holds, hands their records to the handlers, and checkpoints.

It has one slot (`flow.worker`), which works in rounds: look for shards, read, handle the records of all items side by
side, then write tries and checkpoints. The heartbeat renews leases while handlers take their time. A shard whose lease
is lost is dropped at once. Before each handler is called the lease must have been renewed within its length, by this
worker's own clock.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from singletable.errors import PASSING, Unavailable
from singletable.events import ChangeRetried, LeaseLost, LetterAdded, WorkOverran
from singletable.flow import Heartbeat, Kernel, Port, Stop, Trouble
from singletable.foundation import flows
from singletable.holds import TableGate
from singletable.streams import leases
from singletable.streams.acquisition import ShardSearch
from singletable.streams.consumer import Consumer, ConsumerOptions
from singletable.streams.dead_letters import store_dead_letter
from singletable.streams.dispatch import handle_queue
from singletable.streams.embedded import MAINTAIN_EVERY_SECONDS, maintain
from singletable.streams.shard import HeldShard, PendingRecord, ShardReader
from singletable.streams.shard_tree import find_stream, is_replaced

_LONGEST_BACKOFF_SECONDS = 30.0
_LONGEST_SLICE_SECONDS = 0.05
_FIRST_PAUSE_SECONDS = 1.0


async def run(port: Port, consumer: Consumer, options: ConsumerOptions, stop: Stop) -> None:
    """Work until `stop` returns True; then finish the round, write checkpoints and release the leases."""
    gate = TableGate(port, consumer.table)
    kernel = Kernel(port, gate, stop, consumer.name, Trouble(port, _FIRST_PAUSE_SECONDS))
    await ConsumerWorker(port, consumer, options, kernel).live()


async def drain(port: Port, consumer: Consumer, options: ConsumerOptions) -> None:
    """Handle what is in the stream now, and what the handlers' own writes add, then return."""
    gate = TableGate(port, consumer.table)
    kernel = Kernel(port, gate, lambda: False, consumer.name, Trouble(port), outlives_passing=False)
    await ConsumerWorker(port, consumer, options, kernel, until_caught_up=True).live()


@dataclass(eq=False)
class ConsumerWorker:
    """One worker of a consumer."""

    port: Port
    consumer: Consumer
    options: ConsumerOptions
    kernel: Kernel
    until_caught_up: bool = False
    held: dict[str, HeldShard] = field(default_factory=dict[str, HeldShard])
    busy_at: float = 0.0
    is_begun: bool = False
    """Whether it knows its stream, and may look for shards."""
    has_waited: bool = False
    """Whether its table was held. What changes after the release is its own then, before it notices that."""

    async def live(self) -> None:
        heartbeat = Heartbeat(
            self.options.lease_seconds, lambda: list(self.held.values()), self._renew, _LONGEST_SLICE_SECONDS
        )
        await self.kernel.run([self._work], heartbeat)

    async def _begin(self) -> None:
        stream = await find_stream(self.port, self.consumer.table, self.consumer.router.check_view)
        await self._maintain(stream)  # first: an engine that can't be tended is refused before anything is written
        options = replace(self.options, start="horizon") if self.has_waited else self.options
        self.search = await ShardSearch.begin(self.port, self.consumer, options, stream, greedy=self.until_caught_up)
        self.reader = ShardReader(self.port, self.consumer, self.options, self.kernel, ends=self.until_caught_up)
        self.busy_at = self.port.monotonic()

    async def _maintain(self, stream: str) -> None:
        self.maintained_at = self.port.monotonic()
        await maintain(self.port, stream, self.consumer.table.name)

    # --- the slot and the heartbeat -----------------------------------------------------------------------------------
    async def _work(self) -> None:
        await self.kernel.repeat(self._round_then_sleep, self._leave)
        await self._release_all()

    async def _leave(self) -> bool:
        """The table is held: leave the shards. After the release it begins anew, by then with another stream maybe."""
        await self._release_all()
        self.is_begun, self.has_waited = False, True
        return True

    async def _round_then_sleep(self) -> bool:
        """Whether there is more to do, now or later."""
        if not self.is_begun:
            await self._begin()
            self.is_begun = True
        if await self._round():
            self.busy_at = self.port.monotonic()
        elif self.until_caught_up and self._is_caught_up():
            return False
        else:
            self._refuse_to_wait_for_others()
            await self.port.sleep(self._idle_seconds())
        return True

    def _refuse_to_wait_for_others(self) -> None:
        """A drain waits until a dead worker's leases are over, not until a live one ends."""
        waited = self.port.monotonic() - self.busy_at
        if self.until_caught_up and self.search.left and waited > 2 * self.options.lease_seconds:
            raise Unavailable(
                f"another worker of {self.consumer.name!r} reads {len(self.search.left)} of the stream's shards",
                table=self.consumer.table.name,
                operation="drain",
                hint="Stop it first, or give this one another name: Changes(table, name=...).",
            )

    async def _renew(self, shard: HeldShard) -> None:
        began = self.port.monotonic()
        shard.beats += 1
        renewed = await leases.heartbeat(self.port, self.consumer.state, shard.lease, shard.beats)
        self._note(shard, renewed, began)
        for queue in list(shard.queues.values()):
            for entry in list(queue):
                if entry.begun_at is not None and began - entry.begun_at >= self.options.lease_seconds:
                    self._tell_overrun(entry, began - entry.begun_at)

    def _tell_overrun(self, entry: PendingRecord, seconds: float) -> None:
        router, events = self.consumer.router, self.port.events
        work, key_hash = router.name_of(entry.record), router.hash_of(entry.record, events)
        names = {"worker": self.consumer.name, "work": work, "key_hash": key_hash, "process": events.process}
        events.emit(WorkOverran(**names, seconds=seconds))

    def _note(self, shard: HeldShard, lease: Any, began: float) -> None:
        is_held = bool(lease and lease.owner)  # without an owner it was released, or its shard is over
        shard.note(began, is_held)
        if not is_held:
            self.port.events.emit(LeaseLost(worker=self.consumer.name, lease=shard.lease.shard))
        if is_held:
            shard.lease, shard.is_wanted = lease, lease.wanted_by != ""

    # --- a round ------------------------------------------------------------------------------------------------------
    async def _round(self) -> bool:
        """Whether there was anything to do."""
        if self.port.monotonic() - self.maintained_at >= MAINTAIN_EVERY_SECONDS:
            await self._maintain(self.search.begun.stream)
        if self.search.is_due():
            await self._look()
            if await self._is_replaced():
                await self._release_all()
                self.is_begun = False
                return True
        read = await self.reader.read(self.held)
        handled = await self._handle()
        await self._settle()
        return read or handled

    async def _look(self) -> None:
        """Look for shards. If they can't be listed now, reading of the held ones continues."""
        try:
            await self.search.look(self.held)
        except PASSING as error:
            if self.until_caught_up:
                raise
            self.kernel.note("looking for shards again later", error)

    async def _is_replaced(self) -> bool:
        """Whether the table has another stream: it was made again. What the old one still has is handled by nobody."""
        begun = self.search.begun
        return self.search.is_closed and await is_replaced(self.port, self.consumer.table, begun.stream)

    async def _handle(self) -> bool:
        now, goes_on = self.port.monotonic(), self.kernel.goes_on
        calls: list[Callable[[], Awaitable[None] | None]] = [
            partial(handle_queue, self.port, self.consumer, queue, partial(self._may_go_on, shard), goes_on)
            for shard in self.held.values()
            if not shard.is_lost
            for queue in shard.ready_queues(now)
        ]
        if calls:
            await self.port.call_all(calls)
            for shard in self.held.values():
                shard.empty_reads = 0  # a handler may have written to any of them
        return bool(calls)

    async def _may_go_on(self, shard: HeldShard, entry: PendingRecord) -> bool:
        """Whether a record may be handled. At a stop, those before one that was allowed are."""
        if await self.kernel.gate.is_held():
            return False
        late = shard.is_due(self.port.monotonic(), self.options.lease_seconds)
        return not late and not shard.is_lost and shard.allows(entry.sequence, self.kernel.goes_on)

    # --- after it -----------------------------------------------------------------------------------------------------
    async def _settle(self) -> None:
        for shard in list(self.held.values()):
            await self._settle_tries(shard)
            shard.advance()
            shard.detach_from_answers()
            if not shard.is_lost and shard.is_done:
                await self._checkpoint(shard, is_over=True)
                self.search.look_soon()
            elif not shard.is_lost and shard.is_wanted:
                await self._release(shard)
            elif self._is_checkpoint_due(shard):
                await self._checkpoint(shard)
            if shard.is_lost or shard.is_done:
                self.held.pop(shard.lease.shard, None)

    def _is_checkpoint_due(self, shard: HeldShard) -> bool:
        return shard.has_news and self.port.monotonic() - shard.saved_at >= self.options.checkpoint_seconds

    async def _checkpoint(self, shard: HeldShard, *, is_over: bool = False) -> None:
        """Write the position; it is a heartbeat too, so none is due after it."""
        write = leases.finish if is_over else leases.heartbeat
        began = self.port.monotonic()
        shard.beats += 1
        written = await write(self.port, self.consumer.state, shard.lease, shard.beats, shard.position)
        self.kernel.trouble.ease()
        self._note(shard, written, began)
        shard.saved_at, shard.has_news = began, False

    async def _settle_tries(self, shard: HeldShard) -> None:
        """Count what failed, store dead letters, and delete the tries of what succeeded in the end."""
        if shard.is_lost:
            return
        for queue in list(shard.queues.values()):
            for entry in queue:
                if entry.error is not None:
                    await self._note_failure(shard, entry, entry.error)
                    break
                if not entry.place.done:
                    break
                if entry.tries:
                    await flows.delete(self.port, self._try_key(shard, entry))

    async def _note_failure(self, shard: HeldShard, entry: PendingRecord, error: BaseException) -> None:
        """Write it down. Until that has succeeded the error stays, and the handler is not called again."""
        tries = entry.tries + 1
        named = self.consumer.router.name_of(entry.record)
        lease = shard.lease
        events = self.port.events
        key_hash = self.consumer.router.hash_of(entry.record, events)
        names = {"consumer": self.consumer.name, "handler": named, "key_hash": key_hash}
        if tries >= self.options.tries:
            type_ = named.partition("#")[0]
            await store_dead_letter(self.port, self.consumer.state, lease, entry.record, type_, tries, error)
            entry.place.done = True
            events.emit(LetterAdded(**names, attempt=tries, error=error))
        else:
            attempt = self.consumer.state.attempt(
                consumer=lease.consumer,
                stream=lease.stream,
                shard=lease.shard,
                sequence=entry.sequence,
                tries=tries,
            )
            await flows.put(self.port, attempt)
            wait = min(_LONGEST_BACKOFF_SECONDS, self.options.backoff_seconds * 2.0 ** (tries - 1))
            wait *= 0.5 + self.port.random() / 2
            entry.wait_until = self.port.monotonic() + wait
            events.emit(ChangeRetried(**names, attempt=tries, tries=self.options.tries, retry_in=wait, error=error))
        entry.tries, entry.error = tries, None

    def _try_key(self, shard: HeldShard, entry: PendingRecord) -> Any:
        lease = shard.lease
        return self.consumer.state.attempt.by_sequence(lease.consumer, lease.stream, lease.shard, entry.sequence)

    # --- the end ------------------------------------------------------------------------------------------------------
    async def _release_all(self) -> None:
        for shard in list(self.held.values()):
            if not shard.is_lost:
                try:
                    await self._release(shard)
                except PASSING as error:
                    self.kernel.note("its lease ends by itself", error)

    async def _release(self, shard: HeldShard) -> None:
        """Write the position, and leave the shard to others. A round that an error ended has not moved it up."""
        shard.advance()
        position = shard.position if shard.has_news else None
        await leases.release(self.port, self.consumer.state, shard.lease, position)
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
        return max(0.0, min([self.options.poll_seconds, *waits]))


_EMPTY_READS_ON_AWS = 5
"""There an empty answer doesn't mean the end: the next may have records."""
