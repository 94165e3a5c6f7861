"""Cron's five fields in a zone, against a walk over every minute; the nights on which clocks are set, by example."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings, strategies as st

from singletable.errors import DeclarationError
from singletable.tasks.cron import cron_of, instant_of
from singletable.tasks.recurrence import recurrence_of

ZONES = ("Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu", "Africa/Cairo", "UTC")
BERLIN = "Europe/Berlin"
NIGHTS = ("2027-03-27T21:00", "2027-10-30T21:00", "2027-04-29T20:00", "2027-06-30T20:00", "2027-11-06T20:00")
NOT_VALID = (
    *("* * * *", "60 * * * *", "* 24 * * *", "* * 0 * *", "* * * 13 *", "* * * * 8", "5-1 * * * *", "*/0 * * * *"),
    *("0 0 30 2 *", "0 0 31 4,6,9,11 *", "", "1- * * * *", "-1 * * * *", "+1 * * * *", "٣ * * * *", "1//2 * * * *"),
    *("@daily", "a * * * *", "9" * 5000 + " * * * *"),
)


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=timezone.utc)


@pytest.mark.parametrize(
    ("text", "after", "times"),
    [
        ("30 2 * * *", "2027-03-26T12:00", ["2027-03-27T01:30", "2027-03-28T01:00", "2027-03-29T00:30"]),  # the gap
        ("30 2 * * *", "2027-10-30T12:00", ["2027-10-31T00:30", "2027-11-01T01:30"]),  # the double hour
        ("*/30 * * * *", "2027-03-28T00:10", ["2027-03-28T00:30", "2027-03-28T01:00", "2027-03-28T01:30"]),
        ("30 * * * *", "2027-10-30T23:40", ["2027-10-31T00:30", "2027-10-31T01:30", "2027-10-31T02:30"]),
        ("0,30 2 * * *", "2027-03-27T12:00", ["2027-03-28T01:00", "2027-03-29T00:00"]),  # both in the gap: one run
        ("0 0 29 feb *", "2097-01-01T00:00", ["2104-02-28T23:00"]),
        ("0 12 1 * fri", "2027-01-02T00:00", ["2027-01-08T11:00", "2027-01-15T11:00"]),  # the day or the weekday
        ("0 12 * * 7", "2027-01-01T00:00", ["2027-01-03T11:00"]),
    ],
)
def test_times_in_berlin(text: str, after: str, times: list[str]) -> None:
    cron, moment = cron_of(text, BERLIN), utc(after)
    for time in times:
        moment = cron.after(moment)
        assert moment == utc(time)


@pytest.mark.parametrize("hour", ["0", "*"])
def test_a_time_that_comes_once_in_decades_is_found(hour: str) -> None:
    """29 February as a Sunday: 28 years apart, and 40 around the year 2100."""
    cron = cron_of(f"0 {hour} 29 2 */7", "UTC")
    assert cron.after(utc("2032-02-29T23:00")) == utc("2060-02-29T00:00")
    assert cron.after(utc("2088-02-29T23:00")) == utc("2128-02-29T00:00")


def fields() -> st.SearchStrategy[str]:
    def field(low: int, high: int) -> st.SearchStrategy[str]:
        number = st.integers(low, high)
        span = st.tuples(number, number).map(sorted).map(lambda pair: f"{pair[0]}-{pair[1]}")
        part = number.map(str) | span | st.integers(2, 20).map(lambda step: f"*/{step}") | st.just("*")
        return st.lists(part, min_size=1, max_size=3).map(",".join)

    whole = [field(0, 59), field(0, 23) | st.just("*"), field(1, 28), field(1, 12), field(0, 7)]
    return st.tuples(*whole).map(" ".join)


@settings(max_examples=40, deadline=None)
@given(
    fields(),
    st.sampled_from(ZONES),
    st.sampled_from(NIGHTS),
    st.integers(0, 1500),
)
def test_each_named_minute_is_taken_once(text: str, zone: str, after: str, minutes: int) -> None:
    """The oracle walks every minute of two days by the real clock."""
    cron, begin = cron_of(text, zone), utc(after) + timedelta(minutes=minutes)
    there = ZoneInfo(zone)
    walked = [begin + timedelta(minutes=n) for n in range(1, 2880)]
    locals_ = [(time, time.astimezone(there)) for time in walked]

    def is_named(local: datetime) -> bool:
        day, weekday = local.day in cron.days, local.isoweekday() % 7 in cron.weekdays
        on_day = (day or weekday) if cron.either else (day and weekday)
        return on_day and local.month in cron.months and local.hour in cron.hours and local.minute in cron.minutes

    named = [time for time, local in locals_ if is_named(local) and (len(cron.hours) == 24 or not local.fold)]
    skipped = set[datetime]()
    if len(cron.hours) < 24:  # what no clock shows comes at the end of its gap
        for (_, before), (time, local) in pairwise(locals_):
            gap = (local.replace(tzinfo=None) - before.replace(tzinfo=None)) // timedelta(minutes=1)
            passed = [before.replace(tzinfo=None, fold=0) + timedelta(minutes=n) for n in range(1, gap)]
            skipped |= {time for each in passed if is_named(each)}
    expected = sorted({*named, *skipped})
    moment, times = begin, list[datetime]()
    while (moment := cron.after(moment)) <= walked[-1]:
        times.append(moment)
    assert times == expected


def test_a_day_that_clocks_skip_whole_comes_at_its_end() -> None:
    assert instant_of(datetime(2011, 12, 30, 12), ZoneInfo("Pacific/Apia")) == utc("2011-12-30T10:00")


@pytest.mark.parametrize("text", NOT_VALID)
def test_what_is_not_valid_is_refused(text: str) -> None:
    with pytest.raises(DeclarationError):
        cron_of(text, "UTC")


@pytest.mark.parametrize("zone", ["Nowhere", "", "../etc/passwd", "Europe"])
def test_a_zone_that_is_not_known_is_refused(zone: str) -> None:
    with pytest.raises(DeclarationError, match="zone"):
        cron_of("* * * * *", zone)


HOUR = timedelta(hours=1)
NINE = utc("2027-01-01T09:00")


@pytest.mark.parametrize(
    ("missed", "late", "following"),
    [("once", 0.0, 1), ("once", 5.5, 6), ("once", 5.0, 6), ("each", 5.5, 1), ("skip", 5.5, 6)],
)
def test_the_run_after_one_that_is_late(missed: str, late: float, following: int) -> None:
    recurs = recurrence_of("it", HOUR, None, "UTC", missed)  # type: ignore[arg-type]
    assert recurs.next(NINE, NINE + HOUR * late) == NINE + HOUR * following


def test_a_clock_that_is_behind_repeats_no_run() -> None:
    recurs = recurrence_of("it", HOUR, None, "UTC", "once")
    assert recurs.next(NINE, NINE - HOUR * 30) == NINE + HOUR
