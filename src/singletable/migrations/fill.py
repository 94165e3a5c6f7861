"""Fill: every item of a table is brought to what its class declares, while programs write to the table.

The table is read in segments, a page of each at a time. What an item needs is written under the condition that it is as
it was read; where another writer was first, the item is read again. After each page the table holds how far its
segment has come, so that a fill that was killed goes on from there. A second fill writes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from hashlib import sha256
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from singletable.errors import Applied, InvalidRequest, Throttled
from singletable.flow.port import Consumed, Port
from singletable.flow.request import Request, Response
from singletable.foundation import Finding, Table, delete_if, fill_parts_of, flows, model_for, ready
from singletable.migrations.needed import Unknown, declaration_of, needed
from singletable.operations import GetItem, Item, PutItem, Refused, Scan, Selection, UpdateItem
from singletable.operations.answers import RAW

PAGE = 100
"""Items of a segment between two checkpoints: one write more for each hundred items."""
MOST_SEGMENTS = 16
_TRIES = 20
_EXAMPLES = 5
_LONGEST_WAIT_SECONDS = 30.0


class Filled(Struct, frozen=True):
    """What a fill has done so far, in this run and in those that it went on from."""

    seen: int = 0
    written: int = 0
    """Items that were written; with `dry_run`, that would be."""
    unknown: int = 0
    """Items of a type that no class of this program has, which stay as they are. Of this run only, as what follows."""
    contended: int = 0
    """Items that other writers changed each of 20 times before this one; the next fill finds them."""
    unreadable: tuple[Finding, ...] = ()
    examples: tuple[str, ...] = ()
    """The first five items that need a write, each with its type."""


Progress = Callable[[Filled], object]


async def fill(
    port: Port,
    table: Table,
    *,
    segments: int = 4,
    dry_run: bool = False,
    anew: bool = False,
    progress: Progress | None = None,
) -> Filled:
    """Bring every item of a table to what its class declares. Reads the table once; a write for each item that needs it
    and one for each hundred items. `anew` doesn't go on where an earlier run stopped.

    InvalidRequest for a number of segments that is none. Throttled where the table refuses for minutes on end; called
    again, it goes on.
    """
    if not 1 <= segments <= MOST_SEGMENTS:
        raise InvalidRequest(f"a fill has 1 to {MOST_SEGMENTS} segments, not {segments}", table=table.name)
    await ready(port, table)
    run = _Run(port, table, dry_run)
    await run.begin(segments, anew or dry_run)
    while run.parts:
        await run.round()
        if progress is not None:
            progress(run.filled)
    await run.end()
    return run.filled


class _Run:
    """One run of a fill: the segments that are not over, and what was done."""

    def __init__(self, port: Port, table: Table, dry_run: bool) -> None:
        self.port, self.table, self.dry_run = port, table, dry_run
        self.kind: Any = fill_parts_of(table)
        self.digest = sha256(msgspec.json.encode(declaration_of(table), order="deterministic")).hexdigest()[:16]
        self.parts: list[Any] = []
        self.filled = Filled()

    async def begin(self, segments: int, anew: bool) -> None:
        """Go on where an earlier run of the same declaration stopped, or begin."""
        known: list[Any] = [] if anew else [part for part in await self._stored() if part.declaration == self.digest]
        if all(part.is_over for part in known):
            known = []
        segments = known[0].segments if known else segments
        begun = {part.segment: part for part in known}
        parts = [begun.get(n) or self._part(n, segments) for n in range(segments)]
        self.parts = [part for part in parts if not part.is_over]
        self._count(sum(part.seen for part in known), sum(part.written for part in known))

    async def round(self) -> None:
        """The next page of each segment that is not over: read, written, and written down."""
        pages = await self._patiently([self._scan(part) for part in self.parts])
        writes: list[UpdateItem[Any]] = []
        moved: list[Any] = []
        for part, page in zip(self.parts, pages, strict=True):
            own = [write for item in page.items if (write := self._needed(item)) is not None]
            writes += own
            moved.append(part.moved(page.after, len(page.items), len(own)))
        self._count(sum(len(page.items) for page in pages), len(writes))
        if not self.dry_run:
            await self._write(writes)
            await self._patiently([PutItem(self.table.name, model_for(part).item(part)) for part in moved])
        self.parts = [part for part in moved if not part.is_over]

    async def end(self) -> None:
        """What was written down is no longer needed: the next fill begins anew."""
        if not self.dry_run:
            await self._patiently([delete_if(model_for(part).key_of(part), None) for part in await self._stored()])

    def _part(self, segment: int, segments: int) -> Any:
        return self.kind(declaration=self.digest, segment=segment, segments=segments)

    async def _stored(self) -> list[Any]:
        """What was written down, for other declarations too: theirs is of no more use."""
        return await flows.read_all(self.port, self.kind.by_segment().consistent())

    def _scan(self, part: Any) -> Scan[Item]:
        selection = Selection(limit=PAGE, after=part.after, consistent=True)
        return Scan(self.table.name, selection, RAW, part.segment, part.segments)

    def _needed(self, item: Item) -> UpdateItem[Any] | None:
        found = needed(self.table, item)
        if isinstance(found, Unknown):
            self.filled = replace(self.filled, unknown=self.filled.unknown + 1)
        elif isinstance(found, Finding):
            self.filled = replace(self.filled, unreadable=(*self.filled.unreadable, found))
        elif found is not None:
            if len(self.filled.examples) < _EXAMPLES:
                self.filled = replace(self.filled, examples=(*self.filled.examples, _shown(self.table, item)))
            return found
        return None

    async def _write(self, writes: Sequence[UpdateItem[Any]]) -> None:
        """Each under its condition; those that others were first at are read again."""
        for _ in range(_TRIES):
            if not writes:
                return
            done = await self._patiently([_Try(write) for write in writes])
            lost = [write for write, is_done in zip(writes, done, strict=True) if not is_done]
            items = await self._patiently([GetItem(self.table.name, w.key, RAW, consistent=True) for w in lost])
            again = [needed(self.table, item) for item in items if item is not None]
            writes = [write for write in again if isinstance(write, UpdateItem)]
        self.filled = replace(self.filled, contended=self.filled.contended + len(writes))

    async def _patiently(self, operations: Sequence[Any]) -> list[Any]:
        """The values, also of a table that is throttled for a while. Every one of these requests may be repeated."""
        for tried in range(_TRIES):
            try:
                return await self.port.send_all(operations)
            except Throttled:
                if tried == _TRIES - 1:
                    raise
                await self.port.sleep(min(_LONGEST_WAIT_SECONDS, 2.0**tried) * self.port.random())
        raise AssertionError

    def _count(self, seen: int, written: int) -> None:
        self.filled = replace(self.filled, seen=self.filled.seen + seen, written=self.filled.written + written)


class _Try(Struct, frozen=True):
    """A write of which it is no error that its condition fails: it then says False."""

    write: UpdateItem[Any]

    def request(self) -> Request:
        return self.write.request()

    def answer(self, response: Response) -> tuple[bool, Consumed]:
        try:
            _, consumed = self.write.answer(response)
        except Refused:
            return False, Consumed()
        except Applied:
            return True, Consumed()
        return True, consumed


def _shown(table: Table, item: Item) -> str:
    """An item's type and key, as an example."""
    partition, sort = (item[name]["S"] for name in table.definition.key)
    return f"{item[table.definition.type_attribute]['S']} {partition} / {sort}"
