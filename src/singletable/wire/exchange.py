"""One try of one request: what a transport must be able to do, and the two ways in which it can fail.

Everything above (signing, checksums, verdicts, retries, meters) is written once over this protocol.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol, TypeVar

from msgspec import Struct

T = TypeVar("T")


class Answer(Struct, frozen=True, gc=False):
    """A whole HTTP answer, of any status."""

    status: int
    body: bytes
    checksum: str | None
    """The text of `x-amz-crc32`: the CRC32 of the body, in decimal."""
    request_id: str
    bytes_in: int
    """With the head."""
    headers: Mapping[bytes, bytes] = {}
    """By their names in lower case."""


class Timeouts(Struct, frozen=True):
    """In seconds. `read` is for a whole answer, from the last byte of the request on."""

    connect: float = 3.0
    read: float = 10.0


class Undelivered(Exception):
    """Not a byte of the request left: it was certainly not applied.

    `untrusted`: TLS refused the certificate. `refused`: a proxy lets nothing through. `forgotten`: there is no
    connection of the epoch that was asked for.
    """

    def __init__(self, what: str, *, untrusted: bool = False, refused: bool = False, forgotten: bool = False) -> None:
        super().__init__(what)
        self.untrusted = untrusted
        self.refused = refused
        self.forgotten = forgotten


class AnswerLost(Exception):
    """Bytes of the request may have reached the service, and no whole answer came back."""

    def __init__(self, what: str, *, timed_out: bool = False) -> None:
        super().__init__(what)
        self.timed_out = timed_out
        self.epoch = ""
        """Of the connection; empty where the service remembers for good."""


FORGOTTEN = "the service was started anew since the request was first sent, and has forgotten its token"


class Exchange(Protocol):
    """A transport, as a flow sees it."""

    async def exchange(self, message: bytes, patience: float, idle_limit: float, epoch: str = "") -> Answer:
        """Sends the bytes of a whole request once and reads the answer.

        Waits `patience` seconds at most for each of connecting and reading, and uses no connection that was idle for
        more than `idle_limit` seconds, nor one of another `epoch` where that is given. Raises `Undelivered` or
        `AnswerLost`, nothing else; when it is interrupted its connection is closed.
        """
        ...

    async def sleep(self, seconds: float) -> None: ...

    async def aside(self, work: Callable[[], T]) -> T:
        """The result of a call that may block, without holding up others."""
        ...
