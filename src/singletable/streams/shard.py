"""One shard that this worker reads: its records in lanes, one for each item, and the position up to which all is done.

A record is kept in memory until it is done; then only its place is, until all before it are done.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from msgspec.structs import replace

from singletable.flow import ForkSafeLock, Tenure
from singletable.operations import StreamRecord, encode
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
    place: RecordPlace
    size: int = 0
    """The bytes of its images, as received."""
    tries: int = 0
    wait_until: float = 0.0
    """Seconds of the clock of intervals."""
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

    def add(self, record: StreamRecord, place: RecordPlace) -> None:
        """A record that was read, for the handlers."""
        self._note(place)
        images = record.dynamodb
        size = len(memoryview(images.new_image)) + len(memoryview(images.old_image))
        entry = PendingRecord(record, place, size, self.tried.get(place.sequence, 0))
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
