"""A worker of a job: takes sections, does their rounds, and keeps each under its lease. Flows.

    free       nobody has begun it, its owner has released it, or shows no life for the lease's length
    taken      a slot does round after round; they are kept with their position, on condition of the fence: each, or
               those of some seconds together, with what they put together (`gather`)
    over       its last round is kept
    the end    one section more, which is free when all others are over: it makes the result

Any number of processes do this at the same time. One that is killed loses the round that was not kept: the next owner
does it again. One that stood still for longer than its lease sends nothing more for that section (`held_port`), and
keeps nothing of it.

A worker whose section raises ends with that error, and others take the section. A section whose work has raised three
times in a row makes the job `failed`: its workers end, and a person resumes it, or cancels it. An error of `progress`
or `stop` is the caller's: it ends the worker, and says nothing of the section.

Between two rounds a worker stops if it was asked to, and if the job is paused or cancelled, which it notices within
`LOOK_SECONDS`. A hold of the table stops none: a person began the job there, and the target of a copy is held by it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Final

import msgspec
from msgspec.structs import replace

from singletable.errors import PASSING, Denied, NotConfigured, SingletableError
from singletable.events import LeaseLost, LeaseTaken
from singletable.flow import (
    Gate,
    Heartbeat,
    Kernel,
    Meter,
    Port,
    Stop,
    Trouble,
)
from singletable.foundation import Table
from singletable.jobs.free_sections import FreeSections
from singletable.jobs.held_port import HeldPort, SectionLost
from singletable.jobs.held_section import HeldSection
from singletable.jobs.items import JobItem, JobPart
from singletable.jobs.limits import JobLimits
from singletable.jobs.refusals import JobRefused
from singletable.jobs.states import JobEvent, JobState
from singletable.jobs.status import JobStatus, status_of
from singletable.jobs.store import JobStore
from singletable.jobs.work import Gathered, JobWork, Round, SectionLines
from singletable.jobs.worker_options import WorkerOptions

LOOK_SECONDS: Final = 3.0
"""Between two looks at the job."""
_SLICE_SECONDS: Final = 0.1
MOST_FAILURES: Final = 3
"""How often the work of one section may raise, before a round of it is kept: then the job has failed."""
OF_THE_PROCESS: Final = (*PASSING, Denied, NotConfigured, JobRefused, MemoryError, OSError, ImportError)
"""Errors that another process may not have, or a later try, as of a full disk: a section does not fail by them."""

Progress = Callable[[JobStatus], object]
OnKept = Callable[[float, float], object]
"""Gets the read and write units of rounds of sections that were kept, as the job's status counts them."""


