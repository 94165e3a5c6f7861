"""Sampling: some items of each kind that the keys of a part of a table show. Flows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from random import Random

from msgspec import Struct

from singletable.adopt.kinds import TYPE_NAMES, lead_of
from singletable.adopt.layout import TableLayout, layout_of
from singletable.errors import NotFound
from singletable.flow import Port, patiently
from singletable.foundation import (
    MOST_SEGMENTS,
    advanced,
    all_segments,
    check_sample,
    place_in,
    sample_segments,
    scan_pages,
    usual_segments,
)
from singletable.operations import Item, encode
from singletable.tables import READ_BYTES, TableDefinition, describe

ITEMS_OF_A_KIND = 200
"""Items that are kept of each kind."""
_MOST_BYTES = 1 << 28
"""The bytes of chosen items beyond which no more are kept, but three of each kind: an item may have 400 KB."""
_LEAST_ITEMS = 3
_USUAL_ITEMS = 20_000
"""Items that are read, unless a sample is asked for."""
_MOST_LEADS = 400

Progress = Callable[[int], object]
"""Called with the number of items that were read, after each round trip."""


class AdoptionPlan(Struct, frozen=True):
    """The part of a table that an adoption will read."""

    layout: TableLayout
    sample: float | None
    """The part that is read; None for the whole table."""
    items: int
    """The items of the table, by the service's last count."""
    read_units: float
    """The units of the scan; 0 if the service gives no size."""


class TableSample(Struct, frozen=True):
    """Items of a table: some of each kind, and the number of all that were read."""

    items: Sequence[Item]
    read: int


async def plan_adoption(port: Port, name: str, sample: float | None, *, whole: bool = False) -> AdoptionPlan:
    """The part that will be read: a sample of up to 20,000 items, unless one is asked for, or the `whole` table.

    Two requests, no units. NotFound if the table is missing.
    """
    check_sample(sample)
    description = await describe(port, TableDefinition(name))
    if description is None:
        raise NotFound("the table is missing", table=name, hint="Name it by its name there, with --table.")
    layout = layout_of(name, description.raw, description.ttl)
    sample = None if whole else sample
    if not whole and sample is None and description.items > _USUAL_ITEMS:
        sample = _USUAL_ITEMS / description.items
    units = description.bytes * (sample or 1.0) / READ_BYTES / 2
    return AdoptionPlan(layout, sample, description.items, round(units, 1))


async def read_sample(
    port: Port, plan: AdoptionPlan, *, seed: int = 0, progress: Progress | None = None
) -> TableSample:
    """Up to 200 items of each beginning that keys have, of a part of a table. One scan, eventually consistent: half a
    unit for each 4 KB of the part.

    The service charges a scan of keys alone by whole items, too: so each item is read once, and kept or not by its key.
    """
    table, chooser = plan.layout.table(), SampleChooser(plan.layout, seed)
    at_once = usual_segments(port) if plan.sample is None else MOST_SEGMENTS
    left = all_segments(at_once) if plan.sample is None else sample_segments(plan.sample, f"adopt/{seed}")
    while left:
        pages = await patiently(port, partial(scan_pages, port, table, left[:at_once], consistent=False))
        for page in pages:
            chooser.take(page.items)
        left = advanced(left, pages)
        if progress is not None:
            progress(chooser.read)
    return chooser.sample()


class SampleChooser:
    """Chooses up to 200 items of each beginning that keys have, each with the same chance, of any number of items."""

    def __init__(self, layout: TableLayout, seed: int = 0) -> None:
        self.layout, self._random = layout, Random(f"adopt/{seed}")
        self._chosen: dict[object, list[Item]] = defaultdict(list)
        self._counts: dict[object, int] = defaultdict(int)
        self._bytes = 0

    @property
    def read(self) -> int:
        """The number of items that it was given."""
        return sum(self._counts.values())

    def take(self, items: Iterable[Item]) -> None:
        """Take some items in."""
        for item in items:
            group = self._group_of(item)
            self._counts[group] += 1
            chosen = self._chosen[group]
            if len(chosen) < (ITEMS_OF_A_KIND if self._bytes < _MOST_BYTES else _LEAST_ITEMS):
                chosen.append(item)
                self._bytes += len(encode(item))
            elif (at := self._random.randrange(self._counts[group])) < len(chosen):
                self._bytes += len(encode(item)) - len(encode(chosen[at]))
                chosen[at] = item

    def sample(self) -> TableSample:
        """The chosen items, in the order of their keys."""
        table = self.layout.table()
        items = [item for some in self._chosen.values() for item in some]
        return TableSample(sorted(items, key=lambda item: place_in(table, item)), self.read)

    def _group_of(self, item: Item) -> object:
        """The part of keys and types that items of one kind share."""
        types = tuple(item[name].get("S") for name in TYPE_NAMES if name in item)
        group = (*types, *lead_of(item, self.layout.key))
        return group if group in self._chosen or len(self._chosen) < _MOST_LEADS else "others"
