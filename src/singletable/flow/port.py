"""The port: the only thing that a flow may await.

An operation is a frozen value with a pure `request()` and `answer()`. A flow is an `async def` that awaits only its
port's verbs. Each shell has its own port, so a flow is written once and runs in both.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Iterable, Sequence
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from msgspec import Struct

from singletable.errors import SingletableError
from singletable.events import Listeners
from singletable.flow.capabilities import Capability, lacking
from singletable.flow.request import Request, Response, Service
from singletable.flow.table_names import DECLARED, TableNames
from singletable.fork_safe_lock import ForkSafeLock

if TYPE_CHECKING:
    from pathlib import Path


def instant(seconds: float) -> datetime:
    """Return a time in UTC from seconds since 1970, the form of `port.now()`. It is rounded to the nearest microsecond,
    so that `instant(at.timestamp())` is `at`: adding the seconds to the year 1970 may be off by one."""
    return datetime.fromtimestamp(seconds, timezone.utc)


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


T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class Consumed(Struct, frozen=True, gc=False):
    """The capacity units that the service reported for one request, summed over its tables."""

    read_units: float = 0.0
    write_units: float = 0.0
    passed_over: int = 0
    """Items that were read, and are in no result."""


NOTHING_CONSUMED = Consumed()


class OperationFacts(Struct, frozen=True):
    """The subject of an operation, for the event of its call: no value, no key."""

    patterns: tuple[str, ...] = ()
    """The names of the patterns of its items, as `Order.of_customer`."""
    items: int = 0
    """Items that it writes, or that its answer has."""
    index: str = ""


NO_FACTS = OperationFacts()

CopyProgress = Callable[[int, int], object]
"""Gets the pages of a file that were copied, and all."""


class CopyData(Protocol):
    def __call__(self, to: Path, progress: CopyProgress | None = None) -> int: ...


class HeldMarks(Protocol):
    """The marks that a copied data file has for its tables, until a program has written it down in them."""

    def why(self, table: str) -> str | None:
        """Why a table is held; None for one that is not marked."""
        ...

    def settle(self, table: str) -> None:
        """Remove the mark of a table."""
        ...


class Traits(Struct, frozen=True):
    """The differences between the engine behind a port and DynamoDB that flows must know."""

    creates_tables: bool = False
    """Whether tables are created at their first use: by a local engine, never on AWS."""
    scan_page_limit: int | None = None
    """The largest page of a scan, for an engine that serves no other request during a page."""
    segments_shift: bool = False
    """Whether the segments of a scan change with the number of items, so that a scan misses some while others are added
    or deleted. A scan that must see every item then reads one segment. True for an engine of unknown kind."""
    scans_by_key: bool = False
    """Whether a scan is in the order of keys, not of a hash of them. A plan can't know it otherwise."""
    counts_parts: bool = False
    """Whether a GetItem costs what it returns, not the whole item as on AWS. The whole item is requested then."""
    units_differ: str = ""
    """Why the units that the engine reports are not those of the service; empty where they are."""
    encryption_keys: bool = True
    """Whether a table can be given an encryption key; a declared one is left alone where it can't."""
    index_lag_seconds: float = 5.0
    """The longest lag of an index behind its table; a reader that must see all entries waits that long."""
    read_seconds: float = 10.0
    """The time that the port waits for an answer."""
    lacks: frozenset[Capability] = frozenset()
    """The capabilities that are known to be missing. A call that needs one raises NotSupported and sends nothing."""
    unknown: frozenset[Capability] = frozenset()
    """The capabilities that `db.require` has not looked for yet, at an engine of unknown kind."""
    maintain_streams: Callable[[float], None] | None = None
    """Maintains the engine's streams, given the time. Called at a stream's first use, and again while it is read."""
    wipe_deleted: Callable[[], None] | None = None
    """Takes the bytes of deleted items out of the engine's file. Called at the end of an erasure."""
    data_file: str = ""
    """The path of the engine's file; empty where there is none, or it is not known."""
    copy_data: CopyData | None = None
    """Copies the engine's file to a new one, and returns its bytes. The tables of the copy are held."""
    held_copy: HeldMarks | None = None
    """The marks of the engine's file, which may be a copy of another."""

    def check(self, capability: Capability, needed_by: str = "") -> None:
        """Raises NotSupported if a capability is known to be missing; `needed_by` says what would have used it."""
        if capability in self.lacks:
            raise lacking(capability, needed_by)


