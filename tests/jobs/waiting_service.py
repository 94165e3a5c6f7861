"""Workers of a job over a service whose waits dominate: its answers come late, and all else takes no time.

    service = WaitingService(new, db, source, wave_seconds=0.25)
    seconds = service.until_ended(job.id, workers=4)     # by the workers' clock

The workers share an event loop in which waits take no time (`tests/support/virtual_time.py`). Each has a port of its
own, as a process has: a wave of up to 16 requests takes `wave_seconds`, and the engine answers it while the clock
stands still. So what is measured is how work is shared, whatever else the machine does.

With `kills` workers die at random moments, each followed by a new one. What a dead one was sending arrives in part.
"""

from __future__ import annotations

import asyncio  # noqa: TID251
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil
from random import Random
from typing import Any, TypeVar

from msgspec.structs import replace

from singletable import Database, Table
from singletable.flow import FAN_OUT, Meter, Operation, Port, ReadyTables, Traits, WrappedPort, call_in_loop
from singletable.jobs import JobPlace, JobStatus, flows
from singletable.jobs.worker_options import WorkerOptions
from singletable.migrations.item_writes import UpdateAttempt
from singletable.operations import Scan
from singletable.records.moves import MoveOutcome
from tests.faults.clock import NOON
from tests.migrations.watching import Killed
from tests.support.virtual_time import VirtualLoop

T = TypeVar("T")
_SCAN: type[Any] = Scan
_UPDATE: type[Any] = UpdateAttempt


@dataclass
class WaitingService:
    """A table, and the source of copies to it, behind a service whose answers come late."""

    table: Table
    db: Database
    source: Database
    wave_seconds: float
    seed: int = 0
    waves: list[int] = field(default_factory=list[int])
    """Of each worker: the waves that it sent."""
    units: list[tuple[float, float, float]] = field(default_factory=list[tuple[float, float, float]])
    """Of each wave: when it was answered, its read units and its write units."""
    requests: int = 0
    read: int = 0
    """Items of all pages."""
    progress: list[JobStatus] = field(default_factory=list[JobStatus])
    """What the workers have told of the job, as they do on a command line."""
    updates: Counter[str] = field(default_factory=Counter[str])
    """The updates of each item that changed it."""

    def until_ended(
        self,
        job: str,
        *,
        workers: int,
        at_once: int = 1,
        kills: Sequence[float] = (),
        calls: Mapping[float, Callable[[], object]] = {},
    ) -> float:
        """The seconds in which so many workers ended a job. `kills` are the moments at which one dies, `calls` what a
        person does, by the moment."""
        loop = VirtualLoop()
        try:
            loop.run_until_complete(_Fleet(self, loop, job, at_once).work(workers, kills, calls))
            return loop.time()
        finally:
            loop.close()


class _Fleet:
    """The workers of a job."""

    def __init__(self, service: WaitingService, loop: VirtualLoop, job: str, at_once: int) -> None:
        self._service, self._loop, self._job = service, loop, job
        self._options = WorkerOptions(at_once=at_once)
        self._random = Random(service.seed)
        self._live: dict[asyncio.Task[object], _Life] = {}

    async def work(self, workers: int, kills: Sequence[float], calls: Mapping[float, Callable[[], object]]) -> None:
        for _ in range(workers):
            self._begin()
        planned = [asyncio.ensure_future(self._kill_at(sorted(kills))), asyncio.ensure_future(self._call_at(calls))]
        while self._live:
            ended, _ = await asyncio.wait(self._live, return_when=asyncio.FIRST_COMPLETED)
            for task in ended:
                is_dead, error = self._live.pop(task).is_over, task.exception()
                if error is not None and not (is_dead and isinstance(error, Killed)):
                    raise error
        for task in planned:
            task.cancel()

    async def _call_at(self, calls: Mapping[float, Callable[[], object]]) -> None:
        for moment, call in sorted(calls.items()):
            await asyncio.sleep(moment - self._loop.time())
            call()

    async def _kill_at(self, moments: Sequence[float]) -> None:
        for moment in moments:
            await asyncio.sleep(moment - self._loop.time())
            living = [life for life in self._live.values() if not life.is_over]
            if living:
                self._random.choice(living).is_over = True
                self._begin()

    def _begin(self) -> None:
        self._service.waves.append(0)
        life = _Life(len(self._service.waves) - 1)
        self._live[asyncio.ensure_future(self._worker(life))] = life

    def _worker(self, life: _Life) -> Coroutine[Any, Any, object]:
        service = self._service
        port, read = (_LatePort(db.port, self._loop, service, life) for db in (service.db, service.source))
        target = service.db.target
        place = JobPlace(service.table, target.seal, target.place, read, service.source.target.place)
        return flows.run(port, place, self._job, self._options, signals=False, progress=service.progress.append)


@dataclass(eq=False)
class _Life:
    """A worker's life. Once it is over, the worker sends nothing, and no answer reaches it."""

    number: int
    is_over: bool = False

    def check(self) -> None:
        if self.is_over:
            raise Killed


class _LatePort(WrappedPort):
    """A worker's port."""

    def __init__(self, port: Port, loop: VirtualLoop, service: WaitingService, life: _Life) -> None:
        super().__init__(port)
        self._service, self._life = service, life
        self._ready = ReadyTables()
        self._random = Random(f"{service.seed} {life.number}")
        self.now: Callable[[], float] = lambda: NOON + loop.time()
        self.monotonic = loop.time
        self.random = self._random.random

    @property
    def traits(self) -> Traits:
        """The tables are there, as on AWS."""
        return replace(self._port.traits, creates_tables=False)

    @property
    def ready(self) -> ReadyTables:
        return self._ready

    async def send(self, operation: Operation[T]) -> T:
        return (await self.send_all((operation,)))[0]

    async def send_all(self, operations: Sequence[Operation[T]]) -> list[T]:
        """A request arrives in the middle of its wave."""
        self._life.check()
        waves = ceil(len(operations) / FAN_OUT)
        self._service.waves[self._life.number] += waves
        values = list[T]()
        for begin in range(0, len(operations), FAN_OUT):
            values += await self._wave(operations[begin : begin + FAN_OUT])
        return values

    async def _wave(self, operations: Sequence[Operation[T]]) -> list[T]:
        await asyncio.sleep(self._service.wave_seconds / 2)
        arriving = self._random.randint(0, len(operations)) if self._life.is_over else len(operations)
        with Meter() as meter:
            values = await self._port.send_all(operations[:arriving])
        self._note(operations[:arriving], values, meter)
        self._life.check()
        await self.sleep(self._service.wave_seconds / 2)
        return values

    def _note(self, operations: Sequence[Operation[T]], values: Sequence[Any], meter: Meter) -> None:
        self._service.requests += len(operations)
        self._service.units.append((self.monotonic(), meter.read_units, meter.write_units))
        for sent, value in zip(operations, values, strict=True):
            operation = getattr(sent, "inner", sent)  # of a rate
            if isinstance(operation, _SCAN):
                self._service.read += len(value.items)
            if isinstance(operation, _UPDATE) and value is MoveOutcome.DONE:
                self._service.updates[str(operation.write.key)] += 1

    async def call_all(self, calls: Sequence[Callable[[], T | Awaitable[T]]]) -> list[T]:
        self._life.check()
        return await call_in_loop(calls, FAN_OUT)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
        self._life.check()
