"""The port of the blocking shell: no event loop, no threads of its own, safe to share between yours.

No await of a flow suspends, so one `.send(None)` runs it to its end. `send_all` is the exception: it interleaves the
flows of its operations on the caller's thread. Each flow pauses after writing its request, so all requests are sent
before the first answer is read.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Generator, Sequence
from time import sleep as sleep_blocking  # noqa: TID251
from typing import Any, Generic, TypeVar

from singletable.flow import FAN_OUT, Operation, RoundTrips, ThreadSafeReadyTables
from singletable.wire.base_port import BasePort
from singletable.wire.blocking_connections import SocketPool
from singletable.wire.credentials import CredentialSource
from singletable.wire.endpoints import Endpoint
from singletable.wire.exchange import AnswerLost, HttpResponse
from singletable.wire.port_options import PortOptions

T = TypeVar("T")


class BlockingPort(BasePort):
    """Sends operations over blocking sockets.

    Raises, in addition to the operations' errors: `Throttled`, `TransactionConflict`, `Unavailable`, `OutcomeUnknown`,
    `Denied` and `NotConfigured`. Use it as a context manager, or `close` it. `sleep` is an argument for tests.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        credentials: CredentialSource,
        options: PortOptions = PortOptions(),  # noqa: B008 - frozen
        *,
        sleep: Callable[[float], None] = sleep_blocking,
    ) -> None:
        super().__init__(endpoint, credentials, options)
        self.ready = ThreadSafeReadyTables()
        self._sleep = sleep
        self._pool = SocketPool(endpoint, options)
        self._alone = _SocketExchange(self._pool, sleep, options.monotonic, pauses=False)
        self._interleaved = _SocketExchange(self._pool, sleep, options.monotonic, pauses=True)

    def __enter__(self) -> BlockingPort:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def send(self, operation: Operation[T]) -> Coroutine[Any, Any, T]:
        """One round trip where nothing goes wrong."""
        return self._delivery.send(self._alone, operation)  # awaited without a coroutine in between

    async def send_all(self, operations: Sequence[Operation[T]]) -> list[T]:
        """The values in order, up to 16 requests at a time. Raises the first error after all requests have ended."""
        if len(operations) == 1:  # nothing to interleave
            return [await self._delivery.send(self._alone, operations[0])]
        round_trips = RoundTrips()
        flows = [self._delivery.send(self._interleaved, operation, round_trips) for operation in operations]
        return _Interleave(flows, self._sleep, self.monotonic).run()

    async def call_all(self, calls: Sequence[Callable[[], T | Awaitable[T]]]) -> list[T]:
        """The results in order, up to 16 functions at a time, each in a thread. Raises the first error at the end."""
        from singletable.flow import call_in_threads  # noqa: PLC0415 most programs need no threads

        return call_in_threads(calls, FAN_OUT)

    def _open(self, endpoint: Endpoint, options: PortOptions) -> BlockingPort:
        return BlockingPort(endpoint, self._credentials, options, sleep=self._sleep)

    async def sleep(self, seconds: float) -> None:
        self._sleep(seconds)

    def close(self) -> None:
        """Close its connections; a later `send` raises `InvalidRequest`."""
        self._pool.close()
        for other in self._others.values():
            other.close()


class _SocketExchange:
    """One try over one socket. With `pauses`, the flow hands control back wherever it would wait."""

    def __init__(
        self,
        pool: SocketPool,
        sleep: Callable[[float], None],
        monotonic: Callable[[], float],
        *,
        pauses: bool,
    ) -> None:
        self._pool = pool
        self._sleep = sleep
        self._monotonic = monotonic
        self._pauses = pauses

    async def exchange(self, message: bytes, timeout: float, max_idle_seconds: float, epoch: str = "") -> HttpResponse:
        connection = self._pool.take(timeout, max_idle_seconds, epoch)
        try:
            connection.write(message, timeout, self._monotonic)
            if self._pauses:
                await _Pause(None)
            answer = connection.read(self._monotonic)
        except BaseException as error:
            self._pool.discard(connection)
            if isinstance(error, AnswerLost):
                error.epoch = connection.epoch
            raise
        self._pool.give_back(connection)
        return answer

    async def sleep(self, seconds: float) -> None:
        if self._pauses:
            await _Pause(seconds)
        else:
            self._sleep(seconds)

    async def run_blocking(self, work: Callable[[], T]) -> T:
        return work()


class _Pause:
    """Suspends the flow: until its answer is to be read (None), or for some seconds."""

    def __init__(self, seconds: float | None) -> None:
        self._seconds = seconds

    def __await__(self) -> Generator[float | None, None, None]:
        yield self._seconds


class _Interleave(Generic[T]):
    """Runs flows on one thread: first all write, then all read, in order. Waits before retries overlap."""

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
