"""Durable jobs: work on all items of a table, done by any number of processes at the same time.

    job = Jobs(db, shop).begin("fill")
    Jobs(db, shop).run(job.id)              # in each process

A job and its progress are items of the table. Read `work` (the interface of a command), `worker` (how its
sections are shared, and what a kill loses), `limits` (units a second and in all, over all workers), `items`, `store`,
`flows`; `fill_job` is a command.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from singletable.jobs.jobs import Jobs as Jobs
from singletable.jobs.refusals import JobRefused as JobRefused
from singletable.jobs.status import HeldPart as HeldPart, JobStatus as JobStatus
from singletable.jobs.work import (
    Gathered as Gathered,
    JobKind as JobKind,
    JobPlace as JobPlace,
    JobWork as JobWork,
    Line as Line,
    Round as Round,
    SectionLines as SectionLines,
)
from singletable.late_names import late_names

if TYPE_CHECKING:
    from singletable.jobs.jobs_async import AsyncJobs as AsyncJobs


# The awaiting shell brings asyncio.
__getattr__ = late_names(
    __name__,
    jobs_async="AsyncJobs",
)
