"""Every query and action of the application, with what it costs.

Round trips are those of a call whose page has at most 100 goals. Units: R is half a read unit for each 4 KB (reads are
eventually consistent), W is a write unit for each KB; an action's transaction takes twice that, and each index the
edge lies in once more. A node is as large as its edge set: 50 to 60 bytes a neighbour.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any

from examples.goals.errors import AlreadyThere, Invalid, Missing, NotALead
from examples.goals.model import (
    EVERYBODY,
    Goal,
    GoalKind,
    GoalMembership,
    KeyResult,
    Organisation,
    PartOf,
    Role,
    SubGoal,
    Subscriber,
    Team,
    TeamMembership,
    TeamOrganisation,
    TeamRole,
    User,
    id_of,
)
from examples.goals.queries import HolderKey, PersonKey, Queries, membership_of
from singletable import AlreadyExists, Database, NotFound, TransactionCancelled, Update, attr, key_of
from singletable.graph import Edge, Graph, Node, link

AnyEdge = Edge[Any, Any]


def utc_now() -> datetime:
    return datetime.now(timezone.utc)


def random_id() -> str:
    return str(uuid.uuid4())


@dataclass(frozen=True)
class Service(Queries):
    """The queries, and the actions. The clock and the source of goal ids are arguments."""

    now: Callable[[], datetime] = utc_now
    new_id: Callable[[], str] = random_id

    # --- goals ----------------------------------------------------------------------------------------------------
    def create(self, node: Node) -> None:
        """A new user, team, organisation or goal. 1 request, 1 W for each KB. AlreadyThere."""
        try:
            self.db.create(node)
        except AlreadyExists as error:
            raise AlreadyThere(f"there is a {type(node).__name__.lower()} {node.id!r} already") from error

    def create_team(self, team_id: str, name: str, organisation_id: str = EVERYBODY) -> Team:
        """A new team of an organisation, which is made where it is not there. 2 requests, 4 for the first team.
        AlreadyThere."""
        team, organisation = Team(id=team_id, name=name), Organisation.by_id(organisation_id)
        self.create(team)
        edge = TeamOrganisation(source=team, target=organisation, name=name)
        try:
            Graph(self.db).link(edge)
        except NotFound:
            self.db.upsert(Organisation(id=organisation_id, name=organisation_id.capitalize()))
            Graph(self.db).link(edge)
        return team

    def create_goal(
        self, title: str, *, lead: PersonKey, holder: HolderKey, goal_id: str | None = None, due: str = ""
    ) -> Goal:
        """A new objective, then its lead and its team in one transaction: 2 requests, 1 W and some 20 W. Missing, and
        nothing stays."""
        today = self.now().date()
        made = Goal(id=goal_id or self.new_id(), title=title, created=today, due=due)
        parts = ((lead, Role.LEAD), (holder, Role.TEAM))
        return self._create_with(
            made, [GoalMembership(source=made, target=who, role=role, since=today) for who, role in parts]
        )

    def add_part(self, goal_id: str, kind: GoalKind, title: str, *, lead: PersonKey, position: str) -> Goal:
        """A new key result (or sub-goal: `kind` OBJECTIVE) of an objective, with its lead. 2 requests. Missing,
        and nothing stays."""
        today = self.now().date()
        made, objective = Goal(id=self.new_id(), title=title, kind=kind, created=today), Goal.by_id(goal_id)
        joins = KeyResult if kind is GoalKind.KEY_RESULT else SubGoal
        edges: list[AnyEdge] = [
            joins(source=objective, target=made, position=position),
            PartOf(source=made, target=objective, since=today),
            membership_of(made)(source=made, target=lead, role=Role.LEAD, since=today),
        ]
        return self._create_with(made, edges)

    def change_goal(self, goal_id: str, *updates: Update) -> Goal:
        """Change a goal's own data; its edge set stays as it is. 1 request. Missing."""
        try:
            return self.db.update(Goal.by_id(goal_id), *updates)
        except NotFound as error:
            raise Missing("goal", goal_id) from error

    def delete_goal(self, goal_id: str) -> bool:
        """A goal with all its edges, and nothing of what they lead to; False where there is none. It hides at once and
        goes step by step; broken off, a second call finishes it."""
        return Graph(self.db).delete_node(Goal.by_id(goal_id))

    # --- who has a part -------------------------------------------------------------------------------------------
    def join(self, goal_id: str, who: PersonKey, role: Role) -> None:
        """Give somebody a part in a goal. 2 requests: the goal, which tells objective from key result; link: edge, goal
        and check in one transaction. AlreadyThere, Missing."""
        today = self.now().date()
        goal = _goal(self.db, goal_id)
        _check_fits(who, role)
        try:
            Graph(self.db).link(membership_of(goal)(source=goal, target=who, role=role, since=today))
        except AlreadyExists as error:
            raise AlreadyThere(f"{id_of(who)!r} has a part in goal {goal_id!r} already") from error
        except NotFound as error:
            raise _missing(error, goal_id) from error

    def change_role(self, goal_id: str, who: PersonKey, role: Role) -> None:
        """Another role. 3 requests: goal, edge, transaction: the edge's place in the index and the
        member in the goal's edge set change in one transaction. Missing."""
        membership = membership_of(_goal(self.db, goal_id))
        _check_fits(who, role)
        edge: Any = membership.between(Goal.by_id(goal_id), who)
        try:
            Graph(self.db).relink(edge, attr(membership.role).set(role))
        except NotFound as error:
            raise Missing(f"part in goal {goal_id!r} of", id_of(who)) from error

    def leave(self, goal_id: str, who: PersonKey) -> bool:
        """Take a part away; False where there is none. 3 requests: goal, edge, transaction. Missing: the goal."""
        membership = membership_of(_goal(self.db, goal_id))
        return Graph(self.db).unlink(membership.between(Goal.by_id(goal_id), who))

    def check_leads(self, goal_id: str, user_id: str) -> None:
        """NotALead for anybody else; Missing. 2 requests, consistent: goal and edge, 1 R each."""
        membership = membership_of(_goal(self.db, goal_id))
        found = self.db.get(membership.between(Goal.by_id(goal_id), User.by_id(user_id)).consistent())
        if found is None or found.role is not Role.LEAD:
            raise NotALead(goal_id, user_id)

    # --- subscribers and team members -----------------------------------------------------------------------------
    def subscribe(self, goal_id: str, user_id: str) -> bool:
        """False where the user had subscribed. 1 request: edge and checks of both nodes; the goal is not written, so
        thousands may subscribe at a time. Missing."""
        try:
            Graph(self.db).link(Subscriber(source=Goal.by_id(goal_id), target=User.by_id(user_id), since=self.now()))
        except AlreadyExists:
            return False
        except NotFound as error:
            raise _missing(error, goal_id) from error
        return True

    def unsubscribe(self, goal_id: str, user_id: str) -> bool:
        """False where the user had not subscribed. 2 requests."""
        return Graph(self.db).unlink(Subscriber.between(Goal.by_id(goal_id), User.by_id(user_id)))

    def join_team(self, user_id: str, team_id: str, role: TeamRole) -> None:
        """A part in a team, or another one. 1 request, for another part 3. Missing."""
        today = self.now().date()
        edge = TeamMembership(source=User.by_id(user_id), target=Team.by_id(team_id), role=role, since=today)
        try:
            Graph(self.db).link(edge)
        except AlreadyExists:
            key: Any = key_of(edge)
            Graph(self.db).relink(key, attr(TeamMembership.role).set(role))
        except NotFound as error:
            raise _missing(error, user_id) from error

    def leave_team(self, user_id: str, team_id: str) -> bool:
        """False where the user had no part in it. 2 requests."""
        return Graph(self.db).unlink(TeamMembership.between(User.by_id(user_id), Team.by_id(team_id)))

    def _create_with(self, made: Goal, edges: Sequence[AnyEdge]) -> Goal:
        """A goal, then all its edges in one transaction; without those the goal is taken away again."""
        self.create(made)
        try:
            with self.db.transaction() as tx:
                for edge in edges:
                    tx.add(link(edge))
        except TransactionCancelled as cancelled:
            Graph(self.db).delete_node(made)
            error = cancelled.failures[0].error
            if isinstance(error, NotFound):
                raise _missing(error, made.id) from cancelled
            raise
        return made


def _goal(db: Database, goal_id: str) -> Goal:
    goal = db.get(Goal.by_id(goal_id).consistent())
    if goal is None:
        raise Missing("goal", goal_id)
    return goal


def _check_fits(who: PersonKey, role: Role) -> None:
    if (who.kinds[0] is User) is (role is Role.TEAM):
        raise Invalid("a user leads or contributes; a team or organisation has the role TEAM")


def _missing(error: NotFound, otherwise: str) -> Missing:
    """Which node of a link was not there, as the library's error says it."""
    key: Any = error.key
    return Missing("node", otherwise) if key is None else Missing(key.kinds[0].__name__.lower(), id_of(key))
