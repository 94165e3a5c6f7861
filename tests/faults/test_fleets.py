"""Fleets of workers: what they send while the service throttles them for ten minutes, while they are idle, and after.

The workers of a kind share an event loop in which waits take no time (`tests/support/virtual_time.py`). Each has a port
of its own, with the library's own retries and budget, and all of it goes through the faults. Ten are a long run.
"""

from __future__ import annotations

import asyncio  # noqa: TID251
import logging
import random
import secrets
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import pytest

from singletable import AsyncDatabase, Database
from singletable.connection import find_target
from singletable.flow import SQS
from singletable.queues import Message, Outgoing, Queue, consume, send
from singletable.streams import AsyncChangeWorker, Changes
from singletable.target import Options
from singletable.tasks import AsyncTaskWorker
from singletable.wire import PortOptions, RetryPolicy, Timeouts
from singletable.wire.asyncio_port import AwaitingPort
from singletable.wire.exchange import Exchange, HttpResponse
from tests.faults.actions import Throttle
from tests.faults.clock import NOON, Clock
from tests.faults.opening import MADE_UP
from tests.faults.port import make_faulty
from tests.faults.rules import Faults, Match, Rule
from tests.streams.models import Note, noted
from tests.support.emulators import aws_emulator
from tests.support.engines import fresh
from tests.support.ports import wrap_exchanges
from tests.support.queue_operations import CreateQueue
from tests.support.virtual_time import VirtualLoop
from tests.tasks.bench import Bench, make_bench

__all__ = ["aws_emulator"]

MINUTES = 10
LATENCY_SECONDS = 0.005
WRITES = ("PutItem", "UpdateItem", "DeleteItem", "TransactWriteItems")
QUIET = 0.999
"""Requests a second of one worker."""


@dataclass
class Fleet:
    """Workers of one kind over one engine."""

    loop: VirtualLoop
    engine: Database
    faults: Faults
    workers: int
    ports: list[Any] = field(default_factory=list[Any])
    handled: list[Any] = field(default_factory=list[Any])
    passed: int = 0
    """The requests that were not refused; those to a queue are none of the faults."""
    is_over: bool = False

    def open(self) -> AsyncDatabase:
        """A program's own database."""

        def now() -> float:
            return NOON + self.loop.time()

        patient = Timeouts(connect=3600.0, read=3600.0)
        options = Options(None, MADE_UP, (), RetryPolicy(), patient, clock=now)
        target = find_target(self.engine.target.endpoint.url, options, {})
        given = PortOptions(
            timeouts=patient,
            traits=self.engine.port.traits,
            now=now,
            monotonic=self.loop.time,
            random=random.Random(len(self.ports)).random,
        )
        port: Any = AwaitingPort(target.endpoint, target.credentials, given)
        open_other = port._open

        def open_counted(*place: Any) -> Any:
            other = open_other(*place)
            wrap_exchanges(other, lambda inner: _Working(inner, self))
            return other

        port._open = open_counted
        wrap_exchanges(port, lambda inner: _Working(inner, self))
        make_faulty(port, self.faults)
        self.ports.append(port)
        return AsyncDatabase(port, target)

    def note(self, what: Any) -> None:
        self.handled.append(what)

    async def at_work(self, seconds: float, number: int = 1) -> float:
        """The seconds until so many are handled more."""
        began, before = self.loop.time(), len(self.handled)
        while len(self.handled) < before + number:
            assert self.loop.time() < began + seconds, f"nothing is handled for {seconds} s"
            await asyncio.sleep(0.1)
        return self.loop.time() - began

    async def requests_in(self, seconds: float) -> Counter[str]:
        self.faults.forget()
        self.passed = 0
        await asyncio.sleep(seconds)
        seen, passed = self.faults.seen, sum(each.action is None for each in self.faults.happened)
        return seen + Counter({"elsewhere": self.passed - passed})


