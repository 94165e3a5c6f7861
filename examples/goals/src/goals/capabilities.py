"""Who may do what, as data: the one place that the API, the command line, the pages and the tests ask.

A user's role in a team gives capabilities in the team and on the team's goals; a role in a goal, on that goal. Whoever
manages an objective manages its key results. Reading is free, and who signs in may subscribe.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import Enum

from goals.model import Role, TeamRole


class Capability(Enum):
    CREATE_GOALS = "create goals in team"
    MANAGE_TEAM = "manage team"
    """Its name and people."""
    MANAGE_GOAL = "manage goal"
    """Its data, people, key results and sub-goals; its deletion; what others said of it."""
    CHECK_IN = "check in on goal"
    """Say how far it is."""
    COMMENT = "comment on goal"

    @property
    def word(self) -> str:
        """As JSON and the command line have it: create-goals."""
        return self.name.lower().replace("_", "-")


Capabilities = frozenset[Capability]

NOTHING: Capabilities = frozenset()
ON_GOALS: Capabilities = frozenset({Capability.MANAGE_GOAL, Capability.CHECK_IN, Capability.COMMENT})

OF_TEAM_ROLE: Mapping[TeamRole, Capabilities] = {
    TeamRole.MANAGER: frozenset(Capability),
    TeamRole.MEMBER: frozenset({Capability.CREATE_GOALS, Capability.CHECK_IN, Capability.COMMENT}),
    TeamRole.OBSERVER: NOTHING,
}
OF_ROLE: Mapping[Role, Capabilities] = {
    Role.LEAD: ON_GOALS,
    Role.CONTRIBUTOR: frozenset({Capability.CHECK_IN, Capability.COMMENT}),
    Role.TEAM: NOTHING,
}


def of_roles(role: Role | None, team_roles: Iterable[TeamRole]) -> Capabilities:
    """On a goal, by a user's own role in it and those in its teams."""
    own = OF_ROLE[role] if role is not None else NOTHING
    return own.union(*(OF_TEAM_ROLE[each] & ON_GOALS for each in team_roles))


def holders(capability: Capability) -> str:
    """Who has a capability, in words: "a lead of it or a manager of one of its teams"."""
    of_goal = [f"a {role.word} of it" for role, can in OF_ROLE.items() if capability in can]
    team = "one of its teams" if of_goal else "the team"
    of_teams = [f"a {role.word} of {team}" for role, can in OF_TEAM_ROLE.items() if capability in can]
    return " or ".join([*of_goal, *of_teams])
