"""The work that waits in a table for its release, as the layers report it."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol

from msgspec import Struct

from singletable.flow import Port


class PendingWork(Struct, frozen=True):
    """Work of one name that a release begins."""

    kind: str
    """`task`, or `changes`."""
    name: str
    """The task's, or the consumer's."""
    due: int = 0
    """The number that runs at once."""
    due_since: datetime | None = None
    later: int = 0
    """The number that has its time still to come."""
    next_at: datetime | None = None
    note: str = ""
    """A further fact for a person, as a sentence."""


class HasPendingWork(Protocol):
    """A layer's work on a table that workers do, and that a hold stops."""

    async def pending(self, port: Port) -> list[PendingWork]:
        """All of it, by name."""
        ...

    async def drop(self, port: Port, name: str) -> int | None:
        """Delete the pending work of a name; returns its number, None for work that can't be deleted."""
        ...
