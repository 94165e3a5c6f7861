"""Fill: every item of a table is brought to what its class declares, while programs write to the table.

The table is read in segments, a page of each at a time. What an item needs is written under the condition that it is as
it was read; where another writer was first, the item is read again. After each page the table holds how far its
segment has come, so that a fill that was killed goes on from there. A second fill writes nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from hashlib import sha256
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from singletable.errors import Applied, InvalidRequest, NotUnique, TooLarge
from singletable.flow import Consumed, Port, Request, Response, patiently
from singletable.foundation import (
    Captured,
    Finding,
    Move,
    Outcome,
    Table,
    TryMove,
    covered_place,
    delete_if,
    fill_parts_of,
    flows,
    is_same_item,
    items_at,
    model_for,
    model_of,
    place_in,
    ready,
    type_in,
)
from singletable.migrations.needed import Unknown, after, declaration_of, needed
from singletable.operations import RAW, DeleteItem, GetItem, Item, Key, PutItem, Refused, Scan, Selection, UpdateItem
from singletable.records import usual_segments

PAGE = 100
"""Items of a segment between two checkpoints: one write more for each hundred items."""
MOST_SEGMENTS = 16
_TRIES = 20
_EXAMPLES = 5
TWICE = "another item, which differs, lies under the new key"


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
    moved: int = 0
    """Items under the key that their class had before, in all runs; part of those that were written."""
    twice: tuple[Finding, ...] = ()
    """Items under both keys of their class, which differ. Nothing was written: `put` or `delete` the right one."""
    completed: int = 0
    """Items that lacked a guard of a unique value, a copy or a part of their edge set, and have it now. Of this run."""
    unfilled: tuple[Finding, ...] = ()
    """What items lack still: `guard.taken` where another item has the unique value; or what needs a decision."""
    obsolete: tuple[str, ...] = ()
    """The keys whose `was=` can go from the code: a whole fill found nothing under the old one."""


Write = UpdateItem[Any] | Move
"""What one item needs."""
Progress = Callable[[Filled], object]


async def fill(
    port: Port,
    table: Table,
    *,
    segments: int | None = None,
    dry_run: bool = False,
    anew: bool = False,
    progress: Progress | None = None,
) -> Filled:
    """Bring every item of a table to what its class declares. Reads the table once; a write for each item that needs it
    and one for each hundred items. `anew` doesn't go on where an earlier run stopped.

    InvalidRequest for a number of segments that is none. Throttled where the table refuses for minutes on end; called
    again, it goes on.
    """
    parts = segments_of(port, table, segments)
    for each in (table, *table.targets):
        await ready(port, each)
    run = _Run(port, table, dry_run)
    await run.begin(parts, anew or dry_run)
    while run.parts:
        await run.round()
        if progress is not None:
            progress(run.filled)
    await run.end()
    return run.filled


def segments_of(port: Port, table: Table, segments: int | None) -> int:
    """How many parts of the table are read at once. On an engine whose parts shift while items are added and deleted it
    is one, unless more are asked for; and always one where the fill itself moves items to other keys."""
    if segments is not None and not 1 <= segments <= MOST_SEGMENTS:
        raise InvalidRequest(f"a fill has 1 to {MOST_SEGMENTS} segments, not {segments}", table=table.name)
    if port.traits.segments_shift and (table.leaving or any(model.key.was is not None for model in table.models)):
        return 1
    return usual_segments(port) if segments is None else segments


def page_of(table: Table, segment: int, segments: int, after: Key | None) -> Scan[Item]:
    """The request for the next page of a segment."""
    return Scan(table.name, Selection(limit=PAGE, after=after, consistent=True), RAW, segment, segments)


class _Run:
    """One run of a fill: the segments that are not over, and what was done."""

    def __init__(self, port: Port, table: Table, dry_run: bool) -> None:
        self.port, self.table, self.dry_run = port, table, dry_run
        self.kind: Any = fill_parts_of(table)
        self.digest = sha256(msgspec.json.encode(declaration_of(table), order="deterministic")).hexdigest()[:16]
        self.parts: list[Any] = []
        self.old_keys = Counter[str]()
        self.filled = Filled()
        self.gaps = flows.gaps_of(table)

    async def begin(self, segments: int, anew: bool) -> None:
        """Go on where an earlier run of the same declaration stopped, or begin."""
        known: list[Any] = [] if anew else [part for part in await self._stored() if part.declaration == self.digest]
        known = [part for part in known if part.segments == known[0].segments]  # of one run, where two ran at once
        if all(part.is_over for part in known):
            known = []
        segments = known[0].segments if known else segments
        begun = {part.segment: part for part in known}
        parts = [begun.get(n) or self._part(n, segments) for n in range(segments)]
        self.parts = [part for part in parts if not part.is_over]
        for part in known:
            self.old_keys.update(part.old_keys)
        self._count(sum(part.seen for part in known), sum(part.written for part in known), self.old_keys.total())

    async def round(self) -> None:
        """The next page of each segment that is not over: read, written, and written down."""
        pages = await self._patiently([page_of(self.table, p.segment, p.segments, p.after) for p in self.parts])
        writes: list[Write] = []
        moved: list[Any] = []
        for part, page in zip(self.parts, pages, strict=True):
            own = [write for item in page.items if (write := self._needed(item)) is not None]
            old_keys = Counter(write.key.model.type for write in own if isinstance(write, Move))
            writes += own
            self.old_keys += old_keys
            moved.append(part.moved(page.after, len(page.items), len(own), old_keys))
        moves = sum(isinstance(write, Move) for write in writes)
        items = [item for page in pages for item in page.items]
        self._count(len(items), len(writes), moves)
        if self.dry_run:
            await self._count_gaps(items, writes)
        else:
            await self._write(writes)
            await self._fill_gaps(items, writes)
            await self._patiently([PutItem(self.table.name, model_for(part).item(part)) for part in moved])
        self.parts = [part for part in moved if not part.is_over]

    async def end(self) -> None:
        """What was written down is no longer needed: the next fill begins anew."""
        if not self.dry_run:
            await self._patiently([delete_if(model_for(part).key_of(part), None) for part in await self._stored()])
        if not self.filled.contended:
            left = {*self.old_keys, *(finding.type for finding in (*self.filled.unreadable, *self.filled.twice))}
            keys = tuple(key.shown_with_was for type_name, key in moving_keys(self.table) if type_name not in left)
            self.filled = replace(self.filled, obsolete=keys)

    def _part(self, segment: int, segments: int) -> Any:
        return self.kind(declaration=self.digest, segment=segment, segments=segments)

    async def _stored(self) -> list[Any]:
        """What was written down, for other declarations too: theirs is of no more use."""
        return await flows.read_all(self.port, self.kind.by_segment().consistent())

    def _needed(self, item: Item) -> Write | None:
        found = needed(self.table, item, self.port.now())
        if isinstance(found, Unknown):
            self.filled = replace(self.filled, unknown=self.filled.unknown + 1)
        elif isinstance(found, Finding):
            self.filled = replace(self.filled, unreadable=(*self.filled.unreadable, found))
        elif found is not None:
            if len(self.filled.examples) < _EXAMPLES:
                self.filled = replace(self.filled, examples=(*self.filled.examples, _shown(self.table, item)))
            return found
        return None

    async def _write(self, writes: Sequence[Write]) -> None:
        """Each under its condition; those that others were first at are read again."""
        for _ in range(_TRIES):
            if not writes:
                return
            tried = [_Try(w) if isinstance(w, UpdateItem) else _TryMove(w) for w in writes]
            found = list(zip(writes, await self._patiently(tried), strict=True))
            blocked = [outcome for _, outcome in found if isinstance(outcome, Finding)]
            self.filled = replace(self.filled, unreadable=(*self.filled.unreadable, *blocked))
            await self._compare([w for w, outcome in found if outcome is Outcome.TWICE and isinstance(w, Move)])
            lost = [write for write, outcome in found if outcome is Outcome.CHANGED]
            items = await self._patiently([GetItem(self.table.name, _key(w), RAW, consistent=True) for w in lost])
            again = [needed(self.table, item, self.port.now()) for item in items if item is not None]
            writes = [write for write in again if isinstance(write, (UpdateItem, Move))]
        self.filled = replace(self.filled, contended=self.filled.contended + len(writes))

    async def _fill_gaps(self, items: Sequence[Item], writes: Sequence[Write]) -> None:
        """What the items lack outside of themselves. What was updated is read again; what has moved lacks nothing."""
        if self.gaps is None:
            return
        written = {place_in(self.table, _key(write)) for write in writes}
        updated = [place_in(self.table, write.key) for write in writes if isinstance(write, UpdateItem)]
        again = await patiently(self.port, lambda: items_at(self.port, self.table, updated))
        left = [item for item in items if place_in(self.table, item) not in written]
        done = await flows.fill_gaps(self.port, self.gaps, [*left, *again.values()])
        f = self.filled
        self.filled = replace(
            f,
            completed=f.completed + done.written,
            contended=f.contended + done.contended,
            unfilled=(*f.unfilled, *done.left),
        )

    async def _count_gaps(self, items: Sequence[Item], writes: Sequence[Write]) -> None:
        if self.gaps is not None:
            found = await flows.find_gaps(self.port, self.gaps, whole_after(self.table, items, writes))
            self.filled = replace(self.filled, completed=self.filled.completed + len({each.key for each in found}))

    async def _compare(self, moves: Sequence[Move]) -> None:
        """Items under both keys: where they are equal, the one under the old key is deleted; else they are told."""
        gets = [GetItem(move.put.table, move.key.model.key_item(move.key), RAW, consistent=True) for move in moves]
        there = await self._patiently(gets)
        write_id = self.table.definition.write_id_attribute
        for move, item in zip(moves, there, strict=True):
            if item is not None and is_same_item(_without(item, write_id), _without(move.put.item, write_id)):
                await self._patiently([_Try(move.delete)])
            elif item is not None:
                place = move.old.partition, move.old.low
                found = Finding("key.twice", TWICE, move.key.model.type, place)
                self.filled = replace(self.filled, twice=(*self.filled.twice, found))

    async def _patiently(self, operations: Sequence[Any]) -> list[Any]:
        """The values. Every one of these requests may be repeated."""
        return await patiently(self.port, lambda: self.port.send_all(operations))

    def _count(self, seen: int, written: int, moved: int) -> None:
        f = self.filled
        self.filled = replace(f, seen=f.seen + seen, written=f.written + written, moved=f.moved + moved)


class _Try(Struct, frozen=True):
    """A write of which it is not an error that its condition fails: that is an outcome."""

    write: UpdateItem[Any] | DeleteItem[Any]

    def request(self) -> Request:
        return self.write.request()

    def answer(self, response: Response) -> tuple[Outcome, Consumed]:
        try:
            _, consumed = self.write.answer(response)
        except Refused:
            return Outcome.CHANGED, Consumed()
        except Applied:
            return Outcome.DONE, Consumed()
        return Outcome.DONE, consumed


class _TryMove(Struct, frozen=True):
    """A move; where the item can't be moved, the finding that says why."""

    move: Move

    def request(self) -> Request:
        return TryMove(self.move).request()

    def answer(self, response: Response) -> tuple[Outcome | Finding, Consumed]:
        try:
            return TryMove(self.move).answer(response)
        except (NotUnique, TooLarge, InvalidRequest) as error:
            old = self.move.old
            return Finding("key.immovable", error.what, old.model.type, (old.partition, old.low)), Consumed()


def whole_after(table: Table, items: Sequence[Item], writes: Sequence[Write]) -> list[Item]:
    """The items as updates leave them, without those that move, which take with them what is outside of them."""
    by_place = {place_in(table, _key(write)): write for write in writes}
    found = [(item, by_place.get(place_in(table, item))) for item in items]
    return [after(item, w) if isinstance(w, UpdateItem) else item for item, w in found if not isinstance(w, Move)]


def _without(item: Item, attribute: str) -> Item:
    return {name: value for name, value in item.items() if name != attribute}


def _key(write: Write) -> Key:
    """The key of the item as it was read."""
    return write.key if isinstance(write, UpdateItem) else write.old.model.key_item(write.old)


def moving_keys(table: Table) -> Iterator[tuple[str, Captured]]:
    """By type, the keys that classes have now, of those whose items may lie in a table under the key that they had."""
    for model in table.models:
        if model.key.was is not None and model.before is model:
            yield model.type, model.key
    for model in table.leaving:
        yield model.type, model_of(model.kind).key


def _shown(table: Table, item: Item) -> str:
    """An item's type and key, without what is personal in it, as an example."""
    type_name = type_in(table, item)
    return f"{type_name} {' / '.join(covered_place(table, type_name, place_in(table, item)))}"
