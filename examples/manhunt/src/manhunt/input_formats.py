"""What people type on a command line or in a form: moments, targets, stages, links."""

from __future__ import annotations

from datetime import datetime, timezone
from zoneinfo import ZoneInfo

from manhunt.errors import Invalid
from manhunt.model import Link, Stage, Target, TargetKind
from manhunt.zones import at_local, check_year

UTC = ZoneInfo("UTC")


def moment(text: str, zone: ZoneInfo = UTC) -> datetime:
    """`2026-01-31T09:30`, by the clocks of the zone; `2026-01-31T09:30Z`, or with another offset. Invalid for a time
    that the zone's clocks skip; one that they show twice is the first of the two."""
    try:
        found = datetime.fromisoformat(text)
    except ValueError as error:
        raise Invalid(f"{text!r} is not a moment: say one as in 2026-01-31T09:30") from error
    check_year(found)
    if found.tzinfo is not None:
        return found.astimezone(timezone.utc)
    made = at_local(found, zone)
    if made.astimezone(zone).replace(tzinfo=None) != found:
        raise Invalid(f"the clocks of {zone.key} skip {text}: say another time")
    return made


def target(text: str) -> Target:
    """`contact:ID` or `rota:ID`."""
    kind, colon, id = text.strip().partition(":")
    if not colon or not id or kind not in {each.value for each in TargetKind}:
        raise Invalid(f"{text!r} is nobody to look for: say contact:ID or rota:ID")
    return Target(TargetKind(kind), id)


def target_text(target: Target) -> str:
    """As `target` reads it."""
    return f"{target.kind.value}:{target.id}"


def stage(text: str) -> Stage:
    """`rota:ID,contact:ID@300`: who is looked for, and how many seconds before the next stage."""
    targets, _, seconds = text.rpartition("@")
    if not targets or not seconds.isdecimal():
        raise Invalid(f"{text!r} is not a stage: say whom and for how many seconds, as in rota:ID,contact:ID@300")
    return Stage([target(part) for part in targets.split(",")], int(seconds))


def link(text: str) -> Link:
    """`TITLE=URL`."""
    title, equals, url = text.partition("=")
    if not equals:
        raise Invalid(f"{text!r} is not a link: say TITLE=URL")
    return Link(title.strip(), url.strip())


def length(seconds: int) -> str:
    """As `seconds_of` reads it: `7d`, `90s`."""
    for unit, of_unit in (("d", 24 * 3600), ("h", 3600), ("m", 60)):
        if seconds and seconds % of_unit == 0:
            return f"{seconds // of_unit}{unit}"
    return f"{seconds}s"


def seconds_of(text: str) -> int:
    """`90`, `15m`, `8h`, `7d`: seconds, minutes, hours or days."""
    units = {"s": 1, "m": 60, "h": 3600, "d": 24 * 3600}
    number, unit = (text[:-1], text[-1:]) if text[-1:] in units else (text, "s")
    if not number.isdecimal() or len(number) > 9:
        raise Invalid(f"{text!r} is not a length of time: say one as in 90, 15m, 8h or 7d")
    return int(number) * units[unit]
