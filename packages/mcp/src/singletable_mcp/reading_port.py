"""Ports for the functions of commands: they read what they like, and write nothing but their transaction."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final, TypeVar, cast

from anyio import from_thread, lowlevel
from anyio.lowlevel import EventLoopToken

from singletable.errors import InvalidRequest
from singletable.flow import (
    FAN_OUT,
    Operation,
    Port,
    ReadyTables,
    Service,
    ThreadSafeReadyTables,
    WrappedPort,
    call_in_threads,
)
from singletable.operations import BatchGetItem, GetItem, Query, Scan, TableCall, TransactGetItems, TransactWriteItems

T = TypeVar("T")
_READS: Final[tuple[type[Any], ...]] = (GetItem, BatchGetItem, Query, Scan, TransactGetItems)


class ReadingPort(WrappedPort):
    """Sends reads, and refuses writes: InvalidRequest, before anything of the call is sent."""

    async def send(self, operation: Operation[T]) -> T:
        self._check(operation)
        return await self._port.send(operation)

    async def send_all(self, operations: Sequence[Operation[T]]) -> list[T]:
        for operation in operations:
            self._check(operation)
        return await self._port.send_all(operations)

    def to(self, service: Service, url: str = "") -> Port:
        return ReadingPort(self._port.to(service, url))

    def _check(self, operation: Any) -> None:
        is_call = isinstance(operation, TableCall) and self.traits.creates_tables
        makes_ready = is_call and operation.operation != "DeleteTable"
        if not (isinstance(operation, _READS) or makes_ready):
            name = getattr(operation, "operation", type(operation).__name__)
            raise InvalidRequest(
                f"a command writes by its transaction alone, not by {name}",
                operation="command",
                hint="Write by the argument that is a Transaction, as in tx.update(...): it is sent when the function "
                "has returned.",
            )


class RehearsingPort(ReadingPort):
    """Plans the commit of a transaction, and sends its reads only. `items` is what it would write, or check."""

    items = 0

    async def send(self, operation: Operation[T]) -> T:
        asked: Any = operation
        if not isinstance(asked, TransactWriteItems):
            return await super().send(operation)
        asked.request(self.names)  # refuses what is too large
        self.items = len(asked.actions)
        return cast("T", None)


class ThreadPort(WrappedPort):
    """The port of an event loop, for a blocking function in a thread, and for threads that it begins."""

    def __init__(self, port: Port, loop: EventLoopToken) -> None:
        super().__init__(port)
        self._given_loop = loop
        self._ready = ThreadSafeReadyTables()

    @property
    def ready(self) -> ReadyTables:
        return self._ready

    @property
    def _loop(self) -> EventLoopToken:
        """The loop, for another thread than its own, which would wait for itself: InvalidRequest."""
        if _is_in_a_loop():
            raise InvalidRequest(
                "a Database that a plain function was given is used in an async one",
                operation="command",
                hint="Take an AsyncDatabase there, as a parameter: each call has its own.",
            )
        return self._given_loop

    async def send(self, operation: Operation[T]) -> T:
        return from_thread.run(self._port.send, operation, token=self._loop)

    async def send_all(self, operations: Sequence[Operation[T]]) -> list[T]:
        return from_thread.run(self._port.send_all, operations, token=self._loop)

    async def call_all(self, calls: Sequence[Callable[[], T | Awaitable[T]]]) -> list[T]:
        return call_in_threads(calls, FAN_OUT)

    def to(self, service: Service, url: str = "") -> Port:
        return ThreadPort(self._port.to(service, url), self._given_loop)

    async def sleep(self, seconds: float) -> None:
        from_thread.run(self._port.sleep, seconds, token=self._loop)


def _is_in_a_loop() -> bool:
    try:
        lowlevel.current_token()
    except RuntimeError:
        return False
    return True
