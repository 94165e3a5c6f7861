"""The clock of a port: the service's time, learned from the Date of its answers.

A machine's wall clock may be wrong, and somebody may set it at any moment. So the time of a port is its clock of
intervals, which nobody sets, plus a difference that answers correct. Processes with different clocks judge alike what
has expired, whose lease is over and what is due. It costs no request.

* Before the first answer there is only the machine's wall clock, as it was when the port was made. `is_known` is False
  until then, and no write takes an item for expired that is there (`records.write.Moment`).
* A Date has whole seconds, and an answer takes time. The time that the port had is kept where it still fits; a wall
  clock that fits too, and is next to it, is taken with its fractions. One that doesn't is not looked at.
* An answer without a Date changes nothing that is known. Neither does a Date which is far from the time of a signature
  that its service has just checked and accepted.
* An answer is compared every ten seconds: two clocks of intervals differ by less than a millisecond in that time. After
  one that took long, whose Date fits many clocks, the next is compared.
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
_SIGNED_SECONDS = 300.0
"""A service that checks signatures accepts those of five minutes."""
_TOLD_SECONDS = 5.0
_LONG_SECONDS = 1.0


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

    def __init__(
        self, wall: Callable[[], float], monotonic: Callable[[], float], *, checks_signatures: bool = False
    ) -> None:
        """`checks_signatures`: the service refuses signatures whose times are over five minutes off."""
        self._wall, self._monotonic, self._checks_signatures = wall, monotonic, checks_signatures
        self._ahead = [wall() - monotonic()]
        """One number: what `now` is ahead of the clock of intervals."""
        self.is_known = False
        self.look_at = -inf
        self._told = 0.0
        ahead: Any = partial(getitem, self._ahead, 0)
        self.now: Callable[[], float] = map(add, iter(monotonic, None), iter(ahead, None)).__next__

    def look(self, headers: Mapping[bytes, bytes], asked_at: float) -> float:
        wall, elapsed = self._wall(), self._monotonic()
        now = elapsed + self._ahead[0]
        took = max(0.0, now - asked_at)
        date = self._usable_date(headers, asked_at, took)
        if date is None:
            best = now if self.is_known else wall
        else:
            best = self._best(date, wall, now, _LATEST + took)
        self._set(best, elapsed)
        if took > _LONG_SECONDS:
            self.look_at = -inf
        return self._news(wall - best)

    def _usable_date(self, headers: Mapping[bytes, bytes], asked_at: float, took: float) -> float | None:
        """The answer's Date; None for one that can't be the service's, which has accepted a signature of `asked_at`."""
        date = server_time(headers)
        if date is None or not self._checks_signatures:
            return date
        latest = _SIGNED_SECONDS + _LATEST + took
        return date if -_SIGNED_SECONDS + _EARLIEST <= date - asked_at <= latest else None

    def _best(self, date: float, wall: float, now: float, latest: float) -> float:
        if self.is_known and _EARLIEST <= now - date <= latest:
            is_near = _EARLIEST <= wall - date <= _LATEST and abs(wall - now) <= _LATEST
            return wall if is_near else now
        return next((time for time in (wall, now) if _EARLIEST <= time - date <= latest), date + 0.5)

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
