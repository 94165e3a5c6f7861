"""Copy: the items of a table, or a slice of them, into a table of the same declaration elsewhere.

    whole           each page is put unchanged
    a slice         each page of the sample with what it needs (`slices`), guards made again, edge sets mended last
    masked          personal values have masks (`masked_items`), and so have the keys and guards that they stand in

After each page the target holds the progress of the copy; with masks, a file of this user does (`private_state`), and
the target its name. Puts are repeatable, so a killed copy goes on there.
Programs that write to the source meanwhile are seen or not: a copy is of no one moment.
"""

from __future__ import annotations

import secrets
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from functools import partial
from hashlib import sha256
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from singletable.errors import Incomplete, InvalidRequest, NotConfigured, Throttled, Unavailable
from singletable.exchange.items import Transfer
from singletable.exchange.masked_items import ItemMask, check_apart, guards_of, has_personal
from singletable.exchange.masks import Mask
from singletable.exchange.private_state import private_store
from singletable.exchange.slices import Slices
from singletable.exchange.store_faults import exhausted
from singletable.exchange.transfers import TransferRecord, open_record
from singletable.flow import Port, patiently
from singletable.foundation import (
    ATTACHED_TYPES,
    ResumableRun,
    ScanSegment,
    Table,
    advanced,
    all_segments,
    check_sample,
    flows,
    place_in,
    put_items,
    ready,
    sample_segments,
    scan_pages,
    tool_class,
    type_in,
    usual_segments,
)
from singletable.hidden_fields import repr_without
from singletable.holds import PendingWork, hold
from singletable.layers import work_of
from singletable.operations import RAW, Item, Scan, Selection
from singletable.records import CheckOptions
from singletable.tables import describe, differences, set_ttl

PAGE: Final = 500
"""Items of a segment between two checkpoints."""
_RECENT: Final = 100_000
"""Places that a slice remembers as written, so that what many items need is written once."""
_TRIES: Final = 10
_MASK_BYTES: Final = 32
UNKNOWN = "no class of this program has the type, so what in it is personal is not known"
UNREADABLE = "its class can't read it: db.check(table) says why"
OWN = "it belongs to the work of the source: leases, tasks, clients"


class Copied(Struct, frozen=True):
    """The work of a copy so far, in this run and in the runs that it continues."""

    read: int = 0
    """Items of the source that were scanned."""
    written: int = 0
    """Items that were put, guards among them; with `dry_run`, that would be."""
    mended: int = 0
    """Items of a slice that were brought in step with the rest of it: edge sets, edges without a node."""
    left_out: dict[str, int] = {}
    """The number of items left behind, by type and reason."""
    is_held: bool = False
    """Whether the target is held, or would be: its workers begin nothing until it is released."""
    work: tuple[PendingWork, ...] = ()
    """With `dry_run`: what the release of the copy would begin."""


class CopyOptions(Struct, frozen=True):
    """The options of a copy. Raises InvalidRequest for invalid ones."""

    sample: float | None = None
    """The part of the table that is scanned, above 0 and below 1; None for all of it."""
    seed: int = 0
    """Selects the part."""
    follow_edges: bool = False
    keep_personal: bool = False
    mask_key: bytes | None = None
    add: bool = False
    """Into a table that has items: those of equal keys are replaced."""
    dry_run: bool = False
    hold: bool | None = None
    """Whether the target is held; None where the table has workers, by a stream, or by tasks that this program declares
    or that are copied."""

    __repr__ = repr_without("mask_key")

    def __post_init__(self) -> None:
        check_sample(self.sample)
        if self.follow_edges and self.sample is None:
            raise InvalidRequest("follow_edges without a sample: a whole copy has all edges", hint="Give sample=0.01.")
        if self.keep_personal and self.mask_key is not None:
            raise InvalidRequest("mask_key with keep_personal: nothing is masked then", hint="Leave one of them out.")
        if self.mask_key is not None:
            Mask(self.mask_key)  # refused before anything is written, also where nothing is personal


