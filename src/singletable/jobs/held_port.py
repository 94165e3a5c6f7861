"""A port for a section's work, which sends nothing once the section may be another's.

The heartbeat renews a lease long before its end. Where the process stood still meanwhile, the lease is renewed before
the next request: so a round that was late by hours writes no page of old items over what came after it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Final, TypeVar

from singletable.flow import Operation, Port, Tenure, WrappedPort

T = TypeVar("T")
_DUE: Final = 2 / 3
"""The part of a lease after which a request waits for its renewal. The heartbeat renews it at a third."""


class SectionLost(Exception):
    """Another worker has the section."""


class HeldPort(WrappedPort):
    """A port whose requests are sent only while a lease is held."""

    def __init__(self, port: Port, held: Tenure, lease_seconds: float, renew: Callable[[], Awaitable[None]]) -> None:
        super().__init__(port)
        self._held, self._seconds, self._renew = held, lease_seconds * _DUE, renew

    async def send(self, operation: Operation[T]) -> T:
        return (await self.send_all((operation,)))[0]

    async def send_all(self, operations: Sequence[Operation[T]]) -> list[T]:
        if not self._held.is_lost and self._held.is_due(self.monotonic(), self._seconds):
            await self._renew()
        if self._held.is_lost:
            raise SectionLost
        return await self._port.send_all(operations)
