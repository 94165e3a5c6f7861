"""Whether a socket is open and has nothing to read, checked without reading, in about a microsecond.

Linux tells it by two options of the socket. Unlike a `poll`, reading them keeps the GIL. A call that releases it wakes
a thread that waits for it, often on another core, and may have to wait in turn: with 16 threads that is what a request
costs most (`python -m benchmarks.waiting`).
"""

from __future__ import annotations

import select
import socket
import sys
from collections.abc import Callable
from typing import Final, Protocol

_TCP_INFO: Final = 11
_SO_MEMINFO: Final = 55
_MEMINFO_BYTES: Final = 36
"""Nine counts of 32 bits. Another number of bytes is the answer to another question: the option's number differs on
some processors."""
_ESTABLISHED: Final = b"\x01"
"""The first byte of the TCP information: the other side has neither closed the connection nor reset it."""
_NOTHING_UNREAD: Final = bytes(4)
"""The first count of the memory information: the memory of what has been received and not been read."""
LONGEST_SECONDS: Final = 2e6
"""The longest wait, 23 days: polls and the timeouts of sockets count milliseconds in 31 bits."""


class Optioned(Protocol):
    """A socket, also as event loops show theirs."""

    def fileno(self) -> int: ...

    def getsockopt(self, level: int, option: int, buflen: int, /) -> bytes: ...


class SocketProbe:
    """Checks what a connected socket has to read. Use it while the socket is open."""

    __slots__ = ("_descriptor", "_option", "_poll")

    def __init__(self, connected: Optioned) -> None:
        self._descriptor = connected.fileno()
        self._option = connected.getsockopt if _tells_by_options(connected) else None
        self._poll: Callable[[float], object] | None = None
        if hasattr(select, "poll"):
            poller = select.poll()
            poller.register(self._descriptor, select.POLLIN)
            self._poll = poller.poll

    def is_quiet(self) -> bool:
        """Whether the connection is open and has nothing to read."""
        option = self._option
        if option is None:
            return not self.is_readable(0.0)
        return (
            option(socket.IPPROTO_TCP, _TCP_INFO, 1) == _ESTABLISHED
            and option(socket.SOL_SOCKET, _SO_MEMINFO, 4) == _NOTHING_UNREAD
        )

    def is_readable(self, seconds: float) -> bool:
        """Whether there is something to read, or the connection has ended, within `seconds`, also when signals come."""
        seconds = min(seconds, LONGEST_SECONDS)
        if self._poll is not None:
            return bool(self._poll(seconds * 1000.0))
        try:
            return bool(select.select([self._descriptor], [], [], seconds)[0])
        except ValueError:  # a descriptor above those that a select takes: whoever receives has to wait then
            return True


def _tells_by_options(connected: Optioned) -> bool:
    if sys.platform != "linux":
        return False
    try:
        connected.getsockopt(socket.IPPROTO_TCP, _TCP_INFO, 1)
        return len(connected.getsockopt(socket.SOL_SOCKET, _SO_MEMINFO, _MEMINFO_BYTES)) == _MEMINFO_BYTES
    except OSError:
        return False
