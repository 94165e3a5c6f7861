"""Reading a stream's records as they are: every shard, each after its parent, without a lease. Nothing is written.

A reader that ends says where it was (`positions`), and the next one goes on there. Where records may be missing in
between, it says so.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from msgspec import Struct

from singletable.flow import DYNAMODB_STREAMS
from singletable.flow.port import Port
from singletable.foundation import Table
from singletable.operations.stream import GetRecords, GetShardIterator, Records, StreamRecord
from singletable.streams.acquisition import MARGIN_SECONDS, SAFE_SECONDS
from singletable.streams.consumer import Start
from singletable.streams.embedded import MAINTAIN_EVERY_SECONDS, leaves_hole, maintain
from singletable.streams.shard_tree import all_shards, find_stream, newest

_LOOK_EVERY_SECONDS = 10.0
_EMPTY_READS_ON_AWS = 5
"""There an empty answer doesn't mean the end: the next may have records."""
_COARSEST_TIME_SECONDS = 1.0
"""Of a record's time, which some engines round."""


class Position(Struct, frozen=True):
    """How far a shard was read."""

    sequence: str
    """Of the last record; "" where none was read."""
    read_at: float
    """When it was read last, in seconds since 1970."""
    is_over: bool = False
    """It is closed, and was read to its end."""


@dataclass(frozen=True)
class TailedRecord:
    """A record, and the shard that it is from."""

    shard: str
    record: StreamRecord


@dataclass(frozen=True)
class TailedGap:
    """Changes that were trimmed before they were read, or that came while a shard could not be read."""

    shard: str
    """Empty where all of a stream was replaced by another one."""
    after: str
    """The sequence number of the last change that was read there; "" where none was."""
    at: float
    """When it was found, in seconds since 1970."""


@dataclass(eq=False)
class _Place:
    """The position in a shard."""

    iterator: str | None
    """None where it must be requested."""
    last: str = ""
    """The sequence number of the last record that was read."""
    is_latest: bool = False
    """It began at the end of the shard, and nothing was read since."""
    skip_before: float = 0.0
    """Records from before, in seconds since 1970, were there when it began."""
    is_over: bool = False
    read_at: float = 0.0
    """When it was last read, in seconds since 1970."""
    complete_at: float = -math.inf
    """All records from before, in seconds since 1970, were read."""
    empty_reads: int = 0


