"""Names for commands of other packages that run as jobs."""

from singletable.jobs.work import segment_at as segment_at
