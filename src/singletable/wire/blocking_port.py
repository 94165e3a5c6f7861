"""The port of the blocking shell: no event loop, no threads of its own, safe to share between yours.

A flow is a coroutine whose awaits are all answered on the spot, so that one `.send(None)` runs it to its end. Only
inside `send_all` do flows take turns: each pauses after writing its request, so that all requests are on their way
before the first answer is awaited.
"""

from __future__ import annotations

import heapq
import random as random_module
import time
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Generator, Sequence
from time import sleep as sleep_blocking  # noqa: TID251
from typing import Any, Generic, TypeVar

from msgspec.structs import replace

from singletable.flow.meter import Rounds
from singletable.flow.port import FAN_OUT, Operation, Traits
from singletable.flow.ready import ReadyForThreads
from singletable.flow.services import DYNAMODB, Service
from singletable.wire.blocking_connections import SocketPool
from singletable.wire.credentials import CredentialSource
from singletable.wire.delivery import Delivery, fresh_token
from singletable.wire.endpoints import Endpoint, Locate, beside
from singletable.wire.exchange import Answer, AnswerLost, Timeouts
from singletable.wire.monotonic import elapsed
from singletable.wire.retry import RetryPolicy

T = TypeVar("T")


class BlockingPort:
    """Sends operations over blocking sockets.

    Raises, besides what the operations raise: `Throttled`, `TransactionConflict`, `Unavailable`, `OutcomeUnknown`,
    `Denied` and `NotConfigured`. Time, chance and sleep are arguments for tests. Use it as a context manager, or
    `close` it.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        credentials: CredentialSource,
        *,
        service: Service = DYNAMODB,
        policy: RetryPolicy = RetryPolicy(),  # noqa: B008 - frozen
        timeouts: Timeouts = Timeouts(),  # noqa: B008 - frozen
        now: Callable[[], float] = time.time,
        monotonic: Callable[[], float] = elapsed,
        sleep: Callable[[float], None] = sleep_blocking,
        random: Callable[[], float] = random_module.random,
        checksum: bool = True,
        traits: Traits = Traits(),  # noqa: B008 - frozen
        ca_file: str | None = None,
        max_idle: int = 32,
        locate: Locate | None = None,
    ) -> None:
        self._others: dict[tuple[Service, str], BlockingPort] = {}

        def open_other(service: Service, url: str) -> BlockingPort:
            return BlockingPort(
                (locate or beside(endpoint))(service, url),
                credentials,
                service=service,
                policy=policy,
                timeouts=timeouts,
                now=now,
                monotonic=monotonic,
                sleep=sleep,
                random=random,
                checksum=checksum,
                traits=traits,
                ca_file=ca_file,
                max_idle=max_idle,
            )

        self._open_other = open_other
        self.now = now
        self.monotonic = monotonic
        self.random = random
        self.token = fresh_token
        self.traits = replace(traits, read_seconds=timeouts.read)
        self.ready = ReadyForThreads()
        self._sleep = sleep
        self._delivery = Delivery(
            endpoint,
            credentials,
            service=service,
            policy=policy,
            timeouts=timeouts,
            now=now,
            monotonic=monotonic,
            random=random,
            checksum=checksum,
        )
        self._pool = SocketPool(
            endpoint, connect_seconds=timeouts.connect, max_idle=max_idle, ca_file=ca_file, monotonic=monotonic
        )
        self._alone = _Exchange(self._pool, sleep, monotonic)
        self._in_turns = _ExchangeInTurns(self._pool, sleep, monotonic)

    def __enter__(self) -> BlockingPort:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def send(self, operation: Operation[T]) -> T:
        """One round trip where nothing goes wrong."""
        return await self._delivery.send(self._alone, operation)

    async def send_all(self, operations: Sequence[Operation[T]]) -> list[T]:
        """The values in order, 16 requests on their way at a time. The first error, when all have come back."""
        if len(operations) == 1:  # nobody to take turns with
            return [await self._delivery.send(self._alone, operations[0])]
        rounds = Rounds()
        flows = [self._delivery.send(self._in_turns, operation, rounds) for operation in operations]
        return _Turns(flows, self._sleep, self._delivery.monotonic).run()

    async def call_all(self, calls: Sequence[Callable[[], T | Awaitable[T]]]) -> list[T]:
        """The results in order, up to 16 functions at a time, each in a thread. The first error, when all are done."""
        from singletable.flow.calls import call_in_threads  # noqa: PLC0415 it brings threads; most need none

        return call_in_threads(calls, FAN_OUT)

    def to(self, service: Service, url: str = "") -> BlockingPort:
        """The port to another service with the same credentials and patience; it closes with this one."""
        found = self._others.get((service, url))
        if found is None:
            found = self._others.setdefault((service, url), self._open_other(service, url))
        return found

    async def sleep(self, seconds: float) -> None:
        self._sleep(seconds)

    def close(self) -> None:
        """Closes its connections; a later `send` raises `InvalidRequest`."""
        self._pool.close()
        for other in self._others.values():
            other.close()


class _Exchange:
    """Over one socket, never suspending."""

    def __init__(self, pool: SocketPool, sleep: Callable[[float], None], monotonic: Callable[[], float]) -> None:
        self._pool = pool
        self._sleep = sleep
        self._monotonic = monotonic

    async def exchange(self, message: bytes, patience: float, idle_limit: float, epoch: str = "") -> Answer:
        connection = self._pool.take(patience, idle_limit, epoch)
        try:
            connection.write(message, patience)
            answer = connection.read(self._monotonic)
        except BaseException as fault:
            self._pool.discard(connection)
            if isinstance(fault, AnswerLost):
                fault.epoch = connection.epoch
            raise
        self._pool.give_back(connection)
        return answer

    async def sleep(self, seconds: float) -> None:
        self._sleep(seconds)

    async def aside(self, work: Callable[[], T]) -> T:
        return work()


class _ExchangeInTurns(_Exchange):
    """The same, with a pause for the others wherever there is something to wait for."""

    async def exchange(self, message: bytes, patience: float, idle_limit: float, epoch: str = "") -> Answer:
        connection = self._pool.take(patience, idle_limit, epoch)
        try:
            connection.write(message, patience)
            await _Pause(None)
            answer = connection.read(self._monotonic)
        except BaseException as fault:
            self._pool.discard(connection)
            if isinstance(fault, AnswerLost):
                fault.epoch = connection.epoch
            raise
        self._pool.give_back(connection)
        return answer

    async def sleep(self, seconds: float) -> None:
        await _Pause(seconds)


class _Pause:
    """Hands the turn back: until an answer is to be read (None), or for some seconds."""

    def __init__(self, seconds: float | None) -> None:
        self._seconds = seconds

    def __await__(self) -> Generator[float | None, None, None]:
        yield self._seconds


class _Turns(Generic[T]):
    """Flows that take turns on one thread: first all write, then all read, in order; waits for retries overlap."""

    def __init__(
        self,
        flows: Sequence[Coroutine[Any, Any, T]],
        sleep: Callable[[float], None],
        monotonic: Callable[[], float],
    ) -> None:
        self._flows = flows
        self._sleep = sleep
        self._monotonic = monotonic
        self._values: dict[int, T] = {}
        self._errors: dict[int, Exception] = {}
        self._to_start = deque(range(len(flows)))
        self._to_read: deque[int] = deque()
        self._asleep: list[tuple[float, int]] = []

    def run(self) -> list[T]:
        try:
            while self._to_start or self._to_read or self._asleep:
                self._next_round()
        finally:
            for flow in self._flows:
                flow.close()
        if self._errors:
            raise self._errors[min(self._errors)]
        return [self._values[index] for index in range(len(self._flows))]

    def _next_round(self) -> None:
        while self._to_start and len(self._to_read) < FAN_OUT:
            self._step(self._to_start.popleft())
        while self._asleep and len(self._to_read) < FAN_OUT and self._asleep[0][0] <= self._monotonic():
            self._step(heapq.heappop(self._asleep)[1])
        if self._to_read:
            self._step(self._to_read.popleft())
        elif self._asleep:
            due, index = heapq.heappop(self._asleep)
            self._sleep(max(0.0, due - self._monotonic()))
            self._step(index)

    def _step(self, index: int) -> None:
        try:
            pause: float | None = self._flows[index].send(None)
        except StopIteration as done:
            self._values[index] = done.value
        except Exception as error:
            self._errors[index] = error
        else:
            if pause is None:
                self._to_read.append(index)
            else:
                heapq.heappush(self._asleep, (self._monotonic() + pause, index))
