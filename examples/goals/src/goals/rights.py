"""What a user may do, from consistent reads of the nodes' edge sets: a goal's holds the user's role in it and its
teams, the user's holds the roles in teams. So most answers are one request of two items.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from goals.capabilities import NOTHING, OF_TEAM_ROLE, Capabilities, Capability, of_roles
from goals.context import Context
from goals.errors import Missing, NotAllowed
from goals.model import (
    KEY_TEAMS,
    PARENTS,
    TEAMS,
    USER_TEAMS,
    Goal,
    GoalKind,
    Role,
    Team,
    TeamMembership,
    TeamRole,
    User,
    membership_of,
)
from singletable import Database, KeyOf, key_of
from singletable.graph import Row, members_of, neighbours_of


@dataclass(frozen=True)
class Rights:
    """What a user may do on a goal or team."""

    node: Goal | Team
    user_id: str
    capabilities: Capabilities
    user: User | None = None
    """Who asks, as far as there is such a user."""

    def __contains__(self, capability: Capability) -> bool:
        return capability in self.capabilities

    @property
    def words(self) -> list[str]:
        """The capabilities as JSON and templates have them, sorted."""
        return sorted(each.word for each in self.capabilities)

    def may(self, word: str) -> bool:
        return word in self.words

    def check(self, capability: Capability) -> None:
        if capability not in self.capabilities:
            raise NotAllowed.without(self.user_id, capability, self.node.id)


class RightsQueries(Context):
    def rights_on_goal(self, goal_id: str, user_id: str) -> Rights:
        """1 request: goal and user, 1 R each. For a key result that the user does not manage by a role of its own, 1
        more: its objective. 1 more for each set that does not hold all. Missing: the goal."""
        goal, user = self._two(Goal.by_id(goal_id), user_id)
        if user is None:
            return Rights(goal, user_id, NOTHING)
        found = on_goals(self.db, user, [goal])
        objectives = neighbours_of(goal, PARENTS) if goal.kind is GoalKind.KEY_RESULT else []
        if Capability.MANAGE_GOAL not in found and objectives:
            found |= on_goals(self.db, user, self.db.get_many(objectives, consistent=True))
        return Rights(goal, user_id, found, user)

    def rights_on_team(self, team_id: str, user_id: str) -> Rights:
        """1 request: team and user; 1 more for a user of over 100 teams. Missing: the team."""
        team, user = self._two(Team.by_id(team_id), user_id)
        return replace(rights_on(self.db, team, user), user_id=user_id)

    def check_goal(self, goal_id: str, user_id: str, capability: Capability) -> Goal:
        """NotAllowed, Missing; else the goal. Requests as rights_on_goal."""
        found = self.rights_on_goal(goal_id, user_id)
        found.check(capability)
        assert isinstance(found.node, Goal)
        return found.node

    def check_goal_or_self(self, goal_id: str, user_id: str, who: KeyOf[Any]) -> None:
        """Everybody may leave a goal, and take back what they said of it; whoever manages it, for others too."""
        if who != User.by_id(user_id):
            self.check_goal(goal_id, user_id, Capability.MANAGE_GOAL)

    def check_team_or_self(self, team_id: str, user_id: str, who_id: str) -> None:
        """The same of a team."""
        if who_id != user_id:
            self.check_team(team_id, user_id, Capability.MANAGE_TEAM)

    def check_team(self, team_id: str, user_id: str, capability: Capability) -> None:
        """NotAllowed, Missing. Requests as rights_on_team."""
        self.rights_on_team(team_id, user_id).check(capability)

    def check_known(self, user_id: str) -> User:
        """Who is a user here makes teams, and adds users. NotAllowed for a token's user without a node. 1 request."""
        found = self.db.get(User.by_id(user_id))
        if found is None:
            raise NotAllowed(f"{user_id!r} is not a user here yet: create that user first")
        return found

    def check_self(self, user_id: str, who_id: str) -> None:
        """Users are renamed by themselves."""
        if who_id != user_id:
            raise NotAllowed(f"{user_id!r} may not change user {who_id!r}: everybody changes themselves alone")

    def _two(self, key: KeyOf[Any], user_id: str) -> tuple[Any, User | None]:
        user_key = User.by_id(user_id)
        there: dict[Any, Any] = {key_of(node): node for node in self.db.get_many([key, user_key], consistent=True)}
        if key not in there:
            raise Missing(key.kinds[0].__name__.lower(), key.partition.partition("-")[2])
        return there[key], there.get(user_key)


def rights_on(db: Database, node: Goal | Team, user: User | None, objectives: Iterable[Goal] = ()) -> Rights:
    """The same of nodes that were read, to choose what a page shows; actions check anew. No request where the edge sets
    hold all."""
    if user is None:
        return Rights(node, "", NOTHING)
    if isinstance(node, Team):
        roles = team_roles(db, user, [key_of(node)])
        return Rights(node, user.id, NOTHING.union(*(OF_TEAM_ROLE[role] for role in roles)), user)
    parents = objectives if node.kind is GoalKind.KEY_RESULT else ()
    return Rights(node, user.id, on_goals(db, user, [node, *parents]), user)


def on_goals(db: Database, user: User, goals: Iterable[Goal]) -> Capabilities:
    """What a user may do on any of some goals by own roles and those in their teams. No request where the edge sets
    hold all."""
    found = NOTHING
    for goal in goals:
        found |= of_roles(role_in(db, goal, user), team_roles(db, user, _teams_of(db, goal, user)))
    return found


def _teams_of(db: Database, goal: Goal, user: User) -> list[KeyOf[Team]]:
    """The teams of a goal; of one whose set does not hold all, those of them that the user is in."""
    if not Row(goal).more(membership_of(goal)):
        return neighbours_of(goal, KEY_TEAMS if goal.kind is GoalKind.KEY_RESULT else TEAMS)
    own = neighbours_of(user, USER_TEAMS)
    edges = db.get_many([membership_of(goal).between(goal, team) for team in own], consistent=True)
    return [edge.target for edge in edges]


def role_in(db: Database, goal: Goal, user: User) -> Role | None:
    membership = membership_of(goal)
    key: KeyOf[Any] = key_of(user)
    for member in members_of(goal, [membership]):
        if member.text == key.partition:
            role: Role = member.values["role"]
            return role
    if not Row(goal).more(membership):
        return None
    edge = db.get(membership.between(goal, user).consistent())
    return edge.role if edge is not None else None


def team_roles(db: Database, user: User, teams: Sequence[KeyOf[Team]]) -> list[TeamRole]:
    """A user's roles in some teams."""
    wanted = {key.partition for key in teams}
    roles: list[TeamRole] = [m.values["role"] for m in members_of(user, [TeamMembership]) if m.text in wanted]
    if len(roles) < len(wanted) and Row(user).more(TeamMembership):
        edges = db.get_many([TeamMembership.between(user, key) for key in teams], consistent=True)
        return [edge.role for edge in edges]
    return roles