class CopyState(Struct, frozen=True, rename={"segments": "lanes"}):
    """The progress of a copy."""

    segments: tuple[ScanSegment, ...]
    copied: Copied = Copied()


Progress = Callable[[Copied], object]


async def copy_table(
    source: Port, target: Port, table: Table, options: CopyOptions, progress: Progress | None = None, place: str = ""
) -> Copied:
    """Copy a table, or go on with a copy of the same options that was ended. `place` names the source."""
    await ready(source, table)
    with exhausted("copy"):
        return await CopyRun(source, target, table, options, place).run(progress)


class CopyRun(ResumableRun[CopyState, Copied]):
    """One run of a copy."""

    def __init__(
        self, source: Port, target: Port, table: Table, options: CopyOptions, place: str, shared: str = ""
    ) -> None:
        self.place = place
        self.shared = shared
        """The name of a mask key that several processes have: this user alone keeps nothing then."""
        self.source, self.target, self.table, self.options = source, target, table, options
        self.at_once = usual_segments(source)
        self.state = CopyState(self._segments())
        self.slices = Slices(source, table) if options.follow_edges else None
        self.mask: ItemMask | None = None
        self.recent: dict[tuple[str, str], None] = {}
        self.is_held = has_workers(table) if options.hold is None else options.hold
        self.is_in_use = False
        """Whether the target was there before, and may have workers."""
        self.work: tuple[PendingWork, ...] = ()

    @property
    def is_over(self) -> bool:
        return not self.state.segments

    def told(self) -> Copied:
        return replace(self.state.copied, is_held=self.is_held, work=self.work)

    @property
    def is_as_read(self) -> bool:
        """Whether every item is put as it was read, its guards among them."""
        return self.options.sample is None and self.mask is None

    async def begin(self) -> None:
        """Find what an earlier run did, or begin. InvalidRequest for a target that is the source, or that has items."""
        o = self.options
        if is_masked := not o.keep_personal and has_personal(self.table):
            check_apart(self.table)
        if o.dry_run:
            self.set_mask(o.mask_key or secrets.token_bytes(_MASK_BYTES))
            self.work = tuple([each async for each in self._work()])
            return
        self.is_in_use = await _prepare(self.target, self.table)
        what = self._what(is_masked=is_masked)
        secret = secrets.token_bytes(_MASK_BYTES) if o.mask_key is None else sha256(o.mask_key).digest()
        own = private_store() if is_masked and not self.shared else None
        self.store = record = await open_record(self.target, self.table, what, self.state, own, secret)
        is_other = record.was_begun and o.mask_key is not None and record.secret != secret
        is_full = not record.was_begun and not o.add and await has_items(self.target, self.table)
        if is_other or is_full:
            raise InvalidRequest(
                "the target has items, and no copy with these options has begun there",
                table=self.table.name,
                operation="copy",
                hint="Copy into an empty table; or with add=True (--add), which replaces items of equal keys.",
            )
        await record.write(record.state)
        await self._refuse_same(record)
        self.state = record.state
        self.set_mask(o.mask_key or record.secret)
        if self.is_held:
            await self._hold()

    def _what(self, *, is_masked: bool) -> tuple[Any, ...]:
        """The copy that the record in the target belongs to."""
        o = self.options
        shared = (self.shared,) if self.shared else ()
        return "copy", self.place, o.sample, o.seed, o.follow_edges, is_masked, o.mask_key is not None, *shared

    async def close(self) -> int:
        """End a whole copy whose progress is kept elsewhere: repair what a layer makes of several items, delete the
        record. Returns the number of repaired items."""
        await self._repair()
        record = await open_record(self.target, self.table, self._what(is_masked=bool(self.shared)), self.state)
        await record.close()
        return self.state.copied.mended

    async def _hold(self) -> None:
        self.is_held = True
        if not self.options.dry_run:
            await hold(self.target, self.table, f"copied from {self.place}", in_use=self.is_in_use)

    async def _work(self) -> AsyncIterator[PendingWork]:
        """The work that waits in the source, as far as the copy takes it along."""
        for layer in work_of(self.table) if self.is_held else ():
            for each in await layer.pending(self.source):
                if self.is_as_read or each.kind != "task":
                    yield each

    async def round(self) -> None:
        """The next page of each segment: read, and put."""
        now = self.state.segments[: self.at_once]
        pages = await patiently(self.source, lambda: scan_pages(self.source, self.table, now, page=PAGE))
        items = [item for page in pages for item in page.items]
        written, left_out = await self.put(items)
        copied = self.state.copied
        copied = replace(
            copied,
            read=copied.read + len(items),
            written=copied.written + written,
            left_out=dict(Counter(copied.left_out) + left_out),
        )
        self.state = CopyState(advanced(self.state.segments, pages), copied)

    async def put(self, items: Sequence[Item]) -> tuple[int, Counter[str]]:
        """Put the copied part of these items. Returns its size, and the items left behind by type and reason."""
        left_out = Counter[str]()
        wanted = list(self._wanted(items, left_out))
        if self.slices is not None:
            wanted = list(self._wanted(await self.slices.around(wanted), left_out))
        remade = self._made(wanted, left_out)
        if not self.is_held and self.options.hold is None and any(_is_of_a_layer(self.table, item) for item in remade):
            await self._hold()
        if not self.options.dry_run:
            await put_patiently(self.target, self.table, remade)
        return len(remade), left_out

    async def end(self) -> None:
        """Repair the attributes that a layer makes of several items, and delete the progress."""
        await self._repair()
        await super().end()

    async def _repair(self) -> None:
        if self.options.dry_run or self.is_as_read or self.table.checks() is None:
            return
        passes, _ = flows.check_passes(self.table, (), is_sample=False)
        mended: Counter[str] = Counter()

        def count(made: Any) -> None:
            mended["items"] += len({each.finding.key for each in made.repaired or () if each.outcome == "mended"})

        options = CheckOptions(segments=usual_segments(self.target))
        writing = [each for each in passes if each.repairs]
        await flows.run_check(self.target, writing, options, count, None, repairs="mend")
        self.state = replace(self.state, copied=replace(self.state.copied, mended=mended["items"]))

    # --- items --------------------------------------------------------------------------------------------------------
    def _wanted(self, items: Sequence[Item], left_out: Counter[str]) -> Iterator[Item]:
        """The items to copy, unchanged."""
        for item in items:
            type_name = type_in(self.table, item)
            if tool_class(type_name) is not None:
                if self.options.sample is None and goes_along(self.table, item):
                    yield item
                continue
            why = None if self.is_as_read else self._why_not(type_name)
            if why is None:
                yield item
            elif why:
                left_out[f"{type_name or '(no type)'}: {why}"] += 1

    def _why_not(self, type_name: str) -> str | None:
        """The reason why items of a type stay behind, if any; "" for guards and words, made again with their owners."""
        if type_name in ATTACHED_TYPES:
            return ""
        model = self.table.model_here(type_name)
        if model is None:
            return UNKNOWN
        return OWN if model.is_system and type_name.startswith("_") else None

    def _made(self, items: Sequence[Item], left_out: Counter[str]) -> list[Item]:
        """The items to put, each once, with the guards of their unique values, and their words."""
        if self.is_as_read:
            return list(items)
        items_at: dict[tuple[str, str], Item] = {}
        # A trace tells of the source's requests: what is copied was not written in it, and masks don't reach it.
        behind = self.table.derived | {self.table.definition.context_attribute}
        for item in items:
            masked = item if self.mask is None else self.mask.item(item)
            if masked is None:
                left_out[f"{type_in(self.table, item)}: {UNREADABLE}"] += 1
                continue
            whole = {name: value for name, value in masked.items() if name not in behind}
            for each in (whole, *guards_of(self.table, masked, self.source.now())):
                items_at[place_in(self.table, each)] = each
        new = {place: item for place, item in items_at.items() if place not in self.recent}
        if len(self.recent) > _RECENT:
            self.recent.clear()
        self.recent |= dict.fromkeys(new)
        return list(new.values())

    # --- the beginning ------------------------------------------------------------------------------------------------
    def _segments(self) -> tuple[ScanSegment, ...]:
        if self.options.sample is not None:
            return sample_segments(self.options.sample, str(self.options.seed))
        return all_segments(self.at_once)

    def set_mask(self, key: bytes) -> None:
        """Mask what is personal from now on, where the options say so."""
        if not self.options.keep_personal and has_personal(self.table):
            self.mask = ItemMask(self.table, Mask(key))

    async def _refuse_same(self, record: TransferRecord[CopyState]) -> None:
        """A table is not copied into itself: the source would have the record that the target was just given."""
        kind: Any = Transfer.of(self.table)
        there = await flows.get(self.source, kind.by_id(record.record.transfer).consistent())
        if there is not None and there.token == record.record.token:
            if not record.was_begun:
                await record.close()
            raise InvalidRequest(
                "the source and the target are the same table",
                table=self.table.name,
                operation="copy",
                hint='Name another database, or another table: to_table="..." (--to-table).',
            )


