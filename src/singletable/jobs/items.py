"""The items of jobs: the job, each of its sections, and the lines and the state of a section.

The job lies where the tools keep their items. A section and its lines have a partition each: processes write them at
the same time. A section that nobody has begun has no item.
"""

from __future__ import annotations

from datetime import datetime

from singletable.foundation import ANY, ToolItem, ToolKey, field


class JobItem(ToolItem, word="job"):
    """A job: what it does, for which declaration, within which limits, and its state."""

    job: str
    kind: str
    """The command: `fill`."""
    options: str = field(personal=True)
    """JSON."""
    is_private: bool = False
    """Whether the options name somebody."""
    declaration: str
    """The digest of the classes that it was begun with. A program that declares others refuses it."""
    format: int
    """The version of what a section does and keeps. Another one refuses it."""
    identity: str
    """The table that has the item, as the service tells it from others of its name."""
    sections: int
    items: int
    """Items to read, by the service's count when it began; 0 without a count."""
    begun_at: datetime
    by: str = ""
    state: str = "running"
    why: str = ""
    """The reason for its pause, its failure or its end, for people."""
    ended_at: datetime | None = None
    paused_at: datetime | None = None
    paused_seconds: float = 0.0
    """In pauses that are over."""
    read_rate: float | None = None
    """The most read units a second, over all processes."""
    write_rate: float | None = None
    read_cap: float | None = None
    """The most read units in all."""
    write_cap: float | None = None
    read_granted: float = 0.0
    """The part of the cap that processes were granted: used, or about to be."""
    write_granted: float = 0.0
    granted_to: str = ""
    """A token of the last grant: by it a process knows its own whose answer was lost."""
    result: str | None = field(default=None, personal=True)
    """JSON; None until it has ended."""

    @ToolKey
    @staticmethod
    def by_id(job: str = ANY) -> tuple[str, ...]:
        """A job."""
        return (f"{job}",)


class JobPart(ToolItem, word="job_part"):
    """One section of a job: its lease and its progress. The last section is the job's end."""

    job: str
    section: int
    owner: str = ""
    """The slot that has it, a random mark; "" where it is free."""
    process: str = ""
    """The host and the id of the process that took it last: for people."""
    fence: int = 0
    """Raised whenever it is taken. Every write of its owner is conditional on it."""
    beats: int = 0
    """Raised by its owner. Unchanged for a lease's length, the owner counts as dead."""
    beat_at: datetime | None = None
    """When its owner wrote it last, by its clock: for people."""
    rounds: int = 0
    """Rounds that are done. A round is written on condition of the one before it."""
    position: str | None = field(default=None, personal=True)
    """JSON: where it goes on; None at its beginning."""
    is_over: bool = False
    seen: int = 0
    """Items read."""
    counts: dict[str, int] = field(default_factory=dict[str, int])
    lines: list[int] = field(default_factory=list[int])
    """The fences under which its `JobLines` were written, one for each, in their order."""
    state: int | None = None
    """The slot of its `SectionState`; None without one."""
    read_units: float = 0.0
    write_units: float = 0.0
    trouble: str = ""
    """The error at which it was released last, without values."""
    failures: int = 0
    """How often its work has raised since a round of it was kept."""

    @ToolKey
    @staticmethod
    def by_section(job: str, section: int) -> tuple[str, ...]:
        """A section of a job."""
        return f"{job}", f"{section}"


class JobLines(ToolItem, word="job_lines"):
    """A part of a section's output. It counts once the section lists it."""

    job: str
    section: int
    number: int
    fence: int
    packed: bytes = field(personal=True)
    """A JSON array, compressed."""

    @ToolKey
    @staticmethod
    def by_number(job: str, section: int, number: int, fence: int) -> tuple[str, ...]:
        """Lines of a section."""
        return f"{job}", f"{section}", f"{number}", f"{fence}"


class SectionState(ToolItem, word="job_state"):
    """The partial result of a section, in one of two items: the other one is written next."""

    job: str
    section: int
    slot: int
    fence: int
    """The fence of the owner that wrote it: one with a lower fence, which was taken over, writes it no more."""
    packed: bytes = field(personal=True)
    """The command's own form, at most 350 KB."""

    @ToolKey
    @staticmethod
    def by_slot(job: str, section: int, slot: int) -> tuple[str, ...]:
        """A state of a section."""
        return f"{job}", f"{section}", f"{slot}"


_TYPES = frozenset(f"_{kind.word}" for kind in (JobItem, JobPart, JobLines, SectionState))


def is_of_job(type: str) -> bool:
    """Whether a stored type is that of an item of jobs."""
    return type in _TYPES
