"""Kept counts: the file of a plan's reading. A plan that was killed goes on from it, and an apply does not count again.

A plan writes nothing to the table, so a reading that takes hours keeps its progress in a file, by the rules of
`records.resumable_run`: after a round, positions and counts together. At its end the file has what was counted. It says
which reading it is of: another declaration, record, table, sample or number of segments begins again. So does a reading
that ended or was killed a day ago, and an ended one that counted items which the declaration can't read: they may be
mended by now.

What changed since is not in the counts, so an ended reading is taken for what a step takes, and for nothing else. A
step is not needless by it: the apply reads the items, and writes under conditions. A plan is not allowed by it: a
reading that may refuse the plan (`refuses`) is made again.
"""

from __future__ import annotations

import os
from array import array
from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeVar

import msgspec
from msgspec import Struct

from singletable.errors import InvalidRequest, NotConfigured
from singletable.flow import Port, instant, patiently
from singletable.foundation import MOST_SEGMENTS, ResumableRun, ScanSegment, advanced, scan_pages
from singletable.migrations.item_counts import Counted, ItemCounts

_KEEP_SECONDS: Final = 5.0
"""The time between two writes of the file: a kill loses so much of a reading."""
KEPT_SECONDS: Final = 24 * 3600.0
"""The age from which on a reading is not taken."""
_AHEAD_SECONDS: Final = 60.0
"""The most by which a clock may be ahead, of another machine that kept a reading."""
_PAGE: Final = 1_000
"""The most items of a page, of a reading that looks for nothing but what the declaration can't read."""
T = TypeVar("T")


class PlanReading(Struct, frozen=True):
    """The position of a plan's reading."""

    items: int
    """The items read so far."""
    waits: float = 0.0
    """The seconds for which it waits now, as the table refuses; 0 while it reads."""


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
    ended_at: float | None = None
    """When it ended, in seconds since 1970; None while there is more to read."""
    kept_at: float = 0.0
    """When this was written."""
    spans: tuple[tuple[float, float], ...] = ()
    """The times from when to when a section of a job was read, without pauses of a day."""