class _Working:
    """An exchange that takes the same time at every request: during its own the clock stands still."""

    def __init__(self, inner: Exchange, fleet: Fleet) -> None:
        self._inner, self._fleet = inner, fleet
        self.sleep, self.run_blocking = inner.sleep, inner.run_blocking

    async def exchange(self, message: bytes, timeout: float, max_idle_seconds: float, epoch: str = "") -> HttpResponse:
        self._fleet.passed += 1
        await asyncio.sleep(LATENCY_SECONDS)
        with self._fleet.loop.working():
            return await self._inner.exchange(message, timeout, max_idle_seconds, epoch)


@pytest.fixture(params=[2, pytest.param(10, marks=pytest.mark.soak)])
def fleet(faults: Faults, request: pytest.FixtureRequest) -> Iterator[Fleet]:
    with fresh() as engine:
        loop = VirtualLoop()
        yield Fleet(loop, engine, faults, request.param)
        loop.close()


@pytest.fixture
def faults() -> Faults:
    return Faults(seed=7)


def run(fleet: Fleet, work: Coroutine[Any, Any, Any]) -> None:
    async def all_of_it() -> None:
        try:
            await work
        finally:
            fleet.is_over = True
            others = asyncio.all_tasks() - {asyncio.current_task()}
            for task in others:
                task.cancel()
            await asyncio.gather(*others, return_exceptions=True)
            for port in fleet.ports:
                await port.close()

    fleet.loop.run_until_complete(all_of_it())


