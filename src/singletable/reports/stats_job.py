"""The shape of a table as a job: a section is a segment, and keeps its tally. The end adds the tallies up.

A tally is kept in one item. If it is too large for that, as with a hundred thousand partitions of an index in one
section, the smaller ones of an index are forgotten: its numbers are least numbers then, as those of plain stats above
100,000. `left_out` names what is cut beyond that: lists of long keys, and types that no class has.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from functools import partial
from typing import Any, Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from singletable.flow import Port, patiently
from singletable.foundation import ready, scan_pages, type_in
from singletable.jobs import Gathered, JobKind, JobPlace, JobWork, Round, SectionLines
from singletable.jobs.inspect import MOST_STATE_BYTES, is_of_job, segment_at
from singletable.reports.measurement import MOST_CHANGES, hot_keys
from singletable.reports.shape import LARGEST, TableShape
from singletable.reports.tally import KeptTally, Tally

SECTION_COUNTED: Final = 5_000
"""Partitions of each index that a section counts at once."""
_OPEN: Final = 64
"""Item collections of the table that a section keeps as unfinished. A scan has one after the other: one alone is."""
_CUT_LISTS: Final = "some of the largest: their keys are so long that a section, or the result, has room for fewer"
_CUT_TYPES: Final = "some types that no class has: a section has more of them than it has room for"


class StatsJobOptions(Struct, frozen=True):
    """The options of stats."""

    changes: int = MOST_CHANGES
    """Changes to read of the stream, for the hottest keys, at the end."""


class StatsWork(JobWork):
    """Each page is added to the section's tally. Items of jobs are left out: this one makes some while it runs."""

    keep_seconds = 30.0

    def __init__(self, place: JobPlace, options: StatsJobOptions) -> None:
        self.table, self.options = place.table, options
        self._tallies: dict[int, Tally] = {}

    async def begin(self, port: Port) -> None:
        await ready(port, self.table)

    def take_up(self, section: int, fence: int, state: bytes | None) -> None:
        self._tallies[section] = tally = Tally(self.table, most=SECTION_COUNTED)
        if state is not None:
            tally.add_kept(unpacked(state))

    def put_down(self, section: int) -> None:
        self._tallies.pop(section, None)

    async def round(self, port: Port, section: int, of: int, position: Any, page: int) -> Round:
        segment = segment_at(section, of, position)
        (read,) = await patiently(port, partial(scan_pages, port, self.table, [segment], page=page, consistent=False))
        self._tallies[section].add(item for item in read.items if not is_of_job(type_in(self.table, item)))
        after = None if read.after is None else segment.moved(read.after).position
        return Round(after, read.after is None, len(read.items))

    async def gather(self, port: Port, section: int) -> Gathered:
        return Gathered(state=packed(self._tallies[section]))

    async def end(self, port: Port, told: SectionLines) -> Mapping[str, Any]:
        tally = Tally(self.table)
        async for state in told.states():
            tally.add_kept(unpacked(state))
        hot, changes, left_out = await hot_keys(port, self.table, self.options.changes)
        return msgspec.to_builtins(_bounded(tally.shape(None, 1.0, hot, changes, left_out)))  # type: ignore[no-any-return]


def packed(tally: Tally, most_bytes: int = MOST_STATE_BYTES) -> bytes:
    """The kept form of a tally, of at most `most_bytes`."""
    most, listed = SECTION_COUNTED, LARGEST
    tally.forget(_OPEN, most)
    while len(data := zlib.compress(msgspec.json.encode(tally.kept(listed)))) > most_bytes:
        most //= 2
        tally.forget(max(1, min(_OPEN, most)), max(1, most))
        if most < LARGEST and listed:
            listed //= 2
            tally.cut.add(_CUT_LISTS)
        if most < LARGEST and tally.fold_types(most * LARGEST):
            tally.cut.add(_CUT_TYPES)
    return data


def unpacked(state: bytes) -> KeptTally:
    return msgspec.json.decode(zlib.decompress(state), type=KeptTally)


def _bounded(shape: TableShape) -> TableShape:
    """The shape with lists that fit into the job's item."""
    listed = LARGEST
    while listed and len(msgspec.json.encode(shape)) > MOST_STATE_BYTES:
        listed //= 2
        left_out = tuple(dict.fromkeys((*shape.left_out, _CUT_LISTS)))
        indexes = tuple(replace(index, largest=index.largest[:listed]) for index in shape.indexes)
        cut = {name: getattr(shape, name)[:listed] for name in ("collections", "large_items", "hot_keys")}
        shape = replace(shape, indexes=indexes, left_out=left_out, **cut)
    return shape


STATS = JobKind("stats", 1, StatsJobOptions, StatsWork, writes=False, has_states=True)
