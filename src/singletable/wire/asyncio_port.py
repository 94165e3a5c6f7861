"""The port of the asyncio shell. One port may serve several event loops, one after another or at once."""

from __future__ import annotations

import asyncio  # noqa: TID251
import random as random_module
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar
from weakref import WeakKeyDictionary

from msgspec.structs import replace

from singletable.errors import InvalidRequest
from singletable.flow.calls import call_in_loop
from singletable.flow.meter import Rounds
from singletable.flow.port import FAN_OUT, Operation, Traits
from singletable.flow.ready import Ready
from singletable.flow.services import DYNAMODB, Service
from singletable.wire.asyncio_connections import LoopPool
from singletable.wire.credentials import CredentialSource
from singletable.wire.delivery import Delivery, fresh_token
from singletable.wire.endpoints import Endpoint, Locate, beside
from singletable.wire.exchange import Answer, Timeouts
from singletable.wire.monotonic import elapsed
from singletable.wire.retry import RetryPolicy
from singletable.wire.tls import tls_for

T = TypeVar("T")


class AwaitingPort:
    """Sends operations over the connections of the running event loop.

    Raises, besides what the operations raise: `Throttled`, `TransactionConflict`, `Unavailable`, `OutcomeUnknown`,
    `Denied` and `NotConfigured`. A cancelled write may have happened. Time, chance and sleep are arguments for tests.
    Use it as an async context manager, or `close` it.
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
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        random: Callable[[], float] = random_module.random,
        checksum: bool = True,
        traits: Traits = Traits(),  # noqa: B008 - frozen
        ca_file: str | None = None,
        max_idle: int = 64,
        max_connections: int = 100,
        locate: Locate | None = None,
    ) -> None:
        self._others: dict[tuple[Service, str], AwaitingPort] = {}

        def open_other(service: Service, url: str) -> AwaitingPort:
            return AwaitingPort(
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
                max_connections=max_connections,
            )

        self._open_other = open_other
        self.now = now
        self.monotonic = monotonic
        self.random = random
        self.token = fresh_token
        self.traits = replace(traits, read_seconds=timeouts.read)
        self.ready = _ReadyForTasks()
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
        self._pools = _LoopPools(endpoint, timeouts.connect, max_idle, max_connections, ca_file, monotonic)
        self._exchange = _Exchange(self._pools, sleep)

    async def __aenter__(self) -> AwaitingPort:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def send(self, operation: Operation[T]) -> T:
        """One round trip where nothing goes wrong."""
        return await self._delivery.send(self._exchange, operation)

    async def send_all(self, operations: Sequence[Operation[T]]) -> list[T]:
        """The values in order, 16 requests on their way at a time. The first error, when all have come back."""
        if len(operations) == 1:  # a task of its own would be for nothing
            return [await self._delivery.send(self._exchange, operations[0])]
        rounds = Rounds()
        values: dict[int, T] = {}
        errors: dict[int, Exception] = {}
        waiting = iter(enumerate(operations))

        async def send_in_turn() -> None:
            for index, operation in waiting:
                try:
                    values[index] = await self._delivery.send(self._exchange, operation, rounds)
                except Exception as error:
                    errors[index] = error

        await asyncio.gather(*[send_in_turn() for _ in range(min(FAN_OUT, len(operations)))])
        if errors:
            raise errors[min(errors)]
        return [values[index] for index in range(len(operations))]

    async def call_all(self, calls: Sequence[Callable[[], T | Awaitable[T]]]) -> list[T]:
        """The results in order, up to 16 functions at a time: plain ones in threads, async ones in this loop."""
        return await call_in_loop(calls, FAN_OUT)

    def to(self, service: Service, url: str = "") -> AwaitingPort:
        """The port to another service with the same credentials and patience; it closes with this one."""
        found = self._others.get((service, url))
        if found is None:
            found = self._others.setdefault((service, url), self._open_other(service, url))
        return found

    async def sleep(self, seconds: float) -> None:
        await self._sleep(seconds)

    async def close(self) -> None:
        """Closes the running loop's connections; a later `send` raises `InvalidRequest`."""
        await self._pools.close()
        for other in self._others.values():
            await other.close()


class _ReadyForTasks(Ready):
    """Of several tasks of a loop one does it; the others wait, and find it done."""

    def __init__(self) -> None:
        super().__init__()
        self._locks: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[str, asyncio.Lock]] = WeakKeyDictionary()

    async def once(self, name: str, make: Callable[[], Awaitable[None]]) -> None:
        locks = self._locks.setdefault(asyncio.get_running_loop(), {})
        async with locks.setdefault(name, asyncio.Lock()):
            await super().once(name, make)


class _Exchange:
    """Over the running loop's pool."""

    def __init__(self, pools: _LoopPools, sleep: Callable[[float], Awaitable[None]]) -> None:
        self._pools = pools
        self._sleep = sleep

    async def exchange(self, message: bytes, patience: float, idle_limit: float, epoch: str = "") -> Answer:
        return await self._pools.current().exchange(message, patience, idle_limit, epoch)

    async def sleep(self, seconds: float) -> None:
        await self._sleep(seconds)

    async def aside(self, work: Callable[[], T]) -> T:
        return await asyncio.to_thread(work)


class _LoopPools:
    """A pool for each event loop: a connection can only be used by the loop that opened it."""

    def __init__(
        self,
        endpoint: Endpoint,
        connect_seconds: float,
        max_idle: int,
        max_connections: int,
        ca_file: str | None,
        monotonic: Callable[[], float],
    ) -> None:
        self._endpoint = endpoint
        self._connect_seconds = connect_seconds
        self._max_idle = max_idle
        self._max_connections = max_connections
        self._monotonic = monotonic
        self._tls = tls_for(endpoint, ca_file)
        self._pools: dict[asyncio.AbstractEventLoop, LoopPool] = {}
        self._latest: LoopPool | None = None
        self._closed = False

    def current(self) -> LoopPool:
        loop = asyncio.get_running_loop()
        latest = self._latest
        if latest is not None and latest.loop is loop:
            return latest
        pool = self._latest = self._pools.get(loop) or self._open(loop)
        return pool

    async def close(self) -> None:
        pool = self.current()
        self._closed = True
        await pool.close()

    def _open(self, loop: asyncio.AbstractEventLoop) -> LoopPool:
        if self._closed:
            raise InvalidRequest("The port is closed", hint="Open another")
        for ended in [known for known in list(self._pools) if known.is_closed()]:
            self._pools.pop(ended, None)
        pool = self._pools[loop] = LoopPool(
            loop,
            self._endpoint,
            tls=self._tls,
            connect_seconds=self._connect_seconds,
            max_idle=self._max_idle,
            limit=self._max_connections,
            monotonic=self._monotonic,
        )
        return pool
