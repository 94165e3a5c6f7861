"""Budgets in tests: a test fails when an access pattern takes more round trips or units than its limit.

    def test_details_are_one_query(db, budget):
        with budget(round_trips=1, read_units=1):
            db.get(UserDetails.by_email("ada@example.org").consistent())

    @pytest.mark.budget(round_trips=3)          # the whole test, blocking or async
    async def test_page(adb): ...

pytest loads this plugin itself. The figures are what the engine reports.
"""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable, Generator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Protocol, cast

import pytest

from singletable.flow import Meter

LIMITS = ("requests", "round_trips", "read_units", "write_units", "bytes_out", "bytes_in")


class BudgetExceeded(AssertionError):
    """The meter exceeds a limit."""


class UnitsDiffer(UserWarning):
    """A budget of units was kept or exceeded on an engine whose units are not those of the service."""


class Budget(Protocol):
    """The type of the fixture `budget`: `def test_a_page(db: Database, budget: Budget) -> None`."""

    def __call__(
        self,
        *,
        requests: float = ...,
        round_trips: float = ...,
        read_units: float = ...,
        write_units: float = ...,
        bytes_out: float = ...,
        bytes_in: float = ...,
    ) -> AbstractContextManager[Meter]:
        """A block with its meter. It raises BudgetExceeded, an AssertionError, if the block takes more; without a
        limit, or with another one, `pytest.UsageError`."""
        ...


@contextmanager
def metered(**limits: float) -> Generator[Meter, None, None]:
    """Meter the block. Raises BudgetExceeded, which lists the requests, if the block exceeds a limit."""
    __tracebackhide__ = True  # a failure shows the test's own line
    unknown = limits.keys() - set(LIMITS)
    if unknown or not limits:
        raise pytest.UsageError(
            f"a budget has one or more of {', '.join(LIMITS)}, not {', '.join(unknown) or 'nothing'}"
        )
    with Meter() as meter:
        yield meter
    estimated = meter.estimated if limits.keys() & {"read_units", "write_units"} else {}
    for why in dict.fromkeys(estimated.values()):
        warnings.warn(f"the units of this budget are not those of AWS: {why}", UnitsDiffer, stacklevel=3)
    over = [
        f"{getattr(meter, name):g} {name.replace('_', ' ')}, {limit:g} allowed"
        for name, limit in limits.items()
        if getattr(meter, name) > limit
    ]
    if over:
        raise BudgetExceeded(f"over budget: {'; '.join(over)}. Sent: {sent(meter)}")


def sent(meter: Meter) -> str:
    """The requests, by operation: `Query 2 (1.5 read units)`."""
    parts = [
        f"{name} {count.requests} ({count.read_units:g} read, {count.write_units:g} write units)"
        for name, count in sorted(meter.by_operation.items())
    ]
    return ", ".join(parts) or "nothing"


@pytest.fixture
def budget() -> Generator[Budget, None, None]:
    """`with budget(round_trips=1, read_units=0.5): ...` returns the meter; the test fails if the block takes more, or
    if it has no block."""
    given: list[Any] = []

    def metered_in_block(**limits: float) -> AbstractContextManager[Meter]:
        given.append(metered(**limits))
        return cast("AbstractContextManager[Meter]", given[-1])

    yield metered_in_block
    if any(inspect.getgeneratorstate(each.gen) == inspect.GEN_CREATED for each in given):
        raise pytest.UsageError("budget(...) was called without a `with` block, and limited nothing")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        "budget(requests, round_trips, read_units, write_units, bytes_out, bytes_in): the most that a test may take",
    )


def pytest_itemcollected(item: pytest.Item) -> None:
    marker = item.get_closest_marker("budget")
    if marker is not None and isinstance(item, pytest.Function):
        item.obj = _within(item.obj, marker.kwargs)


def _within(test: Callable[..., Any], limits: Mapping[str, float]) -> Callable[..., Any]:
    """The test, metered. A coroutine function stays one, as its task has a context of its own."""
    if inspect.iscoroutinefunction(test):

        @functools.wraps(test)
        async def awaited(*args: Any, **kwargs: Any) -> Any:
            with metered(**limits):
                return await test(*args, **kwargs)

        return awaited

    @functools.wraps(test)
    def called(*args: Any, **kwargs: Any) -> Any:
        with metered(**limits):
            return test(*args, **kwargs)

    return called
