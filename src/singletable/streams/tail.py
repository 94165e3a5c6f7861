"""Watching a stream: every change on arrival. It takes no lease and writes nothing.

`RecordTail` has raw records: it reads every shard, each after its parent. If records may be missing, it reports a gap.
`Tail` has the changes of every declared class.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import get_args

from singletable.errors import SingletableError
from singletable.flow import DYNAMODB_STREAMS, Port
from singletable.foundation import Table
from singletable.operations import GetRecords, GetShardIterator, Records, StreamRecord
from singletable.streams.acquisition import MARGIN_SECONDS, SAFE_SECONDS
from singletable.streams.consumer import Start
from singletable.streams.embedded import MAINTAIN_EVERY_SECONDS, leaves_hole, maintain
from singletable.streams.events import AnyChange
from singletable.streams.router import Handler, Router, What
from singletable.streams.shard_tree import all_shards, find_stream, newest

_LOOK_EVERY_SECONDS = 10.0


@dataclass(frozen=True)
class TailedGap:
    """Changes that were trimmed before they were read, or that came while a shard could not be read."""

    shard: str
    after: str
    """The sequence number of the last change that was read there; "" where none was."""
    at: float
    """When it was found, in seconds since 1970."""


@dataclass(eq=False)
class _Place:
    """The position in a shard."""

    iterator: str | None
    """The iterator; None if it must be requested."""
    last: str = ""
    """The sequence number of the last record that was read."""
    is_latest: bool = False
    """It began at the end of the shard, and nothing was read since."""
    skip_before: float = 0.0
    """Records from before, in seconds since 1970, were there when it began."""
    is_over: bool = False
    read_at: float = 0.0
    """When it was last read, in seconds since 1970."""


@dataclass(eq=False)
class RecordTail:
    """A table's records from now on, or from the oldest that the stream has."""

    port: Port
    table: Table
    start: Start
    stream: str = ""
    """The stream that is read; "" before the first reading."""
    looked_at: float = -math.inf
    """Seconds of the clock of intervals, as the next field."""
    maintained_at: float = -math.inf
    began_at: float = 0.0
    """In seconds since 1970."""
    _places: dict[str, _Place] = field(default_factory=dict[str, _Place])
    """The position in each shard that was begun."""
    _found: list[StreamRecord | TailedGap] = field(default_factory=list["StreamRecord | TailedGap"])
    """The records read but not yet returned: a later request that fails loses nothing."""
    _is_begun: bool = False

    def __post_init__(self) -> None:
        self.source = self.port.to(DYNAMODB_STREAMS)

    async def read(self) -> list[StreamRecord | TailedGap]:
        """Return the records since the last call, with gaps in their places; empty without news.

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
        found, self._found = self._found, []
        return found

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
                    self._found.append(record)
                place.last, place.is_latest = record.sequence, False
        place.read_at = began
        place.iterator = answer.next_shard_iterator
        if place.iterator is None:
            place.is_over, self.looked_at = True, -math.inf  # its children's turn has come

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
        self.stream = stream = await find_stream(self.port, self.table) if is_first else self.stream
        if self.port.traits.maintain_streams is not None and now - self.maintained_at >= MAINTAIN_EVERY_SECONDS:
            await maintain(self.port, stream, self.table.name)
            self.maintained_at = now
        shards = await all_shards(self.port, stream)
        there, latest = {shard.id for shard in shards}, newest(shards)
        from_newest = is_first and self.start == "now"
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

    def _is_over(self, id: str) -> bool:
        return id in self._places and self._places[id].is_over


_WHATS: tuple[What, ...] = get_args(What)


@dataclass(frozen=True)
class TailedChange:
    """One change. `change` is None for a type without a class, and for an image that can't be read."""

    type: str
    what: str
    change: AnyChange | None
    record: StreamRecord
    error: str = ""


@dataclass(eq=False)
class Tail:
    """A table's changes from now on, or from the oldest that the stream has."""

    port: Port
    table: Table
    start: Start
    records: RecordTail = field(init=False)

    def __post_init__(self) -> None:
        self.records = RecordTail(self.port, self.table, self.start)
        self.router = Router(self.table)
        for model in self.table.models:
            for what in _WHATS:
                self.router.add(Handler(model.type, what, _nothing))

    async def read(self) -> list[TailedChange | TailedGap]:
        """Return the changes since the last call, with gaps in their places; empty without news.

        A request for each open shard. Where it raises, the next reading goes on behind what the last one gave.
        """
        changes: list[TailedChange | TailedGap] = []
        for one in await self.records.read():
            if isinstance(one, TailedGap):
                changes.append(one)
            else:
                changes += self._seen(one)
        return changes

    def _seen(self, record: StreamRecord) -> Iterator[TailedChange]:
        type, _, what = self.router.name_of(record).partition("#")
        try:
            events = self.router.events_of(record)
            calls = list(self.router.calls(record, events))
        except SingletableError as error:
            yield TailedChange(type, what, None, record, str(error))
            return
        for handler, change in calls:
            yield TailedChange(handler.type, handler.what, change, record)
        if not calls and not self.router.is_wanted(record, events):
            yield TailedChange(type, what, None, record)


def _nothing(change: AnyChange) -> None:
    """Stands for a handler: what is watched is not handled."""
