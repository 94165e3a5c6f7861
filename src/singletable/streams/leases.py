"""Leases of shards: `flow.leases` has their states, and says what they guarantee. `consumer` has their length, and
`flow.worker` sends the beats.

A worker makes the lease of a shard that it begins. A consumer that begins with what comes makes a free one for each of
the newest shards, and one that is over for each of the others. A lease is deleted once the stream no longer has its
shard. A beat may be a checkpoint too: the position up to which all of the shard is done.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from singletable.errors import AlreadyExists, ConditionFailed, NotFound, OutcomeUnknown
from singletable.expressions import Condition, attr
from singletable.flow import LEASE_TRANSITIONS, LeaseEvent, LeaseState, Port, instant
from singletable.foundation import Entity, flows
from singletable.streams.state import LeaseItem, StateEntities


def state_of(lease: LeaseItem) -> LeaseState:
    """The state of a lease that is stored."""
    if lease.is_over:
        return LeaseState.OVER
    return LeaseState.HELD if lease.owner else LeaseState.FREE


def sign_of(lease: LeaseItem) -> tuple[int, int, str]:
    """The fields that a live owner changes."""
    return lease.fence, lease.beats, lease.position


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
    seen = (attr(kind.beats) == lease.beats) & (attr(kind.position) == lease.position)
    seen = seen & (attr(kind.is_over) == False)  # noqa: E712
    values = {"owner": owner, "process": port.events.process, "fence": lease.fence + 1, "wanted_by": ""}
    return await _write(port, state, lease, LeaseEvent.TAKE, seen, **values, beat_at=instant(port.now()))


async def heartbeat(
    port: Port, state: StateEntities, lease: LeaseItem, beats: int, position: str | None = None
) -> LeaseItem | None:
    """Renew a lease that is held; with a position it is a checkpoint too. None if the lease was lost."""
    beat_at = instant(port.now())
    return await _write(port, state, lease, LeaseEvent.BEAT, beats=beats, position=position, beat_at=beat_at)


async def release(port: Port, state: StateEntities, lease: LeaseItem, position: str | None) -> LeaseItem | None:
    """Leave a shard to others, with a last checkpoint where there is something to write down."""
    return await _write(port, state, lease, LeaseEvent.RELEASE, owner="", wanted_by="", position=position)


async def finish(port: Port, state: StateEntities, lease: LeaseItem, beats: int, position: str) -> LeaseItem | None:
    """Everything of the shard is handled: its children may be read."""
    return await _write(port, state, lease, LeaseEvent.FINISH, beats=beats, position=position, is_over=True, owner="")


async def delete(port: Port, state: StateEntities, lease: LeaseItem) -> None:
    """Delete a lease, unless it has changed since it was seen."""
    LEASE_TRANSITIONS.after(state_of(lease), LeaseEvent.DELETE)
    kind: Any = state.lease
    key: Any = state.lease.by_shard(lease.consumer, lease.stream, lease.shard)
    with suppress(ConditionFailed):
        await flows.delete(port, key, where=attr(kind.fence) == lease.fence)


async def request_release(port: Port, state: StateEntities, lease: LeaseItem, owner: str) -> None:
    """Tell the owner that another worker has less to do; it releases the shard between two rounds."""
    await _write(port, state, lease, LeaseEvent.REQUEST_RELEASE, wanted_by=owner)


async def _write(
    port: Port, state: StateEntities, lease: LeaseItem, event: LeaseEvent, seen: Condition | None = None, **values: Any
) -> LeaseItem | None:
    """Set attributes of a lease, but for a value of None, under its fence; None if it was lost. OutcomeUnknown if the
    answer was lost, and the values are not stored so far."""
    LEASE_TRANSITIONS.after(state_of(lease), event)
    values = {name: value for name, value in values.items() if value is not None}
    kind: Any = state.lease
    key: Any = state.lease.by_shard(lease.consumer, lease.stream, lease.shard)
    fence = attr(kind.fence) == lease.fence
    changes = tuple(attr(getattr(kind, name)).set(value) for name, value in values.items())
    try:
        written: LeaseItem = await flows.update(port, key, changes, where=fence if seen is None else fence & seen)
    except (ConditionFailed, NotFound):
        return None
    except OutcomeUnknown:
        stored: LeaseItem | None = await flows.get_any(port, key.consistent())
        if stored is None or stored.fence != values.get("fence", lease.fence):
            return None
        if all(
            getattr(stored, n) == v or n in ("wanted_by", "beat_at") or (n == "beats" and stored.beats > v)
            for n, v in values.items()
        ):
            return stored
        if event is not LeaseEvent.TAKE:
            raise
        return None
    return written
