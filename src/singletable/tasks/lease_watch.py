"""The leases of running tasks, as one worker sees them: whether who claimed a task still lives.

The stored end of a lease is a time of its owner's clock, and says by itself only when to look. A live owner changes it:
each extension moves it on. So a lease is over once its end has come, and has not changed for the length of the lease by
the observer's clock of intervals (as in `flow.leases`). The length is stored with the claim.

A place that was not shown for twice its lease is forgotten. What is still shown never is, however much else there is.
"""

from __future__ import annotations

from msgspec import Struct

from singletable.events import LeaseTaken
from singletable.flow import Port
from singletable.tasks.items import TaskItem

_MOST = 5000
_FORGOTTEN_AFTER = 2.0


class _Seen(Struct, frozen=True):
    end: str
    since: float
    shown_at: float
    length: float
    is_alive: bool


def tell_takeover(port: Port, worker: str, item: TaskItem, seconds: float | None, holder: str | None) -> None:
    """Emit that a task was claimed whose lease, of so many seconds, another worker had."""
    taken = LeaseTaken(
        worker=worker,
        lease=item.function,
        fence=item.fence,
        is_takeover=True,
        key_hash=port.events.hash_of(item.id),
        seconds=seconds or 0.0,
        holder=holder or "",
    )
    port.events.emit(taken)


class LeaseWatch:
    """The ends of leases that a worker has seen, and since when."""

    def __init__(self, lease_seconds: float) -> None:
        """`lease_seconds` is the length of claims by programs that don't store it."""
        self.lease_seconds = lease_seconds
        self._seen: dict[str, _Seen] = {}
        self._most = _MOST

    def __len__(self) -> int:
        return len(self._seen)

    def left(self, place: str, end: str, seconds: float | None, now: float) -> float:
        """Seconds until a lease has had the same end for its length; 0 if it has. An end that is new is noted.

        `place` is the partition key: an order has one lease.
        """
        length = self.lease_seconds if seconds is None else seconds
        known = self._seen.get(place)
        is_changed = known is not None and known.end != end
        since = now if known is None or is_changed else known.since
        is_alive = is_changed or (known is not None and known.is_alive)
        self._seen[place] = _Seen(end, since, now, length, is_alive)
        if len(self._seen) > self._most:
            self._forget(now)
        return max(0.0, length - (now - since))

    def is_alive(self, place: str) -> bool:
        """Whether a lease was seen to change."""
        known = self._seen.get(place)
        return known is not None and known.is_alive

    def _forget(self, now: float) -> None:
        """Forget what is not shown any more. The next time is at twice as many, so that a look stays cheap."""
        seen = self._seen.copy().items()
        self._seen = {place: s for place, s in seen if s.shown_at >= now - _FORGOTTEN_AFTER * s.length}
        self._most = max(_MOST, 2 * len(self._seen))
