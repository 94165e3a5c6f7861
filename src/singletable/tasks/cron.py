"""Cron's five fields, at the local time of a zone: `30 2 * * *` is half past two each night.

    minute 0-59   hour 0-23   day 1-31   month 1-12 or jan-dec   weekday 0-7 or sun-sat; 0 and 7 are Sunday

A field is `*`, a number, a range `1-5`, a step `*/15` or `8-18/2`, or several of them, `0,30`. Where day and weekday
are both given, a day that is either of them counts; a field that begins with `*` is not given.

When clocks are set. A time that the clocks skip is taken at the end of the gap: half past two on the night without that
hour is three o'clock. A time that comes twice is taken the first time. Where the hour is `*`, times are minutes of the
real clock instead: nothing is skipped, and in an hour that comes twice each comes twice.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import date, datetime, time as time_of_day, timedelta, timezone, tzinfo
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from msgspec import Struct

from singletable.errors import DeclarationError

_MONTH_NAMES: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTHS: Final = {name: n for n, name in enumerate(_MONTH_NAMES, 1)}
_DAYS: Final = {name: n for n, name in enumerate(("sun", "mon", "tue", "wed", "thu", "fri", "sat"))}
_MOST_DAYS: Final = 41 * 366
"""29 February of one weekday is 28 years apart, and 40 around a year like 2100."""
_DAYS_OF: Final = {2: 29, 4: 30, 6: 30, 9: 30, 11: 30}
_HOURS: Final = 24
_DIGITS: Final = 4
"""The most of a number: Python refuses to read thousands."""
_MINUTE: Final = timedelta(minutes=1)
_FIELDS: Final[tuple[tuple[str, int, int, Mapping[str, int]], ...]] = (
    ("minute", 0, 59, {}),
    ("hour", 0, 23, {}),
    ("day", 1, 31, {}),
    ("month", 1, 12, _MONTHS),
    ("weekday", 0, 7, _DAYS),
)


class Cron(Struct, frozen=True):
    """The times that five fields name in a zone."""

    text: str
    zone: str
    minutes: tuple[int, ...]
    hours: tuple[int, ...]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]
    """0 is Sunday."""
    either: bool
    """Day and weekday are both given: a day that is one of them counts."""

    def after(self, moment: datetime) -> datetime:
        """The first time after a moment, in UTC."""
        zone = ZoneInfo(self.zone)
        moment = moment.astimezone(timezone.utc)
        is_hourly = len(self.hours) == _HOURS
        times = self._by_the_real_clock(moment, zone) if is_hourly else self._by_the_wall_clock(moment, zone)
        return next(time for time in times if time > moment)

    def _by_the_wall_clock(self, moment: datetime, zone: tzinfo) -> Iterator[datetime]:
        """Each local time once, from the day before a moment on: a gap may move yesterday's to today."""
        for day in self._days_from(moment.astimezone(zone).date() - timedelta(days=1)):
            for hour in self.hours:
                for minute in self.minutes:
                    yield instant_of(datetime(day.year, day.month, day.day, hour, minute), zone)

    def _by_the_real_clock(self, moment: datetime, zone: tzinfo) -> Iterator[datetime]:
        """The minutes after a moment whose local times are named."""
        time = moment.replace(second=0, microsecond=0) + _MINUTE
        minutes = frozenset(self.minutes)
        for day in self._days_from(time.astimezone(zone).date()):
            time = max(time, instant_of(datetime.combine(day, time_of_day.min), zone))
            while (local := time.astimezone(zone)).date() <= day:
                if local.minute in minutes and self._is_on(local.date()):
                    yield time
                time += _MINUTE

    def _days_from(self, first: date) -> Iterator[date]:
        days = (first + timedelta(days=number) for number in range(_MOST_DAYS))
        return (day for day in days if self._is_on(day))

    def _is_on(self, day: date) -> bool:
        if day.month not in self.months:
            return False
        is_day, is_weekday = day.day in self.days, day.isoweekday() % 7 in self.weekdays
        return is_day or is_weekday if self.either else is_day and is_weekday


def instant_of(local: datetime, zone: tzinfo) -> datetime:
    """The moment of a local time, in UTC: the first of two, and the end of the gap for one that is skipped."""
    before = local.replace(tzinfo=zone, fold=0).astimezone(timezone.utc)
    if before.astimezone(zone).replace(tzinfo=None) == local:
        return before
    after = local.replace(tzinfo=zone, fold=1).astimezone(timezone.utc)
    low, high = sorted((before, after))  # the gap ends between them
    offset = high.astimezone(zone).utcoffset()
    while high - low > timedelta(seconds=1):
        middle = low + timedelta(seconds=(high - low) // timedelta(seconds=2))
        low, high = (low, middle) if middle.astimezone(zone).utcoffset() == offset else (middle, high)
    return high


def cron_of(text: str, zone: str) -> Cron:
    """The times that a text names. Raises DeclarationError for a text, or a zone, that is not valid."""
    parts = text.lower().split()
    if len(parts) != len(_FIELDS):
        raise DeclarationError(
            f"{text!r} has {len(parts)} fields; cron has five: minute, hour, day, month, weekday",
            hint="As in 30 2 * * *, half past two each night.",
        )
    fields = [_values(text, part, *field) for part, field in zip(parts, _FIELDS, strict=True)]
    minutes, hours, days, months, weekdays = fields
    cron = Cron(
        " ".join(parts),
        _zone(zone),
        tuple(sorted(minutes)),
        tuple(sorted(hours)),
        days,
        months,
        frozenset(day % 7 for day in weekdays),
        not parts[2].startswith("*") and not parts[4].startswith("*"),
    )
    if not cron.either and not any(min(days) <= _DAYS_OF.get(month, 31) for month in months):
        raise DeclarationError(f"{text!r} names a day that none of its months has", hint="Name another day or month.")
    return cron


def _values(text: str, field: str, name: str, low: int, high: int, names: Mapping[str, int]) -> frozenset[int]:
    values: set[int] = set()
    for part in field.split(","):
        span, slash, step = part.partition("/")
        first, dash, last = span.partition("-")
        begin = low if span == "*" else _number(first, names)
        end = high if span == "*" or (slash and not dash) else _number(last, names) if dash else begin
        width = _number(step, {}) if slash else 1
        if begin is None or end is None or not width or not low <= begin <= end <= high:
            raise DeclarationError(
                f"{part!r} is not a valid {name} of {text!r}: it is {low} to {high}, a range, a step or *",
                hint="As in 0,30 or 8-18/2 or */15.",
            )
        values.update(range(begin, end + 1, width))
    return frozenset(values)


def _number(text: str, names: Mapping[str, int]) -> int | None:
    if text in names:
        return names[text]
    return int(text) if text.isascii() and text.isdigit() and len(text) <= _DIGITS else None


def _zone(name: str) -> str:
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise DeclarationError(
            f"{name!r} is not a time zone that this machine knows",
            hint='Name one as "Europe/Berlin" or "UTC"; the package tzdata has them where the system has none.',
        ) from None
    return name
