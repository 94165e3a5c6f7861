"""What the command line prints."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

from examples_shared.cost import Cost
from examples_shared.terminal import print_table
from examples_shared.tour import Step
from organisations.groups import Group, group_at, parse
from organisations.invitations import OpenInvitation
from organisations.model import GroupMember, Job, TrailEntry
from organisations.permissions import Decision, Reach
from organisations.views import Person, Profile, Roster
from singletable import Page

OPERATOR = "the operator"


def roster_json(roster: Roster, cost: Cost) -> dict[str, Any]:
    """The interface of `show --json`."""
    return {
        "groups": {name: _shown(people) for name, people in roster.groups.items()},
        "services": {
            id: {"groups": {name: _shown(people) for name, people in service.groups.items()}}
            for id, service in sorted(roster.services.items())
        },
        "cost": vars(cost),
    }


def profile_json(profile: Profile, cost: Cost) -> dict[str, Any]:
    """The interface of `user --json`."""
    return {
        "organisations": sorted(m.organisation_id for m in profile.organisations),
        "invitations": sorted(m.organisation_id for m in profile.invitations),
        "cost": vars(cost),
    }


def decision_json(decision: Decision, cost: Cost) -> dict[str, Any]:
    """The interface of `may --explain --json`."""
    grants = [
        {"service": g.group.service_id, "group": g.group.name, "given_by": g.by, "since": g.since.isoformat()}
        for g in decision.grants
    ]
    return {"may": decision.may, "grants": grants, "cost": vars(cost)}


def holders_json(page: Page[GroupMember], cost: Cost) -> dict[str, Any]:
    """The interface of `who-may --json`."""
    people = [
        {"email": m.email, "group": _name(m), "given_by": m.given_by, "since": m.given_at.isoformat()} for m in page
    ]
    return {"people": people, "more": page.position is not None, "cost": vars(cost)}


def reach_json(found: Sequence[Reach], cost: Cost) -> dict[str, Any]:
    """The interface of `reach --json`."""
    organisations = [
        {"organisation": one.organisation_id, "groups": list(one.groups), "services": one.services} for one in found
    ]
    return {"organisations": organisations, "cost": vars(cost)}


def invitations_json(page: Page[OpenInvitation], cost: Cost) -> dict[str, Any]:
    """The interface of `invitations --json`."""
    found = [
        {
            "email": one.side.email,
            "invited_at": one.side.invited_at.isoformat(),
            "invited_by": one.side.invited_by,
            "mailed_at": one.side.mailed_at.isoformat() if one.side.mailed_at else None,
            "groups": [group.text for group in one.groups],
        }
        for one in page
    ]
    return {"invitations": found, "more": page.position is not None, "cost": vars(cost)}


def trail_json(page: Page[TrailEntry], cost: Cost) -> dict[str, Any]:
    """The interface of `trail --json`."""
    names = ("what", "by", "whom", "service", "name")
    entries = [
        {
            "at": entry.at.isoformat(),
            **{name: getattr(entry, name) for name in names},
            "given": sorted(entry.given),
            "taken": sorted(entry.taken),
        }
        for entry in page
    ]
    return {"entries": entries, "more": page.position is not None, "cost": vars(cost)}


def job_json(job: Job, cost: Cost) -> dict[str, Any]:
    """The interface of `job`."""
    names = ("job_id", "done", "refused", "total", "is_done")
    return {"kind": job.kind.value, **{name: getattr(job, name) for name in names}, "cost": vars(cost)}


def print_decision(decision: Decision) -> None:
    lines = [(g.group.service_id or "", g.group.name, g.by or OPERATOR, _day(g.since)) for g in decision.grants]
    print_table("yes" if decision.may else "no", ("service", "group", "given by", "since"), lines)


def print_holders(page: Page[GroupMember]) -> None:
    lines = [(_name(m), m.email, m.given_by or OPERATOR, _day(m.given_at)) for m in page]
    print_table("", ("group", "who", "given by", "since"), lines)


def print_reach(user: str, found: Sequence[Reach]) -> None:
    lines: list[tuple[str, str, str]] = []
    for one in found:
        lines.append((one.organisation_id, "", ", ".join(one.groups)))
        lines += [(one.organisation_id, id, ", ".join(groups)) for id, groups in sorted(one.services.items())]
    print_table(user, ("organisation", "service", "groups"), lines)


def print_invitations(page: Page[OpenInvitation]) -> None:
    lines = [
        (
            one.side.email,
            _day(one.side.invited_at),
            one.side.invited_by or OPERATOR,
            _day(one.side.mailed_at) if one.side.mailed_at else "not yet",
            ", ".join(map(said, one.groups)),
        )
        for one in page
    ]
    print_table("", ("who", "invited", "by", "mailed", "groups"), lines)


def print_trail(page: Page[TrailEntry]) -> None:
    lines = [
        (f"{e.at:%Y-%m-%d %H:%M:%S}", e.by or OPERATOR, e.what, e.whom or e.service or "", _details(e)) for e in page
    ]
    print_table("", ("when", "who", "did", "whom", ""), lines)


def said(group: Group) -> str:
    """A group in words."""
    return group.name if group.service_id is None else f"{group.name} of {group.service_id}"


def print_roster(roster: Roster) -> None:
    lines = [("", name, ", ".join(_shown(people))) for name, people in roster.groups.items()]
    for id, service in sorted(roster.services.items()):
        lines += [(id, name, ", ".join(_shown(people))) for name, people in service.groups.items()] or [(id, "", "")]
    print_table(roster.organisation.organisation_name, ("service", "group", "people"), lines)


def print_profile(profile: Profile) -> None:
    lines = [(m.organisation_id, m.organisation_name, f"since {m.accepted_at:%Y-%m-%d}") for m in profile.organisations]
    lines += [(m.organisation_id, m.organisation_name, "invited") for m in profile.invitations]
    shown = profile.user.shown_as if profile.user is not None else None
    print_table(shown or profile.email, ("organisation", "name", ""), lines)


def print_steps(steps: Iterator[Step]) -> None:
    columns = ("action", "requests", "round trips", "read units", "write units", "ms", "note")
    print_table("", columns, [_step(step) for step in steps])


def _details(entry: TrailEntry) -> str:
    given = [f"+ {said(parse(text))}" for text in sorted(entry.given)]
    return ", ".join([*given, *(f"- {said(parse(text))}" for text in sorted(entry.taken))]) or entry.name or ""


def _name(member: GroupMember) -> str:
    return group_at(member.scope, member.group).name


def _day(time: datetime) -> str:
    return f"{time:%Y-%m-%d}"


def _shown(people: Sequence[Person]) -> list[str]:
    return [person.shown for person in people]


def _step(step: Step) -> tuple[str, ...]:
    numbers = (step.requests, step.round_trips, step.read_units, step.write_units, round(step.seconds * 1000, 1))
    return step.name, *(f"{number:g}" for number in numbers), step.note
