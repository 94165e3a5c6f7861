"""Idle connections, for both transports.

The last used connection is used next: so the fewest stay open, and the freshest is the most likely to be still open.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Generic, Protocol, TypeVar

from singletable.errors import InvalidRequest

MAX_IDLE_SECONDS = 50.0
"""DynamoDB closes idle connections after about a minute."""


class Idler(Protocol):
    """A connection as its pool sees it."""

    idle_since: float
    """Seconds of the monotonic clock."""

    def is_quiet(self) -> bool:
        """Whether it is open and has nothing to read: a readable idle connection was closed by the other side."""
        ...

    def close(self) -> None: ...


C = TypeVar("C", bound=Idler)


class IdleConnections(Generic[C]):
    """Threads may share it without a lock: the operations at a deque's ends are atomic."""

    def __init__(self, limit: int, monotonic: Callable[[], float]) -> None:
        self._idle: deque[C] = deque()
        self._limit = limit
        self._monotonic = monotonic

    def __len__(self) -> int:
        return len(self._idle)

    def take(self, max_idle_seconds: float) -> C | None:
        """The freshest, if it was idle for no more than `max_idle_seconds` seconds and is alive; None: open another."""
        while True:
            try:
                connection = self._idle.pop()
            except IndexError:
                return None
            idle_seconds = self._monotonic() - connection.idle_since
            if idle_seconds > MAX_IDLE_SECONDS or not connection.is_quiet():
                connection.close()
            elif idle_seconds > max_idle_seconds:
                self._idle.append(connection)
                return None
            else:
                return connection

    def put(self, connection: C) -> None:
        """Keep a connection whose answer was read completely."""
        idle = self._idle
        now = connection.idle_since = self._monotonic()
        idle.append(connection)
        try:
            if len(idle) > self._limit or now - idle[0].idle_since > MAX_IDLE_SECONDS:
                self.close_old()
        except IndexError:
            return  # another thread has taken it already

    def close_old(self) -> None:
        """Close what is over the limit, and all that were idle for too long: a burst leaves many."""
        fresh = self._monotonic() - MAX_IDLE_SECONDS
        while oldest := self._pop_oldest():
            if len(self._idle) < self._limit and oldest.idle_since >= fresh:
                self._idle.appendleft(oldest)
                return
            oldest.close()

    def clear(self) -> None:
        """Close all connections."""
        while oldest := self._pop_oldest():
            oldest.close()

    def _pop_oldest(self) -> C | None:
        try:
            return self._idle.popleft()
        except IndexError:
            return None


def closed() -> InvalidRequest:
    """The error for a request after `close()`."""
    return InvalidRequest(
        "the database is closed", hint="Call connect(...) for another, or move the call into the `with` block."
    )