async def _prepare(port: Port, table: Table) -> bool:
    """Create the target, or bring what a run that was killed had created into use. Returns whether it was there, and
    may have workers. NotConfigured if keys or indexes differ; other settings of a target may."""
    description = await describe(port, table.definition)
    if description is None:
        await flows.create_table(port, table)
        return False
    wrong = [each for each in differences(table.definition, description) if each.is_of_a_key or each.is_of_an_index]
    if wrong:
        raise NotConfigured(
            "the target is there and differs: " + "; ".join(map(str, wrong)),
            table=table.name,
            hint="Bring it to the declaration with `singletable apply`, or copy into a new one.",
        )
    if table.definition.ttl_attribute is not None and description.ttl is None and description.knows_expiry:
        await set_ttl(port, table.definition)
    return True


def has_workers(table: Table) -> bool:
    """Whether workers could run something of a table, by what this program declares."""
    return table.definition.stream is not None or bool(work_of(table))


def _is_of_a_layer(table: Table, item: Item) -> bool:
    """Whether an item is a layer's own that this program does not import, as a task: another one may have workers."""
    name = type_in(table, item)
    return (
        name.startswith("_")
        and name not in ATTACHED_TYPES
        and table.model_here(name) is None
        and tool_class(name) is None
    )


def goes_along(table: Table, item: Item) -> bool:
    """Whether a whole copy takes an item along: all but what belongs to a tool's work on this table."""
    tool = tool_class(type_in(table, item))
    return tool is None or tool.goes_along


async def has_items(port: Port, table: Table) -> bool:
    """True if a table has items other than those of migrations, which may come first. One request, and one more for
    each page of theirs."""
    after, limit = None, 10
    while True:
        page = await port.send(Scan(table.name, Selection(limit=limit, after=after, consistent=True), RAW))
        if any(tool_class(type_in(table, item)) is None for item in page.items):
            return True
        if page.after is None:
            return False
        after, limit = page.after, 1000


async def put_patiently(port: Port, table: Table, items: Sequence[Item]) -> None:
    """All of them; a table that is throttled is waited for."""
    failed = Incomplete("nothing was tried")
    for _ in range(_TRIES):
        try:
            return await patiently(port, partial(put_items, port, table, items))
        except Incomplete as error:
            failed = error
    if isinstance(failed.__cause__, Unavailable) and not isinstance(failed.__cause__, Throttled):
        raise failed
    raise Throttled(
        f"{len(items)} items could not be written for the table's rate",
        table=table.name,
        operation="copy",
        hint="Call it again later, with a lower rate: it goes on where it was.",
    )
