"""The options of a worker of tasks, and its counts."""

from __future__ import annotations

from dataclasses import dataclass

from singletable.errors import InvalidRequest

MAX_AT_ONCE = 15
"""A port calls 16 functions concurrently; one of them is the heartbeat."""


@dataclass(frozen=True)
class TaskWorkerOptions:
    """The options of a worker; times are in seconds."""

    at_once: int = 8
    poll_seconds: float = 1.0
    lease_seconds: float = 60.0

    def __post_init__(self) -> None:
        if not 1 <= self.at_once <= MAX_AT_ONCE:
            raise InvalidRequest(
                f"at_once={self.at_once}; a worker runs 1 to {MAX_AT_ONCE} tasks at once", hint="Start more workers."
            )
        if self.poll_seconds <= 0 or self.lease_seconds <= 0:
            raise InvalidRequest("poll_seconds and lease_seconds are above 0")


@dataclass
class Counts:
    """The outcomes of the tasks that a worker began."""

    done: int = 0
    failed: int = 0
    """They will be tried again."""
    dead: int = 0
    """They failed for the last time."""
    lost: int = 0
    """They were cancelled while they ran, or another worker claimed them."""

    def __add__(self, other: Counts) -> Counts:
        return Counts(
            self.done + other.done, self.failed + other.failed, self.dead + other.dead, self.lost + other.lost
        )

    @property
    def begun(self) -> int:
        """All of them."""
        return self.done + self.failed + self.dead + self.lost
