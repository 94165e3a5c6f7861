"""Workers, those who schedule, cancel, retry and look, and clocks that are set: each notes what it did and saw.

Workers are killed in any of their turns, and others begin in their place. A function takes longer than a lease now and
then, raises, or is paused. Its effect is declared as done once: it is in the transaction of the task's end.
"""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Any

from singletable import ANY, AsyncDatabase, Entity, Key, OutcomeUnknown, Table, TransactionCancelled, attr
from singletable.errors import Conflict, Unavailable
from singletable.flow import UNGATED
from singletable.tasks import Backoff, Tasks
from singletable.tasks.execution import claimed_now
from singletable.tasks.flows import dead_letters, retry
from singletable.tasks.items import TaskState
from singletable.tasks.worker import WorkerSlots
from singletable.tasks.worker_options import TaskWorkerOptions
from singletable.tasks.writes import ClaimLost
from tests.faults.rules import Faults
from tests.histories.history import Status
from tests.histories.simulation import Killed, Scheduler, SimulatedPort, Turn
from tests.histories.task_history import Ended, Look, Phase, Request, Run, Scheduled, TaskHistory

jobs = Table("jobs", indexes=["gsi1"])
tasks = Tasks(jobs, index="gsi1")
LEASE = 4.0
LANES = 6
IN_A_LANE = 200
"""Tasks of an order; then a new one takes its place, as its log is one item."""


class Effect(Entity, table=jobs, type="effect"):
    """How often the effect of a task has happened."""

    id: str
    count: int = 0

    @jobs.key
    @staticmethod
    def by_id(id: str) -> Key:
        return f"effect#{id}", "effect"


class Log(Entity, table=jobs, type="log"):
    """An effect of a task of an order. Its number is that of the order's effects so far."""

    order: str
    number: int
    task: str

    @jobs.key
    @staticmethod
    def of_order(order: str, number: int = ANY) -> Key:
        return f"log#{order}", f"log#{number:06}"


class Total(Entity, table=jobs, type="total"):
    """How many effects an order has had."""

    order: str
    count: int = 0

    @jobs.key
    @staticmethod
    def by_order(order: str) -> Key:
        return f"total#{order}", "total"


@dataclass
class World:
    """What all processes of one run share."""

    scheduler: Scheduler
    faults: Faults
    chance: random.Random
    operations: int
    """Of all together: tasks, claims, ends, cancellations, retries and looks."""
    skew_seconds: float
    """How far a worker's clock may be off, either way."""
    history: TaskHistory = field(default_factory=TaskHistory)
    processes: list[Process] = field(default_factory=list["Process"])
    count: int = 0
    schedulers: int = 0
    """Those that are not done."""
    lanes: int = LANES
    in_lanes: dict[str, int] = field(default_factory=dict[str, int])

    @property
    def moment(self) -> int:
        return self.scheduler.moment

    @property
    def seconds(self) -> float:
        return self.scheduler.clock.monotonic()

    def lane(self) -> str:
        """An order that is in use."""
        name = f"o{self.chance.randrange(self.lanes - LANES, self.lanes)}"
        self.in_lanes[name] = self.in_lanes.get(name, 0) + 1
        if self.in_lanes[name] == IN_A_LANE:
            self.lanes += 1
        return name


@dataclass
class Process:
    """One process: its name, its port and clock, its database."""

    world: World
    name: str
    port: SimulatedPort
    db: AsyncDatabase


_process: ContextVar[Process] = ContextVar("the process that runs")


# --- the functions of tasks -------------------------------------------------------------------------------------------
@tasks.task(tries=4, backoff=Backoff(0.5, 4.0))
async def declared(key: str, order: str) -> None:
    """Its effect and its end are one transaction."""
    process = _process.get()
    run, world = _begin(process, key), process.world
    await _work(world, run)
    run.ended_seconds = world.seconds
    try:
        await _end(process.db, key, order)
        run.end = Ended.DONE
    except TransactionCancelled as cancelled:
        run.end = Ended.LOST if isinstance(cancelled.failures[0].error, ClaimLost) else Ended.RAISED
        raise
    except (Conflict, Unavailable):
        run.end = Ended.RAISED
        raise
    finally:
        run.ended = world.moment


