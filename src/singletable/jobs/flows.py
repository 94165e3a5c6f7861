"""The verbs of jobs, over a port."""

from __future__ import annotations

from base64 import b32encode
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from hashlib import sha256
from typing import Any, Final

import msgspec
from msgspec import Struct

from singletable.errors import InvalidRequest
from singletable.flow import UNGATED, Port, Race, Stop, instant, patiently, stopping
from singletable.foundation import Table
from singletable.jobs.items import JobItem
from singletable.jobs.refusals import JobRefusal, JobRefused
from singletable.jobs.states import JobEvent, JobState
from singletable.jobs.status import JobStatus, status_of
from singletable.jobs.store import AT_ONCE, JobStore
from singletable.jobs.work import JOBS, JobPlace, JobWork, Line, kind_named
from singletable.jobs.worker import JobWorker, OnKept, Progress
from singletable.jobs.worker_options import WorkerOptions
from singletable.migrations import document_of
from singletable.tables import describe, table_identity

KEPT: Final = timedelta(days=7)
"""A job that has ended, or was cancelled, is deleted by the next call of `begin` or `list_jobs` after this time; so is
one that names somebody, and that nobody has worked on for so long."""
MOST_SECTIONS: Final = 100_000
_LEAST_SECTIONS: Final = 16
_MOST_USUAL_SECTIONS: Final = 4_096
_SECTION_BYTES: Final = 256 << 20
_ID_LETTERS: Final = 8


class JobBounds(Struct, frozen=True):
    """The most units that a job takes, over all its workers: in a second, and in all. Raises InvalidRequest."""

    read_rate: float | None = None
    write_rate: float | None = None
    read_cap: float | None = None
    write_cap: float | None = None

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise InvalidRequest(
                    f"{name} is above zero, not {value}", operation="job", hint="Leave it out for no bound."
                )


class KnownJob(Struct, frozen=True):
    """A job, as a command that begins jobs of its own looks for them."""

    id: str
    state: JobState
    options: Mapping[str, Any]
    ended_at: datetime | None
    is_own: bool
    """Whether this program can do it: it has the same classes, and the job is of this table, not of one that was copied
    or restored."""

    def __repr__(self) -> str:
        return f"<KnownJob {self.id}>"


async def begin(
    port: Port,
    place: JobPlace,
    kind: str,
    options: Mapping[str, Any],
    *,
    sections: int | None = None,
    bounds: JobBounds = JobBounds(),  # noqa: B008  (frozen)
    by: str = "",
) -> JobStatus:
    """Begin a job, or find the one of the same work that has not ended. It does nothing until a worker runs."""
    found_kind, table = kind_named(kind), place.table
    work = found_kind.work(place, _options(found_kind.options, options))
    store = JobStore(port, table)
    text, declaration = msgspec.json.encode(work.options, order="sorted").decode(), document_of(table).digest
    own, same = await describe(port, table.definition), list[JobItem]()
    if own is not None:
        asked, identity = (kind, text, declaration), table_identity(own.raw)
        same = [job for job in await _swept(store) if (job.kind, job.options, job.declaration) == asked]
        for job in same:
            if job.identity == identity and not JobState(job.state).is_final:  # others are of what this is a copy of
                return await _status(store, table, job)
    await work.first(port)
    await store.ready()
    own = own or await describe(port, table.definition)
    identity, now = "" if own is None else table_identity(own.raw), instant(port.now())
    scanned = work.scanned(port)
    described = own if scanned is port else await describe(scanned, table.definition)
    raw: Mapping[str, Any] = {} if described is None else described.raw
    job = store.job(
        job=_id_after(same, kind, text, declaration, identity, f"{now:%Y-%m-%d}"),
        kind=kind,
        options=text,
        is_private=found_kind.is_private,
        declaration=declaration,
        format=found_kind.format,
        identity=identity,
        sections=work.sections(port, _sections(scanned, sections, int(raw.get("TableSizeBytes", 0)))),
        items=0 if described is None else described.items,
        begun_at=now,
        by=by,
        **{name: getattr(bounds, name) for name in bounds.__struct_fields__},
    )
    made = await store.make(job)
    return status_of(table.name, job, (), port.now()) if made is job else await _status(store, table, made)


async def run(
    port: Port,
    place: JobPlace,
    job_id: str,
    options: WorkerOptions,
    *,
    stop: Stop | None = None,
    signals: bool = True,
    progress: Progress | None = None,
    kept: OnKept | None = None,
) -> JobStatus:
    """Work on a job until it has ended or was cancelled, or until the worker is to stop. `kept` gets the units of what
    this worker keeps."""
    table, store = place.table, JobStore(port, place.table)
    job, work = await patiently(port, partial(_taken_up, port, place, store, job_id))
    if JobState(job.state).ends_workers:
        return await _status(store, table, job)
    with stopping(stop, signals) as asked:
        try:
            return await JobWorker(port, table, work, store, job, UNGATED, options, asked, progress, kept).run()
        except JobRefused as error:
            if error.reason == "missing":
                await store.forget(job)  # what this worker has written since
            raise


