"""Leases: who reads which shard. Every write of an owner holds the fence that it took, so a late owner writes nothing.

    state     event            next   who, and when
    MISSING   MAKE             HELD   a worker that begins a shard, with fence 1
    MISSING   MAKE_FREE        FREE   a consumer that begins with what comes: the newest shards
    MISSING   MAKE_OVER        OVER   the same: all other shards
    FREE      TAKE             HELD   any worker; raises the fence
    HELD      TAKE             HELD   another worker, once nothing of the lease changed for its length
    HELD      HEARTBEAT        HELD   its owner, also with each checkpoint
    HELD      REQUEST_RELEASE  HELD   a worker that has fewer shards
    HELD      RELEASE          FREE   its owner, when it stops or was asked
    HELD      FINISH           OVER   its owner, when everything of the shard is handled
    OVER      HEARTBEAT        OVER   a heartbeat that was on its way when the shard ended
    OVER      DELETE           GONE   any worker, once the stream no longer has the shard
    HELD      DELETE           GONE   a worker that took the lease of such a shard, and reported the gap

No clocks are compared. A worker remembers when it first saw a lease unchanged; a live owner raises `beats` with each of
its writes.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any, Final

from singletable.errors import AlreadyExists, ConditionFailed, NotFound, OutcomeUnknown
from singletable.expressions import Update, attr
from singletable.flow import Port, Transitions
from singletable.foundation import Entity, flows
from singletable.streams.state import LeaseItem, StateEntities


class State(Enum):
    MISSING = auto()
    FREE = auto()
    HELD = auto()
    OVER = auto()
    GONE = auto()


class Event(Enum):
    MAKE = auto()
    MAKE_FREE = auto()
    MAKE_OVER = auto()
    TAKE = auto()
    HEARTBEAT = auto()
    REQUEST_RELEASE = auto()
    RELEASE = auto()
    FINISH = auto()
    DELETE = auto()


TRANSITIONS: Final = Transitions(
    "a lease",
    {
        (State.MISSING, Event.MAKE): State.HELD,
        (State.MISSING, Event.MAKE_FREE): State.FREE,
        (State.MISSING, Event.MAKE_OVER): State.OVER,
        (State.FREE, Event.TAKE): State.HELD,
        (State.HELD, Event.TAKE): State.HELD,
        (State.HELD, Event.HEARTBEAT): State.HELD,
        (State.HELD, Event.REQUEST_RELEASE): State.HELD,
        (State.HELD, Event.RELEASE): State.FREE,
        (State.HELD, Event.FINISH): State.OVER,
        (State.OVER, Event.HEARTBEAT): State.OVER,
        (State.OVER, Event.DELETE): State.GONE,
        (State.HELD, Event.DELETE): State.GONE,
    },
)


def state_of(lease: LeaseItem) -> State:
    """The state of a lease that is stored."""
    if lease.is_over:
        return State.OVER
    return State.HELD if lease.owner else State.FREE


LeaseSnapshot = tuple[int, int, str]
"""The fields that a live owner changes: fence, beats and position."""


@dataclass
class LeaseObservations:
    """The time when each lease was first seen in its present state, by this worker's monotonic clock."""

    seconds: float
    """A lease that doesn't change for this long has lost its owner."""
    seen: dict[str, tuple[LeaseSnapshot, float]] = field(default_factory=dict[str, "tuple[LeaseSnapshot, float]"])

    def is_free(self, lease: LeaseItem, now: float) -> bool:
        """Whether it has no owner, or an owner without a heartbeat for a lease's length."""
        if not lease.owner:
            return True
        snapshot = lease.fence, lease.beats, lease.position
        known, since = self.seen.get(lease.shard, (None, now))
        if known != snapshot:
            self.seen[lease.shard] = snapshot, now
            return False
        return now - since >= self.seconds


async def all_leases(port: Port, state: StateEntities, consumer: str, stream: str) -> list[LeaseItem]:
    found: list[Any] = await flows.read_all(port, state.lease.by_shard(consumer, stream).consistent())
    return found


