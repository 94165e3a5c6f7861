"""The shards that this worker reads: the records of each, and how they are read.

The records of a shard are in lanes, one for each item, with the position up to which all is done. A record is kept in
memory until it is done; then only its place is, until all before it are done. `Reader` asks for them: iterators,
throttling, gaps, and the bound on memory.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from msgspec.structs import replace

from singletable.errors import Throttled
from singletable.events import ShardOpened
from singletable.flow import DYNAMODB_STREAMS, ForkSafeLock, Kernel, Port, Tenure
from singletable.operations import GetRecords, GetShardIterator, Records, StreamRecord, encode
from singletable.streams.consumer import Consumer, ConsumerOptions, report_gap
from singletable.streams.embedded import leaves_hole
from singletable.streams.router import RecordEvents
from singletable.streams.state import LeaseItem

ItemQueue = deque["PendingRecord"]
"""The records of one item that are not done, in order."""


@dataclass(eq=False, slots=True)
class RecordPlace:
    """The place of a record in its shard."""

    sequence: str
    is_system: bool
    done: bool = False


@dataclass(eq=False)
class PendingRecord:
    """A record on its way through this worker."""

    record: StreamRecord
    events: RecordEvents
    place: RecordPlace
    size: int = 0
    """The bytes of its images, as received."""
    tries: int = 0
    wait_until: float = 0.0
    """Seconds of the clock of intervals."""
    begun_at: float | None = None
    """Since when a handler runs, by the clock of intervals."""
    error: BaseException | None = None
    """The error of its last try, until it is written down."""
    is_own: bool = False
    """It holds no memory of the answer that it came in."""

    @property
    def sequence(self) -> str:
        return self.place.sequence

    def detach_from_answer(self) -> None:
        """Copy the images: they are views that keep a whole answer of the service in memory, up to 1 MB."""
        if not self.is_own:
            images = self.record.dynamodb
            own = replace(images, new_image=images.new_image.copy(), old_image=images.old_image.copy())
            self.record, self.is_own = replace(self.record, dynamodb=own), True


@dataclass(eq=False)
class HeldShard(Tenure):
    """A shard under a lease of this worker's. All its times are of the monotonic clock, except `skip_before`."""

    lease: LeaseItem
    stream: str
    """The stream's ARN."""
    iterator: str | None = None
    latest_until: float = -math.inf
    """Until then its first iterator may point to the end of the shard."""
    is_read_out: bool = False
    """Its last record was read; the shard is closed."""
    is_wanted: bool = False
    """Another worker asked for it: release it after this round."""
    read_at: float = 0.0
    read_again_at: float = 0.0
    """Not before: the last read was throttled."""
    refusals: int = 0
    """Throttled reads in a row."""
    saved_at: float = 0.0
    empty_reads: int = 0
    """Reads in a row without records, with no handler called in between."""
    skip_before: float = 0.0
    """Seconds since 1970. Older records were there when a consumer with `start="now"` began, and are skipped."""
    is_behind: bool = False
    tried: dict[str, int] = field(default_factory=dict[str, int])
    """The failed tries of records when the shard was taken."""
    queues: dict[bytes, ItemQueue] = field(default_factory=dict[bytes, ItemQueue])
    last_allowed: str = ""
    """The highest sequence number of a record that a handler was allowed to begin with."""
    position: str = ""
    """The last sequence number before which all is done."""
    read_to: str = ""
    """The last one that was read."""
    has_news: bool = False
    """A record of the application was done since the last checkpoint."""
    size: int = 0
    """The bytes of the unfinished records."""
    _order: deque[RecordPlace] = field(default_factory=deque[RecordPlace])
    _guard: ForkSafeLock = field(default_factory=ForkSafeLock)

    def __post_init__(self) -> None:
        self.position = self.read_to = self.lease.position
        self.beats = self.lease.beats
        self.saved_at = self.renewed_at

    def skip(self, place: RecordPlace) -> None:
        """A record without a handler only moves the position."""
        place.done = True
        self._note(place)

    def add(self, record: StreamRecord, events: RecordEvents, place: RecordPlace) -> None:
        """A record that was read, for the handlers."""
        self._note(place)
        images = record.dynamodb
        size = len(memoryview(images.new_image)) + len(memoryview(images.old_image))
        entry = PendingRecord(record, events, place, size, self.tried.get(place.sequence, 0))
        self.queues.setdefault(encode(sorted(images.keys.items())), deque()).append(entry)
        self.size += size

    def _note(self, place: RecordPlace) -> None:
        self._order.append(place)
        self.read_to = place.sequence

    def forget_position(self) -> None:
        """Go on from the oldest record."""
        self.position = self.read_to = ""
        self.has_news = True

    @property
    def is_done(self) -> bool:
        """Every record of the shard is done, and it is closed."""
        return self.is_read_out and not self._order

    @property
    def backlog(self) -> int:
        return len(self._order)

    def ready_queues(self, now: float) -> Iterator[ItemQueue]:
        return (queue for queue in self.queues.values() if queue[0].wait_until <= now and queue[0].error is None)

    def next_try_at(self) -> float | None:
        """When the first of the waiting queues may be handled."""
        return min((queue[0].wait_until for queue in self.queues.values()), default=None)

    def allows(self, sequence: str, goes_on: Callable[[], bool]) -> bool:
        """Whether a handler may begin with a record. Once `goes_on` returns False, only with one before a record that
        was allowed: the position stands before the first that is left, and the next worker would handle again what
        comes after it. Queues ask from several threads: the answer and its note are one step, so that no later record
        is allowed after an earlier one was refused."""
        with self._guard.lock:
            if goes_on():
                self.last_allowed = max(self.last_allowed, sequence)
                return True
            return sequence < self.last_allowed

    def advance(self) -> None:
        """Drop what is done, and move the position up to the first record that is not done."""
        for key in [key for key, queue in self.queues.items() if queue[0].place.done]:
            queue = self.queues[key]
            while queue and queue[0].place.done:
                self.size -= queue.popleft().size
            if not queue:
                del self.queues[key]
        while self._order and self._order[0].done:
            place = self._order.popleft()
            self.position = place.sequence
            self.has_news |= not place.is_system

    def detach_from_answers(self) -> None:
        """Copy the records that stay for longer than a round, so that they don't keep the answers in memory."""
        for queue in self.queues.values():
            for entry in queue:
                entry.detach_from_answer()


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
    kernel: Kernel
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
        self.port.events.emit(ShardOpened(consumer=self.consumer.name, shard=shard.lease.shard))

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
        self.kernel.note(f"reading a shard again in {pause:.1f} s", trouble)

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
        with self.consumer.router.passing_over(self.kernel.gate.opened_at, self.port.events) as is_old:
            for record in answer.records:
                if record.sequence > shard.read_to:  # not again what an answer repeats
                    self._take_one(shard, record, is_old)

    def _take_one(self, shard: HeldShard, record: StreamRecord, is_old: Callable[[StreamRecord], bool]) -> None:
        router = self.consumer.router
        events = router.events_of(record)
        place = RecordPlace(record.sequence, router.is_system(events))
        old = not shard.is_behind and record.dynamodb.approximate_creation_date_time < shard.skip_before
        if old or not router.is_wanted(record, events) or is_old(record):
            shard.skip(place)
        else:
            shard.add(record, events, place)
