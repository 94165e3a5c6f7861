"""The tables that a port has prepared: callers that need one concurrently prepare it once."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable

from singletable.flow.fork_safe_lock import ForkSafeLock


class ReadyTables(set[str]):
    """The names of the tables that a port has created or found."""

    async def prepare(self, name: str, create: Callable[[], Awaitable[None]]) -> None:
        """Await `create` unless the table is ready, then add its name. Where it raises, the next caller tries again."""
        if name not in self:
            await create()
            self.add(name)


class ThreadSafeReadyTables(ReadyTables):
    """One thread prepares a table; the others wait for it."""

    def __init__(self, names: Iterable[str] = ()) -> None:
        super().__init__(names)
        self._locks: dict[str, ForkSafeLock] = {}

    async def prepare(self, name: str, create: Callable[[], Awaitable[None]]) -> None:
        # A flow of the blocking shell never suspends here, so the thread that took the lock releases it.
        with self._locks.setdefault(name, ForkSafeLock()).lock:
            await super().prepare(name, create)
