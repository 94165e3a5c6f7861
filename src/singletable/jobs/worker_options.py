"""The options of a worker of jobs."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from singletable.errors import InvalidRequest

LEASE_SECONDS: Final = 30.0
"""A section whose owner shows no life for so long is another's."""


class WorkerOptions(Struct, frozen=True):
    """How one process works. Raises InvalidRequest for invalid values."""

    at_once: int = 4
    """Sections at the same time."""
    lease_seconds: float = LEASE_SECONDS
    tell_seconds: float = 5.0
    """Between two calls of `progress`."""
    idle_seconds: float | None = None
    """The time after which it ends, where it has no section; None: when the job has ended."""
    waits_paused: bool = True
    """Whether it waits while the job is paused; else it ends."""

    def __post_init__(self) -> None:
        if not 1 <= self.at_once <= 64 or self.lease_seconds <= 0:
            raise InvalidRequest(
                f"a worker of {self.at_once} sections at once, with leases of {self.lease_seconds:g} seconds",
                operation="job",
                hint="at_once is from 1 to 64, lease_seconds above zero.",
            )