@contextmanager
def lines_of_log() -> Generator[list[str], None, None]:
    """What the library logs in the block."""
    lines: list[str] = []

    class Noting(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            lines.append(record.getMessage())

    handler, logger = Noting(logging.INFO), logging.getLogger("singletable")
    logger.addHandler(handler)
    try:
        yield lines
    finally:
        logger.removeHandler(handler)


async def throttled(fleet: Fleet, start: Callable[[], Awaitable[Any]], match: Match, number: int) -> None:
    """Workers that are throttled from the beginning; what is due waits. Asserts the bars."""
    fleet.faults.add(Rule(match, Throttle()))
    workers = [asyncio.ensure_future(start()) for _ in range(fleet.workers)]
    await asyncio.sleep(5.0)
    with lines_of_log() as lines:
        seen = await fleet.requests_in(MINUTES * 60.0)
    assert not fleet.handled
    assert 0 < len(lines) <= fleet.workers * (MINUTES + 1), lines
    assert 0.1 < sum(seen.values()) / fleet.workers / (MINUTES * 60.0) < QUIET, seen
    fleet.faults.clear()
    assert await fleet.at_work(10.0, number) <= 10.0
    fleet.is_over = True
    await asyncio.gather(*workers)


async def tasks_of(fleet: Fleet, due: int, **options: Any) -> Bench:
    db: Any = fleet.open()
    bench = make_bench("awaiting", db, Clock(), f"fleet{secrets.token_hex(4)}")

    @bench.tasks.task
    async def note(number: int) -> None:
        fleet.note(number)

    for number in range(due):
        await bench.add(bench.tasks.after(timedelta(0), note(number), **options))
    return bench


def task_worker(fleet: Fleet, bench: Bench, at_once: int = 3) -> Callable[[], Awaitable[Any]]:
    async def start() -> None:
        db = fleet.open()
        await AsyncTaskWorker(db, bench.tasks).run(at_once=at_once, stop=lambda: fleet.is_over, signals=False)

    return start


@pytest.mark.parametrize("what", [Match(), Match(WRITES), Match("Query"), Match("Query", key="Due#7")])
def test_throttled_workers_of_tasks_ask_rarely(fleet: Fleet, what: Match) -> None:
    async def work() -> None:
        bench = await tasks_of(fleet, 30)
        await throttled(fleet, task_worker(fleet, bench), what, 30)

    run(fleet, work())


def test_throttled_workers_of_ordered_tasks_ask_rarely(fleet: Fleet) -> None:
    async def work() -> None:
        bench = await tasks_of(fleet, 6, order="one")
        await throttled(fleet, task_worker(fleet, bench), Match(WRITES), 3)

    run(fleet, work())


@pytest.mark.parametrize("what", [Match(), Match(WRITES)])
def test_throttled_workers_of_changes_ask_rarely(fleet: Fleet, what: Match) -> None:
    async def work() -> None:
        changes = Changes(noted, name=f"fleet-{secrets.token_hex(4)}")

        async def note(change: Any) -> None:
            fleet.note(change.new.id)

        changes.on(Note).inserted(note)
        db = fleet.open()
        await db.put(Note(id="n1"))

        async def start() -> None:
            await AsyncChangeWorker(fleet.open(), changes).run(stop=lambda: fleet.is_over, signals=False)

        await throttled(fleet, start, what, 1)

    run(fleet, work())


def test_throttled_consumers_of_a_queue_ask_rarely(fleet: Fleet, aws_emulator: str) -> None:
    """The queue answers; the table that its handler writes to does not."""

    async def work() -> None:
        db = fleet.open()
        url = await db.port.to(SQS, aws_emulator).send(CreateQueue(f"q-{secrets.token_hex(6)}", {}))
        queue: Queue[int] = Queue(url, int)
        await send(db.port, queue, [Outgoing(number) for number in range(150 * fleet.workers)])

        async def start() -> None:
            own = fleet.open()

            async def handle(message: Message[int]) -> None:
                await own.put(Note(id=str(message.body)))
                fleet.note(message.body)

            await consume(own.port, queue, handle, stop=lambda: fleet.is_over, visibility_seconds=3600, wait_seconds=0)

        await throttled(fleet, start, Match("PutItem"), 5)

    run(fleet, work())


def test_an_idle_fleet_sends_what_the_docs_say(fleet: Fleet) -> None:
    """A look of eight requests a second, and the hold every three: docs/how-to/operate-workers.md."""

    async def work() -> None:
        bench = await tasks_of(fleet, 0)
        workers = [asyncio.ensure_future(task_worker(fleet, bench)()) for _ in range(fleet.workers)]
        await asyncio.sleep(5.0)
        seen = await fleet.requests_in(60.0)
        assert seen["Query"] <= fleet.workers * 8 * 60
        assert seen["GetItem"] <= fleet.workers * 60 / 3 + fleet.workers
        assert set(seen) == {"Query", "GetItem"}
        fleet.is_over = True
        await asyncio.gather(*workers)

    run(fleet, work())


def test_an_idle_fleet_of_consumers_sends_what_the_docs_say(fleet: Fleet) -> None:
    """One shard, which one of them reads: the others look for work, and read the hold."""

    async def work() -> None:
        changes = Changes(noted, name=f"fleet-{secrets.token_hex(4)}")
        changes.on(Note).inserted(lambda change: None)
        await fleet.open().put(Note(id="n1"))

        async def start() -> None:
            await AsyncChangeWorker(fleet.open(), changes).run(stop=lambda: fleet.is_over, signals=False)

        workers = [asyncio.ensure_future(start()) for _ in range(fleet.workers)]
        await asyncio.sleep(30.0)
        seen = await fleet.requests_in(60.0)
        looks = fleet.workers * (60 / 3.3 + 1)
        assert 200 < seen["elsewhere"] <= 4 * 60 + looks, (
            "GetRecords of the shard, and each worker's look at the stream"
        )
        assert seen["Query"] <= looks
        assert 15 <= seen["UpdateItem"] <= 3 * 60 / 10 + 1
        assert seen["GetItem"] <= fleet.workers * (60 / 3 + 1)
        assert set(seen) == {"elsewhere", "Query", "UpdateItem", "GetItem"}
        fleet.is_over = True
        await asyncio.gather(*workers)

    run(fleet, work())
