"""A clock's time as a datetime."""

from __future__ import annotations

from datetime import datetime, timezone


def instant(seconds: float) -> datetime:
    """Return a time in UTC from seconds since 1970, the form of `port.now()`. It is rounded to the nearest microsecond,
    so that `instant(at.timestamp())` is `at`: adding the seconds to the year 1970 may be off by one."""
    return datetime.fromtimestamp(seconds, timezone.utc)
