"""What the command line prints."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from examples.organisations.views import Person, Profile, Roster
from examples.organisations.walkthrough import Step
from examples.shared.cost import Cost
from examples.shared.terminal import print_table


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


def _shown(people: Sequence[Person]) -> list[str]:
    return [person.shown for person in people]


def _step(step: Step) -> tuple[str, ...]:
    numbers = (step.requests, step.round_trips, step.read_units, step.write_units, round(step.seconds * 1000, 1))
    return step.name, *(f"{number:g}" for number in numbers), step.note
