"""Jobs bound to a database."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Any

from singletable.flow import Stop, about, check_awaiting
from singletable.foundation import AwaitingDatabase, Table
from singletable.jobs import flows
from singletable.jobs.flows import JobBounds
from singletable.jobs.lambda_handler import AsyncJobHandler, JobStates, function_options, handle_event
from singletable.jobs.status import JobStatus
from singletable.jobs.work import JobPlace, Line
from singletable.jobs.worker import Progress
from singletable.jobs.worker_options import LEASE_SECONDS, WorkerOptions


class AsyncJobs:
    """The durable jobs of a table: work on all its items, which any number of processes share.

        AsyncJobs(db, shop).begin("fill")

    `source` is the database that a copy reads; `db` has its target, and the job. `mask_key`, of 16 bytes or more, is
    the key of its masks, which each worker gives: the job has a digest of it, made slowly.

    Jobs are items of the table, or of what a foreign table names as `own_items`. Where the table has a stream, they
    make records there, which no handler gets.
    """

    def __init__(
        self,
        db: AwaitingDatabase,
        table: Table,
        *,
        source: AwaitingDatabase | None = None,
        mask_key: bytes | None = None,
    ) -> None:
        check_awaiting(db, "AsyncJobs")
        if source is not None:
            check_awaiting(source, "AsyncJobs")
        self.db, self.table, self.source, self._mask_key = about(db, table), table, source, mask_key

    def __repr__(self) -> str:
        return f"<AsyncJobs of {self.table.name}>"

    @property
    def _place(self) -> JobPlace:
        target = self.db.target
        if self.source is None:
            return JobPlace(self.table, target.seal, target.place)
        read = self.source
        return JobPlace(self.table, target.seal, target.place, read.port, read.target.place, self._mask_key)

    async def begin(
        self,
        kind: str,
        options: Mapping[str, Any] | None = None,
        *,
        sections: int | None = None,
        read_rate: float | None = None,
        write_rate: float | None = None,
        read_cap: float | None = None,
        write_cap: float | None = None,
        by: str = "",
    ) -> JobStatus:
        """Begin a job of a kind, as "fill"; or return the one of the same work that has not ended. Workers do it.

        The rates are the most units a second, the caps the most in all, over all workers. `sections` is the number
        of parts, so the most that may work at the same time: by the table's size, from 16 to 4,096. On a local engine
        it is one: segments of its scans may shift while items are added or deleted, and several could miss items.
        A query, two requests that describe the table, and a write.
        InvalidRequest for a kind that is not registered, or wrong options.
        """
        bounds = JobBounds(read_rate, write_rate, read_cap, write_cap)
        flow = flows.begin(self.db.port, self._place, kind, options or {}, sections=sections, bounds=bounds, by=by)
        return await self.db.run(flow)

    async def run(
        self,
        id: str,
        *,
        at_once: int = 4,
        lease_seconds: float = LEASE_SECONDS,
        stop: Stop | None = None,
        signals: bool = True,
        progress: Progress | None = None,
    ) -> JobStatus:
        """Work on a job, `at_once` sections concurrently, until it has ended or was cancelled; or until SIGTERM, SIGINT
        or `stop()`: then rounds that run are finished.

        Killed, it loses the round of each section that was not kept, which another worker does again, once it has seen
        the section unchanged for `lease_seconds`. A round costs a write of the section, a section two more; each
        process reads the job every three seconds. While the job is paused it waits; a hold of the table stops none.
        JobRefused for a job that another program began, with other classes or of another version.
        """
        options = WorkerOptions(at_once, lease_seconds)
        flow = flows.run(self.db.port, self._place, id, options, stop=stop, signals=signals, progress=progress)
        return await self.db.run(flow)

    def lambda_handler(self, *, at_once: int = 4, lease_seconds: float = LEASE_SECONDS) -> AsyncJobHandler:
        """Returns the handler of a Lambda function that works on jobs: on the one of its event, `{"job": ID}`, else on
        all running jobs, the oldest first, as a schedule calls it.

        It begins no round in the last 30 seconds of the function's time, and leaves its sections to the next call. It
        ends after two leases if others have all sections, or the job is paused. A running job that this program can't
        do is left to others, and an event gives the reason. A query of the jobs, then the requests of `run`.
        """
        options = function_options(at_once, lease_seconds)

        async def handler(event: Mapping[str, Any], context: Any = None) -> JobStates:
            return await self.db.run(handle_event(self.db.port, self._place, event, context, options))

        return handler

    async def pause(self, id: str, *, by: str = "") -> JobStatus:
        """No worker begins another round, from three seconds on. A read and a write. JobRefused for one that has
        ended."""
        return await self.db.run(flows.pause(self.db.port, self.table, id, by=by))

    async def resume(
        self,
        id: str,
        *,
        read_rate: float | None = None,
        write_rate: float | None = None,
        read_cap: float | None = None,
        write_cap: float | None = None,
    ) -> JobStatus:
        """Workers go on. What is given replaces a rate or a cap: a job that was paused at a cap needs a larger one.
        Workers that run take it up within three seconds, or after the round that they are at. A read and a write.
        JobRefused for one that has ended."""
        bounds = JobBounds(read_rate, write_rate, read_cap, write_cap)
        return await self.db.run(flows.resume(self.db.port, self.table, id, bounds))

    async def cancel(self, id: str, *, by: str = "") -> JobStatus:
        """End a job. Rounds that run are finished, what was done stays done. A read and a write. JobRefused for one
        that has ended."""
        return await self.db.run(flows.cancel(self.db.port, self.table, id, by=by))

    async def show(self, id: str) -> JobStatus:
        """One job: its progress, its workers, its cost. A read, and one for each hundred sections. JobRefused
        for an unknown one."""
        return await self.db.run(flows.show(self.db.port, self.table, id))

    async def all(self) -> list[JobStatus]:
        """Every job of the table, the latest first. Jobs that ended seven days ago are deleted. A query, and for each
        job the requests of `show`. InvalidRequest for a foreign table without `own_items`."""
        return await self.db.run(flows.list_jobs(self.db.port, self.table))

    async def lines(self, id: str) -> AsyncIterator[Line]:
        """The lines of a job so far, as findings: of each round that is kept. A read for each hundred sections, and for
        each 200 KB of a section, 16 in a round trip. JobRefused for an unknown one."""
        for numbers in await self.db.run(flows.sections_of(self.db.port, self.table, id)):
            for line in await self.db.run(flows.lines(self.db.port, self.table, id, numbers)):
                yield line