@dataclass(eq=False)
class RecordTail:
    """A table's records from now on, from the oldest that the stream has, or from where another reader was."""

    port: Port
    table: Table
    start: Start
    stream: str = ""
    """The stream that the positions are of; "" where there are none."""
    known: Mapping[str, Position] = field(default_factory=dict[str, Position])
    """Where to go on, by the shard's id."""
    looked_at: float = -math.inf
    """By the clock of intervals, as is the next."""
    maintained_at: float = -math.inf
    began_at: float = 0.0
    """In seconds since 1970."""
    complete_at: float = -math.inf
    """Every record from before this time, in seconds since 1970, has been returned."""
    _places: dict[str, _Place] = field(default_factory=dict[str, _Place])
    """Of each shard that was begun."""
    _found: list[TailedRecord | TailedGap] = field(default_factory=list["TailedRecord | TailedGap"])
    """What was read and not given yet: a request that fails behind it loses nothing."""
    _is_begun: bool = False

    def __post_init__(self) -> None:
        self.source = self.port.to(DYNAMODB_STREAMS)

    async def read(self) -> list[TailedRecord | TailedGap]:
        """What has come since the last reading, and gaps where they are; nothing where nothing has.

        A request for each open shard. Where it raises, the next reading goes on behind what the last one gave.
        """
        if not self._is_begun or self.port.monotonic() - self.looked_at >= _LOOK_EVERY_SECONDS:
            await self._look()
        open_ = [(id, place) for id, place in self._places.items() if not place.is_over]
        for id, place in open_:
            if place.iterator is None:
                await self._open(id, place)
        calls = [(id, place, place.iterator) for id, place in open_ if place.iterator is not None]
        began = self.port.now()
        answers = await self.source.send_all([GetRecords(self.stream, iterator) for _, _, iterator in calls])
        for (id, place, _), answer in zip(calls, answers, strict=True):
            self._take_in(id, place, answer, began)
        self._note_complete()
        found, self._found = self._found, []
        return found

    def positions(self) -> dict[str, Position]:
        """Where the next reader goes on: after everything that `read` has returned."""
        return {id: Position(place.last, place.read_at, place.is_over) for id, place in self._places.items()}

    def _note_complete(self) -> None:
        """Complete is what all shards are. A shard that has just ended has children that aren't known yet."""
        open_ = [place.complete_at for place in self._places.values() if not place.is_over]
        if open_ and self.looked_at != -math.inf:
            self.complete_at = max(self.complete_at, min(open_))

    def _take_in(self, id: str, place: _Place, answer: Records, began: float) -> None:
        if answer.refused == "throttled":
            return
        if answer.refused:
            place.iterator = None
            if answer.refused == "trimmed":
                self._miss(id, place)
            return
        if answer.records and leaves_hole(self.stream, place.last, answer.records[0].sequence):
            self._miss(id, place)
        for record in answer.records:
            if record.sequence > place.last:
                if record.dynamodb.approximate_creation_date_time >= place.skip_before:
                    self._found.append(TailedRecord(id, record))
                place.last, place.is_latest = record.sequence, False
        self._note_read(place, answer, began)
        place.iterator = answer.next_shard_iterator
        if place.iterator is None:
            place.is_over, self.looked_at = True, -math.inf  # its children's turn has come

    def _note_read(self, place: _Place, answer: Records, began: float) -> None:
        place.read_at = began
        if answer.records:
            last = answer.records[-1].dynamodb.approximate_creation_date_time
            place.empty_reads = 0
            place.complete_at = max(place.complete_at, min(began, last - _COARSEST_TIME_SECONDS))
            return
        place.empty_reads += 1
        needed = 1 if self.port.traits.creates_tables else _EMPTY_READS_ON_AWS
        if place.empty_reads >= needed:
            place.complete_at = max(place.complete_at, began)

    def _miss(self, id: str, place: _Place) -> None:
        """Tell of a gap; then it goes on from the oldest record that there is."""
        self._found.append(TailedGap(id, place.last, self.port.now()))
        place.last, place.is_latest = "", False

    async def _open(self, id: str, place: _Place) -> None:
        """An iterator after the last record that was read.

        If a shard began at its end, and its iterator was refused before any record was read, records may have been
        missed. A gap is then reported, and reading continues from about the time at which the tail began.
        """
        if place.is_latest:
            self._miss(id, place)
            place.skip_before = self.began_at - MARGIN_SECONDS
        place.iterator = await self.source.send(GetShardIterator(self.stream, id, place.last or None))
        if place.iterator is None and place.last:
            if not self._has_all_since(place):
                self._miss(id, place)
            place.iterator = await self.source.send(GetShardIterator(self.stream, id))
        place.is_over = place.iterator is None

    def _has_all_since(self, place: _Place) -> bool:
        """Whether the stream still has all that came after a shard was last read: its last record was then older, and
        has left the stream since."""
        return self.port.now() - place.read_at < SAFE_SECONDS

    async def _look(self) -> None:
        now, is_first = self.port.monotonic(), not self._is_begun
        stream = await find_stream(self.port, self.table) if is_first else self.stream
        if self.port.traits.maintain_streams is not None and now - self.maintained_at >= MAINTAIN_EVERY_SECONDS:
            await maintain(self.port, stream, self.table.name)
            self.maintained_at = now
        shards = await all_shards(self.port, stream)
        if is_first:
            self._begin(stream, {shard.id for shard in shards})
        there, latest = {shard.id for shard in shards}, newest(shards)
        from_newest = is_first and self.start == "now" and not self.known
        self.began_at = self.began_at or self.port.now()
        for shard in shards:
            if shard.id in self._places:
                continue
            if from_newest and shard.id not in latest:
                self._places[shard.id] = _Place(None, is_over=True)
            elif shard.parent is None or shard.parent not in there or self._is_over(shard.parent):
                at = GetShardIterator(stream, shard.id, latest=from_newest)
                iterator = await self.source.send(at)
                self._places[shard.id] = _Place(iterator, is_latest=from_newest, is_over=iterator is None)
        self.looked_at, self._is_begun = now, True

    def _begin(self, stream: str, there: set[str]) -> None:
        """Go on where another reader was; tell of what may have left the stream since."""
        if self.known and self.stream != stream:
            self._found.append(TailedGap("", "", self.port.now()))
            self.known = {}
        for id, position in self.known.items():
            place = _Place(None, last=position.sequence, read_at=position.read_at, is_over=position.is_over)
            if not place.is_over and not self._has_all_since(place):
                self._miss(id, place)
            if id in there:
                self._places[id] = place
        self.stream = stream

    def _is_over(self, id: str) -> bool:
        return id in self._places and self._places[id].is_over
