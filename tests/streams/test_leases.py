"""Every event in every state of a lease: those of the table happen, all others are refused and change nothing."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timezone
from typing import Any

import pytest

from singletable.flow.transitions import NotAllowed
from singletable.foundation import flows
from singletable.streams import leases
from singletable.streams.acquisition import make_lease
from singletable.streams.changes import Changes
from singletable.streams.leases import TRANSITIONS, Event, State, state_of
from singletable.streams.state import LeaseItem
from tests.streams.models import Note, noted
from tests.support.shells import Shell

WAY_TO: dict[State, Sequence[Event]] = {
    State.MISSING: (),
    State.FREE: (Event.MAKE_FREE,),
    State.HELD: (Event.MAKE,),
    State.OVER: (Event.MAKE_OVER,),
    State.GONE: (Event.MAKE_OVER, Event.DELETE),
}
ANEW = {(state, event) for state in (State.GONE,) for event in (Event.MAKE, Event.MAKE_FREE, Event.MAKE_OVER)}
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

    async def happen(self, event: Event) -> bool:
        """Whether it happened; NotAllowed where the worker can see that it may not."""
        done = await self.shell.run(self.flow(event))
        found = await self.stored()
        self.seen = self.seen if found is None else found
        return done is not None and done is not False

    def flow(self, event: Event) -> Any:
        port, state, seen = self.shell.port, self.state, self.seen
        flow_of: dict[Event, Any] = {
            Event.MAKE: lambda: leases.make(port, self.lease(owner="w1", fence=1)),
            Event.MAKE_FREE: lambda: leases.make(port, self.lease(is_latest=True)),
            Event.MAKE_OVER: lambda: leases.make(port, self.lease(is_over=True)),
            Event.TAKE: lambda: leases.take(port, state, seen, "w2"),
            Event.HEARTBEAT: lambda: leases.heartbeat(port, state, seen, seen.beats + 1, "1"),
            Event.REQUEST_RELEASE: lambda: leases.request_release(port, state, seen, "w3"),
            Event.RELEASE: lambda: leases.release(port, state, seen, "1"),
            Event.FINISH: lambda: leases.finish(port, state, seen, seen.beats + 1, "1"),
            Event.DELETE: lambda: leases.delete(port, state, seen),
        }
        return flow_of[event]()


async def state_now(life: Life, missing: State) -> State:
    stored = await life.stored()
    return missing if stored is None else state_of(stored)


@pytest.mark.parametrize("event", Event)
@pytest.mark.parametrize("state", State)
async def test_each_event_happens_or_is_refused(shell: Shell, state: State, event: Event) -> None:
    await shell.create(Note(id="makes-the-table"))
    life = Life(shell, f"{state.name}-{event.name}")
    for step in WAY_TO[state]:
        await life.happen(step)
    before = await life.stored()
    assert await state_now(life, state) is state
    if (state, event) in TRANSITIONS.table:
        await life.happen(event)
        after = TRANSITIONS.after(state, event)
        assert await state_now(life, State.GONE) is after
        assert await life.stored() != before
        return
    with pytest.raises(NotAllowed):
        TRANSITIONS.after(state, event)
    if (state, event) in ANEW:
        return
    with suppress(NotAllowed):
        assert not await life.happen(event)
    assert await life.stored() == before


def test_every_state_is_reached_by_the_table() -> None:
    for state, way in WAY_TO.items():
        at = State.MISSING
        for event in way:
            at = TRANSITIONS.after(at, event)
        assert at is state
    assert set(WAY_TO) == set(State)


def test_a_lease_is_free_when_it_has_not_changed_for_its_length() -> None:
    """By the clock of the worker that looks, whatever that clock began with."""
    held = Changes(noted, name="looks").consumer.state.lease(
        consumer="looks", stream="s", shard="1", made_at=datetime(2026, 1, 1, tzinfo=timezone.utc), owner="w1"
    )
    for began in (0.0, 1000.0):
        observations = leases.LeaseObservations(30.0)
        assert [observations.is_free(held, began + later) for later in (0.0, 29.0, 30.0)] == [False, False, True]
        beaten = replace(held, beats=1)
        assert [observations.is_free(beaten, began + later) for later in (30.0, 59.0, 60.0)] == [False, False, True]
        assert observations.is_free(replace(held, owner=""), began)