class PortClock(Protocol):
    """The clock behind `port.now()`."""

    is_known: bool
    """Whether it was given by the caller, or compared with the service's: False before the first answer."""


class Operation(Protocol[T_co]):
    """One request of the service, as a value.

    One that has a method `facts(value)` says by it what it is about: its `OperationFacts`, for events.
    """

    def request(self, names: TableNames = DECLARED) -> Request:
        """The request's bytes, with the names that tables have in the account; always the same for the same values."""
        ...

    def answer(self, response: Response) -> tuple[T_co, Consumed]:
        """The value of the response, and its cost. Raises the error of an error response."""
        ...


FAN_OUT = 16
"""The most requests of one `send_all` that are sent concurrently, in both shells."""


class Port(Protocol):
    """The verbs of a flow. A `send_all` of up to 16 operations is one round trip, of up to 32 two, and so on."""

    @property
    def traits(self) -> Traits:
        """The abilities of the engine."""
        ...

    @property
    def ready(self) -> ReadyTables:
        """The names of the tables that this port has created or found."""
        ...

    @property
    def names(self) -> TableNames:
        """The names of tables in the account."""
        ...

    @property
    def events(self) -> Listeners:
        """Those who hear what happens: `port.events.emit(WorkerStarted(...))`."""
        ...

    def tell(self, error: SingletableError) -> None:
        """Add to an error what it lacks of its place: the tables' names in the account, region, endpoint, and the hash
        of its key."""
        ...

    def send(self, operation: Operation[T]) -> Coroutine[Any, Any, T]:
        """The value of one operation."""
        ...

    async def send_all(self, operations: Sequence[Operation[T]]) -> list[T]:
        """The values in the order of the operations, up to 16 requests at a time.

        Raises the first error after all requests have ended.
        """
        ...

    async def call_all(self, calls: Sequence[Callable[[], T | Awaitable[T]]]) -> list[T]:
        """The results, in order, of functions that are called concurrently: the application's own, or flows over this
        port. Errors are raised as by `send_all`."""
        ...

    def to(self, service: Service, url: str = "") -> Port:
        """The port to another service of the account; without `url`, at the place that the database's target
        implies."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait for so many seconds."""
        ...

    @property
    def clock(self) -> PortClock:
        """The clock behind `now`."""
        ...

    def now(self) -> float:
        """The service's time, in seconds since 1970, or that of the clock that the caller gave. It decides expiry and
        dates what is stored. It may be corrected at any time: durations are measured by `monotonic`."""
        ...

    def monotonic(self) -> float:
        """The clock of durations, in seconds: it is never set, and its value means nothing to another process."""
        ...

    def random(self) -> float:
        """At least 0 and below 1: jitter."""
        ...

    def token(self) -> str:
        """A fresh random text of 22 URL-safe characters (128 bits): write ids, client tokens."""
        ...


class WrappedPort:
    """All of a port but what it sends, from the port below. A subclass has `send` and `send_all`."""

    def __init__(self, port: Port) -> None:
        self._port = port
        self.now, self.monotonic, self.random, self.token = port.now, port.monotonic, port.random, port.token
        self.clock, self.names = port.clock, port.names

    @property
    def traits(self) -> Traits:
        return self._port.traits

    @property
    def ready(self) -> ReadyTables:
        return self._port.ready

    @property
    def events(self) -> Listeners:
        return self._port.events

    def tell(self, error: SingletableError) -> None:
        self.names.tell(error)
        self._port.tell(error)

    async def call_all(self, calls: Sequence[Callable[[], T | Awaitable[T]]]) -> list[T]:
        return await self._port.call_all(calls)

    def to(self, service: Service, url: str = "") -> Port:
        return self._port.to(service, url)

    async def sleep(self, seconds: float) -> None:
        await self._port.sleep(seconds)
