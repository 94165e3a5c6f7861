"""What workers and those who schedule did and saw: tasks, each run of one, each effect, cancellations, looks.

All moments are turns of the scheduler, but for those in seconds: they are of the clock that never goes back.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from tests.histories.history import NEVER, Status


class Ended(Enum):
    """How a run of a function ended."""

    DONE = "done"
    """Its transaction with `done()` was acknowledged."""
    LOST = "lost"
    """Its transaction was refused: the claim was lost."""
    UNKNOWN = "unknown"
    """Nobody knows of its transaction; or it was killed in it, or before."""
    RAISED = "raised"
    """The function raised, without a transaction."""
    RETURNED = "returned"
    """It has no effect of its own; the worker writes the end."""


@dataclass
class Scheduled:
    """A task as it was scheduled."""

    key: str
    due: float
    order: str | None
    declared: bool
    """Whether its effect is in the transaction of its end."""
    began: float
    ended: float = NEVER
    ended_seconds: float = NEVER
    status: Status = Status.UNKNOWN


@dataclass
class Run:
    """One run of a task's function."""

    key: str
    worker: str
    fence: int
    early: float
    """Seconds by which it came before the task was due, by the latest time that the worker's clock had shown; or 0."""
    claimed: float
    """When the claim was requested."""
    held_until: float
    """No other worker can take the claim over before, whatever its clock says."""
    began: float
    began_seconds: float
    ended: float = NEVER
    ended_seconds: float = NEVER
    """From when on its end may be written: with its effect, or by its worker."""
    end: Ended = Ended.UNKNOWN


@dataclass
class Request:
    """A cancellation, or the retry of a dead task."""

    key: str
    began: float
    began_seconds: float
    ended: float = NEVER
    status: Status = Status.UNKNOWN


class Phase(Enum):
    """What somebody who looks sees of a task that was scheduled."""

    DUE = "due"
    DEAD = "dead"
    GONE = "gone"


@dataclass(frozen=True)
class Look:
    """One consistent look at a task."""

    key: str
    began: float
    ended: float
    phase: Phase
    fence: int = 0


@dataclass
class TaskHistory:
    """All of one run. `effects` and `logs` are what is there in the end."""

    tasks: dict[str, Scheduled] = field(default_factory=dict[str, Scheduled])
    runs: list[Run] = field(default_factory=list[Run])
    cancels: list[Request] = field(default_factory=list[Request])
    revivals: list[Request] = field(default_factory=list[Request])
    looks: list[Look] = field(default_factory=list[Look])
    effects: Mapping[str, int] = field(default_factory=dict[str, int])
    """How often each task's declared effect has happened."""
    logs: Mapping[str, list[str]] = field(default_factory=dict[str, list[str]])
    """Of each order: the keys of its tasks, in the order of their effects."""
    dead: frozenset[str] = frozenset()
    left: frozenset[str] = frozenset()
    """Tasks that are neither ended nor dead."""
