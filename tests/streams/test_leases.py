"""Every event in every state of a lease: those of the table happen, all others are refused and change nothing."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timezone
from typing import Any

import pytest

from singletable.flow import LEASE_TRANSITIONS, LeaseEvent, LeaseState
from singletable.flow.transitions import NotAllowed
from singletable.foundation import flows
from singletable.streams import leases
from singletable.streams.acquisition import make_lease
from singletable.streams.changes import Changes
from singletable.streams.leases import sign_of, state_of
from singletable.streams.state import LeaseItem
from tests.streams.models import Note, noted
from tests.support.shells import Shell

WAY_TO: dict[LeaseState, Sequence[LeaseEvent]] = {
    LeaseState.MISSING: (),
    LeaseState.FREE: (LeaseEvent.MAKE_FREE,),
    LeaseState.HELD: (LeaseEvent.MAKE,),
    LeaseState.OVER: (LeaseEvent.MAKE_OVER,),
    LeaseState.GONE: (LeaseEvent.MAKE_OVER, LeaseEvent.DELETE),
}
ANEW = {
    (state, event)
    for state in (LeaseState.GONE,)
    for event in (LeaseEvent.MAKE, LeaseEvent.MAKE_FREE, LeaseEvent.MAKE_OVER)
}
"""A stream's shards don't come back: nothing makes a lease anew, and nothing stored forbids it."""


class Life:
    """One lease, as one worker sees it."""

    def __init__(self, shell: Shell, name: str) -> None:
        changes = Changes(noted, name=name)
        self.shell, self.consumer, self.state = shell, changes.consumer, changes.consumer.state
        self.seen = self.lease(owner="w1", fence=1)

    def lease(self, **more: Any) -> LeaseItem:
        return make_lease(self.shell.port, self.consumer, "stream", "shard", **more)

    async def stored(self) -> LeaseItem | None:
        key: Any = self.state.lease.by_shard(self.consumer.name, "stream", "shard")
        found: LeaseItem | None = await self.shell.run(flows.get_any(self.shell.port, key.consistent()))
        return found

    async def happen(self, event: LeaseEvent) -> bool:
        """Whether it happened; NotAllowed where the worker can see that it may not."""
        done = await self.shell.run(self.flow(event))
        found = await self.stored()
        self.seen = self.seen if found is None else found
        return done is not None and done is not False

    def flow(self, event: LeaseEvent) -> Any:
        port, state, seen = self.shell.port, self.state, self.seen
        flow_of: dict[LeaseEvent, Any] = {
            LeaseEvent.MAKE: lambda: leases.make(port, self.lease(owner="w1", fence=1)),
            LeaseEvent.MAKE_FREE: lambda: leases.make(port, self.lease(is_latest=True)),
            LeaseEvent.MAKE_OVER: lambda: leases.make(port, self.lease(is_over=True)),
            LeaseEvent.TAKE: lambda: leases.take(port, state, seen, "w2"),
            LeaseEvent.BEAT: lambda: leases.heartbeat(port, state, seen, seen.beats + 1, "1"),
            LeaseEvent.REQUEST_RELEASE: lambda: leases.request_release(port, state, seen, "w3"),
            LeaseEvent.RELEASE: lambda: leases.release(port, state, seen, "1"),
            LeaseEvent.FINISH: lambda: leases.finish(port, state, seen, seen.beats + 1, "1"),
            LeaseEvent.DELETE: lambda: leases.delete(port, state, seen),
        }
        return flow_of[event]()


async def state_now(life: Life, missing: LeaseState) -> LeaseState:
    stored = await life.stored()
    return missing if stored is None else state_of(stored)


@pytest.mark.parametrize("event", LeaseEvent)
@pytest.mark.parametrize("state", LeaseState)
async def test_each_event_happens_or_is_refused(shell: Shell, state: LeaseState, event: LeaseEvent) -> None:
    await shell.create(Note(id="makes-the-table"))
    life = Life(shell, f"{state.name}-{event.name}")
    for step in WAY_TO[state]:
        await life.happen(step)
    before = await life.stored()
    assert await state_now(life, state) is state
    if (state, event) in LEASE_TRANSITIONS.table:
        await life.happen(event)
        after = LEASE_TRANSITIONS.after(state, event)
        assert await state_now(life, LeaseState.GONE) is after
        assert await life.stored() != before
        return
    with pytest.raises(NotAllowed):
        LEASE_TRANSITIONS.after(state, event)
    if (state, event) in ANEW:
        return
    with suppress(NotAllowed):
        assert not await life.happen(event)
    assert await life.stored() == before


def test_every_state_is_reached_by_the_table() -> None:
    for state, way in WAY_TO.items():
        at = LeaseState.MISSING
        for event in way:
            at = LEASE_TRANSITIONS.after(at, event)
        assert at is state
    assert set(WAY_TO) == set(LeaseState)


def test_each_write_of_an_owner_is_a_sign_of_life() -> None:
    """That it took the lease, beat, or wrote down a position. What others write is none."""
    held = Changes(noted, name="looks").consumer.state.lease(
        consumer="looks", stream="s", shard="1", made_at=datetime(2026, 1, 1, tzinfo=timezone.utc), owner="w1"
    )
    signs = {sign_of(replace(held, **change)) for change in ({}, {"fence": 1}, {"beats": 1}, {"position": "1"})}
    assert len(signs) == 4
    assert sign_of(replace(held, wanted_by="w2")) == sign_of(held)
