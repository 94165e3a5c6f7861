"""What a flow may await: the port.

An operation is a frozen value with a pure `request()` and `answer()`. A flow is an `async def` that awaits only its
port's verbs. Each shell brings its own port, so a flow is written once and never knows which of the two runs it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol, TypeVar

from msgspec import Struct

from singletable.flow.ready import Ready
from singletable.flow.request import Request, Response
from singletable.flow.services import Service

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class Consumed(Struct, frozen=True, gc=False):
    """What one request cost by the service's own account, in capacity units; a request may touch several tables."""

    read_units: float = 0.0
    write_units: float = 0.0


class Traits(Struct, frozen=True):
    """What flows must know of the engine behind a port."""

    creates_tables: bool = False
    """Tables are made at first use: a local engine, never AWS."""
    scan_page_limit: int | None = None
    """Items of one scan page, for an engine that serves nobody else while it scans."""
    counts_parts: bool = False
    """A GetItem is counted by what it gives, not by the whole item as AWS does: it is asked for the whole."""
    index_lag_seconds: float = 5.0
    """How long an index may be behind its table before a reader that has to see all of it takes it as caught up."""
    read_seconds: float = 10.0
    """How long the port waits for an answer."""
    tend_streams: Callable[[float], None] | None = None
    """Does for an engine's streams what that leaves undone, given the time; called at a stream's first use, and again
    while it is read."""


class Operation(Protocol[T_co]):
    """One request of the service, as a value."""

    def request(self) -> Request:
        """The request's bytes; always the same for the same value."""
        ...

    def answer(self, response: Response) -> tuple[T_co, Consumed]:
        """What the response says and what it cost; raises the error it stands for."""
        ...


FAN_OUT = 16
"""Requests of one `send_all` that are on their way at the same time, in both shells."""


class Port(Protocol):
    """The verbs of a flow. A `send_all` of up to 16 operations is one round trip, of up to 32 two, and so on."""

    @property
    def traits(self) -> Traits: ...

    @property
    def ready(self) -> Ready:
        """The names of the tables that were made or found by this port."""
        ...

    async def send(self, operation: Operation[T]) -> T: ...

    async def send_all(self, operations: Sequence[Operation[T]]) -> list[T]:
        """The answers in the order of the operations; 16 requests are on their way at a time.

        The first error is raised when all have come back.
        """
        ...

    async def call_all(self, calls: Sequence[Callable[[], T | Awaitable[T]]]) -> list[T]:
        """The results of functions called side by side, the application's own or flows over this port; in order,
        errors as in `send_all`."""
        ...

    def to(self, service: Service, url: str = "") -> Port:
        """The port to another service of the account, by default where the database's own target has it."""
        ...

    async def sleep(self, seconds: float) -> None: ...

    def now(self) -> float:
        """The wall clock, in seconds since 1970, which somebody may set. It decides expiry and names times; how long
        something takes, or was not done, is measured by `monotonic`."""
        ...

    def monotonic(self) -> float:
        """The clock of intervals, in seconds since some moment: nobody sets it, and no other process has the same."""
        ...

    def random(self) -> float:
        """At least 0 and below 1: jitter."""
        ...

    def token(self) -> str:
        """A fresh random text of 22 URL-safe characters (128 bits): write ids, client tokens."""
        ...