async def _end(db: AsyncDatabase, key: str, order: str) -> None:
    async with db.transaction() as tx:
        tx.update(Effect.by_id(key), attr(Effect.count).add(1))
        if order:
            total = await db.get(Total.by_order(order).consistent())
            number = 1 if total is None else total.count + 1
            tx.put(Total(order=order, count=number))
            tx.create(Log(order=order, number=number, task=key))
        tx.add(tasks.done())


@tasks.task(tries=4, backoff=Backoff(0.5, 4.0))
async def plain(key: str, order: str) -> None:
    """The worker writes its end."""
    process = _process.get()
    run, world = _begin(process, key), process.world
    await _work(world, run)
    run.end, run.ended, run.ended_seconds = Ended.RETURNED, world.moment, world.seconds


def _begin(process: Process, key: str) -> Run:
    world, claimed = process.world, claimed_now()
    world.count += 2  # the claim, and the end
    world.faults.forget()  # it keeps each request that passed
    at = claimed.claim_time
    held = at.monotonic + LEASE - 2 * world.skew_seconds
    # The clock may have been set on between the look and the claim, and back since.
    early = max(0.0, claimed.item.due.timestamp() - process.port.highest)
    run = Run(key, process.name, claimed.item.fence, early, at.monotonic, held, world.moment, world.seconds)
    world.history.runs.append(run)
    return run


async def _work(world: World, run: Run) -> None:
    """Some turns; now and then longer than a lease; now and then it raises."""
    chance = world.chance
    for _ in range(chance.randint(0, 3)):
        await Turn()
    if chance.random() < 0.03:
        await world.scheduler.sleep(chance.random() * 3 * LEASE)
    if chance.random() < 0.12:
        run.end, run.ended, run.ended_seconds = Ended.RAISED, world.moment, world.seconds
        raise ValueError("told to")


# --- workers ----------------------------------------------------------------------------------------------------------
async def worker(world: World, number: int, make: Callable[[str], Process]) -> None:
    """Worker processes, one after the other: each is killed after some turns, until nothing is to be done."""
    life = 0
    while world.schedulers:
        life += 1
        process = make(f"w{number}.{life}")
        process.port.ahead_seconds = _skew(world)
        job = world.scheduler.start(_run(process))
        job.left = world.chance.choice((100, 1_000, 10_000))
        try:
            await world.scheduler.result_of(job)
        except (Killed, Conflict, Unavailable, OutcomeUnknown):
            world.processes.remove(process)


async def _run(process: Process) -> None:
    _process.set(process)
    world = process.world
    options = TaskWorkerOptions(at_once=world.chance.randint(1, 3), poll_seconds=2.0, lease_seconds=LEASE)
    await WorkerSlots(
        process.port, UNGATED, tasks.entities, tasks.functions, options, lambda: not world.schedulers
    ).run()


async def clocks(world: World) -> None:
    """Sets the clocks of workers, forwards and back."""
    while world.schedulers:
        await world.scheduler.sleep(world.chance.random() * 4)
        if world.processes:
            world.chance.choice(world.processes).port.ahead_seconds = _skew(world)


def _skew(world: World) -> float:
    return (world.chance.random() * 2 - 1) * world.skew_seconds


