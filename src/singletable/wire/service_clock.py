"""The clock of a port: the service's time, learned from the Date of its answers.

A machine's wall clock may be wrong, and somebody may set it at any moment. So the time of a port is its clock of
intervals, which nobody sets, plus a difference that answers correct. Processes with different clocks judge alike what
has expired, whose lease is over and what is due. It costs no request.

* Before the first answer there is only the machine's wall clock, as it was when the port was made. `is_known` is False
  until then, and no write takes an item for expired that is there (`records.write.Moment`).
* A Date has whole seconds, and an answer takes time. A wall clock that fits the Date is taken with its fractions; one
  that doesn't is not looked at, and the time that the port had is kept where it still fits.
* An answer is compared every ten seconds: two clocks of intervals differ by less than a millisecond in that time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from math import inf
from operator import add, getitem
from typing import Any, Protocol

from singletable.wire.error_answers import server_time

LOOK_SECONDS = 10.0
CLOCK_SECONDS = 2.0
"""The most by which a corrected clock is off: a Date has whole seconds, and a clock that fits it is believed."""
_EARLIEST, _LATEST = 1.0 - CLOCK_SECONDS, CLOCK_SECONDS
"""A clock fits a Date that it is behind by a second at most, or ahead by two and the time of the request."""
_TOLD_SECONDS = 5.0


class Clock(Protocol):
    """The time of a port, and what corrects it."""

    now: Callable[[], float]
    """Seconds since 1970."""
    skew: float
    """Seconds to add in signatures."""
    is_known: bool
    """Whether it is what it will be: given by the caller, or compared with the service's."""
    look_at: float
    """The time from which on the next answer is compared."""

    def look(self, headers: Mapping[bytes, bytes], asked_at: float) -> float:
        """Compare the clock with an answer to a request that was sent at a time. Returns the seconds that the machine's
        clock is ahead of the service's if that is news, else 0."""
        ...

    def correct(self, date: float) -> None:
        """Follow the time of an answer that refused the time of a signature."""
        ...


class GivenClock:
    """A clock that the caller gave decides alone; only signatures follow the service's time."""

    is_known = True
    look_at = inf

    def __init__(self, now: Callable[[], float]) -> None:
        self.now = now
        self.skew = 0.0

    def look(self, headers: Mapping[bytes, bytes], asked_at: float) -> float:
        return 0.0

    def correct(self, date: float) -> None:
        self.skew = date - self.now()


class ServiceClock:
    """The service's time. `now` is made of builtins, so that reading it takes no Python call."""

    skew = 0.0

    def __init__(self, wall: Callable[[], float], monotonic: Callable[[], float]) -> None:
        self._wall, self._monotonic = wall, monotonic
        self._ahead = [wall() - monotonic()]
        """One number: what `now` is ahead of the clock of intervals."""
        self.is_known = False
        self.look_at = -inf
        self._told = 0.0
        ahead: Any = partial(getitem, self._ahead, 0)
        self.now: Callable[[], float] = map(add, iter(monotonic, None), iter(ahead, None)).__next__

    def look(self, headers: Mapping[bytes, bytes], asked_at: float) -> float:
        date, wall, elapsed = server_time(headers), self._wall(), self._monotonic()
        now = elapsed + self._ahead[0]
        latest = _LATEST + max(0.0, now - asked_at)
        times = (wall, now) if date is not None else (wall,)
        best = next((time for time in times if date is None or _EARLIEST <= time - date <= latest), None)
        self._set((date or 0.0) + 0.5 if best is None else best, elapsed)
        return self._news(wall - self.now())

    def correct(self, date: float) -> None:
        self._set(date, self._monotonic())

    def _set(self, now: float, elapsed: float) -> None:
        self._ahead[0] = now - elapsed
        self.look_at = now + LOOK_SECONDS
        self.is_known = True

    def _news(self, ahead: float) -> float:
        if abs(ahead - self._told) < _TOLD_SECONDS:
            return 0.0
        self._told = ahead
        return ahead if abs(ahead) >= _TOLD_SECONDS else 0.0
