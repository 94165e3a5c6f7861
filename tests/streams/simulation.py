"""Many workers in one thread and no time at all: flows take turns by a clock that jumps, in an order a seed decides.

A `World` runs flows; each worker has a `SimulatedPort`, whose tables are a real engine's and whose stream is a script.
A worker can be killed between any two of its requests, or held up while the clock goes on; its wall clock can be set,
and any of its requests can end in any error of the library.
"""

# pyright: reportPossiblyUnboundVariable=false
from __future__ import annotations

import heapq
import inspect
import math
import random
from collections import defaultdict
from collections.abc import Awaitable, Callable, Coroutine, Generator, Sequence
from contextvars import Context, copy_context
from dataclasses import dataclass, field
from itertools import count
from typing import Any, cast

from singletable import Database
from singletable.flow import DYNAMODB_STREAMS, Port, ReadyTables, Request, Service, Traits, drive
from singletable.records.first_use import ready
from singletable.streams import Changes, ChangeWorker
from tests.streams.models import noted
from tests.streams.script import Script

_LATENCY = 0.004


class Until:
    """Awaited by a flow: go on when the clock is there, or when a task is done."""

    def __init__(self, at: float, task: Task | None = None) -> None:
        self.at = at
        self.task = task

    def __await__(self) -> Generator[Until, None, None]:
        yield self


@dataclass(eq=False)
class Task:
    flow: Coroutine[Any, Any, Any]
    worker: str
    context: Context = field(default_factory=copy_context)
    """Its own, as that of a thread: flows that end crosswise leave nothing behind for each other."""
    waiting: list[Task] = field(default_factory=list["Task"])
    is_done: bool = False
    result: Any = None
    error: BaseException | None = None


@dataclass(frozen=True)
class Trouble:
    """What happens at one request: the error it ends with, and how long its worker is held up afterwards."""

    error: Exception | None = None
    is_applied: bool = False
    """Whether the service does it all the same."""
    held_up_seconds: float = 0.0


class World:
    """The clock, and whose turn it is."""

    def __init__(self, seed: int, now: float) -> None:
        self.random = random.Random(seed)
        self.now = now
        self.killed: set[str] = set()
        self.set_by: dict[str, float] = defaultdict(float)
        """By how much a worker's wall clock is ahead of the world's."""
        self.trouble: Callable[[str, Request], Trouble | None] = lambda worker, request: None
        """What happens to a request of a worker."""
        self._due: list[tuple[float, float, int, Task]] = []
        self._numbers = count()
        self._held_until: dict[str, float] = {}

    def start(self, flow: Coroutine[Any, Any, Any], worker: str) -> Task:
        task = Task(flow, worker)
        self._push(task, self.now)
        return task

    def kill(self, worker: str) -> None:
        """As `kill -9`: none of its flows takes another step."""
        self.killed.add(worker)

    def hold_up(self, worker: str, seconds: float) -> None:
        """As SIGSTOP and SIGCONT: everything of it goes on later, and thinks no time has passed."""
        self._held_until[worker] = self.now + seconds
        moved = [(at + seconds if t.worker == worker else at, r, n, t) for at, r, n, t in self._due]
        self._due = moved
        heapq.heapify(self._due)

    def run_for(self, seconds: float) -> None:
        """Take turns until the clock has gone on so far."""
        until = self.now + seconds
        while self._due and self._due[0][0] <= until:
            self.step()
        self.now = max(self.now, until)

    def run_until(self, *tasks: Task, patience: float = 3600.0) -> None:
        """Take turns until the tasks are done; what one ended with is raised."""
        until = self.now + patience
        while not all(task.is_done for task in tasks):
            assert self._due, "nobody has anything left to do"
            assert self.now < until, "the tasks go on for ever"
            self.step()
        for task in tasks:
            if task.error is not None:
                raise task.error

    def step(self) -> None:
        at, _, _, task = heapq.heappop(self._due)
        self.now = max(self.now, at)
        if task.worker in self.killed:
            task.context.run(task.flow.close)
            return
        try:
            wait = task.context.run(task.flow.send, None)
        except StopIteration as done:
            self._finish(task, done.value, None)
        except BaseException as error:
            self._finish(task, None, error)
        else:
            self._wait(task, wait)

    def _wait(self, task: Task, wait: Until) -> None:
        """A flow waits for the clock, or for one task."""
        if wait.task is not None and not wait.task.is_done:
            wait.task.waiting.append(task)
        else:
            self._push(task, wait.at)

    def _finish(self, task: Task, result: Any, error: BaseException | None) -> None:
        task.is_done, task.result, task.error = True, result, error
        for other in task.waiting:
            self._push(other, self.now)

    def _push(self, task: Task, at: float) -> None:
        at = max(at, self._held_until.get(task.worker, at))
        heapq.heappush(self._due, (at, self.random.random(), next(self._numbers), task))


