"""What several callers need at the same moment and one of them should do: a table's set-up, a fetch of credentials."""

from __future__ import annotations

import os
import threading  # noqa: TID251
from collections.abc import Awaitable, Callable, Iterable
from weakref import WeakSet


class Guard:
    """A lock for threads. A forked child finds it free: whoever held it lives on in the parent only."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        _GUARDS.add(self)


class Ready(set[str]):
    """The names of the tables that a port has made or found."""

    async def once(self, name: str, make: Callable[[], Awaitable[None]]) -> None:
        """Await `make` where the name is not ready yet, and note that it is. Where it raises, the next one tries."""
        if name not in self:
            await make()
            self.add(name)


class ReadyForThreads(Ready):
    """Of several threads one does it; the others wait, and find it done."""

    def __init__(self, names: Iterable[str] = ()) -> None:
        super().__init__(names)
        self._guards: dict[str, Guard] = {}

    async def once(self, name: str, make: Callable[[], Awaitable[None]]) -> None:
        # A flow of the blocking shell never suspends here, so the lock is released by the thread that took it.
        with self._guards.setdefault(name, Guard()).lock:
            await super().once(name, make)


_GUARDS: WeakSet[Guard] = WeakSet()


def _free_all() -> None:
    for guard in tuple(_GUARDS):
        guard.lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_free_all)
