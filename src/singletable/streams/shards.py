"""One shard that this worker reads: its records in lanes, one for each item, and how far all is done."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field

from singletable.operations.answers import encode
from singletable.operations.stream import StreamRecord
from singletable.streams.books import LeaseItem

Lane = deque["Entry"]
"""The records of one item that are not done, in order."""


@dataclass(eq=False)
class Entry:
    """A record on its way through this worker."""

    record: StreamRecord
    sequence: str
    is_system: bool
    done: bool = False
    tries: int = 0
    wait_until: float = 0.0
    error: Exception | None = None
    """What its last try ended with."""


@dataclass(eq=False)
class HeldShard:
    """A shard under a lease of this worker's."""

    lease: LeaseItem
    renewed_at: float
    """When this worker last began a write of the lease that succeeded, by its own clock."""
    stream: str
    """The stream's ARN."""
    iterator: str | None = None
    is_read_out: bool = False
    """Its last record was read; the shard is closed."""
    is_lost: bool = False
    is_wanted: bool = False
    """Another worker asked for it: let go of it after this round."""
    read_at: float = 0.0
    saved_at: float = 0.0
    empty_reads: int = 0
    """Readings in a row that found nothing, with no handler called in between."""
    skip_before: float = 0.0
    """Records from before, in seconds since 1970, were there when the consumer began with what comes."""
    tried: dict[str, int] = field(default_factory=dict[str, int])
    """How often records had failed when the shard was taken."""
    lanes: dict[bytes, Lane] = field(default_factory=dict[bytes, Lane])
    position: str = ""
    """The last sequence number before which all is done."""
    read_to: str = ""
    """The last one that was read."""
    beats: int = 0
    has_news: bool = False
    """Something of the application's was done since the last checkpoint."""
    _order: deque[Entry] = field(default_factory=deque[Entry])

    def __post_init__(self) -> None:
        self.position = self.read_to = self.lease.position
        self.beats = self.lease.beats
        self.saved_at = self.renewed_at

    def add(self, entry: Entry) -> None:
        """A record that was read. One that is done already only moves the position."""
        self._order.append(entry)
        self.read_to = entry.sequence
        if not entry.done:
            entry.tries = self.tried.get(entry.sequence, 0)
            self.lanes.setdefault(encode(sorted(entry.record.dynamodb.keys.items())), deque()).append(entry)

    def forget_position(self) -> None:
        """Go on from the oldest record that there is."""
        self.position = self.read_to = ""
        self.has_news = True

    @property
    def is_done(self) -> bool:
        """Everything of the shard is done, and there will be no more."""
        return self.is_read_out and not self._order

    @property
    def backlog(self) -> int:
        return len(self._order)

    def ready_lanes(self, now: float) -> Iterator[Lane]:
        return (lane for lane in self.lanes.values() if lane[0].wait_until <= now)

    def next_try_at(self) -> float | None:
        """When the first of the waiting lanes may go on."""
        return min((lane[0].wait_until for lane in self.lanes.values()), default=None)

    def advance(self) -> None:
        """Drop what is done, and move the position up to the first record that is not."""
        for key in [key for key, lane in self.lanes.items() if lane[0].done]:
            lane = self.lanes[key]
            while lane and lane[0].done:
                lane.popleft()
            if not lane:
                del self.lanes[key]
        while self._order and self._order[0].done:
            entry = self._order.popleft()
            self.position = entry.sequence
            self.has_news |= not entry.is_system