async def pause(port: Port, table: Table, job_id: str, *, by: str = "") -> JobStatus:
    """Pause a job: no worker begins another round. A read and a write."""
    why = f"paused by {by}" if by else "paused"
    return await _change(port, table, job_id, JobEvent.PAUSE, why, JobBounds())


async def resume(port: Port, table: Table, job_id: str, bounds: JobBounds) -> JobStatus:
    """Let workers go on, within new bounds where they are given. A read and a write. A section that failed may fail
    once more: then the job has failed again."""
    return await _change(port, table, job_id, JobEvent.RESUME, "", bounds)


async def cancel(port: Port, table: Table, job_id: str, *, by: str = "") -> JobStatus:
    """End a job: rounds that run are finished, and what was done stays done. A read and a write."""
    why = f"cancelled by {by}" if by else "cancelled"
    return await _change(port, table, job_id, JobEvent.CANCEL, why, JobBounds())


async def show(port: Port, table: Table, job_id: str) -> JobStatus:
    """One job with its sections. A read, and one for each hundred sections."""
    store = JobStore(port, table)
    await store.ready()
    return await _status(store, table, await _known(store, job_id))


async def list_jobs(port: Port, table: Table) -> list[JobStatus]:
    """Every job of a table, the latest first. A query, and for each job as `show`."""
    store = JobStore(port, table)
    await store.ready()
    jobs = sorted(await _swept(store), key=lambda job: job.begun_at, reverse=True)
    return [await _status(store, table, job) for job in jobs]


async def of_kind(port: Port, table: Table, kind: str) -> list[KnownJob]:
    """The jobs of a kind that the table has. A query, and one request that describes the table."""
    store, declaration = JobStore(port, table), document_of(table).digest
    await store.ready()
    described = await describe(port, table.definition)
    identity = "" if described is None else table_identity(described.raw)
    return [
        KnownJob(
            job.job,
            JobState(job.state),
            msgspec.json.decode(job.options),
            job.ended_at,
            is_own=(job.declaration, job.identity) == (declaration, identity),
        )
        for job in await store.all()
        if job.kind == kind
    ]


async def forget(port: Port, table: Table, job_id: str) -> None:
    """Delete all of a job; nothing where it is gone. A read for each hundred sections, a write for each item."""
    store = JobStore(port, table)
    await store.ready()
    if (job := await store.read(job_id)) is not None:
        await store.forget(job)


async def sections_of(port: Port, table: Table, job_id: str) -> list[range]:
    """The numbers of a job's sections, in groups of one request. A read."""
    store = JobStore(port, table)
    await store.ready()
    return _numbers(await _known(store, job_id))


async def lines(port: Port, table: Table, job_id: str, numbers: Sequence[int]) -> list[Line]:
    """The lines of some sections so far. A read, and one for each 200 KB of a section, 16 in a round trip."""
    store = JobStore(port, table)
    parts = sorted((await store.parts(job_id, numbers)).items())
    return [line async for line in store.told(part for _, part in parts)]


# --- one job ----------------------------------------------------------------------------------------------------------
async def _known(store: JobStore, job_id: str) -> JobItem:
    job = await store.read(job_id)
    if job is None:
        raise _refused(f"no job {job_id!r} is there", "missing", store, "singletable job list MODULE has all jobs.")
    return job


async def _taken_up(port: Port, place: JobPlace, store: JobStore, job_id: str) -> tuple[JobItem, JobWork]:
    """A job, and its work, ready to be gone on with."""
    await store.ready()
    job = await _known(store, job_id)
    work = await _work(port, place, job)
    if not JobState(job.state).ends_workers:
        await work.begin(port)
    return job, work


async def _work(port: Port, place: JobPlace, job: JobItem) -> JobWork:
    """The work of a job, as this program does it. JobRefused if that differs."""
    kind, store = kind_named(job.kind), JobStore(port, place.table)
    if job.format != kind.format:
        what = f"another version of the library began it: its sections have format {job.format}, not {kind.format}"
        raise _refused(what, "other program", store, "Run workers of that version, or cancel it and begin again.")
    if job.declaration != document_of(place.table).digest:
        what = "it was begun with other classes than this program declares"
        raise _refused(what, "other program", store, "Run workers of that program, or cancel it and begin again.")
    described = await describe(port, place.table.definition)
    if described is not None and table_identity(described.raw) != job.identity:
        what = "it is of the table that this one is a copy of"
        raise _refused(what, "other table", store, "Begin another one here.")
    work = kind.work(place, _options(kind.options, msgspec.json.decode(job.options)))
    work.job, work.begun_at = job.job, job.begun_at
    return work