async def make(port: Port, item: Entity) -> bool:
    """Write an item that is missing; False if another worker was first."""
    try:
        await flows.create(port, item)
    except AlreadyExists:
        return False
    return True


async def take(port: Port, state: StateEntities, lease: LeaseItem, owner: str) -> LeaseItem | None:
    """Become the owner of a lease that was seen to be free; None if it has changed since, or its shard has ended."""
    kind: Any = state.lease
    changes = attr(kind.owner).set(owner), attr(kind.fence).set(lease.fence + 1), attr(kind.wanted_by).set("")
    seen = (attr(kind.fence) == lease.fence) & (attr(kind.beats) == lease.beats)
    seen = seen & (attr(kind.position) == lease.position) & (attr(kind.is_over) == False)  # noqa: E712
    taken = await _change(port, state, lease, Event.TAKE, changes, seen)
    return taken if taken is not None and (taken.owner, taken.fence) == (owner, lease.fence + 1) else None


async def heartbeat(
    port: Port, state: StateEntities, lease: LeaseItem, beats: int, position: str | None = None
) -> LeaseItem | None:
    """Renew a lease that is held; with a position it is a checkpoint too. None if the lease was lost."""
    kind: Any = state.lease
    changes = [attr(kind.beats).set(beats)]
    if position is not None:
        changes.append(attr(kind.position).set(position))
    return await _write(port, state, lease, Event.HEARTBEAT, *changes)


async def release(port: Port, state: StateEntities, lease: LeaseItem, position: str | None) -> LeaseItem | None:
    """Leave a shard to others, with a last checkpoint where there is something to write down."""
    kind: Any = state.lease
    changes = [attr(kind.owner).set(""), attr(kind.wanted_by).set("")]
    if position is not None:
        changes.append(attr(kind.position).set(position))
    return await _write(port, state, lease, Event.RELEASE, *changes)


async def finish(port: Port, state: StateEntities, lease: LeaseItem, beats: int, position: str) -> LeaseItem | None:
    """Everything of the shard is handled: its children may be read."""
    kind: Any = state.lease
    changes = attr(kind.position).set(position), attr(kind.beats).set(beats)
    over = attr(kind.is_over).set(True), attr(kind.owner).set("")
    return await _write(port, state, lease, Event.FINISH, *changes, *over)


async def delete(port: Port, state: StateEntities, lease: LeaseItem) -> None:
    """Delete a lease, unless it has changed since it was seen."""
    TRANSITIONS.after(state_of(lease), Event.DELETE)
    kind: Any = state.lease
    key: Any = state.lease.by_shard(lease.consumer, lease.stream, lease.shard)
    with suppress(ConditionFailed):
        await flows.delete(port, key, where=attr(kind.fence) == lease.fence)


async def request_release(port: Port, state: StateEntities, lease: LeaseItem, owner: str) -> None:
    """Tell the owner that another worker has less to do; it releases the shard between two rounds."""
    kind: Any = state.lease
    changes = (attr(kind.wanted_by).set(owner),)
    await _change(port, state, lease, Event.REQUEST_RELEASE, changes, attr(kind.fence) == lease.fence)


async def _write(
    port: Port, state: StateEntities, lease: LeaseItem, event: Event, *changes: Update
) -> LeaseItem | None:
    """Change a lease under its fence; None if it was lost."""
    kind: Any = state.lease
    changed = await _change(port, state, lease, event, changes, attr(kind.fence) == lease.fence)
    return changed if changed is not None and changed.fence == lease.fence else None


async def _change(
    port: Port, state: StateEntities, lease: LeaseItem, event: Event, changes: Sequence[Update], where: Any
) -> LeaseItem | None:
    TRANSITIONS.after(state_of(lease), event)
    key: Any = state.lease.by_shard(lease.consumer, lease.stream, lease.shard)
    try:
        changed: LeaseItem = await flows.update(port, key, tuple(changes), where=where)
    except (ConditionFailed, NotFound):
        return None
    except OutcomeUnknown:
        found: LeaseItem | None = await flows.get_any(port, key.consistent())
        return found
    return changed
