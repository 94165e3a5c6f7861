"""The leases of running tasks, as one worker sees them: whether who claimed a task still lives.

The stored end of a lease is a time of its owner's clock, and says by itself only when to look. A live owner changes it:
each extension moves it on. So a lease is over once its end has come, and has not changed for the length of the lease by
the observer's clock of intervals (`flow.leases`). The length is stored with the claim.
"""

from __future__ import annotations

from singletable.flow import Observations

_MOST = 5000


class LeaseWatch:
    """The ends of leases that a worker has seen, and since when."""

    def __init__(self, lease_seconds: float) -> None:
        """`lease_seconds` is the length of claims by programs that don't store it."""
        self.lease_seconds = lease_seconds
        self._ends: Observations[str] = Observations(lease_seconds)
        self._last: dict[str, str] = {}
        self._alive: set[str] = set()

    def left(self, place: str, end: str, seconds: float | None, now: float) -> float:
        """Seconds until a lease has had the same end for its length; 0 if it has. An end that is new is noted.

        `place` is the partition key: an order has one lease.
        """
        if len(self._ends) > _MOST:
            self._ends.note({}, now)
            self._last.clear()
        if self._last.setdefault(place, end) != end:
            self._last[place] = end
            self._alive.add(place)
        length = self.lease_seconds if seconds is None else seconds
        return max(0.0, length - self._ends.unchanged(f"{place} {end}", end, now))

    def is_alive(self, place: str) -> bool:
        """Whether a lease was seen to change."""
        return place in self._alive
