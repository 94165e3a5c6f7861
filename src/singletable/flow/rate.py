"""A bound of capacity units a second, for bulk work next to an application's own requests.

    rate = Rate(write_units=200)                # from singletable.flow
    db.write_many(puts=users, rate=rate)        # and the same Rate in another call: the two share it

It counts the units that the service reports, and waits before a request, not after. A request takes what its kind took
before as an advance; the answer corrects it. So requests that go out together don't pass the bound together.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final, TypeVar

from msgspec import Struct

from singletable.errors import InvalidRequest, Throttled
from singletable.flow.port import FAN_OUT, Consumed, Operation, Port, WrappedPort
from singletable.flow.request import Request, Response
from singletable.flow.table_names import DECLARED, TableNames
from singletable.flow.waits import pause
from singletable.fork_safe_lock import ForkSafeLock

T = TypeVar("T")

_BURST_SECONDS: Final = 0.1
"""The most that is saved up while nothing is sent, in units of a second's bound."""
_WAVE_SECONDS: Final = 0.05
"""The most that the requests of one wave take, in units of a second's bound."""
_SHORTEST_WAIT_SECONDS: Final = 0.001
"""A shorter one would not pass on a clock, and be waited for again."""
_LEARNED: Final = 0.3
"""The weight of the newest answer in what a kind of request is expected to take."""
_FIRST_GUESS: Final = {"Scan": 128.0, "Query": 16.0, "BatchGetItem": 50.0, "BatchWriteItem": 25.0}
_LONGEST_SLEEP_SECONDS: Final = 1.0
"""Then it is looked again: the part of a shared rate may have become larger, and is lost where nobody renews it."""
_LEAST_PART: Final = 0.001
_SLOWEST: Final = 1 / 64
_RECOVERY: Final = 0.1
"""The part of the bound that comes back each second after a throttle."""


_UNRATED: Final = ContextVar("singletable_unrated", default=False)


@contextmanager
def unrated() -> Generator[None, None, None]:
    """Requests inside the block neither use a rate nor wait for one. A table is set up so: a shared rate that renewed
    itself meanwhile would wait for that very table."""
    before = _UNRATED.set(True)
    try:
        yield
    finally:
        _UNRATED.reset(before)


class _Bucket:
    """One kind of units: a balance that grows with time, and may be below zero."""

    def __init__(self, per_second: float) -> None:
        self.per_second = per_second
        self._balance = 0.0
        self._at: float | None = None

    def wait_at(self, now: float, share: float) -> float:
        """The seconds until the balance is no longer below zero, at a share of the bound."""
        speed = self.per_second * share
        if self._at is not None:
            self._balance = min(self._balance + (now - self._at) * speed, speed * _BURST_SECONDS)
        self._at = now
        return max(0.0, -self._balance / speed)

    def take(self, units: float) -> None:
        self._balance -= units


def _bucket(before: _Bucket | None, per_second: float | None) -> _Bucket | None:
    """A bucket with another bound, and the balance that it had."""
    if before is None:
        return None if per_second is None else _Bucket(per_second)
    before.per_second = before.per_second if per_second is None else per_second
    return before


