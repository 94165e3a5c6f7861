"""The sections of a job as one process knows them: which are free, over, or another's. Flows.

A look reads up to a hundred sections, from a random one on, and remembers the free ones. As long as some were never
seen, looks follow each other, and wait for the job's rate. Later looks may find nothing and do not wait: the pause
before the next one grows, and a small read rate makes it longer.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from msgspec import Struct

from singletable.flow import Observations, Port
from singletable.jobs.held_section import HeldSection
from singletable.jobs.items import JobItem, JobPart
from singletable.jobs.limits import JobLimits
from singletable.jobs.store import AT_ONCE, JobStore

IDLE_SECONDS: Final = 1.0
"""Between two looks of a worker that has just taken a section."""
_LONGEST_PAUSE_SECONDS: Final = 3.0
_PAUSE_PART: Final = 0.1
"""The pause between two looks, as a part of the time since a section was taken."""


class Taken(Struct, frozen=True):
    """A section that was taken."""

    held: HeldSection
    holder: str | None
    """The process of its owner before, who had died, or "" where that is not known; None for no such owner."""


@dataclass(eq=False)
class FreeSections:
    """The sections of a job, for the slots of one worker."""

    port: Port
    store: JobStore
    job: JobItem
    limits: JobLimits
    lease_seconds: float
    held: dict[int, HeldSection]
    """The sections of the worker's slots, by their numbers."""
    over: dict[int, JobPart] = field(default_factory=dict[int, JobPart])
    live: dict[int, JobPart] = field(default_factory=dict[int, JobPart])
    """Sections that were begun and are not over, by the last look."""
    end: JobPart | None = None
    """The job's end, once it was begun."""
    _free: deque[tuple[int, JobPart | None]] = field(default_factory=deque[tuple[int, JobPart | None]])
    _may_look: deque[bool] = field(default_factory=lambda: deque([True]))
    """A token: the slot that pops it looks."""
    _is_at_end: bool = False
    """Whether the last section was looked at, as all others are over."""
    _next: int = 0
    """The section at which the next look begins."""
    _looked_at: float = float("-inf")
    _costly_until: float = float("-inf")
    """The time before which another look would take too much of the read rate."""
    _is_read: bool = False
    """Whether all were read once, to be told."""
    _refresh_at: float = float("-inf")
    """The time of the next refreshing."""
    _refreshed: int = 0
    """The place, among those that are left, at which it begins."""
    _took_at: float = field(init=False)

    def __post_init__(self) -> None:
        self._seen = Observations[tuple[int, int, int]](self.lease_seconds)
        self._took_at = self.port.monotonic()
        self._next = int(self.port.random() * self.job.sections)

    @property
    def pause(self) -> float:
        """The time between two looks of a slot without a section, in seconds."""
        since = self.port.monotonic() - self._took_at
        return min(_LONGEST_PAUSE_SECONDS, max(IDLE_SECONDS, since * _PAUSE_PART))

    async def take(self) -> Taken | None:
        """Take a section; None without a free one now."""
        while True:
            # seen a while ago, others may have taken it
            if self.port.monotonic() - self._looked_at >= IDLE_SECONDS:
                self._free.clear()
            try:
                number, stored = self._free.popleft()
            except IndexError:
                if not await self._look():
                    return None
                continue
            if number in self.held or number in self.over:
                continue
            began = self.port.monotonic()
            with self.limits.own_requests():
                part = await self.store.take(self.job.job, number, stored, self.port.token())
            if part is None:  # others were first, and may have taken the next ones too
                self._free.clear()
                self._looked_at = self._costly_until = float("-inf")
                continue
            held = self.held[number] = HeldSection(renewed_at=began, part=part, beats=part.beats, kept_at=began)
            self._took_at = self.port.monotonic()
            self.note({number: part})
            return Taken(held, stored.process if stored is not None and stored.owner else None)

    @property
    def begun(self) -> list[JobPart]:
        """The begun sections and the end, by what is known here."""
        return [*self.over.values(), *self.live.values(), *(() if self.end is None else (self.end,))]

    @property
    def _left(self) -> list[int]:
        """The numbers of all sections but the finished ones."""
        return [number for number in range(self.job.sections) if number not in self.over]

    async def read(self) -> None:
        """Read all that were not over, and the end. A request for each hundred."""
        left = [*self._left, self.job.sections]
        for begin in range(0, len(left), AT_ONCE):
            await self._read(left[begin : begin + AT_ONCE], waits=False)

    async def refresh(self) -> None:
        """Read sections that others may have changed: all the first time, later the next few, if it is time. The
        requests wait for the job's rate. A worker without a section looks anyway."""
        now = self.port.monotonic()
        if now < self._refresh_at or (self._is_read and not self.held):
            return
        most, left = self.limits.at_a_look(AT_ONCE), self._left
        begins = [self._refreshed] if self._is_read else range(0, len(left), most)
        self._refresh_at, self._is_read = now + self.limits.pause_after(1 + most), True
        for begin in begins:
            await self._read(left[begin : begin + most], waits=True)
        self._refreshed = self._refreshed + most if self._refreshed + most < len(left) else 0

    async def _read(self, numbers: Sequence[int], *, waits: bool) -> dict[int, JobPart]:
        """Read sections, by a request that may wait for the job's rate."""
        port = self.limits.at_rate(self.port) if waits else self.port
        with self.limits.own_requests(have_waited=waits):
            parts = await JobStore(port, self.limits.table).parts(self.job.job, numbers) if numbers else {}
        self.note(parts)
        return parts

    def note(self, parts: dict[int, JobPart]) -> None:
        """Note stored sections."""
        for number, part in parts.items():
            if number == self.job.sections:
                self.end = part
            elif part.is_over:
                self.over[number] = part
                self.live.pop(number, None)
            else:
                self.live[number] = part

    async def _look(self) -> bool:
        """Find free sections; False if there are none, or another slot looks."""
        try:
            self._may_look.pop()
        except IndexError:
            return bool(self._free)
        try:
            if self._free:
                return True
            now, is_unseen = self.port.monotonic(), self._is_unseen()
            if now < max(self._looked_at + self.pause, self._costly_until) and not is_unseen:
                return False
            window = self._window()
            await self._look_at(window, waits=is_unseen)
            self._looked_at = self._costly_until = self.port.monotonic()
            if not self._free:
                self._costly_until += self.limits.pause_after(len(window))
            return bool(self._free)
        finally:
            self._may_look.append(True)

    def _is_unseen(self) -> bool:
        """Whether some sections were never looked at."""
        known = len(self.over) + len(self.live)
        return known < self.job.sections or (len(self.over) == self.job.sections and not self._is_at_end)

    def _window(self) -> list[int]:
        """Some unfinished sections, after those of the last look; the end, if all are over."""
        sections = self.job.sections
        if len(self.over) == sections:
            self._is_at_end = True
            return [sections]
        window, most = list[int](), self.limits.at_a_look(AT_ONCE)
        for step in range(sections):
            number = (self._next + step) % sections
            if number not in self.over and number not in self.held:
                window.append(number)
            if len(window) == most:
                break
        self._next = (window[-1] + 1) % sections if window else self._next
        return window

    async def _look_at(self, window: Sequence[int], *, waits: bool) -> None:
        parts = await self._read(window, waits=waits)
        now = self.port.monotonic()
        for number in window:
            part = parts.get(number)
            if part is None or (not part.is_over and self._is_free(part, now)):
                self._free.append((number, part))

    def _is_free(self, part: JobPart, now: float) -> bool:
        """Whether it has no owner, or a dead one."""
        sign = part.fence, part.beats, part.rounds
        return not part.owner or self._seen.is_dead(str(part.section), sign, now)
