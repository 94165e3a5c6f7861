"""The events of requests: one for each try, and one for the call that they belong to.

A call is one operation of the service, from its first try to its definite answer or its error. `put` of a class with a
unique value is two calls, a page of a query that filters may be several.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import ClassVar

from singletable.errors import named_hash
from singletable.events.event import Event
from singletable.events.listeners import SLOW_FIRST_SECONDS, SLOW_SECONDS

_DEBUG = 10
_INFO = 20
_WARNING = 30
_GIVEN_UP = ("unavailable", "outcome-unknown", "denied", "conflict.transaction-conflict")
"""Outcomes, or their beginnings, of a call that the service did not answer as it should."""
_LONG_POLL = "ReceiveMessage"
"""The operation whose answer waits on purpose."""


class FirstAnswered(Event, frozen=True, kw_only=True):
    """The first request of a database was answered. Only this one waits for credentials and a first connection."""

    logger: ClassVar[str] = "singletable.requests"
    levels: ClassVar[tuple[str, ...]] = ("DEBUG", "INFO")

    operation: str
    endpoint: str
    region: str
    milliseconds: float
    """The time of the request, from its beginning to its answer."""
    credentials_milliseconds: float
    """The part of it that was spent waiting for credentials."""
    since_connect: float
    """Seconds from `connect` to the answer."""

    @property
    def level(self) -> int:
        return _INFO if self.milliseconds >= 1000 * SLOW_FIRST_SECONDS else _DEBUG

    @property
    def text(self) -> str:
        return (
            f"cold start: the first request to {self.endpoint}, {self.operation}, took {self.milliseconds:.0f} ms: "
            f"of these {self.credentials_milliseconds:.0f} ms for credentials, the rest for a new connection and the "
            f"answer, which came {self.since_connect:.1f} s after the program called connect()"
        )


class RequestTried(Event, frozen=True, kw_only=True):
    """One request was sent, and was answered or failed. `milliseconds` is the time from signing to the whole answer."""

    logger: ClassVar[str] = "singletable.requests"
    levels: ClassVar[tuple[str, ...]] = ("DEBUG", "INFO")

    operation: str
    """The action of the service: `GetItem`."""
    table: str
    """The declared name; of several tables, joined by commas. Empty for a call about none."""
    called: str
    """The same in the account."""
    endpoint: str
    """The URL of the service."""
    region: str
    attempt: int
    """From 1."""
    waited: float
    """Seconds between the try before and this one."""
    milliseconds: float
    bytes_out: int
    """Bytes of the request's body; that of the answer is `bytes_in`, 0 where none came."""
    bytes_in: int
    outcome: str
    """`ok`; `error` for a definite answer that is one, as a refused condition; else what went wrong with this try, as
    `throttled`, `conflict`, `lost`, `undelivered`, `denied`; `cancelled` with its caller."""
    why: str
    """The trouble in words; empty for an answer."""
    request_id: str
    """The service's own id of the request; empty where it gave none."""
    retry_in: float | None
    """Seconds until the next try; None for the last one."""

    @property
    def level(self) -> int:
        return _DEBUG if self.retry_in is None and not self.is_slow else _INFO

    @property
    def is_slow(self) -> bool:
        """Whether the answer took over a second. A long poll is meant to wait."""
        return self.milliseconds >= 1000 * SLOW_SECONDS and self.operation != _LONG_POLL

    @property
    def text(self) -> str:
        name = f"{self.operation} of {self.table}" if self.table else self.operation
        slow = " (slow: from signing the request to the whole answer)" if self.is_slow else ""
        text = f"{name}: try {self.attempt}, {self.outcome}, {self.milliseconds:.1f} ms{slow}"
        return text if self.retry_in is None else f"{text}: {self.why}; next try in {self.retry_in:.3f} s"

    @property
    def cause(self) -> Hashable:
        return self.operation, self.table, self.outcome, self.is_slow


class RequestEnded(Event, frozen=True, kw_only=True):
    """A call ended: it was answered, or it raised. `milliseconds` is the time of all its tries and waits, and of making
    the request and reading the answer."""

    logger: ClassVar[str] = "singletable.requests"
    levels: ClassVar[tuple[str, ...]] = ("DEBUG", "WARNING")

    operation: str
    table: str
    called: str
    endpoint: str
    region: str
    index: str
    """The index that was read; empty for the table itself."""
    patterns: tuple[str, ...]
    """The names of the patterns of its items, as `Order.of_customer`; empty where it has none, as a scan."""
    items: int
    """Items that were asked to be written, or that are in the answer."""
    read_units: float
    write_units: float
    attempts: int
    waited: float
    """Seconds between tries, together."""
    milliseconds: float
    bytes_out: int
    bytes_in: int
    outcome: str
    """`ok`; the `code` of the error that it raised, as `conflict.not-found`; `cancelled`; `failed` for an error of
    another kind, as one of a class's own code."""
    why: str
    """The error in words; empty for none."""
    request_id: str
    """The id of the last try."""
    key_hash: str = ""
    """The hash of the item's key, for a call about one item that raised."""
    partitions: tuple[str, ...] = ()
    """The hashes of the partitions that it named, for a listener with `wants_partitions = True`; a partition of an
    index that a write changes is not one. Empty without such a listener, and for a scan."""

    @property
    def level(self) -> int:
        return _WARNING if self.outcome.startswith(_GIVEN_UP) else _DEBUG

    @property
    def text(self) -> str:
        named = *self.patterns, *((named_hash(self.key_hash),) if self.key_hash else ())
        names = ", ".join(named) or self.index
        place = self.table if not names else f"{self.table} ({names})"
        name = f"{self.operation} of {place}" if place else self.operation
        if self.level > _DEBUG:
            end = "failed" if self.attempts == 1 else "gave up"
            return f"{name} in {self.region} at {self.endpoint} {end}: {self.why}"
        units = f"{self.read_units:g} read units, {self.write_units:g} write units"
        return f"{name}: {self.outcome}, {self.items} items, {units}, {self.milliseconds:.1f} ms"

    @property
    def cause(self) -> Hashable:
        return self.operation, self.table, self.outcome


