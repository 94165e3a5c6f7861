"""Rotas and quiet hours: turns by the clocks of their zone, overrides, and who is on call, against a plain reading."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, strategies as st

from examples.manhunt.tests.oncall import DAY, HOUR, person, rota_of
from examples.manhunt.tests.support import DOMAIN, OTHER, World, contact_with
from manhunt.errors import Contended, Invalid, Missing, Refused
from manhunt.input_formats import moment as typed_moment
from manhunt.model import Kind, Override, QuietHours, Rota, Status
from manhunt.rotas import KEPT, MAX_OVERRIDES
from manhunt.zones import at_local, on_call, on_call_between, quiet_until, turn_number, turn_start

BERLIN = ZoneInfo("Europe/Berlin")
START = datetime(2026, 1, 5, 8, 0, tzinfo=timezone.utc)
MOMENTS = st.datetimes(datetime(2026, 1, 5, 9), datetime(2027, 1, 1), timezones=st.just(timezone.utc))


def plain_rota(turn_seconds: int, *overrides: Override, members: int = 3, zone: str = "Europe/Berlin") -> Rota:
    return Rota(
        rota_id="r",
        domain_id=DOMAIN,
        name="nights",
        members=[f"c{number}" for number in range(members)],
        starts_at=START,
        turn_seconds=turn_seconds,
        zone=zone,
        overrides=list(overrides),
    )


def test_turns_of_days_keep_the_time_of_the_day_in_summer_and_winter() -> None:
    rota = plain_rota(7 * DAY)
    hours = {turn_start(rota, number).astimezone(BERLIN).hour for number in range(52)}
    assert hours == {9}
    assert {turn_start(plain_rota(7 * DAY, zone="UTC"), number).hour for number in range(52)} == {8}


SPRING, AUTUMN = datetime(2026, 3, 29), datetime(2026, 10, 25)
"""The days on which the clocks of Berlin are set, at 02:00 and at 03:00."""


@pytest.mark.parametrize("hours", [1, 4, 8, 12])
@pytest.mark.parametrize("day", [SPRING, AUTUMN])
def test_turns_of_hours_that_make_up_a_day_keep_the_time_of_the_day(hours: int, day: datetime) -> None:
    """The turn in which the clocks are set is an hour shorter or longer; from one to the next nobody is missing."""
    rota = plain_rota(hours * HOUR)
    start, end = (at_local(day + timedelta(days=days), BERLIN) for days in (-2, 3))
    turns = list(on_call_between(rota, start, end))
    assert (turns[0].starts_at, turns[-1].ends_at) == (start, end)
    begins = [turn.starts_at.astimezone(BERLIN) for turn in turns[1:]]
    assert {(at.hour - 9) % hours for at in begins} == {0}
    assert {at.minute for at in begins} == {0}
    lengths = {turn.ends_at - turn.starts_at for turn in turns[1:-1]}
    usual = timedelta(hours=hours)
    odd = usual + timedelta(hours=-1 if day == SPRING else 1)
    assert lengths == ({usual, odd} - {timedelta(0)})


def test_turns_that_are_no_part_of_a_day_go_by_the_time_that_passes() -> None:
    for seconds in (60, 90 * 60, 5 * HOUR):
        rota = plain_rota(seconds)
        starts = [turn_start(rota, number) for number in range(2_000_000 // seconds, 9_000_000 // seconds)]
        assert {later - start for start, later in pairwise(starts)} == {timedelta(seconds=seconds)}


@given(MOMENTS, st.sampled_from(["Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Tehran", "UTC"]))
def test_what_is_later_on_a_clock_is_never_earlier(moment: datetime, name: str) -> None:
    zone, wall = ZoneInfo(name), moment.replace(tzinfo=None)
    ordered = [at_local(wall + timedelta(minutes=17 * number), zone) for number in range(-200, 200)]
    assert ordered == sorted(ordered)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-03-29T01:59", "2026-03-29T00:59+00:00"),
        ("2026-03-29T03:00", "2026-03-29T01:00+00:00"),
        ("2026-10-25T02:30", "2026-10-25T00:30+00:00"),
        ("2026-10-25T02:30+01:00", "2026-10-25T01:30+00:00"),
        ("2026-07-01T09:00", "2026-07-01T07:00+00:00"),
        ("2026-07-01T09:00Z", "2026-07-01T09:00+00:00"),
    ],
)
def test_what_is_typed_without_a_zone_is_the_rotas(text: str, expected: str) -> None:
    assert typed_moment(text, BERLIN) == datetime.fromisoformat(expected)


def test_a_time_that_the_clocks_skip_is_refused() -> None:
    with pytest.raises(Invalid, match="the clocks of Europe/Berlin skip 2026-03-29T02:30"):
        typed_moment("2026-03-29T02:30", BERLIN)
    assert at_local(datetime(2026, 3, 29, 2, 30), BERLIN) == datetime(2026, 3, 29, 1, tzinfo=timezone.utc)


@pytest.mark.parametrize(
    "text",
    ["0001-01-01T00:00+05:00", "0001-01-01T00:00", "9999-12-31T23:59-10:00", "1969-12-31T23:59", "2200-01-01T00:00"],
)
def test_a_time_at_the_ends_of_the_calendar_is_refused(text: str) -> None:
    """Another zone has no such time."""
    with pytest.raises(Invalid, match="of the years 1970 to 2199"):
        typed_moment(text, BERLIN)


@given(MOMENTS, st.sampled_from([HOUR, 8 * HOUR, DAY, 7 * DAY]))
def test_each_moment_belongs_to_one_turn(moment: datetime, turn_seconds: int) -> None:
    rota = plain_rota(turn_seconds)
    number = turn_number(rota, moment)
    assert turn_start(rota, number) <= moment < turn_start(rota, number + 1)
    found = on_call(rota, moment)
    assert found is not None
    assert found.contact_id == f"c{number % 3}"


@given(
    st.lists(st.tuples(MOMENTS, st.integers(1, 40), st.integers(0, 5)), max_size=6),
    MOMENTS,
    st.integers(1, 200),
)
def test_the_calendar_says_what_each_moment_says(
    given_overrides: list[tuple[datetime, int, int]], since: datetime, hours: int
) -> None:
    overrides = [
        Override(f"o{number}", f"x{who}", at, at + timedelta(hours=length))
        for number, (at, length, who) in enumerate(given_overrides)
    ]
    rota, until = plain_rota(8 * HOUR, *overrides, zone="UTC"), since + timedelta(hours=hours)
    turns = list(on_call_between(rota, since, until))
    assert (turns[0].starts_at, turns[-1].ends_at) == (since, until)
    for turn, following in pairwise(turns):
        assert turn.ends_at == following.starts_at
    for at in [since + number * (until - since) / 20 for number in range(20)]:
        (here,) = [turn for turn in turns if turn.starts_at <= at < turn.ends_at]
        standing_in = [each for each in overrides if each.starts_at <= at < each.ends_at]
        number = (at - START) // timedelta(hours=8)
        expected = standing_in[-1].contact_id if standing_in else f"c{number % 3}"
        assert here.contact_id == expected


@given(MOMENTS, st.sampled_from([("22:00", "07:00"), ("00:00", "06:30"), ("13:00", "14:00"), ("02:10", "02:50")]))
def test_quiet_hours_end_where_their_clock_says(moment: datetime, hours: tuple[str, str]) -> None:
    quiet = QuietHours(*hours, "Europe/Berlin")
    end = quiet_until(quiet, moment)
    assert moment <= end <= moment + timedelta(hours=25)
    assert quiet_until(quiet, end) == end, "the end is not quiet"
    local = f"{moment.astimezone(BERLIN):%H:%M}"
    starts, ends = hours
    is_quiet = starts <= local < ends if starts < ends else local >= starts or local < ends
    assert (end > moment) == is_quiet


def test_nobody_is_on_call_before_the_first_turn() -> None:
    assert on_call(plain_rota(DAY), START - timedelta(seconds=1)) is None
    assert (
        next(on_call_between(plain_rota(DAY), START - timedelta(days=1), START + timedelta(days=1))).starts_at == START
    )


def test_what_a_rota_can_not_be(world: World) -> None:
    ada, eve = person(world, "Ada"), world.app.create_contact(OTHER, "Eve")
    now = world.app.now()
    rota = rota_of(world, ada)
    with pytest.raises(Missing):
        world.app.create_rota(DOMAIN, "x", [eve.contact_id], starts_at=now, turn_seconds=DAY)
    with pytest.raises(Missing):
        world.app.change_rota(DOMAIN, rota.rota_id, members=[eve.contact_id])
    with pytest.raises(Missing):
        world.app.add_override(DOMAIN, rota.rota_id, eve.contact_id, now, now + timedelta(hours=1))
    with pytest.raises(Invalid):
        world.app.add_override(DOMAIN, rota.rota_id, ada.contact_id, now, now)
    with pytest.raises(Invalid):
        world.app.calendar(DOMAIN, rota.rota_id, now, now + timedelta(days=400))
    assert world.app.rota_by_id(DOMAIN, rota.rota_id) == rota


def test_overrides_are_bounded_and_those_long_over_go(world: World) -> None:
    ada = person(world, "Ada")
    rota, now = rota_of(world, ada), world.app.now()
    for _ in range(MAX_OVERRIDES):
        world.app.add_override(DOMAIN, rota.rota_id, ada.contact_id, now, now + timedelta(hours=1))
    with pytest.raises(Refused, match="100 overrides"):
        world.app.add_override(DOMAIN, rota.rota_id, ada.contact_id, now, now + timedelta(hours=1))
    world.clock.forward(KEPT.total_seconds() + HOUR)
    made = world.app.add_override(DOMAIN, rota.rota_id, ada.contact_id, now, now + timedelta(days=90))
    assert world.app.rota_by_id(DOMAIN, rota.rota_id).overrides == [made]


def test_what_is_not_urgent_waits_for_the_end_of_quiet_hours(world: World) -> None:
    contact = contact_with(world.app, (Kind.EMAIL, 0), (Kind.SMS, 3600))
    now = world.app.now()
    start, end = now - timedelta(minutes=1), now + timedelta(hours=3)
    hours = QuietHours(f"{start:%H:%M}", f"{end:%H:%M}")
    world.app.set_quiet_hours(DOMAIN, contact.contact_id, hours)
    quiet = world.app.open_search(DOMAIN, contact.contact_id, {"summary": "x"}, urgent=False)
    loud = world.app.open_search(DOMAIN, contact.contact_id, {"summary": "x"})
    world.drain()
    assert [message.search_id for message in world.outbox.sent] == [loud.search_id]
    world.later(3 * HOUR)
    attempts = world.attempts(quiet)
    assert [f"{attempt.attempted_at:%H}" for attempt in attempts] == [f"{end:%H}"]
    assert attempts[0].attempted_at >= end.replace(second=0, microsecond=0)
    world.later(21 * HOUR + 60)
    assert len(world.attempts(quiet)) == 1, "a worker that was late does not call in quiet hours either"
    world.later(3 * HOUR)
    assert len(world.attempts(quiet)) == 2
    world.later(HOUR)
    assert world.now(quiet).status is Status.FAILED
    with pytest.raises(Invalid):
        world.app.set_quiet_hours(DOMAIN, contact.contact_id, QuietHours("25:00", "07:00"))
    assert world.app.set_quiet_hours(DOMAIN, contact.contact_id, None).quiet is None


def test_two_edits_at_once_both_count(world: World) -> None:
    """Each edit holds the revision it read: the one that comes second begins again."""
    ada, grace = person(world, "Ada"), person(world, "Grace")
    rota, now = rota_of(world, ada), world.app.now()
    port, send = world.db.port, world.db.port.send
    meddled: list[bool] = []

    async def send_after_another(operation: object) -> object:
        if type(operation).__name__ == "TransactWriteItems" and not meddled:
            meddled.append(True)
            world.app.add_override(DOMAIN, rota.rota_id, grace.contact_id, now, now + timedelta(hours=1))
        return await send(operation)  # type: ignore[arg-type]

    port.send = send_after_another  # type: ignore[method-assign, assignment]
    try:
        world.app.add_override(DOMAIN, rota.rota_id, ada.contact_id, now, now + timedelta(hours=2))
    except Contended:
        pytest.fail("the second edit begins again, and is done")
    found = world.app.rota_by_id(DOMAIN, rota.rota_id)
    assert [override.contact_id for override in found.overrides] == [grace.contact_id, ada.contact_id]
