"""The states of a task, as data. `outcomes` and `writes` take the stored state of each write from here.

DONE and CANCELLED have no item: the key is free for a new task, whose fence is another. WAITING and CLAIMED are stored
alike, as DUE, because a claim is a lease and no more: `wake` is the time at which the next worker may look. Who has the
claim is known by the fence.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum, auto
from typing import Final

from singletable.flow import Transitions
from singletable.tasks.items import TaskState


class TaskPhase(Enum):
    """The phase of a task's life."""

    NEW = auto()
    WAITING = auto()
    CLAIMED = auto()
    DONE = auto()
    DEAD = auto()
    CANCELLED = auto()


class TaskEvent(Enum):
    """An event in a task's life. The value is the verb that errors name."""

    SCHEDULE = "schedule"
    CLAIM = "claim"
    EXTEND = "extend"
    FINISH = "done"
    RETRY = "retry"
    RETURN = "return"
    DEAD_LETTER = "dead-letter"
    CANCEL = "cancel"
    REVIVE = "revive"
    RECUR = "recur"
    RELEASE = "release"


TRANSITIONS: Final = Transitions(
    "a task",
    TaskPhase,
    TaskEvent,
    """
    NEW      SCHEDULE     WAITING    an application's transaction; refused if a task has the key
    WAITING  CLAIM        CLAIMED    a worker whose clock is past `wake`; counts a try, raises the fence
    WAITING  CANCEL       CANCELLED  an application's transaction
    CLAIMED  CLAIM        CLAIMED    another worker, once the lease has expired
    CLAIMED  EXTEND       CLAIMED    the heartbeat of the worker that has it
    CLAIMED  FINISH       DONE       the worker, or the function's own transaction with `done()`
    CLAIMED  RETRY        WAITING    the function raised, and tries are left
    CLAIMED  RETURN       WAITING    the program does not have the function; the try is not counted
    CLAIMED  DEAD_LETTER  DEAD       the function raised in its last try
    CLAIMED  CANCEL       CANCELLED  an application's transaction; the worker's end is refused with ClaimLost
    CLAIMED  RECUR        WAITING    a run of a recurring task has ended, well or for good: its item waits for the next
    CLAIMED  RELEASE      WAITING    a person calls `release`, as its worker hangs; the worker's end is refused
    DEAD     REVIVE       WAITING    a person calls `retry`
    DEAD     CANCEL       CANCELLED  an application's transaction, or a person calls `drop`
    """,
)

STORED: Final[Mapping[TaskPhase, TaskState]] = {
    TaskPhase.WAITING: TaskState.DUE,
    TaskPhase.CLAIMED: TaskState.DUE,
    TaskPhase.DEAD: TaskState.DEAD,
}
"""The `state` attribute of each phase that has an item."""


def stored_after(phase: TaskPhase, event: TaskEvent) -> TaskState:
    """The `state` attribute after an event. Raises NotAllowed for an event that the phase does not have."""
    return STORED[TRANSITIONS.after(phase, event)]
