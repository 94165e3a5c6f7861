"""Connections that end in time: a deadline for the whole of a call, and a bound on what is read.

A socket's own timeout is for one `recv`: a receiver that answers a byte a second never meets it. Here each operation
gets what is left until the deadline, whatever library does the reading.

    deadline = Deadline(10.0)
    with connected("example.org", 443, deadline) as plain:
        ...
"""

from __future__ import annotations

import socket
import ssl
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from ipaddress import ip_address
from typing import Any

MAX_READ_BYTES = 256 * 1024
"""Of an answer, its headers and all."""
LOOKUPS_AT_ONCE = 16

_lookups = ThreadPoolExecutor(LOOKUPS_AT_ONCE, "lookups")
"""A lookup of a name can't be broken off: it is waited for from here, and left to its end."""


class Deadline:
    """The end of a call, by a clock that is never set."""

    def __init__(self, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._end = clock() + seconds

    def left(self) -> float:
        """Seconds. TimeoutError where there are none."""
        left = self._end - self._clock()
        if left <= 0:
            raise TimeoutError("the time for the whole call is over")
        return left


class AnswerTooLong(OSError):
    """More was sent than anybody has a use for."""


class BoundedSocket(socket.socket):
    """A TCP connection; `deadline` is set before anything is read."""

    deadline: Deadline
    _read = 0

    def recv_into(self, *arguments: Any, **options: Any) -> int:
        self.settimeout(self.deadline.left())
        self._read = _counted(self._read, count := super().recv_into(*arguments, **options))
        return count

    def sendall(self, data: Any, flags: int = 0) -> None:
        self.settimeout(self.deadline.left())  # of all of it, here
        super().sendall(data, flags)


class BoundedTls(ssl.SSLSocket):
    """A TLS connection, as BoundedSocket."""

    deadline: Deadline
    _read = 0

    def recv_into(self, *arguments: Any, **options: Any) -> int:
        self.settimeout(self.deadline.left())
        self._read = _counted(self._read, count := super().recv_into(*arguments, **options))
        return count

    def sendall(self, data: Any, flags: int = 0) -> None:
        rest = memoryview(data).cast("B")
        while rest:
            self.settimeout(self.deadline.left())
            rest = rest[self.send(rest, flags) :]


def connected(host: str, port: int, deadline: Deadline, check: Callable[[str], None]) -> BoundedSocket:
    """A connection to what a name leads to, once every address of it has passed `check`, which raises."""
    found = _lookups.submit(socket.getaddrinfo, host, port, type=socket.SOCK_STREAM).result(deadline.left())
    for *_, place in found:
        check(str(place[0]))
    family, kind, protocol, _, place = found[0]
    made = BoundedSocket(family, kind, protocol)
    try:
        made.deadline = deadline
        made.settimeout(deadline.left())
        made.connect(place)
    except BaseException:
        made.close()
        raise
    return made


def tls(plain: BoundedSocket, host: str) -> BoundedTls:
    """The same connection, encrypted. The handshake ends by the deadline, too."""
    deadline = plain.deadline
    plain.settimeout(deadline.left())
    made = tls_context().wrap_socket(plain, server_hostname=host)
    assert isinstance(made, BoundedTls)
    made.deadline = deadline
    return made


def tls_context() -> ssl.SSLContext:
    """Of connections that end in time, once their `deadline` is set."""
    context = ssl.create_default_context()
    context.sslsocket_class = BoundedTls
    return context


def is_global(address: str) -> bool:
    """Whether an address lies on the open internet."""
    return ip_address(address).is_global


def _counted(before: int, count: int) -> int:
    if before + count > MAX_READ_BYTES:
        raise AnswerTooLong(f"an answer has at most {MAX_READ_BYTES} bytes, headers and all")
    return before + count
