"""What one caller may ask for, and how often: sizes of a request, a rate for each user, listeners."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Limits:
    """The bounds of the endpoints. A real client meets none of them in ordinary work.

    What a client would send again for ever is not refused whole: of a push with more mutations than `mutations` the
    first ones are taken, and the client sends the others again; a mutation over `depth`,
    `args_bytes` or `values` is rejected by itself.
    """

    body_bytes: int = 8 << 20
    """Of one push; 413 above."""
    pull_bytes: int = 64 << 10
    """Of one pull; 413 above."""
    user_bytes: int = 24 << 20
    """Of all pushes and pulls of one user that are on their way or at work; 429 above."""
    bytes_at_once: int = 256 << 20
    """Of those of all users; 503 above."""
    body_seconds: float = 30.0
    """For the whole body to arrive; 408 after."""
    mutations: int = 200
    """Taken of one push."""
    depth: int = 64
    """Levels of lists and objects in a mutation's arguments."""
    args_bytes: int = 1 << 20
    """Of one mutation's arguments, as JSON."""
    values: int = 200_000
    """Numbers, texts, lists and objects of one mutation. Of a push with more the first mutations are taken."""
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


class InFlight:
    """Bytes of bodies that this process holds, by user and in all."""

    def __init__(self, per_user: int, in_all: int) -> None:
        self._per_user, self._in_all = per_user, in_all
        self._held: dict[str, int] = {}
        self._sum = 0

    def takes(self, user: str, size: int) -> bool:
        """Whether a user may hold so many bytes more."""
        return self._held.get(user, 0) + size <= self._per_user

    def is_full(self, size: int) -> bool:
        """Whether all users together hold too much for so many bytes more."""
        return self._sum + size > self._in_all

    def add(self, user: str, size: int) -> None:
        """Count bytes that have come; a negative number for those that are let go."""
        left = self._held.get(user, 0) + size
        self._sum += size
        if left:
            self._held[user] = left
        else:
            self._held.pop(user, None)
