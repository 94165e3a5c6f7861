"""Watching a stream: every change of every declared class, as it comes, without a lease, a checkpoint or a write."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from singletable.errors import SingletableError
from singletable.operations.stream import GetRecords, GetShardIterator, StreamRecord
from singletable.records import Table
from singletable.streams.consumer import Start
from singletable.streams.embedded import TEND_EVERY_SECONDS, tend
from singletable.streams.events import AnyChange
from singletable.streams.lineage import all_shards, find_stream, newest
from singletable.streams.routing import Handler, Router, What
from singletable.wire import DYNAMODB_STREAMS
from singletable.wire.port import Port

_WHATS: tuple[What, ...] = ("inserted", "modified", "removed", "expired")
_LOOK_EVERY_SECONDS = 10.0


@dataclass(frozen=True)
class Seen:
    """One change as it was watched. `change` is None for a type without a class, and for what can't be read."""

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
    stream: str = ""
    iterators: dict[str, str | None] = field(default_factory=dict[str, "str | None"])
    """Of each shard that was begun; None where it is read out."""
    looked_at: float = 0.0
    tended_at: float = 0.0

    def __post_init__(self) -> None:
        self.router = Router(self.table)
        for model in self.table.models:
            for what in _WHATS:
                self.router.add(Handler(model.type, what, _nothing))

    async def read(self) -> list[Seen]:
        """What has come since the last reading; nothing where nothing has. A request for each open shard."""
        source, now = self.port.to(DYNAMODB_STREAMS), self.port.now()
        if not self.stream or now - self.looked_at >= _LOOK_EVERY_SECONDS:
            await self._look(now)
        open_ = [(id, iterator) for id, iterator in self.iterators.items() if iterator is not None]
        answers = await source.send_all([GetRecords(self.stream, iterator) for _, iterator in open_])
        records: list[StreamRecord] = []
        for (id, _), answer in zip(open_, answers, strict=True):
            records += answer.records
            self.iterators[id] = answer.next_shard_iterator
            if answer.refused:
                self.iterators[id] = await source.send(GetShardIterator(self.stream, id, latest=True))
            elif answer.next_shard_iterator is None:
                self.looked_at = 0.0  # its children's turn has come
        return [seen for record in records for seen in self._seen(record)]

    async def _look(self, now: float) -> None:
        is_first = not self.stream
        self.stream = self.stream or await find_stream(self.port, self.table)
        if self.port.traits.tend_streams is not None and now - self.tended_at >= TEND_EVERY_SECONDS:
            await tend(self.port, self.stream, self.table.name)
            self.tended_at = now
        self.looked_at = now
        shards = await all_shards(self.port, self.stream)
        there, latest = {shard.id for shard in shards}, newest(shards)
        for shard in shards:
            if is_first and self.start == "now" and shard.id not in latest:
                self.iterators[shard.id] = None
            is_turn = shard.parent not in there or self.iterators.get(shard.parent, "") is None
            if shard.id not in self.iterators and is_turn:
                at = GetShardIterator(self.stream, shard.id, latest=is_first and self.start == "now")
                self.iterators[shard.id] = await self.port.to(DYNAMODB_STREAMS).send(at)

    def _seen(self, record: StreamRecord) -> Iterator[Seen]:
        type, _, what = self.router.name_of(record).partition("#")
        try:
            calls: list[tuple[Handler, Any]] = list(self.router.calls(record))
        except SingletableError as error:
            yield Seen(type, what, None, record, str(error))
            return
        for handler, change in calls:
            yield Seen(handler.type, handler.what, change, record)
        if not calls and not self.router.is_wanted(record):
            yield Seen(type, what, None, record)


def _nothing(change: AnyChange) -> None:
    """Stands for a handler: what is watched is not handled."""
