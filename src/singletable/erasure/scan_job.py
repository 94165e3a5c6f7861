"""A scan of an erasure as a job: a section is a segment of the table, and its lines are the keys of candidates.

The process that erases begins a job for each of its scans, works on it beside others, and reads the candidates again by
their keys, as those of an export. So a job deletes nothing, and what it finds twice or late harms nothing. Its options
and lines name somebody: once they are read, the job is forgotten.
"""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from datetime import timedelta
from functools import partial
from typing import Any, Final

import msgspec
from msgspec import Struct

from singletable.erasure.wanted import (
    Alternatives,
    StoredSubject,
    asked_of,
    may_refer,
    named_layers,
    named_references,
    references_with,
    stored_subjects,
    subject_in,
)
from singletable.flow import Port, Rate, at_rate, instant, patiently
from singletable.foundation import LayerBelongings, Subject, Table, place_in, ready, scan_pages
from singletable.jobs import JobKind, JobPlace, JobRefused, JobStatus, JobWork, Round, SectionLines, flows as job_flows
from singletable.jobs.inspect import LEASE_SECONDS, JobBounds, JobState, WorkerOptions, segment_at
from singletable.layers import belongings_of as layer_belongings
from singletable.operations import Item

KIND: Final = "erase"
_MOST_BYTES: Final = 300_000
"""The most of the subjects of a scan: an item of the table holds them. More are looked for without a job."""
_TRIES: Final = 3
_LEFT: Final = timedelta(hours=1)
"""A scan that ended so long ago was not read: the process that began it was killed."""


class ErasureScanOptions(Struct, frozen=True):
    """The subjects of a scan, and the types of items that it looks at."""

    subjects: Sequence[StoredSubject]
    types: Mapping[str, Mapping[str, int]]
    """The types of items that may refer to a subject, each with its references as texts, and their number. A worker
    that knows others takes all items of the type."""
    watched: Mapping[str, Mapping[str, int]]
    """The types of items that layers ask for, each with the texts of the layers, as above."""
    is_apply: bool = False
    """Whether an erasure scans, not a plan. There is one erasure of a table at a time, under its lease."""
    salt: str = ""
    """Random: the job's id is made of its options, and says nothing of them."""


class ErasureScanWork(JobWork):
    """Finds the items of a page that may belong to a subject."""

    def __init__(self, place: JobPlace, options: ErasureScanOptions) -> None:
        self.table, self.options = place.table, options
        known = [subject_in(place.table, stored) for stored in options.subjects]
        subjects = [subject for subject in known if subject is not None]
        layers: list[LayerBelongings] = []
        if len(subjects) == len(known):  # else it takes all items of the types
            layers = [layer.belongings() for layer in layer_belongings(place.table, place.seal, None)]
        _, wanted = asked_of(references_with(place.table, layers), subjects)
        if len(subjects) < len(known):
            wanted = {}
        named = named_references(wanted)
        self.wanted = {name: those for name, those in wanted.items() if named[name] == options.types.get(name)}
        watchers: dict[str, list[LayerBelongings]] = {}
        for layer in layers:
            for name in layer.scans(subjects):
                watchers.setdefault(name, []).append(layer)
        named = named_layers(watchers)
        self.watchers = {name: those for name, those in watchers.items() if named[name] == options.watched.get(name)}

    async def begin(self, port: Port) -> None:
        await ready(port, self.table)

    async def round(self, port: Port, section: int, of: int, position: Any, page: int) -> Round:
        segment = segment_at(section, of, position)
        (read,) = await patiently(port, partial(scan_pages, port, self.table, [segment], page=page))
        lines = [{"type": self.table.type_of(i), "key": place_in(self.table, i)} for i in read.items if self._is_one(i)]
        after = None if read.after is None else segment.moved(read.after).position
        return Round(after, read.after is None, len(read.items), {"candidates": len(lines)}, lines)

    def _is_one(self, item: Item) -> bool:
        name = self.table.type_of(item)
        if name in self.options.types and (name not in self.wanted or may_refer(item, self.wanted[name])):
            return True
        if name not in self.options.watched:
            return False
        model, layers = self.table.model_of_type(name), self.watchers.get(name)
        if model is None or layers is None:  # a layer's own class, which this program has not declared
            return True
        return any(one.wants(model, item) for one in layers)

    async def end(self, port: Port, told: SectionLines) -> Mapping[str, Any]:
        return {"seen": told.seen, "candidates": told.counts.get("candidates", 0)}


