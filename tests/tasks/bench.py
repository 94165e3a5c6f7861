"""A table with tasks, a clock of the test's own, and task functions that run in either shell."""

from __future__ import annotations

import functools
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, ParamSpec, overload

from singletable import Entity, Key, Table, attr, connect, connect_async, field as attribute
from singletable.flow import Traits, drive, instant
from singletable.records import Finding, flows
from singletable.records.send import send_alone
from singletable.tasks import Call, Counts, TaskFunction, Tasks
from singletable.tasks.due import wake_text
from singletable.tasks.writes import TaskClaim
from tests.faults.clock import Clock
from tests.support.shells import Shell, disguised
from tests.support.workers import task_worker

P = ParamSpec("P")
LOCAL = Traits(creates_tables=True, scan_page_limit=1000, segments_shift=True)


@dataclass
class Bench:
    """What a test of tasks works with. `ran` has what functions noted, in order."""

    kind: str
    shell: Shell
    clock: Clock
    table: Table
    tasks: Tasks
    counter: Any
    ran: list[Any] = field(default_factory=list[Any])

    @overload
    def task(self, function: Callable[P, Any]) -> TaskFunction[P]: ...
    @overload
    def task(self, **options: Any) -> Callable[[Callable[P, Any]], TaskFunction[P]]: ...
    def task(self, function: Any = None, **options: Any) -> Any:
        """`tasks.task` over an async function: as it is for the awaiting shell, run to its end for the blocking one."""
        if function is None:
            return functools.partial(self.task, **options)
        return self.tasks.task(**options)(function if self.kind == "awaiting" else _plain(function))

    async def add(self, *values: Any) -> None:
        async with self.shell.transaction() as tx:
            for value in values:
                tx.add(value)

    async def drain(self, **options: Any) -> Counts:
        counts: Counts = await task_worker(self.shell, self.tasks).drain(**options)
        return counts

    async def dead(self) -> Any:
        return await task_worker(self.shell, self.tasks).dead_letters()

    async def retry(self, key: str) -> None:
        await task_worker(self.shell, self.tasks).retry(key)

    async def findings(self) -> list[Finding]:
        """What both checks say, but for tasks that wait for a worker or a person: many tests are about those."""
        own = await task_worker(self.shell, self.tasks).check()
        own = [each for each in own if each.code not in ("task.dead-letter", "task.overdue")]
        return own + await self.shell.run(flows.check(self.shell.port, self.table))

    async def claim(self, key: str, lease_seconds: float = 30.0) -> Any:
        """Claim a task as a worker does that sees its lease to be over, if it is under one."""
        tasks, now = self.tasks.entities, instant(self.clock.now())
        item = await self.shell.get(tasks.by_id(key).consistent())
        over = wake_text(tasks, item.wake) if item is not None and item.lease else None
        write = TaskClaim(tasks, tasks.by_id(key), now, now + seconds(lease_seconds), None, over)
        return await self.shell.run(send_alone(self.shell.port, write))

    async def count(self, id: str) -> int:
        found = await self.shell.get(self.counter.by_id(id).consistent())
        return 0 if found is None else found.count

    def at(self, seconds: float) -> datetime:
        return self.clock.datetime(seconds)

    def plus(self, id: str, number: int = 1) -> tuple[Any, Any]:
        """What `tx.update` takes to count."""
        return self.counter.by_id(id), attr(self.counter.count).add(number)


def _plain(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def run(*args: Any, **kwargs: Any) -> Any:
        return drive(function(*args, **kwargs))

    return run


def make_bench(kind: str, shell: Shell, clock: Clock, name: str = "work", **table: Any) -> Bench:
    app = Table(name, **({"indexes": ["gsi1"]} | table))

    class Counter(Entity, table=app, type="counter"):
        id: str = attribute(name="counterId")  # a table may have "id" in its key
        count: int = 0

        @app.key
        @staticmethod
        def by_id(id: str) -> Key:
            return f"counter#{id}", "counter"

    return Bench(kind, shell, clock, app, Tasks(app, index="gsi1"), Counter)


class Shifted(Clock):
    """The real clock, set on by a test, so that a queue's own time and the database's agree but for that."""

    shift = 0.0

    def now(self) -> float:
        return time.time() + self.shift

    def advance(self, seconds: float) -> None:
        self.shift += seconds


@asynccontextmanager
async def shifted_bench(kind: str, engine_url: str) -> AsyncGenerator[Bench, None]:
    """A bench of an engine by its address, whose clock is the real one until a test sets it on."""
    clock = Shifted()
    shell: Any
    if kind == "awaiting":
        shell = connect_async(engine_url, clock=clock.now)
    else:
        shell = disguised(connect(engine_url, clock=clock.now))
    shell.port.traits = LOCAL
    try:
        yield make_bench(kind, shell, clock)
    finally:
        await shell.close()


def seconds(number: float) -> timedelta:
    return timedelta(seconds=number)


def noting(bench: Bench, **options: Any) -> Callable[..., Call]:
    """A task that notes what it was called with, and nothing else."""

    async def note(what: str) -> None:
        bench.ran.append(what)

    made: Callable[..., Call] = bench.task(**options)(note)
    return made


class Stop:
    """Asked to stop when a number of notes is there, or at the end of one's patience."""

    def __init__(self, bench: Bench, notes: int) -> None:
        self.bench, self.notes, self.until = bench, notes, time.monotonic() + 20

    def __call__(self) -> bool:
        return len(self.bench.ran) >= self.notes or time.monotonic() > self.until
