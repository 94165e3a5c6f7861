"""The items of recurring tasks: made by the first worker, planned anew by one that started later with other times.

    missing                                     the first run of the declared times
    dead, as no program had its function        the run that it waited for is due
    another plan, of a worker of before         its next run moves, unless one is due or runs; its end plans it anew

Each is one write on condition of what was read, so of several workers one succeeds. A worker never replaces the plan of
one that started later: while two versions of a program run, the newer's times win.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from singletable.errors import AlreadyExists
from singletable.flow import Port, instant
from singletable.foundation import CreateWrite, get_many, send_alone
from singletable.tasks.calls import TaskFunction
from singletable.tasks.items import UNCLAIMED, PlainTask, TaskEntities, TaskState, lease_of, recurring_key, shard_of
from singletable.tasks.recurrence import Recurrence
from singletable.tasks.writes import Advance, ClaimLost, first_fence
from singletable.values import changed

LOOK_SECONDS: Final = 60.0
"""Between two looks of a worker at the items of its recurring tasks."""

Functions = Mapping[str, TaskFunction[...]]


def recurring_in(functions: Functions) -> dict[str, Recurrence]:
    """The declared times of each recurring task, by its name."""
    return {name: function.recurs for name, function in functions.items() if function.recurs is not None}


async def recurring_items(port: Port, tasks: TaskEntities, functions: Functions) -> dict[str, PlainTask]:
    """The items of the declared recurring tasks, by their names. A read of each, 100 in a request."""
    names = {recurring_key(name): name for name in recurring_in(functions)}
    items = await get_many(port, [tasks.by_id(key).consistent() for key in names], consistent=True) if names else []
    return {names[item.id]: item for item in items}


async def plan_recurring(port: Port, tasks: TaskEntities, functions: Functions, began: datetime) -> None:
    """Write the items that are missing, or have an earlier worker's plan. A read of each, and a write where it is so.

    `began` is when the worker started.
    """
    stored = await recurring_items(port, tasks, functions)
    now = instant(port.now())
    for name, recurs in recurring_in(functions).items():
        item = stored.get(name)
        if item is None:
            await _create(port, tasks, name, recurs, now, began)
        elif item.state is TaskState.DEAD or _is_outdated(item, recurs, now, began):
            await _plan_anew(port, item, recurs, now, began)


def _is_outdated(item: PlainTask, recurs: Recurrence, now: datetime, began: datetime) -> bool:
    is_free = item.tries == 0 and item.wake > now and lease_of(item.lease, sent=item.sent, tries=item.tries) == 0.0
    is_earlier = item.planned is None or item.planned < began
    return item.recurs not in (None, recurs.text) and is_free and is_earlier


async def _create(
    port: Port, tasks: TaskEntities, name: str, recurs: Recurrence, now: datetime, began: datetime
) -> None:
    key, due = recurring_key(name), recurs.first(now)
    arguments: dict[str, Any] = {}
    item = tasks.task(
        id=key,
        function=name,
        arguments=arguments,
        state=TaskState.DUE,
        shard=shard_of(key),
        wake=due,
        due=due,
        fence=first_fence(),
        recurs=recurs.text,
        planned=began,
    )
    try:
        await send_alone(port, CreateWrite(item))
    except AlreadyExists:
        return  # another worker was first


async def _plan_anew(port: Port, item: PlainTask, recurs: Recurrence, now: datetime, began: datetime) -> None:
    due = item.due if item.state is TaskState.DEAD else recurs.first(now)
    becomes = changed(
        item,
        state=TaskState.DUE,
        wake=max(due, now),
        due=due,
        fence=item.fence + 1,
        tries=0,
        **UNCLAIMED,
        recurs=recurs.text,
        planned=began,
    )
    try:
        await send_alone(port, Advance(item, becomes, "plan"))
    except ClaimLost:
        return  # another worker planned it, or has begun a run
