"""Time as an argument: a wall clock that stands still until it is set on, and a sleep that takes no time."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timezone

NOON = 1_893_499_200.0
"""1 January 2030, 12:00 UTC."""


@dataclass
class Clock:
    """Both clocks of a port in one: `now` for the wall's, `monotonic` for the one that never goes back."""

    at: float = NOON
    slept: list[float] = field(default_factory=list[float])
    _gone: float = 0.0

    def now(self) -> float:
        return self.at

    def monotonic(self) -> float:
        return self._gone

    def advance(self, seconds: float) -> None:
        """Both go on."""
        self.at += seconds
        self._gone += seconds

    def set_back(self, seconds: float) -> None:
        """The wall clock alone is put right, as after a step of its time source."""
        self.at -= seconds

    def sleep(self, seconds: float) -> None:
        """Only the clock that never goes back goes on: what expires does not depend on the waits of retries."""
        self.slept.append(seconds)
        self._gone += seconds

    async def sleep_awaiting(self, seconds: float) -> None:
        self.sleep(seconds)

    def datetime(self, plus_seconds: float = 0.0) -> datetime:
        return datetime.fromtimestamp(self.at + plus_seconds, timezone.utc)
