"""The port of the asyncio shell. One port may serve several event loops, one after another or concurrently."""

from __future__ import annotations

import asyncio  # noqa: TID251
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

from singletable.flow import FAN_OUT, Operation, ReadyTables, RoundTrips
from singletable.wire.asyncio_connections import LoopPool
from singletable.wire.base_port import BasePort
from singletable.wire.credentials import CredentialSource
from singletable.wire.endpoints import Endpoint
from singletable.wire.exchange import HttpResponse
from singletable.wire.idle_connections import closed
from singletable.wire.port_options import PortOptions
from singletable.wire.tls import tls_for

T = TypeVar("T")


class AwaitingPort(BasePort):
    """Sends operations over the connections of the running event loop.

    Raises, in addition to the operations' errors: `Throttled`, `TransactionConflict`, `Unavailable`, `OutcomeUnknown`,
    `Denied` and `NotConfigured`. A cancelled write may have been applied. Use it as an async context manager, or await
    `close`. `sleep` is an argument for tests.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        credentials: CredentialSource,
        options: PortOptions = PortOptions(),  # noqa: B008 - frozen
        *,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        super().__init__(endpoint, credentials, options)
        self.ready = _TaskSafeReadyTables()
        self._sleep = sleep
        self._pools = _LoopPools(endpoint, options)
        self._exchange = _LoopExchange(self._pools, sleep)

    async def __aenter__(self) -> AwaitingPort:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def send(self, operation: Operation[T]) -> Coroutine[Any, Any, T]:
        """One round trip where nothing goes wrong."""
        return self._delivery.send(self._exchange, operation)  # awaited without a coroutine in between

    async def send_all(self, operations: Sequence[Operation[T]]) -> list[T]:
        """The values in order, up to 16 requests at a time. Raises the first error after all requests have ended."""
        if len(operations) == 1:  # needs no task of its own
            return [await self._delivery.send(self._exchange, operations[0])]
        round_trips = RoundTrips()
        values: dict[int, T] = {}
        errors: dict[int, Exception] = {}
        waiting = iter(enumerate(operations))

        async def send_next() -> None:
            for index, operation in waiting:
                try:
                    values[index] = await self._delivery.send(self._exchange, operation, round_trips)
                except Exception as error:
                    errors[index] = error

        await asyncio.gather(*[send_next() for _ in range(min(FAN_OUT, len(operations)))])
        if errors:
            raise errors[min(errors)]
        return [values[index] for index in range(len(operations))]

    async def call_all(self, calls: Sequence[Callable[[], T | Awaitable[T]]]) -> list[T]:
        """The results in order, up to 16 functions at a time: plain ones in threads, async ones in this loop."""
        from singletable.flow import call_in_loop  # noqa: PLC0415 most programs need no threads

        return await call_in_loop(calls, FAN_OUT)

    def _open(self, endpoint: Endpoint, options: PortOptions) -> AwaitingPort:
        return AwaitingPort(endpoint, self._credentials, options, sleep=self._sleep)

    async def sleep(self, seconds: float) -> None:
        await self._sleep(seconds)

    async def close(self) -> None:
        """Close the running loop's connections; a later `send` raises `InvalidRequest`."""
        await self._pools.close()
        for other in self._others.values():
            await other.close()


class _TaskSafeReadyTables(ReadyTables):
    """One task of a loop prepares a table; the others wait for it."""

    def __init__(self) -> None:
        super().__init__()
        self._locks: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[str, asyncio.Lock]] = WeakKeyDictionary()

    async def prepare(self, name: str, create: Callable[[], Awaitable[None]]) -> None:
        locks = self._locks.setdefault(asyncio.get_running_loop(), {})
        async with locks.setdefault(name, asyncio.Lock()):
            await super().prepare(name, create)


class _LoopExchange:
    """One try over the running loop's pool."""

    def __init__(self, pools: _LoopPools, sleep: Callable[[float], Awaitable[None]]) -> None:
        self._pools = pools
        self._sleep = sleep

    def exchange(
        self, message: bytes, timeout: float, max_idle_seconds: float, epoch: str = ""
    ) -> Awaitable[HttpResponse]:
        return self._pools.current().exchange(message, timeout, max_idle_seconds, epoch)

    async def sleep(self, seconds: float) -> None:
        await self._sleep(seconds)

    async def run_blocking(self, work: Callable[[], T]) -> T:
        return await asyncio.to_thread(work)


class _LoopPools:
    """A pool for each event loop: only the loop that opened a connection can use it."""

    def __init__(self, endpoint: Endpoint, options: PortOptions) -> None:
        self._endpoint, self._options = endpoint, options
        self._tls = tls_for(endpoint, options.ca_file)
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
            raise closed()
        for ended in [known for known in list(self._pools) if known.is_closed()]:
            self._pools.pop(ended, None)
        pool = self._pools[loop] = LoopPool(loop, self._endpoint, self._options, self._tls)
        return pool
