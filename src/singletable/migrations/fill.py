"""Fill: every item of a table is brought to what its class declares, while programs write to the table.

The table is read in segments, a page of each at a time. A change is written under the condition that the item has not
changed; if another writer was first, the item is read again. After each page the table holds the progress of its
segment, so that a fill that was killed goes on from there. A second fill writes nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from singletable.errors import SingletableError
from singletable.flow import Port, patiently, send_patiently
from singletable.foundation import (
    Captured,
    Finding,
    MoveOutcome,
    ResumableRun,
    ScanSegment,
    Table,
    check_segments,
    covered_place,
    delete_if,
    flows,
    is_same_item,
    items_at,
    model_for,
    model_of,
    place_in,
    ready,
    scan_pages,
    settled,
    type_in,
    usual_segments,
)
from singletable.hidden_fields import repr_without
from singletable.migrations.item_writes import ItemDelete, ItemMove, ItemUpdate, ItemWrite, key_in, left_after
from singletable.migrations.items import FillPart
from singletable.migrations.model_document import document_of
from singletable.migrations.needed import Need, Unknown, needed
from singletable.migrations.purge import Purge
from singletable.operations import RAW, GetItem, Item, Key, PutItem

PAGE = 100
"""Items of a segment between two checkpoints: one write more for each hundred items."""
_TRIES = 20
_EXAMPLES = 5
TWICE = "another item, which differs, lies under the new key"


class Filled(Struct, frozen=True):
    """The work of a fill so far, in this run and in the runs that it continues."""

    seen: int = 0
    written: int = 0
    """Items that were written; with `dry_run`, that would be."""
    unknown: int = 0
    """Items of a type that no class of this program has: left unchanged. Of this run only, as the next fields."""
    contended: int = 0
    """Items that other writers changed each of 20 times before this one; the next fill finds them."""
    unreadable: tuple[Finding, ...] = ()
    examples: tuple[str, ...] = ()
    """The first five items that need a write, each with its type."""
    moved: int = 0
    """Items under the key that their class had before, or of a class that is converted. Of all runs; part of the
    written ones."""
    twice: tuple[Finding, ...] = ()
    """Items under both keys of their class, which differ. Nothing was written: `put` or `delete` the right one."""
    completed: int = 0
    """Items that lacked a guard of a unique value, a copy or a part of their edge set, and have it now. Of this run."""
    unfilled: tuple[Finding, ...] = ()
    """The remaining gaps of items: `guard.taken` if another item has the unique value; or ones that need a decision."""
    obsolete: tuple[str, ...] = ()
    """The keys whose `was=` can go from the code, and the conversions: a whole fill found nothing under the old key, no
    item of the old class."""
    purged: Mapping[str, int] = {}
    """The items that a purge deleted, by type, in all runs."""

    __repr__ = repr_without("examples")


Progress = Callable[[Filled], object]


async def fill(
    port: Port,
    table: Table,
    *,
    segments: int | None = None,
    dry_run: bool = False,
    anew: bool = False,
    purge: Purge | None = None,
    progress: Progress | None = None,
) -> Filled:
    """Bring every item of a table into its declared form. Reads the table once; a write for each item that needs it
    and one for each hundred items. `anew` doesn't go on where an earlier run stopped.
    With a `purge` it deletes what that names, and fills nothing.

    InvalidRequest for a number of segments that can't be read at once. Throttled if the table refuses for minutes on
    end; called again, it goes on.
    """
    run = FillRun(port, table, segments_of(port, table, segments), dry_run=dry_run, anew=anew, purge=purge)
    for each in (table, *table.targets):
        await ready(port, each)
    return await run.run(progress)


def segments_of(port: Port, table: Table, segments: int | None) -> int:
    """The number of parts of the table that are read at once. On an engine whose parts shift while items are added and
    deleted it is one, unless more are asked for; and always one if the fill itself moves items to other keys."""
    check_segments(segments)
    if fill_needs_one_segment(port, table):
        return 1
    return usual_segments(port) if segments is None else segments


def _moves_items(table: Table) -> bool:
    return bool(table.conversions) or any(model.key.was is not None for model in table.models)


class FillParts:
    """The stored progress of a fill: an item for each segment."""

    def __init__(self, port: Port, table: Table) -> None:
        self.port, self.table = port, table
        self.kind: Any = FillPart.of(table)

    async def read(self) -> list[Any]:
        """Read the stored parts, including useless ones of other declarations."""
        return await flows.read_all(self.port, self.kind.by_segment().consistent())

    async def write(self, state: Sequence[Any]) -> None:
        table = model_of(self.kind).table  # that of its own items, where the table is foreign
        await send_patiently(self.port, [PutItem(table.name, model_of(self.kind).item(part)) for part in state])

    async def close(self) -> None:
        parts = await self.read()
        await send_patiently(self.port, [delete_if(model_for(part).key_of(part), None) for part in parts])


class FillRun(ResumableRun[Sequence[Any], Filled]):
    """One run of a fill. Its state is the parts that the last round moved on: those of segments that were not over."""

    def __init__(
        self, port: Port, table: Table, segments: int, *, dry_run: bool, anew: bool, purge: Purge | None = None
    ) -> None:
        self.port, self.table, self.segments = port, table, segments
        self.is_anew = anew or dry_run
        self.parts = FillParts(port, table)
        self.store = None if dry_run else self.parts
        self.digest = document_of(table).digest if purge is None else purge.digest
        self.need: Callable[[Table, Item, float], Need] = needed if purge is None else purge.needed
        self.old_keys = Counter[str]()
        self.page = PAGE
        self.filled = Filled()
        self.is_purge = purge is not None
        self.gaps = None if self.is_purge else flows.gaps_of(table)
        self.write_id = table.definition.write_id_attribute

    @property
    def is_over(self) -> bool:
        return all(part.is_over for part in self.state)

    def told(self) -> Filled:
        return self.filled

    async def begin(self) -> None:
        known: Mapping[int, Any] = {} if self.is_anew else self._resumable(await self.parts.read())
        count = next(iter(known.values())).segments if known else self.segments
        self.state = [known.get(number) or self._part(number, count) for number in range(count)]
        for part in known.values():
            self.old_keys.update(part.old_keys)
        seen, written = sum(part.seen for part in known.values()), sum(part.written for part in known.values())
        self._count(seen, written, self.old_keys.total())

    def _resumable(self, stored: Sequence[Any]) -> Mapping[int, Any]:
        """The parts to go on from, by segment: of one run of the same declaration, if two ran at once. Empty if all
        have ended: that run was killed at the very end."""
        own = [part for part in stored if part.declaration == self.digest]
        of_one_run = {part.segment: part for part in own if part.segments == own[0].segments}
        return {} if all(part.is_over for part in of_one_run.values()) else of_one_run

    def _part(self, segment: int, segments: int) -> Any:
        return self.parts.kind(declaration=self.digest, segment=segment, segments=segments)

    async def round(self) -> None:
        """The next page of each segment that is not over."""
        parts = [part for part in self.state if not part.is_over]
        segments = [ScanSegment(part.segment, part.segments, part.position) for part in parts]
        pages = await patiently(self.port, partial(scan_pages, self.port, self.table, segments, page=self.page))
        needed_by_page = [[write for item in page.items if (write := self._needed(item))] for page in pages]
        leave = (ItemMove, ItemDelete)
        moved_by_page = [Counter(w.type for w in ws if isinstance(w, leave) and w.type) for ws in needed_by_page]
        items, writes = [i for page in pages for i in page.items], [w for own in needed_by_page for w in own]
        self._count(len(items), len(writes), sum(moved.total() for moved in moved_by_page))
        self.old_keys.update(sum(moved_by_page, Counter[str]()))
        if self.store is None:
            await self._count_gaps(items, writes)
        else:
            await self._write(writes)
            await self._fill_gaps(items, writes)
        self.state = [
            part.moved(page.after, len(page.items), len(own), moved)
            for part, page, own, moved in zip(parts, pages, needed_by_page, moved_by_page, strict=True)
        ]

    async def end(self) -> None:
        await super().end()
        if self.is_purge:
            self.filled = replace(self.filled, moved=0, purged=dict(self.old_keys))
        if not self.filled.contended:
            left = {*self.old_keys, *(finding.type for finding in (*self.filled.unreadable, *self.filled.twice))}
            self.filled = replace(self.filled, obsolete=tuple(obsolete_keys(self.table, left)))

    def _needed(self, item: Item) -> ItemWrite | None:
        need = self.need(self.table, item, self.port.now())
        if isinstance(need, Unknown):
            self.filled = replace(self.filled, unknown=self.filled.unknown + 1)
        elif isinstance(need, Finding):
            self._add(unreadable=[need])
        elif need is not None:
            if len(self.filled.examples) < _EXAMPLES:
                self._add(examples=[_shown(self.table, item)])
            return need
        return None

    async def _write(self, writes: Sequence[ItemWrite]) -> None:
        """Send each under its condition; items that others changed first are read again."""
        for _ in range(_TRIES):
            if not writes:
                return
            outcomes = await send_patiently(self.port, [write.attempt() for write in writes])
            tried = list(zip(writes, outcomes, strict=True))
            self._add(unreadable=[outcome for _, outcome in tried if isinstance(outcome, Finding)])
            twice = [w for w, outcome in tried if outcome is MoveOutcome.TWICE and isinstance(w, ItemMove)]
            converted = [move for move in twice if move.move.is_conversion]
            twice = [move for move in twice if not move.move.is_conversion]
            there = await self._items([(move.target, move.new_key) for move in twice])
            changed = [w.key for w, outcome in tried if outcome is MoveOutcome.CHANGED]
            changed += [move.key for move, item in zip(twice, there, strict=True) if item is None]
            items = await self._items([(self.table, key) for key in changed])
            again = [self.need(self.table, item, self.port.now()) for item in items if item is not None]
            writes = [need for need in again if isinstance(need, ItemWrite)]
            writes += [w for w in map(self._settled, twice, there) if w is not None]
            writes += await self._rest_of(converted)
        self.filled = replace(self.filled, contended=self.filled.contended + len(writes))

    def _settled(self, move: ItemMove, there: Item | None) -> ItemWrite | None:
        """The write that leaves one of two items under both keys. Where they differ and their class has no rule, they
        are reported."""
        if there is None:
            return None
        try:
            if is_same_item(_without(there, self.write_id), _without(move.items[0], self.write_id)):
                return ItemDelete(move.move.delete)
            if (only := settled(move.move, there, self.port.now())) is not None:
                return ItemMove(only)
        except SingletableError as error:
            self._add(twice=[Finding("key.twice", f"{TWICE}: {error.what}", move.type, move.place)])
        else:
            self._add(twice=[Finding("key.twice", TWICE, move.type, move.place)])
        return None

    async def _rest_of(self, moves: Sequence[ItemMove]) -> list[ItemMove]:
        """The conversions without the items that are there already. Where another one is, they are reported."""
        keys = [(self.table, key_in(self.table, item)) for move in moves for item in move.items]
        there = iter(await self._items(keys))
        rest = list[ItemMove]()
        for move in moves:
            pairs = [(item, other) for item, other in zip(move.items, there, strict=False) if other is not None]
            if all(is_same_item(_without(a, self.write_id), _without(b, self.write_id)) for a, b in pairs):
                rest.append(move.without([item for item, _ in pairs]))
            else:
                self._add(twice=[Finding("key.twice", TWICE, move.type, move.place)])
        return rest

    async def _items(self, keys: Sequence[tuple[Table, Key]]) -> list[Item | None]:
        return await send_patiently(self.port, [GetItem(t.name, key, RAW, consistent=True) for t, key in keys])

    async def _fill_gaps(self, items: Sequence[Item], writes: Sequence[ItemWrite]) -> None:
        """Fill the gaps outside of the items. Updated items are read again; moved ones have no gaps."""
        if self.gaps is None:
            return
        written = {place_in(self.table, write.key): write for write in writes}
        updated = [place for place, write in written.items() if isinstance(write, ItemUpdate)]
        again = await patiently(self.port, lambda: items_at(self.port, self.table, updated))
        left = [item for item in items if place_in(self.table, item) not in written]
        done = await flows.fill_gaps(self.port, self.gaps, [*left, *again.values()])
        completed, contended = self.filled.completed + done.written, self.filled.contended + done.contended
        self.filled = replace(self.filled, completed=completed, contended=contended)
        self._add(unfilled=done.left)

    async def _count_gaps(self, items: Sequence[Item], writes: Sequence[ItemWrite]) -> None:
        if self.gaps is not None:
            gaps = await flows.find_gaps(self.port, self.gaps, left_after(self.table, items, writes))
            self.filled = replace(self.filled, completed=self.filled.completed + len({gap.key for gap in gaps}))

    def _count(self, seen: int, written: int, moved: int) -> None:
        f = self.filled
        self.filled = replace(f, seen=f.seen + seen, written=f.written + written, moved=f.moved + moved)

    def _add(self, **more: Sequence[Any]) -> None:
        """Findings, and examples."""
        self.filled = replace(self.filled, **{name: (*getattr(self.filled, name), *more[name]) for name in more})


async def fill_round(
    port: Port, table: Table, segment: int, segments: int, position: dict[str, str] | None, page: int
) -> tuple[Any, Filled]:
    """One page of a segment, from a position: read, and written where it needs it. Returns the part after it, and what
    was done. Its progress is kept by the caller."""
    run = FillRun(port, table, segments, dry_run=False, anew=False)
    run.page = page
    run.state = [run.parts.kind(declaration=run.digest, segment=segment, segments=segments, position=position)]
    await run.round()
    return run.state[0], run.filled


def fill_needs_one_segment(port: Port, table: Table) -> bool:
    """Whether a fill of a table in several segments could miss items: it moves some, and the segments shift."""
    return port.traits.segments_shift and bool(table.leaving or _moves_items(table))


def obsolete_keys(table: Table, left: Container[str]) -> list[str]:
    """The old keys and conversions that can go from the code after a whole fill; `left` are types under old keys."""
    keys = [key.shown_with_was for type_name, key in moving_keys(table) if type_name not in left]
    return keys + [each.shown for type_name, each in table.conversions.items() if type_name not in left]


def _without(item: Item, attribute: str) -> Item:
    return {name: value for name, value in item.items() if name != attribute}


def moving_keys(table: Table) -> Iterator[tuple[str, Captured]]:
    """The present keys, by type, of classes whose items may lie in a table under their old key."""
    for model in table.models:
        if model.key.was is not None and model.before is model:
            yield model.type, model.key
    for model in table.leaving:
        yield model.type, model_of(model.kind).key


def _shown(table: Table, item: Item) -> str:
    """An item's type and key, without what is personal in it, as an example."""
    type_name = type_in(table, item)
    return f"{type_name} {' / '.join(covered_place(table, type_name, place_in(table, item)))}"