# --- those who schedule -----------------------------------------------------------------------------------------------
class Client:
    """A program that schedules tasks, cancels some, retries dead ones, and looks."""

    def __init__(self, process: Process) -> None:
        self.process, self.world, self.db = process, process.world, process.db
        self._made = 0

    async def live(self) -> None:
        verbs = [self._schedule, self._look, self._cancel, self._retry]
        while self.world.count < self.world.operations:
            self.world.count += 1
            await self.world.chance.choices(verbs, (50, 40, 8, 2))[0]()
            while self._waiting() > 200:
                await self.world.scheduler.sleep(1.0)
            await Turn()
        self.world.schedulers -= 1

    def _waiting(self) -> int:
        """Roughly, how many tasks have not run so far."""
        return len(self.world.history.tasks) - len(self.world.history.runs)

    async def _schedule(self) -> None:
        world, chance, process = self.world, self.world.chance, self.process
        self._made += 1
        key, order = f"{process.name}-{self._made}", world.lane() if chance.random() < 0.5 else None
        due = datetime.fromtimestamp(
            process.port.now() + chance.choice((-3, 0, 0, 1, 5)) + chance.random(), timezone.utc
        )
        is_declared = order is not None or chance.random() < 0.7
        task = Scheduled(key, due.timestamp(), order, is_declared, world.moment)
        world.history.tasks[key] = task
        call = (declared if is_declared else plain)(key, order or "")

        async def write() -> None:
            async with self.db.transaction() as tx:
                tx.create(Effect(id=key))
                tx.add(tasks.at(due, call, key=key, order=order))

        await self._noted(task, write)
        if task.status is Status.DONE:
            task.ended_seconds = world.seconds

    async def _cancel(self) -> None:
        async def write() -> None:
            async with self.db.transaction() as tx:
                tx.add(tasks.cancel(request.key))

        key = self._one()
        if key is not None:
            request = Request(key, self.world.moment, self.world.seconds)
            self.world.history.cancels.append(request)
            await self._noted(request, write)

    async def _retry(self) -> None:
        """One of the dead, if there is one."""
        try:
            letters = await dead_letters(self.process.port, tasks.entities, tasks.functions)
        except (Unavailable, OutcomeUnknown):
            return
        if not letters:
            return
        request = Request(self.world.chance.choice(letters).key, self.world.moment, self.world.seconds)
        self.world.history.revivals.append(request)
        await self._noted(request, lambda: retry(self.process.port, tasks.entities, request.key))

    async def _look(self) -> None:
        key, began = self._one(), self.world.moment
        if key is None:
            return
        try:
            found: Any = await self.db.get(tasks.entities.by_id(key).consistent())
        except Unavailable:
            return
        phase = Phase.GONE if found is None else Phase.DEAD if found.state is TaskState.DEAD else Phase.DUE
        fence = 0 if found is None else found.fence
        self.world.history.looks.append(Look(key, began, self.world.moment, phase, fence))

    def _one(self) -> str | None:
        """A task that was scheduled lately."""
        keys = list(self.world.history.tasks)[-60:]
        return self.world.chance.choice(keys) if keys else None

    async def _noted(self, request: Scheduled | Request, write: Callable[[], Awaitable[None]]) -> None:
        try:
            await write()
        except OutcomeUnknown:
            return
        except (Conflict, Unavailable):
            request.status = Status.FAILED
            return
        request.status, request.ended = Status.DONE, self.world.moment


async def settle(process: Process) -> None:
    """Run what is left, without faults, until nothing is due."""
    _process.set(process)
    world = process.world
    world.faults.clear()
    options = TaskWorkerOptions(at_once=4, lease_seconds=LEASE)
    for _ in range(200):
        await WorkerSlots(process.port, UNGATED, tasks.entities, tasks.functions, options, lambda: False).drain()
        if not await due_keys(process.db):
            return
        world.scheduler.clock.advance(LEASE)


async def due_keys(db: AsyncDatabase) -> frozenset[str]:
    """The tasks that are neither ended nor dead."""
    waiting = {turn.id async for turn in db.scan(tasks.entities.ordered)}
    return frozenset(waiting | {task.id async for task in db.scan(tasks.entity) if task.state is not TaskState.DEAD})
