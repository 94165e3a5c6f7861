"""Who has a part in what: users, teams, roles in teams and goals, subscribers. Costs are as `service` says."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from examples_shared.textfile import check_identifier, check_name, shown
from goals.changes import change_node
from goals.context import Context
from goals.errors import AlreadyThere, Invalid, Missing
from goals.linking import AnyEdge, check_fits, create_linked, missing_node, read_edge, set_role
from goals.model import (
    EVERYBODY,
    Goal,
    GoalMembership,
    KeyResultMembership,
    Organisation,
    Role,
    Subscriber,
    Team,
    TeamMembership,
    TeamOrganisation,
    TeamRole,
    User,
    membership_of,
)
from goals.queries import PersonKey
from singletable import AlreadyExists, KeyOf, NotFound, attr
from singletable.graph import Graph, Node


class PeopleActions(Context):
    # --- users and teams ------------------------------------------------------------------------------------------
    def create(self, node: Node) -> None:
        """A new user, team, organisation or goal. 1 request, 1 W for each KB. AlreadyThere."""
        try:
            self.db.create(node)
        except AlreadyExists as error:
            raise AlreadyThere(f"there is a {type(node).__name__.lower()} {node.id!r} already") from error

    def create_user(self, user_id: str, name: str) -> User:
        """1 request. AlreadyThere, Invalid."""
        made = User(id=_checked_id(user_id), name=_checked_name(name))
        self.create(made)
        return made

    def rename_user(self, user_id: str, name: str, was: str | None = None) -> User:
        """1 request; 2 where it is not `was` any more: Changed. Missing, Invalid."""
        return change_node(self.db, User.by_id(user_id), {"name": _checked_name(name)}, _base(name=was))

    def create_team(
        self, team_id: str, name: str, organisation_id: str = EVERYBODY, *, manager_id: str | None = None
    ) -> Team:
        """A new team of an organisation, with its manager, in one transaction: 1 request, 5 for the first team of an
        organisation, which is then made. AlreadyThere, Invalid; Missing: the manager."""
        team = Team(id=_checked_id(team_id), name=_checked_name(name))
        organisation = Organisation.by_id(organisation_id)
        edges: list[AnyEdge] = [TeamOrganisation(source=team, target=organisation, name=name)]
        if manager_id is not None:
            today, who = self.now().date(), User.by_id(manager_id)
            edges.append(TeamMembership(source=who, target=team, role=TeamRole.MANAGER, since=today))
        try:
            return create_linked(self.db, team, edges)
        except Missing:
            if self.db.get(organisation) is not None:
                raise
            self.db.upsert(Organisation(id=organisation_id, name=organisation_id.capitalize()))
            return create_linked(self.db, team, edges)

    def rename_team(self, team_id: str, name: str, was: str | None = None) -> Team:
        """Its place in the organisation's list is that of its new name. 3 requests; Changed, Missing, Invalid."""
        team = change_node(self.db, Team.by_id(team_id), {"name": _checked_name(name)}, _base(name=was))
        for edge in self.db.all(TeamOrganisation.of(team)):
            if edge.name != name:
                Graph(self.db).relink(edge, attr(TeamOrganisation.name).set(name))
        return team

    def delete_user(self, user_id: str) -> bool:
        """A user with all their parts; what they said stays, by their id. False where there is none. It goes step by
        step; broken off, a second call finishes it."""
        return Graph(self.db).delete_node(User.by_id(user_id))

    def delete_team(self, team_id: str) -> bool:
        """A team with its parts in goals and everybody's in it; its goals stay. As delete_user."""
        return Graph(self.db).delete_node(Team.by_id(team_id))

    # --- roles in teams -------------------------------------------------------------------------------------------
    def set_team_role(
        self, team_id: str, user_id: str, role: TeamRole, was: TeamRole | None = None, *, is_new: bool = False
    ) -> None:
        """A part in a team, or another one. 2 requests: the edge, the transaction. Changed where the role is not `was`,
        AlreadyThere where a new one is another; Missing."""
        today = self.now().date()
        edge = TeamMembership(source=User.by_id(user_id), target=Team.by_id(team_id), role=role, since=today)
        set_role(self.db, edge, was, read_edge(self.db, edge), is_new=is_new)

    def leave_team(self, team_id: str, user_id: str) -> bool:
        """False where the user had no part in it. 2 requests: the edge, the transaction."""
        return Graph(self.db).unlink(TeamMembership.between(User.by_id(user_id), Team.by_id(team_id)))

    # --- roles in goals -------------------------------------------------------------------------------------------
    def set_role(
        self, goal_id: str, who: PersonKey, role: Role, was: Role | None = None, *, is_new: bool = False
    ) -> None:
        """Give somebody a part in a goal, or another one. 2 requests: goal and edges in one, the transaction, in which
        the edge, its place in the indexes and the member in the goal's edge set change. Changed where the role is not
        `was`, AlreadyThere where a new one is another; Missing, Invalid."""
        check_fits(who, role)
        keys: list[KeyOf[Any]] = [Goal.by_id(goal_id), *_memberships(goal_id, who)]
        there = self.db.get_many(keys, consistent=True)
        goal = next((node for node in there if isinstance(node, Goal)), None)
        if goal is None:
            raise Missing("goal", goal_id)
        edge = membership_of(goal)(source=goal, target=who, role=role, since=self.now().date())
        stored = next((found for found in there if isinstance(found, type(edge))), None)
        set_role(self.db, edge, was, stored, is_new=is_new)

    def leave(self, goal_id: str, who: PersonKey) -> bool:
        """Take a part away; False where there is none. 2 requests: the edge, whichever of the two types it is, and the
        transaction."""
        for edge in self.db.get_many(_memberships(goal_id, who), consistent=True):
            return Graph(self.db).unlink(edge)
        return False

    # --- subscribers ----------------------------------------------------------------------------------------------
    def subscribe(self, goal_id: str, user_id: str) -> bool:
        """False where the user had subscribed. 1 request: edge and checks of both nodes; the goal is not written, so
        thousands may subscribe at a time. Missing."""
        try:
            Graph(self.db).link(Subscriber(source=Goal.by_id(goal_id), target=User.by_id(user_id), since=self.now()))
        except AlreadyExists:
            return False
        except NotFound as error:
            raise missing_node(error, goal_id) from error
        return True

    def unsubscribe(self, goal_id: str, user_id: str) -> bool:
        """False where the user had not subscribed. 2 requests."""
        return Graph(self.db).unlink(Subscriber.between(Goal.by_id(goal_id), User.by_id(user_id)))


def _checked_id(id: str) -> str:
    return _checked(id, check_identifier, "id")


def _checked_name(name: str) -> str:
    return _checked(name, check_name, "name")


def _checked(text: str, check: Callable[[str], None], what: str) -> str:
    try:
        check(text)
    except ValueError as error:
        raise Invalid(f"{shown(text)} is not a valid {what}: {error}", what) from error
    return text


def _memberships(goal_id: str, who: PersonKey) -> list[KeyOf[Any]]:
    """The keys that somebody's part in a goal may have: an objective's, a key result's."""
    return [kind.between(Goal.by_id(goal_id), who) for kind in (GoalMembership, KeyResultMembership)]


def _base(**read: Any) -> dict[str, Any]:
    return {name: value for name, value in read.items() if value is not None}