class CredentialsFetched(Event, frozen=True, kw_only=True):
    """Credentials were fetched, which the request that needed them waited for."""

    logger: ClassVar[str] = "singletable.wire"
    levels: ClassVar[tuple[str, ...]] = ("DEBUG", "INFO")

    source: str
    """The class of their source."""
    milliseconds: float
    is_renewal: bool
    """The service said that those before had expired."""

    @property
    def level(self) -> int:
        return _INFO if self.is_renewal or self.milliseconds >= 1000 * SLOW_SECONDS else _DEBUG

    @property
    def text(self) -> str:
        why = ", as the service called those before expired" if self.is_renewal else ""
        return f"credentials were fetched from {self.source} in {self.milliseconds:.0f} ms{why}"

    @property
    def cause(self) -> Hashable:
        return self.source, self.is_renewal


class WaitBegun(Event, frozen=True, kw_only=True):
    """A flow waits before it goes on. The wait before a try has `RequestTried`, that of a worker `WorkerPaused`."""

    logger: ClassVar[str] = "singletable.waits"
    levels: ClassVar[tuple[str, ...]] = ("DEBUG", "INFO")

    table: str
    """Empty where it is of none, or of several."""
    why: str
    seconds: float
    """Until it goes on, or looks again."""
    is_refused: bool = False
    """Something went wrong: another has what it needs, or the service refused a part."""

    @property
    def level(self) -> int:
        return _INFO if self.is_refused else _DEBUG

    @property
    def text(self) -> str:
        place = f"{self.table}: " if self.table else ""
        return f"{place}waits {self.seconds:.2g} s: {self.why}"

    @property
    def cause(self) -> Hashable:
        return self.table, self.why


class BlobCalled(Event, frozen=True, kw_only=True):
    """A call of a blob store ended, in which contents of documents lie. Its path is not told: it holds keys."""

    logger: ClassVar[str] = "singletable.blobs"
    levels: ClassVar[tuple[str, ...]] = ("DEBUG", "INFO", "WARNING")

    verb: str
    """`put`, `get`, `has`, `list`, `delete`."""
    store: str
    """The directory, or the bucket with its region; the class of an application's own store."""
    size: int
    """Bytes that were put or read; paths of a list."""
    milliseconds: float
    outcome: str
    """`ok`; the `code` of the error that it raised; `failed` for an error of another kind."""
    why: str
    """The error in words; empty for none."""

    @property
    def level(self) -> int:
        return _WARNING if self.outcome != "ok" else _INFO if self.is_slow else _DEBUG

    @property
    def is_slow(self) -> bool:
        """Whether the call took over a second."""
        return self.milliseconds >= 1000 * SLOW_SECONDS

    @property
    def text(self) -> str:
        if self.outcome != "ok":
            return f"blob {self.verb} failed after {self.milliseconds:.0f} ms: {self.why}"
        slow = " (slow)" if self.is_slow else ""
        unit = "paths" if self.verb == "list" else "bytes"
        return f"blob {self.verb}, {self.store}: {self.size} {unit}, {self.milliseconds:.1f} ms{slow}"

    @property
    def cause(self) -> Hashable:
        return self.verb, self.store, self.outcome, self.is_slow


class TableMissing(Event, frozen=True, kw_only=True):
    """A request named a table, or an index, that is missing in the region and account that were asked."""

    logger: ClassVar[str] = "singletable.requests"
    levels: ClassVar[tuple[str, ...]] = ("WARNING",)

    operation: str
    table: str
    called: str
    endpoint: str
    region: str
    region_from: str
    """Where the region is set: `region=`, a variable, a profile; empty where that is not known."""
    why: str

    @property
    def text(self) -> str:
        table = self.table if self.called == self.table else f"{self.table}, called {self.called}"
        source = f" (from {self.region_from})" if self.region_from else ""
        return f"{self.operation} of {table} in {self.region}{source} at {self.endpoint} failed: {self.why}"

    @property
    def cause(self) -> Hashable:
        return self.table, self.region, self.endpoint
