"""The bound of units a second, on simulated time: held over any ten seconds, and used whole."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
from __future__ import annotations

import heapq
from collections.abc import Coroutine, Generator, Sequence
from itertools import count
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from singletable import InvalidRequest
from singletable.errors import Throttled
from singletable.events import Listeners
from singletable.flow import DECLARED, Consumed, Rate, Request, Response, TableNames, at_rate


class Sleep:
    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def __await__(self) -> Generator[float, None, None]:
        yield self.seconds


class Write:
    """One request that costs what it is told."""

    def __init__(self, units: float, throttled: bool = False) -> None:
        self.units, self.throttled = units, throttled

    def request(self, names: TableNames = DECLARED) -> Request:
        return Request("PutItem", b"{}", "notes")

    def answer(self, response: Response) -> tuple[float, Consumed]:
        if self.throttled:
            raise Throttled("too fast")
        return self.units, Consumed(write_units=self.units)


class Simulated:
    """A port on simulated time, in which a request takes 5 ms, with what was spent when."""

    def __init__(self) -> None:
        self.time = 0.0
        self.spent: list[tuple[float, float]] = []
        self.now = self.random = self.token = self.traits = self.ready = self.clock = self.names = None
        self.events = Listeners()
        self._order = count()

    def monotonic(self) -> float:
        return self.time

    async def sleep(self, seconds: float) -> None:
        await Sleep(seconds)

    async def send_all(self, operations: Sequence[Any]) -> list[Any]:
        await Sleep(0.005)
        values = []
        for operation in operations:
            value, consumed = operation.answer(Response(200, b"{}"))
            self.spent.append((self.time, consumed.write_units))
            values.append(value)
        return values

    def run(self, *flows: Coroutine[Any, Any, None]) -> None:
        due = [(0.0, next(self._order), flow) for flow in flows]
        while due:
            self.time, _, flow = heapq.heappop(due)
            try:
                seconds = flow.send(None)
            except StopIteration:
                continue
            heapq.heappush(due, (self.time + seconds, next(self._order), flow))

    def most_in(self, seconds: float) -> float:
        """The most units that any window of this length holds."""
        most = inside = 0.0
        first = 0
        for time, units in self.spent:
            inside += units
            while self.spent[first][0] <= time - seconds:
                inside -= self.spent[first][1]
                first += 1
            most = max(most, inside)
        return most


async def write(port: Any, sizes: Sequence[float], wave: int) -> None:
    for i in range(0, len(sizes), wave):
        await port.send_all([Write(units) for units in sizes[i : i + wave]])


@settings(max_examples=25)
@given(
    bound=st.floats(20, 400),
    writers=st.integers(1, 8),
    wave=st.integers(1, 16),
    largest=st.sampled_from([1, 3, 25]),
    seed=st.integers(0, 999),
)
def test_ten_seconds_hold_the_bound_and_use_it(bound: float, writers: int, wave: int, largest: int, seed: int) -> None:
    random, simulated, rate = Random(seed), Simulated(), Rate(write_units=bound)
    each = int(bound * 12 / writers / (1 + largest) * 2) + 1
    sizes = [[float(random.randint(1, largest)) for _ in range(each)] for _ in range(writers)]
    simulated.run(*(write(at_rate(simulated, rate), own, wave) for own in sizes))  # type: ignore[arg-type]
    assert simulated.most_in(10.0) <= bound * 10 * 1.05 + largest * writers
    total = sum(map(sum, sizes))
    if bound <= writers * 100:  # else the writers' own speed is the bound: a wave takes 5 ms
        assert simulated.time <= total / bound * 1.05 + 0.5 + writers * largest / bound


def test_a_throttled_table_halves_it_and_it_comes_back() -> None:
    simulated, rate = Simulated(), Rate(write_units=100)
    port: Any = at_rate(simulated, rate)  # type: ignore[arg-type]

    async def flow() -> None:
        await write(port, [1.0] * 1000, 1)
        with pytest.raises(Throttled):
            await port.send(Write(1.0, throttled=True))
        await write(port, [1.0] * 2000, 1)

    simulated.run(flow())
    ten = [sum(u for t, u in simulated.spent if at <= t < at + 1) for at in range(int(simulated.time))]
    slowed = min(ten[1:-1])
    assert 50 <= slowed <= 65
    assert 95 <= ten[-2] <= 105


def test_a_bound_is_another_while_requests_wait() -> None:
    simulated, rate = Simulated(), Rate(write_units=100)
    port: Any = at_rate(simulated, rate)  # type: ignore[arg-type]

    async def flow() -> None:
        await write(port, [1.0] * 500, 1)
        rate.change(write_units=10)
        await write(port, [1.0] * 200, 1)
        rate.change(write_units=50, read_units=7)
        await write(port, [1.0] * 500, 1)

    simulated.run(flow())
    ten = [sum(u for t, u in simulated.spent if at <= t < at + 1) for at in range(int(simulated.time))]
    assert all(9 <= units <= 12 for units in ten[6:24])
    assert all(48 <= units <= 53 for units in ten[26:-1])
    assert repr(rate) == "Rate(read_units=7, write_units=50)"
    with pytest.raises(InvalidRequest, match="at least one bound"):
        rate.change(read_units=0.0)
    assert rate.read_units == 7


def test_a_rate_has_a_bound() -> None:
    for wrong in ({}, {"read_units": 0}, {"write_units": -1.0}):
        with pytest.raises(InvalidRequest, match="at least one bound"):
            Rate(**wrong)
    assert repr(Rate(read_units=5)) == "Rate(read_units=5, write_units=None)"
