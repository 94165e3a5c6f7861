"""Every event in every phase of a task: those of the table happen, all others are refused and change nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from singletable import NotFound, SingletableError, TransactionCancelled
from singletable.flow.transitions import NotAllowed
from singletable.tasks.items import TaskItem, TaskState, task_entities
from singletable.tasks.outcomes import (
    RunPlan,
    apply,
    dead_letter_writes,
    extend_writes,
    finish_writes,
    next_run_writes,
    retry_writes,
    return_writes,
)
from singletable.tasks.states import STORED, TRANSITIONS, TaskEvent, TaskPhase, stored_after
from singletable.tasks.writes import ClaimLost
from tests.support.workers import task_worker
from tests.tasks.bench import Bench, noting, seconds

KEY = "one"
ENDS = (TaskEvent.EXTEND, TaskEvent.FINISH, TaskEvent.RETRY, TaskEvent.RETURN, TaskEvent.DEAD_LETTER)
"""What only the holder of a claim may do."""
WAY_TO: dict[TaskPhase, Sequence[TaskEvent]] = {
    TaskPhase.NEW: (),
    TaskPhase.WAITING: (TaskEvent.SCHEDULE,),
    TaskPhase.CLAIMED: (TaskEvent.SCHEDULE, TaskEvent.CLAIM),
    TaskPhase.DONE: (TaskEvent.SCHEDULE, TaskEvent.CLAIM, TaskEvent.FINISH),
    TaskPhase.DEAD: (TaskEvent.SCHEDULE, TaskEvent.CLAIM, TaskEvent.DEAD_LETTER),
    TaskPhase.CANCELLED: (TaskEvent.SCHEDULE, TaskEvent.CLAIM, TaskEvent.CANCEL),
}
NEW_TASK = {(phase, TaskEvent.SCHEDULE) for phase in (TaskPhase.DONE, TaskPhase.CANCELLED)}
"""Another task of the same key, which the table of one task doesn't have."""
NOTHING_TO_DO = {(phase, TaskEvent.CANCEL) for phase in (TaskPhase.NEW, TaskPhase.DONE, TaskPhase.CANCELLED)}
"""A cancellation of a task that is gone changes nothing, and is not an error."""
ENDED_AS_WANTED = {(phase, TaskEvent.FINISH) for phase in (TaskPhase.NEW, TaskPhase.DONE, TaskPhase.CANCELLED)}
"""An end of what has ended changes nothing: the worker may have lost the answer of its first request."""


class Life:
    """One task, and the claim that a worker has or had."""

    def __init__(self, bench: Bench) -> None:
        self.bench, self.call = bench, noting(bench, tries=8)("x")
        self.entities = task_entities(bench.table, "gsi1")
        self.claim: TaskItem | None = None

    async def stored(self) -> Any:
        return await self.bench.shell.get(self.entities.by_id(KEY).consistent())

    async def happen(self, event: TaskEvent) -> None:
        bench, port = self.bench, self.bench.shell.port
        if event is TaskEvent.SCHEDULE:
            await bench.add(bench.tasks.after(seconds(0), self.call, key=KEY))
        elif event is TaskEvent.CANCEL:
            await bench.add(bench.tasks.cancel(KEY))
        elif event is TaskEvent.REVIVE:
            await bench.retry(KEY)
        elif event is TaskEvent.RELEASE:
            await task_worker(bench.shell, bench.tasks).release(KEY)
        elif event is TaskEvent.CLAIM:
            bench.clock.advance(31)  # past any lease
            self.claim = await bench.claim(KEY)
        else:
            await bench.shell.run(apply(port, self.writes(event)))

    def writes(self, event: TaskEvent) -> Any:
        """What the holder of the claim writes; a worker that never had one takes itself for the next."""
        claim = self.claim or self.never_claimed()
        tasks, at = self.entities, self.bench.at(60)
        made: dict[TaskEvent, Any] = {
            TaskEvent.EXTEND: lambda: extend_writes(tasks, claim, at),
            TaskEvent.FINISH: lambda: finish_writes(tasks, claim),
            TaskEvent.RECUR: lambda: next_run_writes(claim, RunPlan(at, "every day", at)),  # type: ignore[arg-type]
            TaskEvent.RETRY: lambda: retry_writes(tasks, claim, at, "error"),
            TaskEvent.RETURN: lambda: return_writes(tasks, claim, at, "error"),
            TaskEvent.DEAD_LETTER: lambda: dead_letter_writes(tasks, claim, at, "error"),
        }
        return made[event]()

    def never_claimed(self) -> TaskItem:
        now = self.bench.at(0)
        item = self.entities.task(
            id=KEY, function="note", arguments={}, state=TaskState.DUE, shard=0, wake=now, due=now, fence=1
        )
        return replace(item, tries=1)


@pytest.mark.parametrize("event", TaskEvent)
@pytest.mark.parametrize("phase", TaskPhase)
async def test_each_event_happens_or_is_refused(bench: Bench, phase: TaskPhase, event: TaskEvent) -> None:
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
        assert (await life.stored()).state is stored_after(TaskPhase.NEW, event)
        return
    if (phase, event) in NOTHING_TO_DO | ENDED_AS_WANTED:
        await life.happen(event)
    else:
        with pytest.raises(refusal_of(event)):
            await life.happen(event)
    assert await life.stored() == before


def refusal_of(event: TaskEvent) -> type[SingletableError]:
    if event is TaskEvent.SCHEDULE:
        return TransactionCancelled
    return NotFound if event in (TaskEvent.REVIVE, TaskEvent.RELEASE) else ClaimLost


def test_every_phase_is_reached_by_the_table() -> None:
    for phase, way in WAY_TO.items():
        at = TaskPhase.NEW
        for event in way:
            at = TRANSITIONS.after(at, event)
        assert at is phase
    assert set(WAY_TO) == set(TaskPhase)
