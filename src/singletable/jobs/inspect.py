"""Names for commands of other packages that run as jobs."""

from singletable.jobs.flows import JobBounds as JobBounds
from singletable.jobs.items import is_of_job as is_of_job
from singletable.jobs.states import JobState as JobState
from singletable.jobs.work import MOST_STATE_BYTES as MOST_STATE_BYTES, segment_at as segment_at
from singletable.jobs.worker_options import LEASE_SECONDS as LEASE_SECONDS, WorkerOptions as WorkerOptions
