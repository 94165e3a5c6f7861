"""Leases: who reads which shard. Every write of an owner holds the fence it took, so that a late owner writes nothing.

No clocks are compared. A worker remembers when it first saw a lease as it is; a live owner raises `beats` meanwhile,
with each of its writes.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from singletable.errors import AlreadyExists, ConditionFailed, NotFound, OutcomeUnknown
from singletable.expressions import Update, attr
from singletable.flow.port import Port
from singletable.foundation import Entity, flows
from singletable.streams.state import Books, LeaseItem

State = tuple[int, int, str]
"""What a living owner changes: fence, beats and position."""


@dataclass
class Sightings:
    """When each lease was first seen as it is, by this worker's clock of intervals."""

    seconds: float
    """A lease that doesn't change for so long has lost its owner."""
    seen: dict[str, tuple[State, float]] = field(default_factory=dict[str, "tuple[State, float]"])

    def is_free(self, lease: LeaseItem, now: float) -> bool:
        """Whether it has no owner, or one that has shown no life for a lease's length."""
        if not lease.owner:
            return True
        state = lease.fence, lease.beats, lease.position
        known, since = self.seen.get(lease.shard, (None, now))
        if known != state:
            self.seen[lease.shard] = state, now
            return False
        return now - since >= self.seconds


async def all_leases(port: Port, books: Books, consumer: str, stream: str) -> list[LeaseItem]:
    found: list[Any] = await flows.everything(port, books.lease.by_shard(consumer, stream).consistent())
    return found


async def make(port: Port, item: Entity) -> bool:
    """Write what is not there yet; False where another worker was first."""
    try:
        await flows.create(port, item)
    except AlreadyExists:
        return False
    return True


async def take(port: Port, books: Books, lease: LeaseItem, owner: str) -> LeaseItem | None:
    """Become the owner of a lease that was seen to be free; None where it has changed since, or is over by now."""
    kind: Any = books.lease
    changes = attr(kind.owner).set(owner), attr(kind.fence).set(lease.fence + 1), attr(kind.wanted_by).set("")
    seen = (attr(kind.fence) == lease.fence) & (attr(kind.beats) == lease.beats)
    seen = seen & (attr(kind.position) == lease.position) & (attr(kind.is_over) == False)  # noqa: E712
    taken = await _change(port, books, lease, changes, seen)
    return taken if taken is not None and (taken.owner, taken.fence) == (owner, lease.fence + 1) else None


async def write(port: Port, books: Books, lease: LeaseItem, *changes: Update) -> LeaseItem | None:
    """Change a lease that is held; None where it was lost."""
    kind: Any = books.lease
    changed = await _change(port, books, lease, changes, attr(kind.fence) == lease.fence)
    return changed if changed is not None and changed.fence == lease.fence else None


async def beat(port: Port, books: Books, lease: LeaseItem, beats: int) -> LeaseItem | None:
    """Show life."""
    kind: Any = books.lease
    return await write(port, books, lease, attr(kind.beats).set(beats))


async def bury(port: Port, books: Books, lease: LeaseItem) -> None:
    """Delete a lease as it was seen; nothing where it has changed since."""
    kind: Any = books.lease
    key: Any = books.lease.by_shard(lease.consumer, lease.stream, lease.shard)
    with suppress(ConditionFailed):
        await flows.delete(port, key, where=attr(kind.fence) == lease.fence)


async def ask_for(port: Port, books: Books, lease: LeaseItem, owner: str) -> None:
    """Tell the owner that another worker has less to do; it lets go between two rounds, so nothing is handled twice."""
    kind: Any = books.lease
    await _change(port, books, lease, (attr(kind.wanted_by).set(owner),), attr(kind.fence) == lease.fence)


async def _change(
    port: Port, books: Books, lease: LeaseItem, changes: Sequence[Update], where: Any
) -> LeaseItem | None:
    key: Any = books.lease.by_shard(lease.consumer, lease.stream, lease.shard)
    try:
        changed: LeaseItem = await flows.update(port, key, tuple(changes), where=where)
    except (ConditionFailed, NotFound):
        return None
    except OutcomeUnknown:
        found: LeaseItem | None = await flows.get_any(port, key.consistent())
        return found
    return changed
