"""What a query or action took, as the service's own account says."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from singletable import Database, Meter

T = TypeVar("T")


@dataclass(frozen=True)
class Cost:
    """What a command's work took."""

    requests: int
    round_trips: int
    read_units: float
    write_units: float

    @classmethod
    def of(cls, meter: Meter) -> Cost:
        return cls(meter.requests, meter.round_trips, meter.read_units, meter.write_units)

    def __str__(self) -> str:
        return (
            f"{self.requests} requests, {self.round_trips} round trips, "
            f"{self.read_units:g} read units, {self.write_units:g} write units"
        )


@dataclass(frozen=True)
class Measured:
    """The cost, and how long it took."""

    cost: Cost
    milliseconds: float


def metered(
    db: Database, action: Callable[[], T], clock: Callable[[], float] = time.perf_counter
) -> tuple[T, Measured]:
    """What an action gives, and what it took."""
    began = clock()
    with db.meter() as meter:
        result = action()
    return result, Measured(Cost.of(meter), (clock() - began) * 1000)
