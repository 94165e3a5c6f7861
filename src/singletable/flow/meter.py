"""Requests and their cost, counted inside a `with Meter()` block.

The active meters are a tuple in a context variable: threads and tasks never mix, and a task that is started inside a
block counts into that block's meter. Without a meter a request costs one look-up (40 ns).
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar, Token
from types import TracebackType
from typing import TYPE_CHECKING, Final, NoReturn

from msgspec import Struct

from singletable.errors import InvalidRequest
from singletable.flow.port import FAN_OUT, Consumed

OPERATION_NAMES_KEPT = 64
"""Further names are counted together, under `others`; DynamoDB has fewer than 60 actions."""


class OperationCount(Struct):
    """The counts of one action of the service."""

    requests: int = 0
    retries: int = 0
    throttles: int = 0
    read_units: float = 0.0
    write_units: float = 0.0
    passed_over: int = 0


class Meter:
    """Counts what every port sends inside its `with` block.

    * `requests` counts each HTTP try, `retries` the tries after the first.
    * `throttles` counts the tries that the service refused for their rate, whether or not they were sent again. A
      batch with unprocessed items is an answer, not a throttle.
    * `round_trips` counts a caller's waits for the network, one after the other. A single request is one.
      Requests that are sent together go out 16 at a time: n of them are ceil(n / 16) round trips, and so are their
      retries. Calls that a program makes concurrently, in threads or tasks, add up.
    * `bytes_out` and `bytes_in` are HTTP bytes, heads included.
    * `read_units` and `write_units` are what the service reports, for requests that ask for it.
    * `passed_over` counts the items that were read and paid for but are not in a result: they are of a class that was
      not asked for, or have no type attribute; or a query's filter left them out, the caller's or that of expired
      items.
    * `estimated` names the operations whose units on the local engine differ from those on AWS, with the difference.

    The requests of a table's first use on a local engine are not counted: AWS has no such requests.
    """

    __slots__ = (
        "_entered",
        "by_operation",
        "bytes_in",
        "bytes_out",
        "estimated",
        "passed_over",
        "read_units",
        "requests",
        "retries",
        "round_trips",
        "throttles",
        "write_units",
    )

    def __init__(self) -> None:
        self._entered: list[Token[tuple[Meter, ...]]] | None = None

    def _begin(self) -> list[Token[tuple[Meter, ...]]]:
        self.requests = 0
        self.round_trips = 0
        self.retries = 0
        self.throttles = 0
        self.bytes_out = 0
        self.bytes_in = 0
        self.read_units = 0.0
        self.write_units = 0.0
        self.passed_over = 0
        self.by_operation: dict[str, OperationCount] = {}
        self.estimated: dict[str, str] = {}
        return []

    if not TYPE_CHECKING:  # hidden from type checkers, which would take any name for a count

        def __getattr__(self, name: str) -> NoReturn:
            """Called for a count that no block has begun."""
            if name not in self.__slots__:
                raise AttributeError(name)
            raise InvalidRequest("a meter that was not entered counts nothing", hint="with db.meter() as meter: ...")

    def __enter__(self) -> Meter:
        if self._entered is None:
            self._entered = self._begin()
        active = ACTIVE.get()
        self._entered.append(ACTIVE.set(active if self in active else (*active, self)))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._entered:
            ACTIVE.reset(self._entered.pop())

    def __repr__(self) -> str:
        if self._entered is None:
            return "<Meter, not entered>"
        return (
            f"Meter(requests={self.requests}, round_trips={self.round_trips}, retries={self.retries}, "
            f"read_units={self.read_units:g}, write_units={self.write_units:g}"
            f"{f', throttles={self.throttles}' if self.throttles else ''}"
            f"{f', passed_over={self.passed_over}' if self.passed_over else ''}"
            f"{f', estimated={list(self.estimated)}' if self.estimated else ''})"
        )

    def _repr_html_(self) -> str:
        from singletable.html_table import html_table  # noqa: PLC0415 for notebooks only

        columns = ("", "requests", "retries", "read units", "write units")
        counts: list[tuple[str, OperationCount | Meter]] = [*sorted(self.by_operation.items()), ("together", self)]
        rows = [(name, n.requests, n.retries, f"{n.read_units:g}", f"{n.write_units:g}") for name, n in counts]
        estimated = "".join(f"; {name} estimated: {why}" for name, why in self.estimated.items())
        throttles = f", {self.throttles} throttled" if self.throttles else ""
        passed = f", {self.passed_over} items passed over" if self.passed_over else ""
        return html_table("Meter", columns, rows, f"{self.round_trips} round trips{throttles}{passed}{estimated}")

    def count_of(self, operation: str) -> OperationCount:
        """The counts of one action, created when it is first counted."""
        count = self.by_operation.get(operation)
        if count is None:
            name = operation if len(self.by_operation) < OPERATION_NAMES_KEPT else "others"
            count = self.by_operation.setdefault(name, OperationCount())
        return count


ACTIVE: Final[ContextVar[tuple[Meter, ...]]] = ContextVar("singletable_meters", default=())


@contextmanager
def unmetered() -> Generator[None, None, None]:
    """No meter counts what is sent inside the block."""
    active = ACTIVE.set(())
    try:
        yield
    finally:
        ACTIVE.reset(active)


class RoundTrips:
    """Counts the round trips of operations that are sent together: 16 operations of one try are one round trip."""

    __slots__ = ("_tries",)

    def __init__(self) -> None:
        self._tries: dict[int, int] = {}

    def is_new(self, attempt: int) -> bool:
        """Whether this try begins a round trip: true for the first of each 16 operations in their `attempt`-th try."""
        before = self._tries.get(attempt, 0)
        self._tries[attempt] = before + 1
        return before % FAN_OUT == 0


def count_try(
    meters: tuple[Meter, ...], operation: str, attempt: int, round_trips: RoundTrips | None, bytes_out: int
) -> None:
    """Count a request's `attempt`-th try, from 1. Without `round_trips` it is sent alone."""
    is_new = round_trips is None or round_trips.is_new(attempt)
    for meter in meters:
        count = meter.by_operation.get(operation) or meter.count_of(operation)
        meter.requests += 1
        count.requests += 1
        meter.bytes_out += bytes_out
        if is_new:
            meter.round_trips += 1
        if attempt > 1:
            meter.retries += 1
            count.retries += 1


def count_answer(meters: tuple[Meter, ...], bytes_in: int) -> None:
    """Count an answer of any status."""
    for meter in meters:
        meter.bytes_in += bytes_in


def count_throttle(meters: tuple[Meter, ...], operation: str) -> None:
    """Count a try that the service refused for its rate."""
    for meter in meters:
        meter.throttles += 1
        meter.count_of(operation).throttles += 1


def count_units(meters: tuple[Meter, ...], operation: str, consumed: Consumed) -> None:
    """Count the units that the service reported for a request, and the items that it read for nothing."""
    for meter in meters:
        count = meter.by_operation.get(operation) or meter.count_of(operation)
        for total in (meter, count):
            total.read_units += consumed.read_units
            total.write_units += consumed.write_units
            total.passed_over += consumed.passed_over


def note_estimate(operation: str, difference: str) -> None:
    """Note that the units of an action differ from those on AWS, and why."""
    for meter in ACTIVE.get():
        meter.estimated[operation] = difference
