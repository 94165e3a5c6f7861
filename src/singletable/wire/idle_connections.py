"""The connections that wait for their next request, for both transports.

The last one used is used next: the fewest stay open, and the freshest is the likeliest to be alive still.
"""

from __future__ import annotations

import select
from collections import deque
from collections.abc import Callable
from typing import Generic, Protocol, TypeVar

MAX_IDLE_SECONDS = 50.0
"""DynamoDB closes idle connections after about a minute."""


class Idler(Protocol):
    """A connection as its pool sees it."""

    idle_since: float
    """By a clock that never goes back."""

    def is_quiet(self) -> bool:
        """Open, with nothing to read: an idle connection that can be read from was closed by the other side."""
        ...

    def close(self) -> None: ...


C = TypeVar("C", bound=Idler)


class IdleConnections(Generic[C]):
    """Safe to share between threads without a lock: a deque's ends are, and each connection leaves it whole."""

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
        """Keeps a connection whose answer was read whole."""
        now = connection.idle_since = self._monotonic()
        self._idle.append(connection)
        if len(self._idle) > self._limit or now - self._idle[0].idle_since > MAX_IDLE_SECONDS:
            self._close_oldest()

    def clear(self) -> None:
        """Closes them all."""
        while self._idle:
            self._close_oldest()

    def _close_oldest(self) -> None:
        try:
            oldest = self._idle.popleft()
        except IndexError:
            return
        oldest.close()


class Probe:
    """Tells in about a microsecond, and without reading, whether a socket has something to read or was closed."""

    __slots__ = ("_descriptor", "_poll")

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._poll: Callable[[float], object] | None = None
        if hasattr(select, "poll"):
            poller = select.poll()
            poller.register(descriptor, select.POLLIN)
            self._poll = poller.poll

    def is_quiet(self) -> bool:
        if self._poll is not None:
            return not self._poll(0)
        return not select.select([self._descriptor], [], [], 0)[0]
