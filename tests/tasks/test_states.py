"""Every event in every phase of a task: those of the table happen, all others are refused and change nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from singletable import NotFound, SingletableError, TransactionCancelled
from singletable.flow.transitions import NotAllowed
from singletable.foundation import send_alone
from singletable.tasks.items import State, TaskItem, task_entities
from singletable.tasks.outcomes import (
    apply,
    dead_letter_writes,
    extend_writes,
    finish_writes,
    retry_writes,
    return_writes,
)
from singletable.tasks.states import STORED, TRANSITIONS, Event, Phase, stored_after
from singletable.tasks.writes import Claim, ClaimLost
from tests.tasks.bench import Bench, noting, seconds

KEY = "one"
ENDS = (Event.EXTEND, Event.FINISH, Event.RETRY, Event.RETURN, Event.DEAD_LETTER)
"""What only the holder of a claim may do."""
WAY_TO: dict[Phase, Sequence[Event]] = {
    Phase.NEW: (),
    Phase.WAITING: (Event.SCHEDULE,),
    Phase.CLAIMED: (Event.SCHEDULE, Event.CLAIM),
    Phase.DONE: (Event.SCHEDULE, Event.CLAIM, Event.FINISH),
    Phase.DEAD: (Event.SCHEDULE, Event.CLAIM, Event.DEAD_LETTER),
    Phase.CANCELLED: (Event.SCHEDULE, Event.CLAIM, Event.CANCEL),
}
NEW_TASK = {(phase, Event.SCHEDULE) for phase in (Phase.DONE, Phase.CANCELLED)}
"""Another task of the same key, which the table of one task doesn't have."""
NOTHING_TO_DO = {(phase, Event.CANCEL) for phase in (Phase.NEW, Phase.DONE, Phase.CANCELLED)}
"""A cancellation of a task that is gone changes nothing, and is not an error."""
ENDED_AS_WANTED = {(phase, Event.FINISH) for phase in (Phase.NEW, Phase.DONE, Phase.CANCELLED)}
"""An end of what has ended changes nothing: the worker may have lost the answer of its first request."""


class Life:
    """One task, and the claim that a worker has or had."""

    def __init__(self, bench: Bench) -> None:
        self.bench, self.call = bench, noting(bench, tries=8)("x")
        self.entities = task_entities(bench.table, "gsi1")
        self.claim: TaskItem | None = None

    async def stored(self) -> Any:
        return await self.bench.shell.get(self.entities.by_id(KEY).consistent())

    async def happen(self, event: Event) -> None:
        bench, port = self.bench, self.bench.shell.port
        if event is Event.SCHEDULE:
            await bench.add(bench.tasks.after(seconds(0), self.call, key=KEY))
        elif event is Event.CANCEL:
            await bench.add(bench.tasks.cancel(KEY))
        elif event is Event.REVIVE:
            await bench.retry(KEY)
        elif event is Event.CLAIM:
            bench.clock.advance(31)  # past any lease
            now = bench.at(0)
            key: Any = self.entities.by_id(KEY)
            claim = Claim(self.entities, key, now, now + seconds(30), None)
            self.claim = await bench.shell.run(send_alone(port, claim))
        else:
            await bench.shell.run(apply(port, self.writes(event)))

    def writes(self, event: Event) -> Any:
        """What the holder of the claim writes; a worker that never had one takes itself for the next."""
        claim = self.claim or self.never_claimed()
        tasks, at = self.entities, self.bench.at(60)
        made: dict[Event, Any] = {
            Event.EXTEND: lambda: extend_writes(tasks, claim, at),
            Event.FINISH: lambda: finish_writes(tasks, claim),
            Event.RETRY: lambda: retry_writes(tasks, claim, at, "error"),
            Event.RETURN: lambda: return_writes(tasks, claim, at, "error"),
            Event.DEAD_LETTER: lambda: dead_letter_writes(tasks, claim, at, "error"),
        }
        return made[event]()

    def never_claimed(self) -> TaskItem:
        now = self.bench.at(0)
        item = self.entities.task(
            id=KEY, function="note", arguments={}, state=State.DUE, shard=0, wake=now, due=now, fence=1
        )
        return replace(item, tries=1)


@pytest.mark.parametrize("event", Event)
@pytest.mark.parametrize("phase", Phase)
async def test_each_event_happens_or_is_refused(bench: Bench, phase: Phase, event: Event) -> None:
    life = Life(bench)
    for step in WAY_TO[phase]:
        await life.happen(step)
    before = await life.stored()
    assert (None if before is None else before.state) is STORED.get(phase)
    if (phase, event) in TRANSITIONS.table:
        after = TRANSITIONS.after(phase, event)
        await life.happen(event)
        stored = await life.stored()
        assert (None if stored is None else stored.state) is STORED.get(after)
        return
    with pytest.raises(NotAllowed):
        TRANSITIONS.after(phase, event)
    if (phase, event) in NEW_TASK:
        await life.happen(event)
        assert (await life.stored()).state is stored_after(Phase.NEW, event)
        return
    if (phase, event) in NOTHING_TO_DO | ENDED_AS_WANTED:
        await life.happen(event)
    else:
        with pytest.raises(refusal_of(event)):
            await life.happen(event)
    assert await life.stored() == before


def refusal_of(event: Event) -> type[SingletableError]:
    if event is Event.SCHEDULE:
        return TransactionCancelled
    return NotFound if event is Event.REVIVE else ClaimLost


def test_every_phase_is_reached_by_the_table() -> None:
    for phase, way in WAY_TO.items():
        at = Phase.NEW
        for event in way:
            at = TRANSITIONS.after(at, event)
        assert at is phase
    assert set(WAY_TO) == set(Phase)
