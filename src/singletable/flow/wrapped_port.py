"""A port over another one, for what is done to requests on their way: a rate, a lease."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from singletable.flow.port import Port, Traits
from singletable.flow.ready_tables import ReadyTables
from singletable.flow.services import Service

T = TypeVar("T")


class WrappedPort:
    """All of a port but what it sends, from the port below. A subclass has `send` and `send_all`."""

    def __init__(self, port: Port) -> None:
        self._port = port
        self.now, self.monotonic, self.random, self.token = port.now, port.monotonic, port.random, port.token

    @property
    def traits(self) -> Traits:
        return self._port.traits

    @property
    def ready(self) -> ReadyTables:
        return self._port.ready

    async def call_all(self, calls: Sequence[Callable[[], T | Awaitable[T]]]) -> list[T]:
        return await self._port.call_all(calls)

    def to(self, service: Service, url: str = "") -> Port:
        return self._port.to(service, url)

    async def sleep(self, seconds: float) -> None:
        await self._port.sleep(seconds)
