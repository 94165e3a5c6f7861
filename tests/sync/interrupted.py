"""A port before one of whose round trips something else happens."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any


class Interrupted:
    """A port before whose n-th round trip something else happens."""

    def __init__(self, port: Any, at: int, happen: Callable[[], Awaitable[None]]) -> None:
        self._port, self._left, self._happen = port, at, happen

    def __getattr__(self, name: str) -> Any:
        return getattr(self._port, name)

    async def send(self, operation: Any) -> Any:
        await self._count()
        return await self._port.send(operation)

    async def send_all(self, operations: Any) -> Any:
        await self._count()
        return await self._port.send_all(operations)

    async def call_all(self, calls: Any) -> Any:
        await self._count()
        return await self._port.call_all(calls)

    @property
    def has_happened(self) -> bool:
        return self._left <= 0

    async def _count(self) -> None:
        self._left -= 1
        if self._left == 0:
            await self._happen()
