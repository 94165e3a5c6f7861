"""Many processes on one thread, in an order that a seed decides: the same seed gives the same history.

Each process is a job: a coroutine over the library's own flows. It hands control back before and after each request,
and while it waits, so that the requests of all are interleaved in any order that a network could have. Time is the
scheduler's: it goes on with each turn, and jumps where everybody waits. A job may be killed between any two turns, as a
process is: nothing of it runs any more. Faults are put on the exchanges as everywhere else. What a seed does not decide
is what the engine answers, which is a function of the requests, and the tokens of transactions, which decide nothing.
"""

from __future__ import annotations

import heapq
import random
from collections.abc import Awaitable, Callable, Coroutine, Generator, Sequence
from contextlib import contextmanager
from contextvars import Context, copy_context
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast

from singletable import AsyncDatabase, Database
from singletable.flow.port import Operation
from singletable.target import Target
from singletable.wire import BlockingPort, PortOptions, RetryPolicy
from singletable.wire.exchange import Exchange, HttpResponse
from tests.faults.carrying import Carrier
from tests.faults.clock import Clock
from tests.faults.fixtures import SEED_VARIABLE
from tests.faults.port import FaultyExchange
from tests.faults.rules import Faults
from tests.faults.storms import OVERTAKEN, everything_goes_wrong
from tests.support.ports import wrap_exchanges

T = TypeVar("T")
Client = Coroutine[Any, Any, Any]


class Killed(Exception):
    """What those who wait for a killed job get."""


@dataclass(eq=False)
class Job:
    """A coroutine under way, with the jobs that it started to wait for."""

    flow: Client
    context: Context
    parent: Job | None = None
    waiting: list[Job] = field(default_factory=list["Job"])
    """Those who wait for its end."""
    waits_for: int = 0
    left: int | None = None
    """Turns of it and of its parts until it is killed."""
    is_over: bool = False
    value: Any = None
    error: Exception | None = None

    @property
    def is_dead(self) -> bool:
        """Whether it, or what it is a part of, was killed."""
        job: Job | None = self
        while job is not None:
            if isinstance(job.error, Killed):
                return True
            job = job.parent
        return False


class Turn:
    """Awaited: the scheduler chooses who goes on."""

    def __await__(self) -> Generator[None, None, None]:
        yield


@dataclass(frozen=True)
class _Sleep:
    until: float

    def __await__(self) -> Generator[_Sleep, None, None]:
        yield self


@dataclass(frozen=True)
class _Join:
    jobs: Sequence[Job]

    def __await__(self) -> Generator[_Join, None, None]:
        if any(not job.is_over for job in self.jobs):
            yield self


class Scheduler:
    """Runs jobs a turn at a time. Each turn takes up to twice `turn_seconds` of its clock."""

    def __init__(self, seed: int, clock: Clock | None = None, turn_seconds: float = 0.0) -> None:
        self._chance = random.Random(seed)
        self.clock = clock or Clock()
        self.turn_seconds = turn_seconds
        self.moment = 0
        """Turns so far: the time of a history."""
        self._ready: list[Job] = []
        self._asleep: list[tuple[float, int, Job]] = []
        self._begun: dict[Job, None] = {}
        """Jobs that are not over, and killed ones: those are kept, as the end of a coroutine would run its handlers."""
        self._current: Job | None = None

    # --- what a test calls --------------------------------------------------------------------------------------------
    def run(self, clients: Sequence[Client]) -> None:
        """Run clients, and what they start, until all clients are over. Raises the first error at once: the others may
        wait for the client that it ended."""
        jobs = [self.start(client) for client in clients]
        try:
            while not all(job.is_over for job in jobs):
                self._step()
                for job in jobs:
                    if job.error is not None and not isinstance(job.error, Killed):
                        raise job.error
        finally:
            self._current = None

    # --- what a job calls ---------------------------------------------------------------------------------------------
    def start(self, flow: Client, parent: Job | None = None) -> Job:
        """A job of its own: it goes on when its starter is over, or killed."""
        job = Job(flow, copy_context(), parent)
        self._begun[job] = None
        self._ready.append(job)
        return job

    async def all_of(self, flows: Sequence[Client]) -> list[Any]:
        """Run flows concurrently, as parts of this job; their values, or the first error once all are over."""
        jobs = [self.start(flow, self._current) for flow in flows]
        await _Join(jobs)
        for job in jobs:
            if job.error is not None:
                raise job.error
        return [job.value for job in jobs]

    async def result_of(self, job: Job) -> Any:
        """The value of a job, when it is over. Raises its error; Killed where it was killed."""
        await _Join([job])
        if job.error is not None:
            raise job.error
        return job.value

    async def sleep(self, seconds: float) -> None:
        await _Sleep(self.clock.monotonic() + seconds)

    def kill(self, job: Job) -> None:
        """End a job where it stands, with all its parts."""
        if not job.is_over:
            self._end(job, error=Killed())

    # --- turns --------------------------------------------------------------------------------------------------------
    def _step(self) -> None:
        self.moment += 1
        if self.turn_seconds:
            self.clock.advance(self._chance.random() * 2 * self.turn_seconds)
        self._wake()
        assert self._ready, "everybody waits for somebody else"
        number = self._chance.randrange(len(self._ready))
        job, self._ready[number] = self._ready[number], self._ready[-1]
        self._ready.pop()
        if job.is_dead:
            return
        self._count(job)
        self._current = job
        try:
            request = job.context.run(job.flow.send, None)
        except StopIteration as done:
            self._end(job, value=done.value)
        except Exception as error:
            self._end(job, error=error)
        else:
            self._put_off(job, request)

    def _wake(self) -> None:
        if not self._ready and self._asleep:
            self.clock.advance(max(0.0, self._asleep[0][0] - self.clock.monotonic()))
        while self._asleep and self._asleep[0][0] <= self.clock.monotonic():
            self._ready.append(heapq.heappop(self._asleep)[2])

    def _put_off(self, job: Job, request: Any) -> None:
        match request:
            case _Sleep():
                heapq.heappush(self._asleep, (request.until, self.moment, job))
            case _Join():
                left = [each for each in request.jobs if not each.is_over]
                job.waits_for = len(left)
                for each in left:
                    each.waiting.append(job)
            case _:
                self._ready.append(job)

    def _count(self, job: Job) -> None:
        part: Job | None = job
        while part is not None:
            if part.left is not None:
                part.left -= 1
                if part.left <= 0:
                    self.kill(part)
            part = part.parent

    def _end(self, job: Job, value: Any = None, error: Exception | None = None) -> None:
        if job.is_over:  # killed in its own turn
            return
        job.is_over, job.value, job.error = True, value, error
        if not isinstance(error, Killed):
            del self._begun[job]
        for each in job.waiting:
            each.waits_for -= 1
            if not each.waits_for:
                self._ready.append(each)

    def close(self) -> None:
        """Let go of all that is left, at the end of a test."""
        for job in self._begun:
            job.context.run(job.flow.close)
        self._begun.clear()
        self._ready.clear()
        self._asleep.clear()


