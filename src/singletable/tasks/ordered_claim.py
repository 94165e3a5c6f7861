"""Taking a turn: the head of its lane is claimed, if it is ready and nothing else of the lane runs.

What is first is read from the table itself, consistently, and held by the claim's transaction. A turn that has to wait
is put off until the one before it is looked at again, so that the index shows workers what they can take; whatever
ends a turn has the next one looked at.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta

from singletable.errors import TransactionCancelled
from singletable.flow.port import Port
from singletable.foundation import KeyOf, alone, commit, get, model_of
from singletable.operations import Query, Selection
from singletable.operations.answers import RAW
from singletable.tasks.items import Lane, TaskEntities, Turn, instant
from singletable.tasks.ordered import TaskGone, claim_turn, nudge_turn, postpone_turn, sweep_turn
from singletable.tasks.writes import ClaimLost

_LONGEST_WAIT = timedelta(seconds=60)
"""A turn whose predecessor is cancelled is looked at no later than this."""
_MOST_SWEPT = 25
"""Turns of cancelled tasks that one claim takes out of the way."""


@dataclass(frozen=True)
class LaneNow:
    """A lane as it was read: which turn runs, if one does, and which is first."""

    runs: Lane | None
    head: Turn | None


async def take_turn(
    port: Port, tasks: TaskEntities, key: KeyOf[Turn], until: datetime, runs_here: Collection[tuple[str, str]] = ()
) -> Turn | None:
    """The claimed head of a turn's lane, which may be another than that turn; None where the lane has to wait.

    `runs_here` are the primary keys of what this worker runs: never to be taken again, whatever its clock says.

    A request, and a transaction of three items; of two where the turn is put off.
    """
    order = model_of(tasks.turn).key_values(key)["order"]
    for _ in range(_MOST_SWEPT):
        now = instant(port.now())
        lane = await read_lane(port, tasks, order)
        head = lane.head
        if head is None or model_of(tasks.turn).place_of(head) in runs_here:
            return None
        if lane.runs is not None and lane.runs.until > now:
            await _postpone(port, tasks, key, lane.runs.until, now, lane.runs)
            return None
        if head.ready <= now:
            claimed, writes = claim_turn(tasks, head, now, until)
            try:
                await commit(port, writes)
            except TransactionCancelled as cancelled:
                if not any(isinstance(failure.error, TaskGone) for failure in cancelled.failures):
                    return None
            else:
                return claimed
        if not await swept(port, tasks, head, lane.runs):
            if head.ready > now and model_of(tasks.turn).key_of(head).low != key.low:
                await _postpone(port, tasks, key, head.ready, now, head)
            return None
    return None


async def after_turn(port: Port, tasks: TaskEntities, order: str) -> None:
    """Have the next turn of a lane looked at now, where it was put off. A request, and a write where it was."""
    now = instant(port.now())
    lane = await read_lane(port, tasks, order)
    head = lane.head
    if head is None or lane.runs is not None or not head.ready <= now < head.wake:
        return
    try:
        await alone(port, nudge_turn(tasks, head, now))
    except ClaimLost:
        return  # it was claimed already, or cancelled


async def give_up_turn(port: Port, tasks: TaskEntities, turn: Turn) -> None:
    """After a refused end: where the task was cancelled while it ran, its turn goes and the lane goes on."""
    lane = await read_lane(port, tasks, turn.order)
    if lane.runs is not None and lane.runs.fence == turn.fence:
        await swept(port, tasks, turn, lane.runs)


async def read_lane(port: Port, tasks: TaskEntities, order: str) -> LaneNow:
    """One consistent request of two items."""
    table = tasks.table
    partition = tasks.by_order(order).partition
    names, values = {"#0": table.definition.key[0]}, {":0": {"S": partition}}
    selection = Selection(names=names, values=values, limit=2, consistent=True)
    found = await port.send(Query(table.name, "#0 = :0", selection, RAW))
    runs: Lane | None = None
    heads: list[Turn] = []
    for item in found.items:
        runs = model_of(tasks.lane).load(item) or runs
        turn = model_of(tasks.turn).load(item)
        heads += [] if turn is None else [turn]
    return LaneNow(runs, heads[0] if heads else None)


async def _postpone(
    port: Port, tasks: TaskEntities, key: KeyOf[Turn], wake: datetime, now: datetime, before: Lane | Turn
) -> None:
    try:
        await commit(port, postpone_turn(tasks, key, min(wake, now + _LONGEST_WAIT), now, before))
    except TransactionCancelled:
        return  # one of the two is another by now: the next look tells


async def swept(port: Port, tasks: TaskEntities, turn: Turn, runs: Lane | None) -> bool:
    """Whether a turn's task was cancelled; then the turn is gone too, and the next is looked at."""
    place = model_of(tasks.turn).key_of(turn).low
    name = await get(port, tasks.by_id(turn.id).consistent())
    if name is not None and name.turn == place:
        return False
    holds_lane = runs is not None and runs.turn == place and runs.fence == turn.fence
    try:
        await commit(port, sweep_turn(tasks, turn, holds_lane=holds_lane))
    except TransactionCancelled:
        return False
    await after_turn(port, tasks, turn.order)
    return True