async def _change(port: Port, table: Table, job_id: str, event: JobEvent, why: str, bounds: JobBounds) -> JobStatus:
    store = JobStore(port, table)
    await store.ready()
    race = Race(port, "job", "it was changed", table.name)
    given = {name: value for name in bounds.__struct_fields__ if (value := getattr(bounds, name)) is not None}
    while True:
        job = await _known(store, job_id)
        if event is JobEvent.RESUME:
            _check_rate(table, job.kind, bounds)
        state = JobState(job.state)
        is_so = (event, state) in ((JobEvent.RESUME, JobState.RUNNING), (JobEvent.PAUSE, JobState.FAILED))
        if state.is_final or is_so:
            if (state is JobState.ENDED and event is not JobEvent.RESUME) or (
                state.is_final and event is JobEvent.RESUME
            ):
                raise _refused(f"{job_id} is {job.state}", "has ended", store, "Begin another one.")
            if not given:
                return await _status(store, table, job)
        if await store.change(job, event, why=why, **given) is not None:
            return await show(port, table, job_id)
        await race.lost()


def _check_rate(table: Table, kind: str, bounds: JobBounds) -> None:
    """InvalidRequest for a rate of writes alone, of a job that only reads: it would slow nothing down."""
    entry, is_of_writes = JOBS.entry(kind), bounds.write_rate is not None and bounds.read_rate is None
    if is_of_writes and entry is not None and not JOBS.load(entry).writes:
        raise InvalidRequest(
            f"a job of kind {kind!r} only reads: a rate of writes bounds nothing but its own items",
            table=table.name,
            operation="job",
            hint="Give it a read rate: --read-rate, or read_rate=.",
        )


async def _status(store: JobStore, table: Table, job: JobItem) -> JobStatus:
    parts = [part for numbers in _numbers(job) for part in (await store.parts(job.job, numbers)).values()]
    return status_of(table.name, job, parts, store.port.now())


def _numbers(job: JobItem) -> list[range]:
    """The numbers of the sections and of the end, in groups of one request."""
    most = job.sections + 1
    return [range(begin, min(begin + AT_ONCE, most)) for begin in range(0, most, AT_ONCE)]


async def _swept(store: JobStore) -> Sequence[JobItem]:
    """All jobs, after the deletion of long ended ones."""
    await store.ready()
    jobs, since = await store.all(), instant(store.port.now()) - KEPT
    old = [job for job in jobs if await _is_old(store, job, since)]
    for job in old:
        await store.forget(job)
    return [job for job in jobs if job not in old]


async def _is_old(store: JobStore, job: JobItem, since: datetime) -> bool:
    """Whether a job ended before a time; or names somebody, began before it, and nobody has worked on it since."""
    if job.ended_at is not None or not job.is_private or job.begun_at >= since:
        return job.ended_at is not None and job.ended_at < since
    parts = [part for numbers in _numbers(job) for part in (await store.parts(job.job, numbers)).values()]
    return all(part.beat_at is None or part.beat_at < since for part in parts)


def _options(kind: type[Struct], given: Mapping[str, Any]) -> Any:
    try:
        return msgspec.convert(given, kind)
    except msgspec.ValidationError as error:
        raise InvalidRequest(
            f"not options of this job: {error}", operation="job", hint="They are those of the command."
        ) from None


def _sections(port: Port, wanted: int | None, size: int) -> int:
    if wanted is not None:
        if not 1 <= wanted <= MOST_SECTIONS:
            raise InvalidRequest(
                f"a job has 1 to {MOST_SECTIONS:,} sections, not {wanted}",
                operation="job",
                hint="Some more than ever work at the same time.",
            )
        return wanted
    if port.traits.segments_shift:
        return 1
    return max(_LEAST_SECTIONS, min(_MOST_USUAL_SECTIONS, size // _SECTION_BYTES))


def _id_after(jobs: Sequence[JobItem], *work: str) -> str:
    """The id of the next job of a work, after those that are there: whoever begins it at the same time makes the same.

    The work has the kind first, and the day, so that no id is used again when old jobs are deleted.
    """
    digest = sha256(msgspec.json.encode((work, sorted(job.job for job in jobs)))).digest()
    return f"{work[0]}-{b32encode(digest).decode().lower()[:_ID_LETTERS]}"


def _refused(what: str, reason: JobRefusal, store: JobStore, hint: str) -> JobRefused:
    return JobRefused(what, reason=reason, table=store.kept_in.name, operation="job", hint=hint)
