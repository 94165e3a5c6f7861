"""A job as people and programs see it: its progress, its workers, its cost, and the time that is left."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

import msgspec
from msgspec import Struct

from singletable.hidden_fields import repr_without
from singletable.jobs.items import JobItem, JobPart
from singletable.jobs.states import JobState


class HeldPart(Struct, frozen=True):
    """A section that a worker has."""

    section: int
    """Its number, from 0; the job's end has the one after the last."""
    beat_seconds: float
    """Since its owner wrote it last, by the clocks of both."""
    process: str
    """The host and the id of that worker's process; empty where its program does not store it."""


class JobStatus(Struct, frozen=True):
    """A job, and the work on it so far."""

    id: str
    kind: str
    options: Mapping[str, Any]
    """Empty where they name somebody."""
    table: str
    state: str
    """`running`, `paused`, `failed`, `cancelled` or `ended`."""
    why: str
    """Why it is paused or failed, or who cancelled it."""
    by: str
    begun_at: datetime
    ended_at: datetime | None
    seconds: float
    """For which it ran, without its pauses."""
    sections: int
    over: int
    """Sections that are over."""
    items: int
    """Items to read, by the service's count when it began; 0 where it gave none."""
    seen: int
    """Items read."""
    counts: Mapping[str, int]
    """Its counts by name."""
    read_units: float
    write_units: float
    """The cost of the kept rounds and of the end, with the job's own items; without what a kill lost."""
    held: tuple[HeldPart, ...]
    troubles: tuple[str, ...]
    """The errors at which sections were left, that nobody has gone on with."""
    read_rate: float | None
    write_rate: float | None
    read_cap: float | None
    write_cap: float | None
    result: Mapping[str, Any] | None
    """None until it has ended."""

    __repr__ = repr_without("options", "result")

    @property
    def share(self) -> float:
        """The part that is done, from 0 to 1."""
        if self.state == JobState.ENDED.value:
            return 1.0
        by_sections = self.over / self.sections
        return by_sections if not self.items else min(0.999, max(by_sections * 0.999, self.seen / self.items))

    @property
    def seconds_left(self) -> float | None:
        """The rest of its time, if it goes on as it did so far; None before anything is done, and where nobody works
        on it, or at its end, which has no sections."""
        if self.state == JobState.ENDED.value:
            return 0.0
        is_going = self.state == JobState.RUNNING.value and self.held and self.over < self.sections
        return self.seconds / self.share * (1 - self.share) if self.share and is_going else None


def status_of(table: str, job: JobItem, parts: Iterable[JobPart], now: float) -> JobStatus:
    """The status of a job, from those of its sections that were begun."""
    known = list(parts)
    begun = [part for part in known if part.section < job.sections]
    held = [
        HeldPart(part.section, max(0.0, now - part.beat_at.timestamp()), part.process)
        for part in known
        if part.owner and part.beat_at is not None
    ]
    end = job.ended_at or job.paused_at
    until = now if end is None else end.timestamp()
    return JobStatus(
        id=job.job,
        kind=job.kind,
        options={} if job.is_private else msgspec.json.decode(job.options),
        table=table,
        state=job.state,
        why=job.why,
        by=job.by,
        begun_at=job.begun_at,
        ended_at=job.ended_at,
        seconds=max(0.0, until - job.begun_at.timestamp() - job.paused_seconds),
        sections=job.sections,
        over=sum(part.is_over for part in begun),
        items=job.items,
        seen=sum(part.seen for part in begun),
        counts=dict(sum((Counter(part.counts) for part in begun), Counter[str]())),
        read_units=sum(part.read_units for part in known),
        write_units=sum(part.write_units for part in known),
        held=tuple(held),
        troubles=tuple(dict.fromkeys(part.trouble for part in known if part.trouble)),
        read_rate=job.read_rate,
        write_rate=job.write_rate,
        read_cap=job.read_cap,
        write_cap=job.write_cap,
        result=None if job.result is None else msgspec.json.decode(job.result),
    )
