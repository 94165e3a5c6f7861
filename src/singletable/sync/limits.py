"""Limits of one caller: sizes of a request, a rate for each user, numbers of listeners."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Limits:
    """The limits of the endpoints. A real client doesn't reach them in ordinary work.

    A push that a client would repeat for ever is not refused as a whole. Of more than `mutations` mutations the first
    ones are accepted, and the client sends the others again. A mutation over `depth`, `args_bytes` or `values` is
    rejected by itself.
    """

    body_bytes: int = 8 << 20
    """Largest body of a push; 413 above."""
    pull_bytes: int = 64 << 10
    """Largest body of a pull; 413 above."""
    user_bytes: int = 24 << 20
    """All bodies of one user that are being received or handled; 429 above."""
    bytes_at_once: int = 256 << 20
    """The same for all users together; 503 above."""
    body_seconds: float = 30.0
    """Time for the whole body to arrive; 408 after that."""
    mutations: int = 200
    """Accepted from one push."""
    depth: int = 64
    """Nesting of lists and objects in a mutation's arguments."""
    args_bytes: int = 1 << 20
    """Size of one mutation's arguments as JSON."""
    values: int = 200_000
    """Numbers, texts, lists and objects in one mutation. Of a push with more, the first mutations are accepted."""
    requests_per_second: float = 50.0
    """Sustained rate of one user, pushes and pulls together; 429 above."""
    burst: int = 200
    """Requests that one user may send at once."""
    users: int = 10_000
    """Users whose rates are kept in memory; the longest inactive are dropped first."""
    heartbeat_seconds: float = 15.0
    """Between two heartbeats on a silent stream of pokes; the user's permission is checked again at each."""
    send_seconds: float = 10.0
    """Time for a listener to receive an event; a slower one is dropped, and reconnects by itself."""
    listeners: int = 1_000
    """Open streams of pokes in this process; 503 above."""
    listeners_per_user: int = 20
    """The same for one user; 429 above."""
    presence_bytes: int = 2 << 10
    """Largest body of a post of presence; 413 above."""
    presence_per_second: float = 20.0
    """Sustained rate of one user's posts of presence, which do not count as requests; 429 above."""
    presence_burst: int = 60
    """Posts of presence that one user may send at once."""
    present: int = 100
    """Entries of presence of one document in this process; 503 above. A user has at most `listeners_per_user` in all
    documents, and the process `listeners`."""
    present_seconds: float = 30.0
    """An entry of presence expires after that, unless it is posted again."""
    presence_interval_seconds: float = 0.05
    """Shortest time between two events of presence on one stream."""
    versions: int = 500
    """Versions of one pull whose mutation lists are read; for an older cookie the client records are read instead."""


class TooMany(Exception):
    """A limit of listeners or of entries of presence is reached: the user's (`of_user`), or that of all."""

    def __init__(self, *, of_user: bool) -> None:
        super().__init__("too many at once")
        self.of_user = of_user


class Rates:
    """A token bucket for each user, in the memory of this process."""

    def __init__(self, per_second: float, burst: int, users: int) -> None:
        self._per_second = per_second
        self._burst = burst
        self._users = users
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def wait_seconds(self, user: str, now: float) -> float:
        """Return 0 and count the request if it is allowed, else the seconds until one is. `now` never decreases."""
        left, at = self._buckets.pop(user, (float(self._burst), now))
        left = min(self._burst, left + (now - at) * self._per_second)
        passes = left >= 1.0
        self._buckets[user] = (left - 1.0 if passes else left, now)
        if len(self._buckets) > self._users:
            self._buckets.popitem(last=False)
        return 0.0 if passes else (1.0 - left) / self._per_second


class InFlight:
    """Bytes of request bodies in this process's memory, by user and in total."""

    def __init__(self, per_user: int, in_all: int) -> None:
        self._per_user, self._in_all = per_user, in_all
        self._held: dict[str, int] = {}
        self._sum = 0

    def accepts(self, user: str, size: int) -> bool:
        """Whether `size` more bytes are within the user's limit."""
        return self._held.get(user, 0) + size <= self._per_user

    def is_full(self, size: int) -> bool:
        """Whether `size` more bytes are over the limit of all users."""
        return self._sum + size > self._in_all

    def add(self, user: str, size: int) -> None:
        """Count received bytes; a negative number for released ones."""
        left = self._held.get(user, 0) + size
        self._sum += size
        if left:
            self._held[user] = left
        else:
            self._held.pop(user, None)
