"""The Date of an answer, in seconds since 1970.

The form that HTTP/1.1 prescribes is read here: `email.utils` loads 20 modules, before a program has its first item.
"""

from __future__ import annotations

import re
from datetime import datetime, timezone

_MONTHS = {name: number for number, name in enumerate(b"Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split(), 1)}
_USUAL = re.compile(rb"[A-Z][a-z]{2}, ([0-9]{2}) ([A-Z][a-z]{2}) ([0-9]{4}) ([0-9]{2}):([0-9]{2}):([0-9]{2}) GMT")


def seconds_of(date: bytes) -> float | None:
    """Return the time of a Date in any form that HTTP or mail knows; None for a text that is not a date.

    A form without a zone, as C's `asctime` has, is in UTC (RFC 9110, section 5.6.7).
    """
    usual = _USUAL.fullmatch(date)
    if usual is None or usual[2] not in _MONTHS:
        return _of_another_form(date)
    day, year, hour, minute, second = map(int, usual.group(1, 3, 4, 5, 6))
    try:
        return datetime(year, _MONTHS[usual[2]], day, hour, minute, second, tzinfo=timezone.utc).timestamp()
    except ValueError:  # the 31st of February
        return None


def _of_another_form(date: bytes) -> float | None:
    from email.utils import parsedate_to_datetime  # noqa: PLC0415 no service that is known sends another form

    try:
        read = parsedate_to_datetime(date.decode("latin-1"))
    except (ValueError, OverflowError):
        return None
    return (read if read.tzinfo is not None else read.replace(tzinfo=timezone.utc)).timestamp()