@dataclass(eq=False)
class JobWorker:
    """One process's work on a job, shared by its slots."""

    port: Port
    table: Table
    work: JobWork
    store: JobStore
    job: JobItem
    gate: Gate
    options: WorkerOptions
    stop: Stop
    progress: Progress | None = None
    on_kept: OnKept | None = None
    limits: JobLimits = field(init=False)
    kernel: Kernel = field(init=False)
    sections: FreeSections = field(init=False)
    _held: dict[int, HeldSection] = field(default_factory=dict[int, HeldSection])
    _read_at: float = float("-inf")
    _told_at: float = float("-inf")
    _busy_at: float = field(init=False)
    """The time at which an idle slot saw it with a section last."""

    def __post_init__(self) -> None:
        name = f"job {self.job.job}"
        self.limits = JobLimits(self.port, self.table, self.store, self.job)
        self.work.at_rate = self.limits.at_rate
        self.kernel = Kernel(self.port, self.gate, self.stop, name, Trouble(self.port))
        self.sections = FreeSections(
            self.port, self.store, self.job, self.limits, self.options.lease_seconds, self._held
        )
        self._busy_at = self.port.monotonic()

    async def run(self) -> JobStatus:
        """Work until the job has ended, was cancelled, or the worker is to stop."""
        slots = [self._slot for _ in range(self.options.at_once)]
        heartbeat = Heartbeat(self.options.lease_seconds, lambda: list(self._held.values()), self._beat)
        try:
            await self.kernel.run(slots, heartbeat)
        finally:
            await self.limits.give_back()
        return await self.status()

    async def status(self) -> JobStatus:
        """The present job and sections. A read, and one for each hundred sections that were not over."""
        with self.limits.own_requests():
            self._note_job(await self.store.read(self.job.job) or self.job)
        await self.sections.read()
        return self._status()

    def _status(self) -> JobStatus:
        """The job and its sections, as this process knows them."""
        return status_of(self.table.name, self.job, self.sections.begun, self.port.now())

    async def _slot(self) -> None:
        await self.kernel.repeat(self._step)

    async def _step(self) -> bool:
        await self._read_job()
        if JobState(self.job.state).ends_workers:
            return False
        if self.job.state == JobState.PAUSED.value:
            await self._tell()
            return self.options.waits_paused and await self._idle()
        held = await self._take()
        if held is None:
            await self._tell()
            return await self._idle()
        await self._do(held)
        return True

    async def _idle(self) -> bool:
        """Wait a little, and look at the job again. False after `idle_seconds` without a section."""
        now, most = self.port.monotonic(), self.options.idle_seconds
        if self._held:
            self._busy_at = now
        if most is not None and now - self._busy_at >= most:
            return False
        await self.port.sleep(_SLICE_SECONDS)
        await self._read_job(self.sections.pause if self.job.read_rate is None else LOOK_SECONDS)
        return True

    async def _take(self) -> HeldSection | None:
        """A section of this slot's own; None if there is none now."""
        taken = await self.sections.take()
        if taken is None:
            return None
        part = taken.held.part
        told = LeaseTaken(
            worker=self.kernel.name,
            lease=f"section {part.section}",
            fence=part.fence,
            is_takeover=taken.holder is not None,
            seconds=self.options.lease_seconds,
            holder=taken.holder or "",
        )
        self.port.events.emit(told)
        return taken.held

    async def _read_job(self, pause: float | None = None) -> None:
        """Look at the job again, where the last look is some time ago. JobRefused if it is gone."""
        if self.port.monotonic() - self._read_at < (LOOK_SECONDS if pause is None else pause):
            return
        self._read_at = self.port.monotonic()
        with self.limits.own_requests(are_upkeep=True):
            stored = await self.store.read(self.job.job)
        self._note_job(self._there(stored))

    def _note_job(self, job: JobItem) -> None:
        self.job = job
        self.limits.note_job(job)

    def _there(self, stored: JobItem | None) -> JobItem:
        if stored is None:
            raise JobRefused(
                f"the job {self.job.job} is gone: it ended and was deleted, or the table is another one",
                table=self.table.name,
                operation="job",
                hint="singletable job list MODULE has all jobs.",
            )
        return stored

    # --- one section --------------------------------------------------------------------------------------------------
    async def _do(self, held: HeldSection) -> None:
        """Round after round, until the section is over, or the worker has to leave it."""
        try:
            with held.noting_errors():
                await self._take_up(held)
            while not held.part.is_over and not held.is_lost and await self._goes_on():
                with held.noting_errors():
                    is_allowed = await self._round(held)
                if not is_allowed:
                    break
                await self._tell()
            if held.unkept is not None and not held.is_lost:
                with held.noting_errors():
                    await self._keep(held)
        except SectionLost:
            held.is_lost = True
        finally:
            self._held.pop(held.part.section, None)
            self.work.put_down(held.part.section)
            if held.is_lost:
                self.port.events.emit(LeaseLost(worker=self.kernel.name, lease=f"section {held.part.section}"))
            elif not held.part.is_over:
                await self._release(held.part, held.error)

    async def _take_up(self, held: HeldSection) -> None:
        """Give the work the section's state; delete what an owner before left."""
        with self.limits.own_requests():
            if held.part.fence > 1:
                await self.store.drop_unkept(held.part)
            state = await self.store.state(held.part)
        if held.part.section != self.job.sections:
            self.work.take_up(held.part.section, held.part.fence, state)

    async def _release(self, part: JobPart, error: Exception | None) -> None:
        """Leave a section to others. One whose work has raised too often ends the work on the job."""
        trouble, failures = part.trouble, part.failures
        if error is not None:
            trouble = error.code if isinstance(error, SingletableError) else type(error).__name__
            failures += not isinstance(error, OF_THE_PROCESS)
        try:
            left = await self.store.release(part, trouble, failures)
            if left is not None and failures > part.failures and failures >= MOST_FAILURES:
                await self._fail(left)
        except SingletableError as refused:
            self.kernel.note("a section was not released: it is free when its lease has expired", refused)

    async def _fail(self, part: JobPart) -> None:
        """End the work on the job. Where somebody changes it at the same moment, once more."""
        what = "its end" if part.section == self.job.sections else f"section {part.section}"
        why = f"{what} failed {part.failures} times, the last time with {part.trouble}"
        while (job := await self.store.read(part.job)) is not None and not JobState(job.state).ends_workers:
            self.job = await self.store.change(job, JobEvent.FAIL, why=why) or job

    async def _goes_on(self) -> bool:
        """Whether the next round may begin."""
        if not self.kernel.goes_on():
            return False
        await self._read_job()
        return self.job.state == JobState.RUNNING.value

    async def _round(self, held: HeldSection) -> bool:
        """One round, kept where it is time; False if the job's limits allow none."""
        part = held.part
        if part.section == self.job.sections:
            await self._end(held)
            return True
        reserved = await self.limits.reserve(self.work.page)
        if reserved is None:
            self._read_at = float("-inf")
            return False
        seen = 0
        with Meter() as meter:
            try:
                port = self._port_of(held)
                done = await self.work.round(port, part.section, self.job.sections, held.position, reserved.page)
                seen = done.seen
            finally:
                self.limits.used(reserved, meter, seen)
        held.add(done, meter)
        is_due = self.port.monotonic() - held.kept_at >= self.work.keep_seconds
        if done.is_over or is_due or self.work.is_full(part.section):
            await self._keep(held)
        return True

    def _port_of(self, held: HeldSection) -> Port:
        """The port of a section's work: at the job's rate, and only while this process has the section."""
        return self.limits.at_rate(
            HeldPort(self.port, held, self.options.lease_seconds, partial(self._beat, held)),
        )

    async def _keep(self, held: HeldSection) -> None:
        """Keep the rounds that are not kept yet, together."""
        part, done, began = held.part, held.unkept, self.port.monotonic()
        if done is None:
            return
        gathered = Gathered()
        if part.section != self.job.sections:
            gathered = await self.work.gather(self._port_of(held), part.section)
        done = replace(done, lines=[*done.lines, *gathered.lines])
        held.add_units(self.limits.own_units())
        with self.limits.own_requests() as meter:
            kept = await self.store.keep(part, done, held.read_units, held.write_units, gathered.state)
        self.limits.note_kept(meter, self.options.at_once)
        held.note(began, kept is not None)
        if kept is not None:
            if self.on_kept is not None:
                self.on_kept(held.read_units, held.write_units)
            held.keep(kept, began)
            self.sections.note({kept.section: kept})

    async def _beat(self, held: HeldSection) -> None:
        began = self.port.monotonic()
        held.beats += 1
        with self.limits.own_requests(are_upkeep=True):
            is_held = await self.store.beat(held.part, held.beats)
        if not held.part.is_over:
            held.note(began, is_held)

    # --- the end ------------------------------------------------------------------------------------------------------
    async def _end(self, held: HeldSection) -> None:
        """Make the result of all sections; then the job has ended."""
        counts = status_of(self.table.name, self.job, self.sections.over.values(), self.port.now())
        port, parts = self._port_of(held), [part for _, part in sorted(self.sections.over.items())]
        store = JobStore(port, self.table)
        with Meter() as cost:
            told = SectionLines(counts.counts, counts.seen, partial(store.told, parts), partial(store.states_of, parts))
            text = msgspec.json.encode(await self.work.end(port, told)).decode()
        while not JobState(self.job.state).is_final:
            with self.limits.own_requests():
                ended = await self.store.change(self.job, JobEvent.END, why="", result=text)
            self.job = ended or self._there(await self.store.read(self.job.job))
        held.add(Round(None, True), cost)
        await self._keep(held)

    async def _tell(self) -> None:
        """Report the progress, if that is due. The sections of others are read as often as the job's rate allows."""
        now = self.port.monotonic()
        if self.progress is None or now - self._told_at < self.options.tell_seconds:
            return
        self._told_at = now
        await self.sections.refresh()
        self.progress(self._status())