class Rate:
    """A bound of units a second, on average, over all calls that are given the same object. Share it freely.

    Any ten seconds hold at most the bound, a hundredth of it, and one request. The bound halves itself when the service
    throttles in spite of it, and comes back within ten seconds. Raises InvalidRequest without a bound above zero.
    """

    def __init__(self, *, read_units: float | None = None, write_units: float | None = None) -> None:
        self.read_units, self.write_units = read_units, write_units
        self._read: _Bucket | None = None
        self._write: _Bucket | None = None
        self._expected: dict[str, Consumed] = {}
        self._guard = ForkSafeLock()
        self._share, self._slowed_at = 1.0, 0.0
        self.part = 1.0
        """The part of the bound that this process may use."""
        self.change(read_units=read_units, write_units=write_units)

    def change(self, *, read_units: float | None = None, write_units: float | None = None) -> None:
        """Replace bounds, also while requests wait for them; None leaves one as it is. InvalidRequest as above."""
        given = [units for units in (read_units, write_units) if units is not None]
        if not given or min(given) <= 0:
            raise InvalidRequest(
                "a Rate has at least one bound above zero", hint="As in Rate(read_units=100, write_units=50)."
            )
        with self._guard.lock:
            self.read_units = self.read_units if read_units is None else read_units
            self.write_units = self.write_units if write_units is None else write_units
            self._read, self._write = _bucket(self._read, read_units), _bucket(self._write, write_units)

    async def renew(self, port: Port) -> None:
        """Called before a request: a rate that processes share renews its part here."""

    def __repr__(self) -> str:
        return f"Rate(read_units={self.read_units}, write_units={self.write_units})"

    def advance(self, operation: str, now: float) -> tuple[float, Consumed]:
        """The seconds to wait before a request; or 0, and the units taken for it until `settle`."""
        with self._guard.lock:
            share = self._share_at(now)
            wait = max((b.wait_at(now, share) for b in (self._read, self._write) if b is not None), default=0.0)
            if wait > _SHORTEST_WAIT_SECONDS:
                return wait, Consumed()
            expected = self._expected.get(operation) or _first_guess(operation)
            self._take(expected.read_units, expected.write_units)
            return 0.0, expected

    def settle(self, operation: str, advanced: Consumed, consumed: Consumed) -> None:
        """Correct an advance by the units that the service reported. An error leaves the advance unchanged: a write
        whose condition fails costs what it would have cost."""
        with self._guard.lock:
            self._take(consumed.read_units - advanced.read_units, consumed.write_units - advanced.write_units)
            known = self._expected.get(operation, consumed)
            self._expected[operation] = Consumed(
                known.read_units + (consumed.read_units - known.read_units) * _LEARNED,
                known.write_units + (consumed.write_units - known.write_units) * _LEARNED,
            )

    def slow_down(self, now: float) -> None:
        """The service throttled: half of the rate, which comes back by a tenth of the bound each second."""
        with self._guard.lock:
            share = self._share_at(now) / max(self.part, _LEAST_PART)
            self._share, self._slowed_at = max(_SLOWEST, share / 2), now

    def width(self, operation: str) -> int:
        """The number of requests of a kind that may go out together."""
        expected = self._expected.get(operation) or _first_guess(operation)
        widths = [
            bucket.per_second * self.part * _WAVE_SECONDS / units
            for bucket, units in ((self._read, expected.read_units), (self._write, expected.write_units))
            if bucket is not None and units > 0
        ]
        return max(1, min(FAN_OUT, int(min(widths, default=FAN_OUT))))

    def _share_at(self, now: float) -> float:
        """The part of the bound that is used: less than all for a while after the service throttled."""
        return max(self.part, _LEAST_PART) * min(1.0, self._share + max(0.0, now - self._slowed_at) * _RECOVERY)

    def _take(self, read_units: float, write_units: float) -> None:
        if self._read is not None:
            self._read.take(read_units)
        if self._write is not None:
            self._write.take(write_units)


def _first_guess(operation: str) -> Consumed:
    units = _FIRST_GUESS.get(operation, 1.0)
    is_read = operation in ("Scan", "Query", "GetItem", "BatchGetItem", "TransactGetItems")
    return Consumed(read_units=units) if is_read else Consumed(write_units=units)


class _Counted(Struct, frozen=True):
    """An operation that reports its answer's cost to a rate."""

    inner: Operation[object]
    rate: Rate
    name: str
    advanced: Consumed

    def request(self, names: TableNames = DECLARED) -> Request:
        return self.inner.request(names)

    def answer(self, response: Response) -> tuple[object, Consumed]:
        value, consumed = self.inner.answer(response)
        self.rate.settle(self.name, self.advanced, consumed)
        return value, consumed


class RatedPort(WrappedPort):
    """A port that keeps to a rate, over another port."""

    def __init__(self, port: Port, rate: Rate) -> None:
        super().__init__(port)
        self._rate = rate

    async def send(self, operation: Operation[T]) -> T:
        return (await self._send((operation,)))[0]

    async def send_all(self, operations: Sequence[Operation[T]]) -> list[T]:
        values: list[T] = []
        while len(values) < len(operations):
            width = self._rate.width(type(operations[len(values)]).__name__)
            values += await self._send(operations[len(values) : len(values) + width])
        return values

    async def _send(self, operations: Sequence[Operation[T]]) -> list[T]:
        if _UNRATED.get():
            return await self._port.send_all(operations)
        counted = [await self._counted(operation) for operation in operations]
        try:
            return await self._port.send_all(counted)
        except Throttled:
            self._rate.slow_down(self.monotonic())
            raise

    async def _counted(self, operation: Operation[T]) -> Operation[T]:
        name = type(operation).__name__
        while True:
            await self._rate.renew(self._port)
            wait, advanced = self._rate.advance(name, self.monotonic())
            if wait <= 0:
                break
            await pause(self, min(wait, _LONGEST_SLEEP_SECONDS), "the rate that was given is reached")
        counted: Operation[T] = _Counted(operation, self._rate, name, advanced)  # type: ignore[assignment]
        return counted


def at_rate(port: Port, rate: Rate | None) -> Port:
    """The port, or one that keeps to a rate."""
    return port if rate is None else RatedPort(port, rate)