ERASE = JobKind(KIND, 1, ErasureScanOptions, ErasureScanWork, writes=False, is_private=True)


class SharedScans(Struct, frozen=True):
    """An erasure's scans as jobs, which other processes share by `singletable job run` or `Jobs(db, table).run`.

    `tell` gets each job once it is begun, `progress` its state while this process works on it. Rates and caps are of
    each scan, over all processes. `at_once` sections are scanned at the same time, here.

    A job holds up to 300 KB of subjects, some thousands. A scan for more is done by the process that erases alone, and
    `alone` gets their number; with a `read_cap` it raises JobRefused. So does a scan that is paused, by a person or at
    its cap, or that a signal stops, as `signals` says: the same call goes on.
    """

    sections: int | None = None
    read_rate: float | None = None
    read_cap: float | None = None
    at_once: int = 4
    lease_seconds: float = LEASE_SECONDS
    signals: bool = True
    tell: Callable[[JobStatus], object] | None = None
    progress: Callable[[JobStatus], object] | None = None
    alone: Callable[[int], object] | None = None


class ScanJobs:
    """The scans of one erasure."""

    def __init__(self, place: JobPlace, shared: SharedScans, *, is_apply: bool = False) -> None:
        self.place, self.shared, self.is_apply = place, shared, is_apply
        self.goes_on, self.has_gone_on = True, False
        """`goes_on`: whether the next scan may be one that a killed process has begun. Only those of the first search
        may: later ones look for what came meanwhile. `has_gone_on`: whether one was."""
        self.read_units = self.write_units = 0.0
        """The units of other processes for the scans."""

    async def candidates(
        self,
        port: Port,
        subjects: Sequence[Subject],
        wanted: Mapping[str, Alternatives],
        watchers: Mapping[str, Sequence[LayerBelongings]],
    ) -> list[tuple[str, str]] | None:
        """The keys of what may belong to subjects, by a job. None if the subjects are too many for one."""
        stored = stored_subjects(subjects, wanted, is_watched=bool(watchers))
        asked = ErasureScanOptions(stored, named_references(wanted), named_layers(watchers), self.is_apply)
        if len(msgspec.json.encode(asked)) > _MOST_BYTES:
            self._tell_alone(len(stored))
            return None
        for attempt in range(_TRIES):
            try:
                return await self._by_job(port, asked)
            except JobRefused as error:  # another process has read it, and forgot it
                if error.reason != "missing" or attempt == _TRIES - 1:
                    raise
        raise AssertionError("it returns or raises")

    def alone_at_rate(self, port: Port) -> Port:
        """The port of a scan without a job."""
        rate = self.shared.read_rate
        return at_rate(port, None if rate is None else Rate(read_units=rate))

    def _tell_alone(self, subjects: int) -> None:
        """Report a scan without a job. JobRefused if it has a cap, which nothing would hold it to."""
        if self.shared.read_cap is not None:
            raise JobRefused(
                f"a scan looks for {subjects:,} subjects, too many for a job, and has a cap",
                reason="too large",
                table=self.place.table.name,
                operation="erase",
                hint="Erase again without a cap: nothing is lost, and one process does that scan.",
            )
        if self.shared.alone is not None:
            self.shared.alone(subjects)

    async def _by_job(self, port: Port, asked: ErasureScanOptions) -> list[tuple[str, str]]:
        table = self.place.table
        job = await self._begun(port, asked)
        shared = self.shared
        if shared.tell is not None:
            shared.tell(job)
        options = WorkerOptions(shared.at_once, shared.lease_seconds, waits_paused=False)
        own: list[tuple[float, float]] = []
        done = await job_flows.run(
            port,
            self.place,
            job.id,
            options,
            stop=lambda: False,
            signals=shared.signals,
            progress=shared.progress,
            kept=lambda read, write: own.append((read, write)),
        )
        self.read_units += max(0.0, done.read_units - sum(read for read, _ in own))
        self.write_units += max(0.0, done.write_units - sum(write for _, write in own))
        if done.state != "ended":
            await job_flows.show(port, table, job.id)  # JobRefused where it is gone
            how = "was stopped" if done.state == JobState.RUNNING.value else f"is {done.state}"
            raise JobRefused(
                f"the scan {job.id} {how}{': ' if done.why else ''}{done.why}",
                reason="has ended",
                table=table.name,
                operation="erase",
                hint="Erase again: nothing is lost, and it goes on. After a cap, with a larger one, or without.",
            )
        places = [(str(pk), str(sk)) async for pk, sk in self._keys(port, job.id)]
        if done.result is None or len(places) != done.result["candidates"]:  # somebody forgets it at this moment
            raise JobRefused(
                f"the scan {job.id} was deleted while it was read",
                table=table.name,
                operation="erase",
                hint="Erase again: nothing is lost.",
            )
        await job_flows.forget(port, table, job.id)
        return places

    async def _begun(self, port: Port, asked: ErasureScanOptions) -> JobStatus:
        """A new job, or one that was killed, stopped or paused for the same. What others left is deleted."""
        same, table = msgspec.json.decode(msgspec.json.encode(asked)), self.place.table
        bounds = JobBounds(read_rate=self.shared.read_rate, read_cap=self.shared.read_cap)
        for job in await job_flows.of_kind(port, table, KIND):
            is_same = job.is_own and {**job.options, "salt": ""} == same
            if self.goes_on and is_same and job.state in (JobState.RUNNING, JobState.PAUSED):
                there = await job_flows.show(port, table, job.id)
                if job.state is JobState.RUNNING or there.read_cap is None or bounds.read_cap is not None:
                    self.has_gone_on = True
                    is_paused = job.state is JobState.PAUSED
                    return await job_flows.resume(port, table, job.id, bounds) if is_paused else there
                await job_flows.forget(port, table, job.id)  # its cap can't be taken away
            elif _is_left(job, port.now(), is_apply=self.is_apply) or (is_same and job.state is JobState.FAILED):
                await job_flows.forget(port, table, job.id)
        salted = msgspec.structs.replace(asked, salt=secrets.token_hex(16))
        given = msgspec.to_builtins(salted)
        return await job_flows.begin(port, self.place, KIND, given, sections=self.shared.sections, bounds=bounds)

    async def _keys(self, port: Port, job: str) -> AsyncIterator[Sequence[str]]:
        for numbers in await job_flows.sections_of(port, self.place.table, job):
            for line in await job_flows.lines(port, self.place.table, job, numbers):
                yield line["key"]


async def forget_scans(port: Port, table: Table, erased: Collection[tuple[str, str]]) -> None:
    """Delete the scans that others have left, at the end of an erasure: of erasures, and of plans that name what was
    erased, also of another version of the program. A query, and a request that describes the table."""
    for job in await job_flows.of_kind(port, table, KIND):
        named = ((subject["place"][0], subject["place"][1]) for subject in job.options["subjects"])
        if _is_left(job, port.now(), is_apply=True) or any(place in erased for place in named):
            await job_flows.forget(port, table, job.id)


def _is_left(job: job_flows.KnownJob, now: float, *, is_apply: bool) -> bool:
    """Whether nobody reads a job any more: an erasure's, where one has the lease now; one that ended long ago."""
    if is_apply and job.options.get("is_apply"):
        return True
    return job.ended_at is not None and job.ended_at < instant(now) - _LEFT
