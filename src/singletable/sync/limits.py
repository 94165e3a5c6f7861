"""What one caller may ask for, and how often: sizes of a request, a rate for each user, listeners."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Limits:
    """The bounds of the endpoints. A real client meets none of them in ordinary work.

    What a client would send again for ever is not refused whole: of a push with more mutations than `mutations` the
    first ones are taken, and the client sends the others again; a mutation over `depth` or `args_bytes` is rejected by
    itself.
    """

    body_bytes: int = 8 << 20
    """Of one request; 413 above."""
    body_seconds: float = 30.0
    """For the whole body to arrive; 408 after."""
    mutations: int = 200
    """Taken of one push."""
    depth: int = 64
    """Levels of lists and objects in a mutation's arguments."""
    args_bytes: int = 1 << 20
    """Of one mutation's arguments, as JSON."""
    requests_per_second: float = 50.0
    """Of one user, pushes and pulls together, in the long run; 429 above."""
    burst: int = 200
    """Of one user, at once."""
    users: int = 10_000
    """Whose rates are kept in memory; the longest silent are forgotten first."""
    heartbeat_seconds: float = 15.0
    """Between two signs of life on a silent stream of pokes; then it is asked again whether its user may read."""
    send_seconds: float = 10.0
    """For a listener to take what it is sent; a slower one is dropped, and comes back by itself."""
    listeners: int = 1_000
    """Open event streams of this process; 503 above."""
    listeners_per_user: int = 20
    """429 above."""
    versions: int = 500
    """Of one pull, whose mutation lists are read; further back, the client records answer."""


class Rates:
    """A token bucket for each user, in the memory of this process."""

    def __init__(self, per_second: float, burst: int, users: int) -> None:
        self._per_second = per_second
        self._burst = burst
        self._users = users
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def wait_seconds(self, user: str, now: float) -> float:
        """0 when a request may pass, which is then counted; else how long until one may. `now` never goes back."""
        left, at = self._buckets.pop(user, (float(self._burst), now))
        left = min(self._burst, left + (now - at) * self._per_second)
        passes = left >= 1.0
        self._buckets[user] = (left - 1.0 if passes else left, now)
        if len(self._buckets) > self._users:
            self._buckets.popitem(last=False)
        return 0.0 if passes else (1.0 - left) / self._per_second
