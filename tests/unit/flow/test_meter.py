"""Meters: nesting, tasks, threads, and how little they keep."""

from __future__ import annotations

import asyncio  # noqa: TID251
import threading  # noqa: TID251

import pytest

from singletable.flow import Meter, unmetered
from singletable.flow.meter import ACTIVE, OPERATION_NAMES_KEPT, RoundTrips, count_throttle, count_try, count_units
from singletable.flow.port import Consumed


def count_one(operation: str = "GetItem", attempt: int = 1, round_trips: RoundTrips | None = None) -> None:
    count_try(ACTIVE.get(), operation, attempt, round_trips, 100)


def test_nothing_counts_outside() -> None:
    meter = Meter()
    with meter:
        count_one()
    count_one()
    assert meter.requests == 1
    assert ACTIVE.get() == ()


def test_nested_meters_count_together_and_one_entered_twice_counts_once() -> None:
    with Meter() as outer, Meter() as inner, outer:
        count_one()
        count_units(ACTIVE.get(), "GetItem", Consumed(0.5, 0.0, 0))
    assert (outer.requests, inner.requests, outer.read_units, inner.read_units) == (1, 1, 0.5, 0.5)
    assert repr(outer) == "Meter(requests=1, round_trips=1, retries=0, read_units=0.5, write_units=0)"


def test_throttles_are_said_where_there_are_some() -> None:
    with Meter() as meter:
        count_one()
        count_throttle(ACTIVE.get(), "GetItem")
    assert (meter.throttles, meter.by_operation["GetItem"].throttles) == (1, 1)
    assert "throttles=1" in repr(meter)
    assert "1 throttled" in meter._repr_html_()


def test_rounds_count_each_attempt_once() -> None:
    round_trips = RoundTrips()
    with Meter() as meter:
        for attempt in (1, 1, 1, 2, 2, 3):
            count_one(attempt=attempt, round_trips=round_trips)
    assert (meter.requests, meter.retries, meter.round_trips) == (6, 3, 3)


@pytest.mark.parametrize(("tries", "waves"), [((0,), 0), ((16,), 1), ((17,), 2), ((4000,), 250), ((40, 17, 1), 6)])
def test_each_try_goes_out_in_waves_of_sixteen(tries: tuple[int, ...], waves: int) -> None:
    round_trips = RoundTrips()
    with Meter() as meter:
        for attempt, count in enumerate(tries, 1):
            for _ in range(count):
                count_one(attempt=attempt, round_trips=round_trips)
    assert meter.round_trips == waves


def test_items_that_are_passed_over() -> None:
    with Meter() as meter:
        count_units(ACTIVE.get(), "Query", Consumed(1.0, 0.0, 3))
        assert "passed_over" not in repr(Meter())
        count_units(ACTIVE.get(), "GetItem", Consumed(0.5, 0.0, 1))
    assert (meter.passed_over, meter.by_operation["Query"].passed_over) == (4, 3)
    assert "passed_over=4" in repr(meter)
    assert "4 items passed over" in meter._repr_html_()


def test_what_is_unmetered_is_counted_by_none_and_what_follows_is() -> None:
    with Meter() as outer, Meter() as inner:
        with unmetered():
            count_one()
        count_one()
    assert (outer.requests, inner.requests) == (1, 1)


async def test_tasks_do_not_mix() -> None:
    async def one(times: int) -> int:
        with Meter() as meter:
            for _ in range(times):
                count_one()
                await asyncio.sleep(0)
        return meter.requests

    with Meter() as whole:
        assert [*await asyncio.gather(one(1), one(2), one(3))] == [1, 2, 3]
    assert whole.requests == 6


def test_threads_do_not_mix() -> None:
    with Meter() as meter:
        thread = threading.Thread(target=count_one)
        thread.start()
        thread.join()
    assert meter.requests == 0


def test_names_are_bounded() -> None:
    with Meter() as meter:
        for number in range(200):
            count_one(f"Operation{number}")
    assert len(meter.by_operation) == OPERATION_NAMES_KEPT + 1
    assert meter.by_operation["others"].requests == 200 - OPERATION_NAMES_KEPT
