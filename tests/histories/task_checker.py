"""Whether every task of a history ended exactly once, and the tasks of an order ran in it, one at a time.

    faults_of(history)    # [] for a sound one

A task that was scheduled ends once: its effect happens once, or it is dead, or it was cancelled; never two of these,
but that a cancellation may come too late. Fences order the claims of a task: none is granted twice, none after the end,
and a claim that was taken over writes no end. Two runs of a task, or of an order, never overlap while the first one's
lease holds for sure; the effects of an order are in the order of the due times.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from tests.histories.history import NEVER, Status
from tests.histories.task_history import Ended, Look, Phase, Run, Scheduled, TaskHistory


def faults_of(history: TaskHistory) -> list[str]:
    """Whatever no sound execution explains."""
    return [
        *_of_ends(history),
        *_of_fences(history),
        *_of_claims(history),
        *_of_orders(history),
        *_of_looks(history),
    ]


# --- ends -------------------------------------------------------------------------------------------------------------
def _of_ends(history: TaskHistory) -> Iterator[str]:
    asked = {each.key for each in history.cancels}
    returned = {run.key for run in history.runs if run.end is Ended.RETURNED}
    done = defaultdict[str, list[Run]](list)
    for run in history.runs:
        if run.end is Ended.DONE:
            done[run.key].append(run)
        if run.key not in history.tasks or history.tasks[run.key].status is Status.FAILED:
            yield f"never scheduled: {run.key} ran"
    for key, task in history.tasks.items():
        count, is_dead = history.effects.get(key, 0), key in history.dead
        if count > 1 or len(done[key]) > 1:
            yield f"ended twice: {key}, with {count} effects and {len(done[key])} acknowledged ends"
        if done[key] and not count:
            yield f"lost effect: {key} was acknowledged, and has none"
        if count and is_dead:
            yield f"ended twice: {key} has had its effect and is dead"
        if key in history.left:
            yield f"never ended: {key} is still due"
        elif task.status is Status.DONE and not (is_dead or key in asked or count or key in returned):
            yield f"lost: {key} was scheduled, and has come to no end"
    yield from _cancelled_too(history, done)


def _cancelled_too(history: TaskHistory, done: dict[str, list[Run]]) -> Iterator[str]:
    """Effects of tasks whose cancellation was over before their transaction began, which is after their run did."""
    for cancel in history.cancels:
        was_there = cancel.status is Status.DONE and history.tasks[cancel.key].ended < cancel.began
        for run in done[cancel.key] if was_there else ():
            if cancel.ended < run.began:
                yield f"ran after its cancellation: {cancel.key}, by {run.worker}"


# --- claims of a task -------------------------------------------------------------------------------------------------
def _of_fences(history: TaskHistory) -> Iterator[str]:
    by_key = defaultdict[str, list[Run]](list)
    for run in history.runs:
        by_key[run.key].append(run)
        if run.early > 0:
            yield f"early: {run.key} by {run.early:g} s, by the clock of {run.worker}"
    for key, runs in by_key.items():
        fences = [run.fence for run in runs]
        if len(set(fences)) < len(fences):
            yield f"claimed twice: {key}, with the same fence"
        for end in runs:
            if end.end is not Ended.DONE:
                continue
            for run in runs:
                if run.fence > end.fence and run.began < end.ended:
                    yield f"ended by a lost claim: {key}, by {end.worker}, when {run.worker} had it"
                elif run.fence > end.fence:
                    yield f"claimed after its end: {key}, by {run.worker}"


def _of_claims(history: TaskHistory) -> Iterator[str]:
    """Two at once: of one task, or of one order, while the first one's lease holds for sure."""
    places = defaultdict[str, list[Run]](list)
    for run in history.runs:
        task = history.tasks.get(run.key)
        places[run.key if task is None or task.order is None else f"order {task.order}"].append(run)
    freed = {each.key: each.began_seconds for each in reversed(history.cancels)}
    for place, runs in places.items():
        last: Run | None = None
        until = -1.0
        for run in sorted(runs, key=lambda run: run.began_seconds):
            if last is not None and run.began_seconds < min(until, run.held_until):
                yield f"two at once: {place}, {last.key} by {last.worker} and {run.key} by {run.worker}"
            holds = min(run.held_until, run.ended_seconds, freed.get(run.key, NEVER))
            if holds > until:
                last, until = run, holds


# --- orders -----------------------------------------------------------------------------------------------------------
def _of_orders(history: TaskHistory) -> Iterator[str]:
    claimed = {run.key: run.claimed for run in history.runs if run.end is Ended.DONE}
    moved = {each.key for each in history.revivals}
    for order, keys in history.logs.items():
        if len(set(keys)) < len(keys):
            yield f"ended twice: a task of the order {order} has two effects"
        known = [history.tasks[key] for key in keys if key in history.tasks]
        latest: Scheduled | None = None
        for task in known:
            if task.key in moved:
                continue  # it was dead, and the order went on without it
            if latest is not None and task.due < latest.due and task.ended_seconds < claimed.get(latest.key, -1.0):
                yield f"out of order: {task.key} after {latest.key} in the order {order}"
            if latest is None or task.due > latest.due:
                latest = task


# --- looks ------------------------------------------------------------------------------------------------------------
def _of_looks(history: TaskHistory) -> Iterator[str]:
    """Once gone, gone for all who look later; fences never go back."""
    by_key = defaultdict[str, list[Look]](list)
    for look in history.looks:
        by_key[look.key].append(look)
    revived = {each.key for each in history.revivals}
    for key, looks in by_key.items():
        task = history.tasks[key]
        gone, dead, fence = NEVER, NEVER, (-1.0, 0)
        for look in sorted(looks, key=lambda look: look.ended):
            if look.began <= task.ended:
                continue  # it may not have been there yet
            if look.phase is Phase.GONE:
                gone = min(gone, look.ended)
                continue
            if look.began > gone:
                yield f"an end went back: {key} was gone, and is {look.phase.value}"
            if look.phase is Phase.DEAD:
                dead = min(dead, look.ended)
            elif look.began > dead and key not in revived:
                yield f"an end went back: {key} was dead, and is due"
            if look.began > fence[0] and look.fence < fence[1]:
                yield f"a fence went back: {key}"
            fence = max(fence, (look.ended, look.fence), key=lambda seen: seen[1])
