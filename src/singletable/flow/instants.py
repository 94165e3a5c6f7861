"""A clock's time as a datetime."""

from __future__ import annotations

from datetime import datetime, timezone


def instant(seconds: float) -> datetime:
    """A time in seconds since 1970, as `port.now()` gives it, in UTC. To the nearest microsecond, so that
    `instant(at.timestamp())` is `at`: a sum with the year 1970 as its beginning may be one beside it."""
    return datetime.fromtimestamp(seconds, timezone.utc)
