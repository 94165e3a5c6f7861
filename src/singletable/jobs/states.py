"""The states of a job."""

from __future__ import annotations

from enum import Enum, auto
from typing import Final

from singletable.flow import Transitions


class JobState(Enum):
    RUNNING = "running"
    PAUSED = "paused"
    CANCELLED = "cancelled"
    ENDED = "ended"

    @property
    def is_final(self) -> bool:
        return self in (JobState.CANCELLED, JobState.ENDED)


class JobEvent(Enum):
    PAUSE = auto()
    RESUME = auto()
    CANCEL = auto()
    END = auto()


JOB_TRANSITIONS: Final = Transitions(
    "a job",
    JobState,
    JobEvent,
    """
    RUNNING    PAUSE    PAUSED     a person, or a worker whose next grant would pass a cap: no round is begun
    RUNNING    CANCEL   CANCELLED  a person: rounds that run are finished, what was done stays done
    RUNNING    END      ENDED      the worker of the last section, which is the job's end
    RUNNING    RESUME   RUNNING    a person who gives other bounds
    PAUSED     RESUME   RUNNING    a person
    PAUSED     PAUSE    PAUSED     a second one, whose reason replaces the first
    PAUSED     CANCEL   CANCELLED  a person
    PAUSED     END      ENDED      the last section was under way when it was paused
    CANCELLED  CANCEL   CANCELLED  again
    """,
)