class SimulatedPort:
    """A worker's port: a real engine's tables, a scripted stream, the world's clock."""

    def __init__(self, world: World, inner: Port, script: Script, worker: str) -> None:
        self.world, self.inner, self.script, self.worker = world, inner, script, worker
        self.ready = ReadyTables({script.table})
        self.traits = Traits(creates_tables=True)
        self.clock, self.names, self.events, self.tell = inner.clock, inner.names, inner.events, inner.tell
        self.is_source = False
        self.on_write: Callable[[Request], None] = lambda request: None
        self.began_at = world.now

    async def send(self, operation: Any) -> Any:
        await self.sleep(self.world.random.random() * _LATENCY)
        request = operation.request()
        trouble = self.world.trouble(self.worker, request) or Trouble()
        if trouble.error is None or trouble.is_applied:
            answer = self._answer(operation, request)
        if trouble.held_up_seconds:
            self.world.hold_up(self.worker, trouble.held_up_seconds)
        await self.sleep(self.world.random.random() * _LATENCY)
        if trouble.error is not None:
            raise trouble.error
        return answer

    def _answer(self, operation: Any, request: Request) -> Any:
        if self.is_source or (request.operation, request.table) == ("DescribeTable", self.script.table):
            return operation.answer(self.script.respond(request, self.world))[0]
        answer = drive(self.inner.send(operation))
        self.on_write(request)
        return answer

    async def send_all(self, operations: Sequence[Any]) -> list[Any]:
        return [await self.send(operation) for operation in operations]

    async def call_all(self, calls: Sequence[Callable[[], Any | Awaitable[Any]]]) -> list[Any]:
        tasks = [self.world.start(self._call(call), self.worker) for call in calls]
        for task in tasks:
            await Until(self.world.now, task)
        for task in tasks:
            if task.error is not None:
                raise task.error
        return [task.result for task in tasks]

    async def _call(self, call: Callable[[], Any]) -> Any:
        await self.sleep(self.world.random.random() * _LATENCY)
        result = call()
        return await result if inspect.isawaitable(result) else result

    def to(self, service: Service, url: str = "") -> SimulatedPort:
        assert service is DYNAMODB_STREAMS
        other = SimulatedPort(self.world, self.inner, self.script, self.worker)
        other.is_source, other.began_at = True, self.began_at
        return other

    async def sleep(self, seconds: float) -> None:
        """The shortest sleep too takes the clock on, which is kept less exactly than its differences."""
        least = math.nextafter(self.world.now, math.inf) if seconds > 0 else self.world.now
        await Until(max(least, self.world.now + seconds))

    def now(self) -> float:
        return self.world.now + self.world.set_by[self.worker]

    def monotonic(self) -> float:
        return self.world.now - self.began_at

    def random(self) -> float:
        return self.world.random.random()

    def token(self) -> str:
        return f"{self.worker}-{self.world.random.getrandbits(64):016x}"


class SimulatedDatabase:
    """What a worker is bound to, to make its flows, which the world runs."""

    def __init__(self, port: SimulatedPort) -> None:
        self.port: Any = port

    def run(self, flow: Any) -> Any:
        return flow


class AwaitedDatabase:
    """The same, for a worker with async handlers."""

    def __init__(self, port: SimulatedPort) -> None:
        self.port: Any = port

    async def run(self, flow: Any) -> Any:
        return await flow


def simulated_worker(db: SimulatedDatabase, changes: Changes) -> Any:
    """A worker whose verbs return their flows."""
    made: Any = ChangeWorker(cast(Any, db), changes)
    return made


def simulated(world: World, db: Database, script: Script, worker: str) -> SimulatedDatabase:
    """The table is there too: its hold is read from it."""
    assert script.table == noted.name
    db.run(ready(db.port, noted))
    return SimulatedDatabase(SimulatedPort(world, db.port, script, worker))
