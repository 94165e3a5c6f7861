"""The states of a job."""

from __future__ import annotations

from enum import Enum, auto
from typing import Final

from singletable.flow import Transitions


class JobState(Enum):
    RUNNING = "running"
    PAUSED = "paused"
    FAILED = "failed"
    CANCELLED = "cancelled"
    ENDED = "ended"

    @property
    def is_final(self) -> bool:
        return self in (JobState.CANCELLED, JobState.ENDED)

    @property
    def ends_workers(self) -> bool:
        """Whether a worker has nothing to wait for: a final state, or one that a person must look at."""
        return self.is_final or self is JobState.FAILED


class JobEvent(Enum):
    PAUSE = auto()
    RESUME = auto()
    CANCEL = auto()
    FAIL = auto()
    END = auto()


JOB_TRANSITIONS: Final = Transitions(
    "a job",
    JobState,
    JobEvent,
    """
    RUNNING    PAUSE    PAUSED     a person, or a worker whose next grant would pass a cap: no round is begun
    RUNNING    CANCEL   CANCELLED  a person: rounds that run are finished, what was done stays done
    RUNNING    FAIL     FAILED     a worker: the work of one section has raised three times in a row
    RUNNING    END      ENDED      the worker of the last section, which is the job's end
    RUNNING    RESUME   RUNNING    a person who gives other bounds
    PAUSED     RESUME   RUNNING    a person
    PAUSED     PAUSE    PAUSED     a second one, whose reason replaces the first
    PAUSED     CANCEL   CANCELLED  a person
    PAUSED     FAIL     FAILED     a round was under way when it was paused
    PAUSED     END      ENDED      the last section was under way when it was paused
    FAILED     RESUME   RUNNING    a person, who has mended the cause
    FAILED     CANCEL   CANCELLED  a person
    FAILED     END      ENDED      the last section was under way, by a worker that was late
    CANCELLED  CANCEL   CANCELLED  again
    """,
)
