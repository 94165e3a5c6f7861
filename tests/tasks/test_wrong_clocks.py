"""Workers whose clocks are an hour or a day off, and are set at any moment: no task runs twice for it.

Each worker has a clock that decides alone, so nothing corrects it. Time passes while functions run, in which other
workers look for work; what runs is extended as by a heartbeat. A worker that dies is followed: its task runs again.
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field

import pytest

from singletable import Database, Meter, Table
from singletable.flow import UNGATED, drive, instant
from singletable.tasks import Tasks
from singletable.tasks.worker import WorkerSlots
from singletable.tasks.worker_options import TaskWorkerOptions
from singletable.wire import BlockingPort, PortOptions
from tests.faults.clock import NOON
from tests.support.engines import fresh

LEASE = 60.0
OFF = (0.0, 3600.0, -3600.0, 86_400.0, -86_400.0)


class PowerCut(BaseException):
    """The worker dies in the middle of a task."""


@dataclass
class Worker:
    """One worker, with a wall clock of its own."""

    world: World
    off: float
    port: BlockingPort = field(init=False)
    slots: WorkerSlots = field(init=False)
    is_busy: bool = False

    def __post_init__(self) -> None:
        world = self.world
        options = PortOptions(traits=world.owner.target.traits, now=self.now, monotonic=world.elapsed)
        target = world.owner.target
        self.port = port = BlockingPort(target.endpoint, target.credentials, options, sleep=world.advance)
        port.ready.update(world.owner.port.ready)
        work = TaskWorkerOptions(at_once=1, lease_seconds=LEASE)
        self.slots = WorkerSlots(port, UNGATED, world.tasks.entities, world.tasks.functions, work, lambda: False)

    def now(self) -> float:
        return self.world.time + self.off


@dataclass
class World:
    owner: Database
    chance: random.Random
    tasks: Tasks
    time: float = NOON
    workers: list[Worker] = field(default_factory=list[Worker])
    runs: Counter[str] = field(default_factory=Counter[str])
    cuts: Counter[str] = field(default_factory=Counter[str])
    is_calm: bool = False

    def elapsed(self) -> float:
        return self.time - NOON

    def advance(self, seconds: float) -> None:
        """Time passes for all; a third of a lease after the last one, each claim is extended."""
        while seconds > 0:
            part = min(seconds, LEASE / 12)
            self.time, seconds = self.time + part, seconds - part
            for worker in self.workers:
                for claimed in list(worker.slots.execution.held):
                    if self.elapsed() - claimed.renewed_at >= LEASE / 3:
                        drive(worker.slots.execution.extend(claimed))

    def work(self, key: str) -> None:
        """The function of each task."""
        self.runs[key] += 1
        if self.is_calm:
            return
        for _ in range(self.chance.randrange(3)):
            self.advance(self.chance.choice((1.0, 30.0, 100.0)))
            self.look()
        if self.chance.random() < 0.05:
            self.cuts[key] += 1
            raise PowerCut

    def look(self) -> None:
        """A worker that does nothing looks for work, by the clock that it has by now."""
        idle = [worker for worker in self.workers if not worker.is_busy]
        if not idle:
            return
        worker = self.chance.choice(idle)
        if self.chance.random() < 0.5:
            worker.off = self.chance.choice(OFF)
        worker.is_busy = True
        try:
            drive(worker.slots.drain())
        except PowerCut:
            self.replace(worker)
        finally:
            worker.is_busy = False

    def replace(self, worker: Worker) -> None:
        worker.port.close()
        self.workers[self.workers.index(worker)] = Worker(self, self.chance.choice(OFF))

    def schedule(self, key: str) -> None:
        order = self.chance.choice((None, "a", "a", "b"))
        call = self.tasks.functions["work"](key)
        with self.owner.transaction() as tx:
            tx.add(self.tasks.at(instant(self.time), call, key=key, order=order))

    def run(self, requests: int) -> None:
        self.workers = [Worker(self, self.chance.choice(OFF)) for _ in range(4)]
        number = 0
        with Meter() as meter:
            while meter.requests < requests:
                for _ in range(self.chance.randrange(4)):
                    self.schedule(f"t{number}")
                    number += 1
                self.look()
                self.advance(self.chance.choice((1.0, 10.0)))
        self.calm()
        assert {key: runs - self.cuts[key] for key, runs in self.runs.items()} == {f"t{n}": 1 for n in range(number)}

    def calm(self) -> None:
        """All clocks are right, and what is left is done."""
        self.is_calm = True
        self.advance(2 * 86_400.0)
        for worker in self.workers:
            worker.off = 0.0
            drive(worker.slots.drain())
        assert self.owner.check(self.tasks.table, self.tasks) == []


def run(seed: int, requests: int) -> None:
    app = Table("clocks", indexes=["gsi1"])
    tasks = Tasks(app, index="gsi1")
    with fresh() as owner:
        owner.create_table(app)
        world = World(owner, random.Random(seed), tasks)

        @tasks.task(name="work", tries=1000)
        def work(key: str) -> None:
            world.work(key)

        try:
            world.run(requests)
        finally:
            for worker in world.workers:
                worker.port.close()


@pytest.mark.parametrize("seed", [1, 2])
def test_no_task_runs_twice_for_a_wrong_clock(seed: int) -> None:
    run(seed, 750)


@pytest.mark.soak
def test_no_task_runs_twice_for_a_wrong_clock_in_many_requests() -> None:
    run(3, 30_000)