class TurningExchange:
    """A transport that gives the others a turn before it sends, and before it hands the answer on."""

    def __init__(self, inner: Exchange, scheduler: Scheduler) -> None:
        self._inner, self._scheduler = inner, scheduler

    async def exchange(self, message: bytes, timeout: float, max_idle_seconds: float, epoch: str = "") -> HttpResponse:
        await Turn()
        try:
            answer = await self._inner.exchange(message, timeout, max_idle_seconds, epoch)
        except Exception:
            await Turn()
            raise
        await Turn()
        return answer

    async def sleep(self, seconds: float) -> None:
        await self._scheduler.sleep(seconds)

    async def run_blocking(self, work: Callable[[], T]) -> T:
        return await self._inner.run_blocking(work)


class SimulatedPort:
    """A process's port: its requests, and the functions that it calls, are jobs. Its wall clock may be wrong."""

    def __init__(self, inner: BlockingPort, scheduler: Scheduler) -> None:
        self._inner, self._scheduler = inner, scheduler
        self.traits, self.ready, self.names = inner.traits, inner.ready, inner.names
        self.events, self.tell = inner.events, inner.tell
        self.clock, self.monotonic, self.random, self.token = inner.clock, inner.monotonic, inner.random, inner.token
        self.ahead_seconds = 0.0
        self.highest = 0.0
        """The latest time that its wall clock has shown."""

    def now(self) -> float:
        shown = self._scheduler.clock.now() + self.ahead_seconds
        self.highest = max(self.highest, shown)
        return shown

    async def send(self, operation: Operation[T]) -> T:
        return await self._inner.send(operation)

    async def send_all(self, operations: Sequence[Operation[T]]) -> list[T]:
        return await self._scheduler.all_of([self._inner.send(operation) for operation in operations])

    async def call_all(self, calls: Sequence[Callable[[], T | Awaitable[T]]]) -> list[T]:
        return await self._scheduler.all_of([_result_of(call) for call in calls])

    async def sleep(self, seconds: float) -> None:
        await self._scheduler.sleep(seconds)

    def to(self, service: Any, url: str = "") -> Any:
        raise NotImplementedError("no process of these histories uses another service")


async def _result_of(call: Callable[[], Any]) -> Any:
    result = call()
    return await result if hasattr(result, "__await__") else result


def put_faults(port: BlockingPort, faults: Faults, scheduler: Scheduler) -> None:
    """Have a port's requests take turns, with faults below its retries."""
    carrier = Carrier(faults)
    wrap_exchanges(port, lambda inner: TurningExchange(FaultyExchange(inner, carrier), scheduler))


@contextmanager
def simulated(
    db: Database, seed: int, turn_seconds: float
) -> Generator[tuple[Scheduler, Faults, BlockingPort], None, None]:
    """A scheduler, and a port to a database on which everything goes wrong."""
    print(f"{SEED_VARIABLE}={seed} repeats this history")  # noqa: T201 shown where a test fails
    clock, faults = Clock(), Faults(seed)
    scheduler = Scheduler(seed, clock, turn_seconds)
    options = PortOptions(
        policy=RetryPolicy(attempts=40),
        traits=db.target.traits,
        now=clock.now,
        monotonic=clock.monotonic,
        random=random.Random(seed).random,
    )
    # But for images of other tests' keys, for which each write would be read before and after.
    faults.add(*(rule for rule in everything_goes_wrong(hangs=True) if rule.action is not OVERTAKEN))
    with BlockingPort(db.target.endpoint, db.target.credentials, options, sleep=clock.sleep) as port:
        put_faults(port, faults, scheduler)
        port.ready.update(db.port.ready)
        try:
            yield scheduler, faults, port
        finally:
            scheduler.close()


def database_of(port: SimulatedPort, target: Target) -> AsyncDatabase:
    """The awaiting verbs over a process's port."""
    return AsyncDatabase(cast(Any, port), target)
