"""The interface of a command that runs as a job: sections, each in rounds, and an end.

A command registers a `JobKind` in the group `singletable.jobs`. Its `JobWork` says what a round of a section does. All
that a round changes outside of the job's items must be repeatable, and harmless when it is late: a worker that was
taken over may still be at a request. The counts and lines of a round are kept with its position, or not at all.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from msgspec import Struct

from singletable import entry_points
from singletable.errors import InvalidRequest
from singletable.extensions import ExtensionGroup
from singletable.flow import Port
from singletable.foundation import CursorSeal, ScanSegment, Table
from singletable.hidden_fields import repr_without

MOST_STATE_BYTES: Final = 350_000
"""The most of a section's state, and of a result: with its other attributes it is an item, of at most 400 KB."""
Line = Mapping[str, Any]
"""An output of a round, as JSON: a finding, an example."""


class Round(Struct, frozen=True):
    """The outcome of a round."""

    position: Any
    """Where the next one goes on, as JSON."""
    is_over: bool
    seen: int = 0
    """Items read."""
    counts: Mapping[str, int] = {}
    """Numbers that are added up, over rounds and sections."""
    lines: Sequence[Line] = ()

    __repr__ = repr_without("position", "lines")


class Gathered(Struct, frozen=True):
    """The outcome of several rounds that are kept together, beside their own."""

    lines: Sequence[Line] = ()
    state: bytes | None = None
    """At most 350,000 bytes, in place of the section's state: `take_up` gets it next. None leaves that as it is."""

    __repr__ = repr_without("lines", "state")


class JobPlace(Struct, frozen=True):
    """Where a job works."""

    table: Table
    seal: CursorSeal
    place: str
    """The database, for people."""
    source: Port | None = None
    """Another database that is read."""
    source_place: str = ""
    mask_key: bytes | None = None
    """The key of masks, the same for each worker."""

    def __repr__(self) -> str:
        return f"<JobPlace {self.table.name} at {self.place}>"


class SectionLines(Struct, frozen=True):
    """The counts and lines of all sections. Lines are read when they are asked for, in the sections' order."""

    counts: Mapping[str, int]
    seen: int
    lines: Callable[[], AsyncIterator[Line]]
    states: Callable[[], AsyncIterator[bytes]]
    """The states of the sections that have one."""


class JobWork(ABC):
    """One command with its options, on one table."""

    options: Any
    """The options, as the job keeps them. Two jobs with the same are one."""
    page: int = 1_000
    """Most items of a round."""
    keep_seconds: float = 0.0
    """Rounds of a section are kept together, those of so many seconds: so they cost fewer writes. A kill loses them."""
    job: str
    """The job's id, set by the worker."""
    begun_at: datetime
    """When the job began."""
    at_rate: Callable[[Port], Port]
    """A port of another database that keeps to the job's rate."""

    def scanned(self, port: Port) -> Port:
        """The database whose table is divided into sections; `port` is that of the job."""
        return port

    async def first(self, port: Port) -> None:
        """Called before the job is made, and again after a kill there. Raises what refuses the job."""
        return

    def sections(self, port: Port, wanted: int) -> int:
        """The number of its sections, by the wanted number."""
        return wanted

    async def begin(self, port: Port) -> None:
        """Called by each worker before its first section. Raises what refuses the job."""
        return

    @abstractmethod
    async def round(self, port: Port, section: int, of: int, position: Any, page: int) -> Round:
        """Do the next part of a section, from a position; None at its beginning. `page` is the most items."""

    def take_up(self, section: int, fence: int, state: bytes | None) -> None:
        """Called before the first round of a section that this process has taken, with its state. The fence is higher
        than any before."""
        return

    def is_full(self, section: int) -> bool:
        """Whether the rounds of a section are to be kept now, before their time."""
        return False

    async def gather(self, port: Port, section: int) -> Gathered:
        """Called before rounds are kept: all that they left in this process."""
        return Gathered()

    def put_down(self, section: int) -> None:
        """Called when this process leaves a section. What it has not gathered is lost, and done again."""
        return

    @abstractmethod
    async def end(self, port: Port, told: SectionLines) -> Mapping[str, Any]:
        """Make the result of all sections, as JSON. Called once, or again after a kill."""


@dataclass(frozen=True)
class JobKind:
    """A command that runs as a job."""

    name: str
    format: int
    """Raised when a worker of the version before can't go on with a section, or would do something else."""
    options: type[Struct]
    work: Callable[[JobPlace, Any], JobWork]
    writes: bool = True
    """Whether it writes items of the application."""
    has_states: bool = False
    """Whether its sections have states."""
    is_private: bool = False
    """Whether its options name somebody: nobody is shown them."""


JOBS = ExtensionGroup("singletable.jobs", JobKind, entry_points.JOBS)


def kind_named(name: str) -> JobKind:
    """The kind of a name. InvalidRequest for one that is not registered."""
    entry = JOBS.entry(name)
    if entry is None:
        known = ", ".join(sorted(JOBS.entries()))
        raise InvalidRequest(f"{name!r} does not run as a job", operation="job", hint=f"These do: {known}.")
    return JOBS.load(entry)


def segment_at(section: int, of: int, position: Any) -> ScanSegment:
    """The segment of a scan that a section is, where it goes on."""
    return ScanSegment(section, of, position)
