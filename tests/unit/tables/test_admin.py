"""Waiting for a table: ten minutes by the clock that nobody sets."""

from __future__ import annotations

from typing import Any

import pytest

from singletable import Unavailable
from singletable.events import Listeners
from singletable.flow import drive
from singletable.tables import TableDefinition
from singletable.tables.admin import wait_until_active
from tests.faults.clock import Clock


class Creating:
    """A port whose table becomes active after some seconds; its wall clock is set by an hour in between."""

    def __init__(self, active_after: float, step: float) -> None:
        self.clock, self.active_after, self.step = Clock(), active_after, step
        self.events = Listeners()

    def now(self) -> float:
        return self.clock.now()

    def monotonic(self) -> float:
        return self.clock.monotonic()

    async def sleep(self, seconds: float) -> None:
        self.clock.advance(seconds)
        self.clock.at, self.step = self.clock.at + self.step, 0.0

    async def send(self, operation: Any) -> Any:
        is_active = self.monotonic() >= self.active_after
        return {"Table": {"TableStatus": "ACTIVE" if is_active else "CREATING"}}


@pytest.mark.parametrize("step", [3600.0, -3600.0])
def test_a_set_clock_neither_ends_the_wait_nor_makes_it_longer(step: float) -> None:
    table = TableDefinition("slow")
    drive(wait_until_active(Creating(300.0, step), table))  # type: ignore[arg-type]
    endless = Creating(float("inf"), step)
    with pytest.raises(Unavailable, match="ten minutes"):
        drive(wait_until_active(endless, table))  # type: ignore[arg-type]
    assert 600 <= endless.monotonic() < 610
