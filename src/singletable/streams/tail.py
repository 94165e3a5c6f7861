"""Watching a stream: every change of every declared class on arrival. It takes no lease and writes nothing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import get_args

from singletable.errors import SingletableError
from singletable.flow import Port
from singletable.foundation import Table
from singletable.operations import StreamRecord
from singletable.streams.consumer import Start
from singletable.streams.events import AnyChange
from singletable.streams.record_tail import RecordTail, TailedGap
from singletable.streams.router import Handler, Router, What

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
            calls = list(self.router.calls(record))
        except SingletableError as error:
            yield TailedChange(type, what, None, record, str(error))
            return
        for handler, change in calls:
            yield TailedChange(handler.type, handler.what, change, record)
        if not calls and not self.router.is_wanted(record):
            yield TailedChange(type, what, None, record)


def _nothing(change: AnyChange) -> None:
    """Stands for a handler: what is watched is not handled."""
