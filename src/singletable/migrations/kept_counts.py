"""Kept counts: the file of a plan's reading, from which a plan that was killed goes on.

A plan writes nothing to the table, so a reading that takes hours keeps its progress in a file, by the rules of
`records.resumable_run`: after a round, positions and counts together. The file says which reading it is of: another
declaration, record, sample or number of segments begins again. It is deleted with the end of the reading.
"""

from __future__ import annotations

import os
from array import array
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec import Struct

from singletable.errors import InvalidRequest
from singletable.flow import Port, patiently
from singletable.foundation import MOST_SEGMENTS, ResumableRun, ScanSegment, advanced, scan_pages
from singletable.migrations.item_counts import Counted, ItemCounts

_KEEP_SECONDS: Final = 5.0
"""The time between two writes of the file: a kill loses so much of a reading."""


class KeptCounts(Struct, frozen=True):
    """The state of one reading."""

    work: str
    """A digest of the declaration, the record and the options."""
    segments: tuple[ScanSegment, ...]
    seen: int
    counted: tuple[Counted, ...]
    values: bytes
    """Digests of unique values, eight bytes each."""
    fill: Mapping[str, Any] = {}
    """The counts of the fill that is predicted with it."""


class CountsFile:
    """Where one reading keeps its state: a `RunStore`. `None` as its path keeps nothing."""

    def __init__(self, port: Port, path: Path | None, work: str, counts: ItemCounts) -> None:
        self.port, self.path, self.work, self.counts = port, path, work, counts
        self.fill: Callable[[], Mapping[str, Any]] = dict
        self._written_at = port.monotonic()

    def read(self) -> KeptCounts | None:
        """The state of an earlier reading of the same work, which is taken up; None to begin. InvalidRequest for a file
        of something else."""
        if self.path is None or not self.path.exists():
            return None
        try:
            kept = msgspec.json.decode(self.path.read_bytes(), type=KeptCounts)
        except msgspec.MsgspecError:
            raise InvalidRequest(
                f"{self.path} is not the file of a plan's reading", hint="Name another one, or delete it."
            ) from None
        if kept.work != self.work:
            return None
        self.counts.take_up(kept.seen, kept.counted, array("Q", kept.values))
        return kept

    async def write(self, state: Sequence[ScanSegment]) -> None:
        """Replace the file, if the last time was long ago."""
        now = self.port.monotonic()
        if self.path is None or now - self._written_at < _KEEP_SECONDS:
            return
        counts = self.counts
        values = array("Q", counts.values).tobytes()
        kept = KeptCounts(self.work, tuple(state), counts.seen, tuple(counts.counted()), values, self.fill())
        part = self.path.with_name(f"{self.path.name}.part")
        with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
            file.write(msgspec.json.encode(kept))
        os.replace(part, self.path)
        self._written_at = self.port.monotonic()

    async def close(self) -> None:
        if self.path is not None:
            self.path.unlink(missing_ok=True)


class CountRun(ResumableRun[Sequence[ScanSegment], ItemCounts]):
    """One reading of a table, for nothing but its counts."""

    def __init__(self, port: Port, segments: Sequence[ScanSegment], kept: CountsFile) -> None:
        self.port, self.reading, self.state = port, kept.counts, segments
        self.store = self.kept = kept

    @property
    def is_over(self) -> bool:
        return not self.state

    async def begin(self) -> None:
        if (kept := self.kept.read()) is not None:
            self.state = kept.segments

    async def round(self) -> None:
        """The next page of each of the first segments."""
        now = self.state[:MOST_SEGMENTS]
        pages = await patiently(self.port, partial(scan_pages, self.port, self.reading.table, now))
        for page in pages:
            self.reading.look(page.items, self.port.now())
        self.state = advanced(self.state, pages)

    def told(self) -> ItemCounts:
        return self.reading
