"""One try of one request: what a transport must do, and the two ways in which it can fail.

Signing, checksums, verdicts, retries and meters are written once, over this protocol.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Protocol, TypeVar

from msgspec import Struct

from singletable.errors import InvalidRequest

T = TypeVar("T")


class HttpResponse(Struct, frozen=True, gc=False):
    """A whole HTTP answer, of any status."""

    status: int
    body: bytes
    checksum: str | None
    """The text of `x-amz-crc32`: the CRC32 of the body, in decimal."""
    request_id: str
    bytes_in: int
    """Bytes received, with the head."""
    headers: Mapping[bytes, bytes] = {}
    """Header values by lower-case names."""


class Timeouts(Struct, frozen=True):
    """Timeouts in seconds. `read` bounds the whole answer, counted from the last byte of the request."""

    connect: float = 3.0
    read: float = 10.0


class Connections(Struct, frozen=True):
    """How many connections a database has to one address. Raises `InvalidRequest` for counts that none can follow.

    A burst that finds its connections idle opens none, which over TLS takes more CPU than its requests do.
    """

    in_use: int = 100
    """In use at a time by one event loop; further calls wait in line. The blocking shell has one for each thread that
    sends, and up to 16 where it sends several requests together, whatever this says: only its threads bound it."""
    idle: int | None = None
    """Kept idle, of each event loop or of all threads together; None: as many as `in_use`. One that was idle for 50 s
    is closed: by the event loop, within 10 s, or by the next call of a thread."""

    def __post_init__(self) -> None:
        if self.in_use < 1:
            raise InvalidRequest(f"in_use={self.in_use}", hint="Use 1 or more: each request takes a connection")
        if self.idle is not None and self.idle < 0:
            raise InvalidRequest(f"idle={self.idle}", hint="Use 0 to close each connection after its request")

    @property
    def kept(self) -> int:
        """The most idle connections."""
        return self.in_use if self.idle is None else self.idle


class Undelivered(Exception):
    """No byte of the request was sent: it was certainly not applied.

    `untrusted`: TLS refused the certificate. `refused`: a proxy refused the connection. `forgotten`: the service has
    been restarted, so no connection of the requested epoch can be opened.
    """

    def __init__(self, what: str, *, untrusted: bool = False, refused: bool = False, forgotten: bool = False) -> None:
        super().__init__(what)
        self.untrusted = untrusted
        self.refused = refused
        self.forgotten = forgotten


class AnswerLost(Exception):
    """Bytes of the request may have reached the service, and no complete answer was received."""

    def __init__(self, what: str, *, timed_out: bool = False) -> None:
        super().__init__(what)
        self.timed_out = timed_out
        self.epoch = ""
        """The connection's epoch; empty for a service that remembers tokens over a restart."""


FORGOTTEN = "the service was restarted after the request was first sent, and has forgotten its token"


class Exchange(Protocol):
    """One transport."""

    def exchange(
        self, message: bytes, timeout: float, max_idle_seconds: float, epoch: str = ""
    ) -> Awaitable[HttpResponse]:
        """Send the bytes of one request once, and read the answer.

        Connecting and reading take `timeout` seconds each at most. No connection is used that was idle for more than
        `max_idle_seconds`, or that is of another `epoch` than the given one. Raises `Undelivered` or `AnswerLost` only.
        An interrupted call closes its connection.
        """
        ...

    async def sleep(self, seconds: float) -> None: ...

    async def run_blocking(self, work: Callable[[], T]) -> T:
        """The result of a call that may block, run off the event loop."""
        ...