class CountsFile:
    """Where one reading keeps its state: a `RunStore`. `None` as its path keeps nothing.

    `is_fresh` counts again where an earlier reading has ended. `tell` gets the position after each round, and before
    each wait.
    """

    def __init__(
        self,
        port: Port,
        path: Path | None,
        work: str,
        counts: ItemCounts,
        *,
        is_fresh: bool = False,
        refuses: bool = False,
        tell: Callable[[PlanReading], object] | None = None,
    ) -> None:
        self.port, self.path, self.work, self.counts = port, path, work, counts
        self.is_fresh, self.refuses, self._tell = is_fresh, refuses, tell
        self.fill: Callable[[], Mapping[str, Any]] = dict
        self.keeps_progress = True
        """False for a reading that can't go on: only its end is kept."""
        self.of_job: KeptCounts | None = None
        """The counts of a job of the same work: they are taken in place of what the file has."""
        self.ended_at: float | None = None
        """When the earlier reading ended whose counts were taken."""
        self.is_taken = False
        """Whether counts of an earlier reading were taken, of all items or of the first ones."""
        self._beside: dict[str, CountsFile] = {}
        self._written_at = port.monotonic()

    @property
    def counted_at(self) -> datetime | None:
        """The same as a time; the first, where the counts of several readings were taken."""
        times = [file.ended_at for file in (self, *self._beside.values()) if file.ended_at is not None]
        return instant(min(times)) if times else None

    def of(self, name: str) -> CountsFile:
        """This file for "", and one beside it for another reading of the same plan, which counts no differences."""
        if not name:
            return self
        if name not in self._beside:
            path = None if self.path is None else self.path.with_name(f"{self.path.name}.{name}")
            work, counts = f"{self.work} {name}", ItemCounts(self.counts.table, [])
            self._beside[name] = CountsFile(self.port, path, work, counts, is_fresh=self.is_fresh, tell=self._tell)
        return self._beside[name]

    @property
    def has_ended(self) -> bool:
        """Whether an earlier reading of the same work has ended, so that this one reads nothing."""
        kept = self._load()
        return kept is not None and kept.ended_at is not None

    def read(self) -> KeptCounts | None:
        """The state of an earlier reading of the same work, which is taken up; None to begin. InvalidRequest for a file
        of something else."""
        kept = self._load()
        if kept is not None:
            self.counts.take_up(kept.seen, kept.counted, array("Q", kept.values))
            self.ended_at, self.is_taken = kept.ended_at, True
        return kept

    def _load(self) -> KeptCounts | None:
        if self.of_job is not None:
            return self.of_job
        if self.path is None:
            return None
        try:
            with _access(self.path, "read"):
                if not self.path.exists():
                    return None
                kept = msgspec.json.decode(self.path.read_bytes(), type=KeptCounts)
        except msgspec.MsgspecError:
            raise InvalidRequest(
                f"{self.path} is not the file of a plan's reading", hint="Name another one, or delete it."
            ) from None
        return kept if kept.work == self.work and self._is_valid(kept) else None

    def _is_valid(self, kept: KeptCounts) -> bool:
        if kept.ended_at is None:
            return self.is_young(kept) and self.keeps_progress
        return self.stands(kept) and not self.is_fresh

    def stands(self, kept: KeptCounts) -> bool:
        """Whether an ended reading of the same work stands for this one."""
        is_readable = not kept.counted and not kept.fill.get("whole", {}).get("unreadable")
        return self.is_young(kept) and is_readable and not self.refuses

    def is_young(self, kept: KeptCounts) -> bool:
        """Whether it was kept within a day."""
        return -_AHEAD_SECONDS <= self.port.now() - kept.kept_at < KEPT_SECONDS

    async def patiently(self, work: Callable[[], Awaitable[T]]) -> T:
        """The result of reading that may be begun again, which is told where it waits."""
        return await patiently(self.port, work, lambda seconds: self.tell(waits=seconds))

    def tell(self, waits: float = 0.0) -> None:
        """Tell the position."""
        if self._tell is not None:
            self._tell(PlanReading(self.counts.seen, waits))

    async def write(self, state: Sequence[ScanSegment]) -> None:
        """Replace the file, if the last time was long ago."""
        self.tell()
        now = self.port.monotonic()
        if not self.keeps_progress or now - self._written_at < _KEEP_SECONDS:
            return
        self._replace(tuple(state), array("Q", self.counts.values).tobytes())
        self._written_at = self.port.monotonic()

    async def close(self) -> None:
        """Keep what was counted."""
        if self.ended_at is None:
            self._replace((), b"", self.port.now())

    def kept(self, segments: tuple[ScanSegment, ...], values: bytes, ended_at: float | None) -> KeptCounts:
        """The present state."""
        counts, times = self.counts, (ended_at, self.port.now())
        return KeptCounts(self.work, segments, counts.seen, tuple(counts.counted()), values, self.fill(), *times)

    def _replace(self, segments: tuple[ScanSegment, ...], values: bytes, ended_at: float | None = None) -> None:
        if self.path is None:
            return
        kept = self.kept(segments, values, ended_at)
        part = self.path.with_name(f"{self.path.name}.{os.getpid()}.part")
        with _access(self.path, "written"):
            with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
                file.write(msgspec.json.encode(kept))
            os.replace(part, self.path)


@contextmanager
def _access(path: Path, how: str) -> Generator[None]:
    """Make an error of the file one that names it, as where it belongs to another user."""
    try:
        yield
    except OSError as error:
        raise NotConfigured(
            f"the file of a plan's reading can't be {how}: {path}: {error.strerror or type(error).__name__}",
            operation="plan",
            hint="It may belong to another user: name another file with keep= or --keep, or delete it.",
        ) from error


class CountRun(ResumableRun[Sequence[ScanSegment], ItemCounts]):
    """One reading of a table, for nothing but its counts."""

    def __init__(self, port: Port, segments: Sequence[ScanSegment], kept: CountsFile) -> None:
        self.port, self.reading, self.state = port, kept.counts, segments
        self.store = self.kept = kept
        self.page = _PAGE

    @property
    def is_over(self) -> bool:
        return not self.state

    async def begin(self) -> None:
        if (kept := self.kept.read()) is not None:
            self.state = kept.segments

    async def round(self) -> None:
        """The next page of each of the first segments."""
        now = self.state[:MOST_SEGMENTS]
        pages = await self.kept.patiently(partial(scan_pages, self.port, self.reading.table, now, page=self.page))
        for page in pages:
            self.reading.look(page.items, self.port.now())
        self.state = advanced(self.state, pages)

    def told(self) -> ItemCounts:
        return self.reading
