"""Times as people read them: for the pages and the command line alike, which needs no web framework for it."""

from __future__ import annotations

from datetime import datetime, timezone, tzinfo


def duration(seconds: int) -> str:
    """90: 1 min 30 s."""
    minutes, rest = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    parts = [f"{n} {unit}" for n, unit in ((days, "d"), (hours, "h"), (minutes, "min"), (rest, "s")) if n]
    return " ".join(parts) or "0 s"


def clock(moment: datetime, zone: tzinfo = timezone.utc) -> str:
    return f"{moment.astimezone(zone):%H:%M:%S}"


def day(moment: datetime, zone: tzinfo = timezone.utc) -> str:
    """With the zone, as its clocks name it: CET, CEST."""
    return f"{moment.astimezone(zone):%Y-%m-%d %H:%M:%S %Z}"


def iso(moment: datetime) -> str:
    return moment.isoformat()
