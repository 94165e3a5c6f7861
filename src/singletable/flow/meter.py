"""What was sent and what it cost, counted for as long as a `with Meter()` lasts.

The meters in force are a tuple in a context variable: threads and tasks never mix, a task started inside counts into
the meter that it was started under, and where there is none a request pays one look-up (40 ns).
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar, Token
from types import TracebackType
from typing import Final

from msgspec import Struct

from singletable.flow.port import FAN_OUT

OPERATION_NAMES_KEPT = 64
"""Names after these are counted together, under `others`; DynamoDB has fewer than 60."""


class OperationCount(Struct):
    """The counts of one action of the service."""

    requests: int = 0
    retries: int = 0
    read_units: float = 0.0
    write_units: float = 0.0


class Meter:
    """Counts what passes any port inside its `with` block.

    * `requests` counts each try over HTTP, `retries` those after a first.
    * `round_trips` counts waves: how often a caller waits for the network, one time after the other. A request by
      itself is one. Those that are sent together go out 16 at a time: n of them are ceil(n / 16), and so are those of
      them that have to be tried again, each time. Calls that a program makes side by side itself, in threads or tasks,
      add up.
    * `bytes_out` and `bytes_in` are those of HTTP, heads included.
    * `read_units` and `write_units` are by the service's own account, for requests that asked for it.
    * `estimated` names the operations where a local engine's account is not that of AWS, each with the difference.

    What a local engine's table needs at its first use is not counted: there is none of it on AWS.
    """

    __slots__ = (
        "_entered",
        "by_operation",
        "bytes_in",
        "bytes_out",
        "estimated",
        "read_units",
        "requests",
        "retries",
        "round_trips",
        "write_units",
    )

    def __init__(self) -> None:
        self.requests = 0
        self.round_trips = 0
        self.retries = 0
        self.bytes_out = 0
        self.bytes_in = 0
        self.read_units = 0.0
        self.write_units = 0.0
        self.by_operation: dict[str, OperationCount] = {}
        self.estimated: dict[str, str] = {}
        self._entered: list[Token[tuple[Meter, ...]]] = []

    def __enter__(self) -> Meter:
        active = ACTIVE.get()
        self._entered.append(ACTIVE.set(active if self in active else (*active, self)))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        ACTIVE.reset(self._entered.pop())

    def __repr__(self) -> str:
        return (
            f"Meter(requests={self.requests}, round_trips={self.round_trips}, retries={self.retries}, "
            f"read_units={self.read_units:g}, write_units={self.write_units:g}"
            f"{f', estimated={list(self.estimated)}' if self.estimated else ''})"
        )

    def count_of(self, operation: str) -> OperationCount:
        """The counts of one action, made when it is first seen."""
        count = self.by_operation.get(operation)
        if count is None:
            name = operation if len(self.by_operation) < OPERATION_NAMES_KEPT else "others"
            count = self.by_operation.setdefault(name, OperationCount())
        return count


ACTIVE: Final[ContextVar[tuple[Meter, ...]]] = ContextVar("singletable_meters", default=())


@contextmanager
def unmetered() -> Generator[None, None, None]:
    """No meter counts what passes inside the block."""
    active = ACTIVE.set(())
    try:
        yield
    finally:
        ACTIVE.reset(active)


class Rounds:
    """The waves of operations that are sent together: of each try, 16 at a time."""

    __slots__ = ("_tries",)

    def __init__(self) -> None:
        self._tries: dict[int, int] = {}

    def is_new(self, attempt: int) -> bool:
        """True for the first of each 16 operations that reach their `attempt`-th try."""
        before = self._tries.get(attempt, 0)
        self._tries[attempt] = before + 1
        return before % FAN_OUT == 0


def count_try(meters: tuple[Meter, ...], operation: str, attempt: int, rounds: Rounds | None, bytes_out: int) -> None:
    """A request is about to go out for the `attempt`-th time, counted from 1; alone, without `rounds`."""
    is_round = rounds is None or rounds.is_new(attempt)
    for meter in meters:
        count = meter.by_operation.get(operation) or meter.count_of(operation)
        meter.requests += 1
        count.requests += 1
        meter.bytes_out += bytes_out
        if is_round:
            meter.round_trips += 1
        if attempt > 1:
            meter.retries += 1
            count.retries += 1


def count_answer(meters: tuple[Meter, ...], bytes_in: int) -> None:
    """An answer came back, of whatever status."""
    for meter in meters:
        meter.bytes_in += bytes_in


def count_units(meters: tuple[Meter, ...], operation: str, read_units: float, write_units: float) -> None:
    """The service has said what a request cost; most cost only one of the two."""
    for meter in meters:
        count = meter.by_operation.get(operation) or meter.count_of(operation)
        if read_units:
            meter.read_units += read_units
            count.read_units += read_units
        if write_units:
            meter.write_units += write_units
            count.write_units += write_units


def note_estimate(operation: str, difference: str) -> None:
    """The units of an action are not as AWS would count them, for what `difference` says."""
    for meter in ACTIVE.get():
        meter.estimated[operation] = difference
