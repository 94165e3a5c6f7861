"""Times of the day in a time zone: the turns of rotas and the quiet hours of contacts. Nothing here reads a clock."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta, timezone
from itertools import pairwise
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from examples_shared.errors import in_field
from manhunt.errors import Invalid
from manhunt.model import Override, QuietHours, Rota

DAY_SECONDS = 24 * 3600
HOUR_SECONDS = 3600
TICK = timedelta(microseconds=1)
YEARS = range(1970, 2200)
"""Of times that somebody types: at the ends of the calendar, another zone has none."""


def zone_of(name: str) -> ZoneInfo:
    """Invalid for a name that this machine knows no zone of."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise Invalid(f"there is no time zone {name!r}: say one as in UTC or Europe/Berlin", "zone") from error


def check_year(moment: date, field: str | None = None) -> None:
    if moment.year not in YEARS:
        raise Invalid(f"a time is of the years {YEARS.start} to {YEARS.stop - 1}", field)


def time_of_day(text: str) -> time:
    """`22:00`; Invalid for anything else."""
    try:
        if len(text) != len("22:00"):
            raise ValueError
        return time.fromisoformat(text)
    except ValueError as error:
        raise Invalid(f"{text!r} is not a time of the day: say one as in 22:00") from error


def at_local(moment: datetime, zone: ZoneInfo) -> datetime:
    """A time of the zone's clocks as a moment. One that they show twice is the first of the two; for one that they skip
    it is the moment at which they do. So what is later there is never earlier here."""
    local = moment.replace(tzinfo=zone)
    found = local.astimezone(timezone.utc)
    late, early = found, local.replace(fold=1).astimezone(timezone.utc)
    if local.fold or early >= late:  # not skipped: the clocks showed it
        return found
    offset = late.astimezone(zone).utcoffset()
    while late - early > TICK:
        middle = early + (late - early) // 2
        late, early = (middle, early) if middle.astimezone(zone).utcoffset() == offset else (late, middle)
    return late


# --- quiet hours ------------------------------------------------------------------------------------------------------
def check_quiet(quiet: QuietHours) -> None:
    zone_of(quiet.zone)
    with in_field("starts"):
        starts = time_of_day(quiet.starts)
    with in_field("ends"):
        if time_of_day(quiet.ends) == starts:
            raise Invalid("quiet hours begin and end at different times of the day")


def quiet_until(quiet: QuietHours | None, moment: datetime) -> datetime:
    """The moment itself, or, in quiet hours, their end."""
    if quiet is None:
        return moment
    zone = zone_of(quiet.zone)
    local = moment.astimezone(zone)
    starts, ends, now = time_of_day(quiet.starts), time_of_day(quiet.ends), local.time()
    is_over_night = ends < starts
    is_quiet = now >= starts or now < ends if is_over_night else starts <= now < ends
    if not is_quiet:
        return moment
    day = local.date() + timedelta(days=1 if is_over_night and now >= starts else 0)
    end = datetime.combine(day, ends)
    first = at_local(end, zone)
    return first if first > moment else at_local(end.replace(fold=1), zone)


# --- rotas ------------------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class OnCall:
    """A contact from a moment until before another, by their turn or by an override."""

    contact_id: str
    starts_at: datetime
    ends_at: datetime
    override_id: str | None = None


def on_call(rota: Rota, moment: datetime) -> OnCall | None:
    """Who is on call, and until when at least; None before the first turn."""
    return next(on_call_between(rota, moment, moment + timedelta(microseconds=1)), None)


def on_call_between(rota: Rota, since: datetime, until: datetime) -> Iterator[OnCall]:
    """Who is on call in a part of the time, in order; each part is cut at the two moments."""
    marks = {since, until, *_turns_between(rota, since, until)}
    for override in rota.overrides:
        marks |= {at for at in (override.starts_at, override.ends_at) if since < at < until}
    ordered = sorted(marks)
    last: OnCall | None = None
    for start, end in pairwise(ordered):
        found = _at(rota, start)
        if found is None:
            continue
        contact_id, override_id = found
        if last and (last.contact_id, last.override_id, last.ends_at) == (contact_id, override_id, start):
            last = OnCall(contact_id, last.starts_at, end, override_id)
            continue
        if last is not None:
            yield last
        last = OnCall(contact_id, start, end, override_id)
    if last is not None:
        yield last


def _at(rota: Rota, moment: datetime) -> tuple[str, str | None] | None:
    """The contact, and the override by which it is them."""
    for override in reversed(rota.overrides):
        if override.starts_at <= moment < override.ends_at:
            return override.contact_id, override.override_id
    number = turn_number(rota, moment)
    return None if number < 0 or not rota.members else (rota.members[number % len(rota.members)], None)


def turn_number(rota: Rota, moment: datetime) -> int:
    """Which turn a moment belongs to, from 0; below 0 before the first."""
    number = int((moment - rota.starts_at).total_seconds() // rota.turn_seconds)
    # The zone's clocks may have been set meanwhile: the turn began up to some hours earlier or later.
    while turn_start(rota, number) > moment:
        number -= 1
    while turn_start(rota, number + 1) <= moment:
        number += 1
    return number


def turn_start(rota: Rota, number: int) -> datetime:
    """When a turn begins. One of whole days, or of hours that make up a day, keeps the time of the day of the rota's
    zone: that in which the clocks are set is longer or shorter."""
    length = timedelta(seconds=rota.turn_seconds)
    is_of_day = rota.turn_seconds % HOUR_SECONDS == 0 and DAY_SECONDS % rota.turn_seconds == 0
    if rota.turn_seconds % DAY_SECONDS and not is_of_day:
        return rota.starts_at + number * length
    zone = zone_of(rota.zone)
    local = rota.starts_at.astimezone(zone).replace(tzinfo=None)
    return at_local(local + number * length, zone)


def _turns_between(rota: Rota, since: datetime, until: datetime) -> Iterator[datetime]:
    number = turn_number(rota, since) + 1
    while (start := turn_start(rota, number)) < until:
        yield start
        number += 1


def is_over(override: Override, moment: datetime) -> bool:
    return override.ends_at <= moment
