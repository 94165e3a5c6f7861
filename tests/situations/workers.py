"""Situations of workers: of tasks, and of changes."""

from __future__ import annotations

import asyncio  # noqa: TID251
from typing import Any

from singletable.streams import AsyncChangeWorker, Gap, Inserted
from singletable.tasks import Backoff
from tests.faults.actions import Refuse
from tests.faults.rules import Match, Rule
from tests.situations.program import Program
from tests.situations.shop import make_shop, schedule, work
from tests.situations.situation import situation


@situation(
    "A worker that was killed",
    shows="""
        tasks of shop: started, 1 at a time, on host-1, process 101
        tasks of shop: took over the lease of charge (
        from host-1, process 101, which has given no sign of life for 60 s
        that process was killed, stands still, or can't reach the table
        """,
    records="WARNING LeaseTaken",
    cause="""A process ended in the middle of a task, without a word: SIGKILL, out of memory, a machine that is gone.
        Its lease was not renewed, and another worker runs the task again.""",
    todo="""Look for the end of the process that is named. The task needs nothing; `singletable work show` has who holds
        which.""",
)
async def killed_worker(program: Program) -> None:
    shop = make_shop()
    tries: list[int] = []

    @shop.tasks.task
    async def charge(number: int) -> None:
        tries.append(number)
        if len(tries) == 1:
            program.kill(killed)
            await asyncio.get_running_loop().create_future()

    killed, other = program.open(), program.open()
    await schedule(other, shop, charge(1))
    await program.work_for(1.0, work(killed, shop))
    await program.work_for(130.0, work(other, shop))


@situation(
    "A worker that is stuck",
    shows="""
        tasks of shop: charge
        on host-1, process 101 and has not ended; its worker lives and renews the lease, so nobody takes it over
        """,
    records="WARNING WorkOverran",
    cause="A task's function does not return: it waits for something without a timeout. Its worker renews the lease.",
    todo="""Look where the function waits, and give that a timeout. `singletable work release` takes the task from the
        worker.""",
)
async def stuck_worker(program: Program) -> None:
    shop = make_shop()

    @shop.tasks.task
    async def charge(number: int) -> None:
        await asyncio.get_running_loop().create_future()

    db = program.open()
    await schedule(db, shop, charge(1))
    await program.work_for(200.0, work(db, shop))


@situation(
    "A worker that is slow",
    shows="""
        done after 20008 ms (slow)
        s after its time: more is due than the workers end, or they were down
        """,
    records="""
        INFO TaskEnded
        WARNING TaskBegun
        """,
    cause="Each task takes long, and more of them are due than the workers end: each begins later than the one before.",
    todo="Make the function faster, or run more at once (`at_once=`, more processes); see `singletable work show`.",
)
async def slow_worker(program: Program) -> None:
    shop = make_shop()

    @shop.tasks.task
    async def charge(number: int) -> None:
        await asyncio.sleep(20.0)

    db = program.open()
    await schedule(db, shop, *(charge(number) for number in range(8)))
    await program.work_for(170.0, work(db, shop))


@situation(
    "A poison change",
    shows="""
        mail: order#INSERT
        try 3, the last one, failed with KeyError. The change is a dead letter now
        `singletable work retry --consumer mail` handles it again
        KeyError: 'iban'
        """,
    records="""
        INFO ChangeRetried
        ERROR LetterAdded
        """,
    cause="""A handler fails for one change each time, here for want of an attribute. The change is set aside, and the
        ones after it are handled.""",
    todo="Mend the handler, then `singletable work retry --consumer mail`, or `drop` the letter.",
)
async def poison_change(program: Program) -> None:
    shop = make_shop()

    @shop.changes.on(shop.order).inserted
    async def send_mail(change: Inserted[Any]) -> None:
        raise KeyError("iban")

    program.engine.create_table(shop.changes.leases)
    db = program.open()
    await db.put(shop.order(customer="ada", number=1))
    await AsyncChangeWorker(db, shop.changes).drain(tries=3)


@situation(
    "A dead task",
    shows="""
        task charge
        try 1 of 2, failed after 8 ms
        try 2 of 2, failed for the last time
        It is a dead task now: `singletable work retry` runs it again
        KeyError: 'iban'
        """,
    records="""
        INFO TaskEnded
        ERROR TaskEnded
        """,
    cause="A task failed in each of its tries. It is kept as a dead letter, and does not run again by itself.",
    todo="Mend the function, then `singletable work retry`, or `drop` it. `singletable check` counts dead tasks.",
)
async def dead_task(program: Program) -> None:
    shop = make_shop()

    @shop.tasks.task(tries=2, backoff=Backoff(first_seconds=5.0))
    async def charge(number: int) -> None:
        raise KeyError("iban")

    db = program.open()
    await schedule(db, shop, charge(1))
    await program.work_for(20.0, work(db, shop))


@situation(
    "A gap in the stream",
    shows="""
        mail: changes of the shard
        of table shop are lost (trimmed: a stream keeps changes for a day
        made after the last one that was handled and before 2
        """,
    records="ERROR ShardGap",
    cause="""The consumer was down, or behind, for longer than the day that a stream keeps changes. What was trimmed is
        handled by nobody.""",
    todo="Read the table for what the handlers missed, as `on_gap` tells when. Watch the lag, and have an alarm on it.",
)
async def gap(program: Program) -> None:
    shop = make_shop()

    @shop.changes.on(shop.order).inserted
    async def send_mail(change: Inserted[Any]) -> None:
        await asyncio.sleep(0)

    @shop.changes.on_gap
    async def note_gap(gap: Gap) -> None:
        await asyncio.sleep(0)

    program.engine.create_table(shop.changes.leases)
    db = program.open()
    for number in range(2):
        await db.put(shop.order(customer="ada", number=number))
        await AsyncChangeWorker(db, shop.changes).drain()
    trimmed = "The operation attempted to read past the oldest stream record in a shard."
    program.faults.add(Rule(Match("GetRecords", nth=1), Refuse("TrimmedDataAccessException", trimmed)))
    await AsyncChangeWorker(db, shop.changes).drain()
