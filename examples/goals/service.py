"""Every query and action of the application, with what it costs.

Round trips are those of a call whose page has at most 100 goals. Units: R is half a read unit for each 4 KB (reads are
eventually consistent), W is a write unit for each KB; an action's transaction takes twice that, and each index the
edge lies in once more. A node is as large as its edge set: 50 to 60 bytes a neighbour.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timezone

from examples.goals import actions, queries
from examples.goals.model import EVERYBODY, Goal, GoalKind, Role, Team, TeamMembership, TeamRole, User
from examples.goals.queries import HolderKey, Order, PersonKey
from examples.goals.views import GoalList, GoalPage, GoalView, HolderPage, Parts, Profile, TeamPeople, Teams
from singletable import Database, Update
from singletable.graph import Graph, Node


def utc_now() -> datetime:
    return datetime.now(timezone.utc)


def random_id() -> str:
    return str(uuid.uuid4())


@dataclass(frozen=True)
class Service:
    """The queries and actions over a database. The clock and the source of goal ids are arguments."""

    db: Database
    now: Callable[[], datetime] = utc_now
    new_id: Callable[[], str] = random_id

    # --- pages ----------------------------------------------------------------------------------------------------
    def goals_of(
        self, holder: HolderKey, *, limit: int, after: str | None = None, order: Order = Order.RANK
    ) -> GoalList:
        """A page of a team's or organisation's objectives with leads, contributors and teams. 3 round trips: the
        index; the goals; their people and teams, each once. R: the edges, each goal, each neighbour. Missing (2 round
        trips) where there is neither the team nor a goal of it; InvalidCursor."""
        return queries.goals_of(self.db, holder, limit, after, order)

    def holder_page(
        self, holder: HolderKey, *, limit: int, after: str | None = None, order: Order = Order.RANK
    ) -> HolderPage:
        """The same with key results and sub-goals, and their own leads and teams. 4 round trips: theirs come last."""
        return queries.holder_page(self.db, holder, limit, after, order)

    def goals_of_user(self, user_id: str, role: Role, *, limit: int, after: str | None = None) -> GoalList:
        """The objectives in which a user has exactly that role. 3 round trips, as goals_of."""
        return queries.goals_of_user(self.db, User.by_id(user_id), role, limit, after)

    def profile(self, user_id: str, *, role: Role | None = None, limit: int, after: str | None = None) -> Profile:
        """A user, their teams, and their objectives, led ones first. 3 round trips: the index; goals and user; people,
        teams, and the user's own teams."""
        return queries.profile(self.db, user_id, role, limit, after)

    def goal_page(self, goal_id: str, *, limit: int, after: str | None = None) -> GoalPage:
        """A goal with all that is around it, and a page of its subscribers. 3 round trips: the subscribers' edges; the
        goal and the subscribers; its people, teams, key results, sub-goals, links."""
        return queries.goal_page(self.db, goal_id, limit, after)

    def goal(self, goal_id: str) -> GoalView:
        """A goal with its people. 2 round trips; where its edge set is not complete, 4."""
        return queries.goal(self.db, goal_id)[0]

    def goal_with_links(self, goal_id: str) -> tuple[GoalView, list[str]]:
        """The same, and the ids of the goals that it sees also or replaces, for nothing: they are in its edge set."""
        return queries.goal(self.db, goal_id)

    def parts_of(self, goal_id: str, *, limit: int, after: str | None = None) -> Parts:
        """A page of all who have a part in a goal, however many. 3 round trips: the goal, edges, nodes."""
        return queries.parts_of(self.db, goal_id, limit, after)

    def people_of(self, team_id: str, *, limit: int, after: str | None = None) -> TeamPeople:
        """A page of a team's people, managers first. 2 round trips: the index; team and people."""
        return queries.people_of(self.db, team_id, limit, after)

    def teams_of(self, organisation_id: str = EVERYBODY, *, limit: int, after: str | None = None) -> Teams:
        """A page of an organisation's teams, by name. 2 round trips: the index; the teams."""
        return queries.teams_of(self.db, organisation_id, limit, after)

    # --- goals ----------------------------------------------------------------------------------------------------
    def create(self, node: Node) -> None:
        """A new user, team, organisation or goal. 1 request, 1 W for each KB. AlreadyThere."""
        actions.create(self.db, node)

    def create_team(self, team_id: str, name: str, organisation_id: str = EVERYBODY) -> Team:
        """A new team of an organisation, which is made where it is not there. 2 requests, 4 for the first team.
        AlreadyThere."""
        return actions.create_team(self.db, team_id, name, organisation_id)

    def create_goal(
        self, title: str, *, lead: PersonKey, holder: HolderKey, goal_id: str | None = None, due: str = ""
    ) -> Goal:
        """A new objective, then its lead and its team in one transaction: 2 requests, 1 W and some 20 W. Missing, and
        nothing stays."""
        return actions.create_goal(self.db, self.now(), goal_id or self.new_id(), title, lead, holder, due)

    def add_part(self, goal_id: str, kind: GoalKind, title: str, *, lead: PersonKey, position: str) -> Goal:
        """A new key result (or sub-goal: `kind` OBJECTIVE) of an objective, with its lead. 2 requests. Missing,
        and nothing stays."""
        return actions.add_part(self.db, self.now(), goal_id, self.new_id(), kind, title, lead, position)

    def change_goal(self, goal_id: str, *updates: Update) -> Goal:
        """Change a goal's own data; its edge set stays as it is. 1 request. Missing."""
        return actions.change_goal(self.db, goal_id, updates)

    def delete_goal(self, goal_id: str) -> bool:
        """A goal with all its edges, and nothing of what they lead to; False where there is none. It hides at once and
        goes step by step; broken off, a second call finishes it."""
        return Graph(self.db).delete_node(Goal.by_id(goal_id))

    # --- who has a part -------------------------------------------------------------------------------------------
    def join(self, goal_id: str, who: PersonKey, role: Role) -> None:
        """Give somebody a part in a goal. 2 requests: the goal, which tells objective from key result; link: edge, goal
        and check in one transaction. AlreadyThere, Missing."""
        actions.join(self.db, self.now(), goal_id, who, role)

    def change_role(self, goal_id: str, who: PersonKey, role: Role) -> None:
        """Another role. 3 requests: goal, edge, transaction: the edge's place in the index and the
        member in the goal's edge set change in one transaction. Missing."""
        actions.change_role(self.db, goal_id, who, role)

    def leave(self, goal_id: str, who: PersonKey) -> bool:
        """Take a part away; False where there is none. 3 requests: goal, edge, transaction. Missing: the goal."""
        return actions.leave(self.db, goal_id, who)

    def check_leads(self, goal_id: str, user_id: str) -> None:
        """NotALead for anybody else; Missing. 2 requests, consistent: goal and edge, 1 R each."""
        actions.check_leads(self.db, goal_id, user_id)

    # --- subscribers and team members -----------------------------------------------------------------------------
    def subscribe(self, goal_id: str, user_id: str) -> bool:
        """False where the user had subscribed. 1 request: edge and checks of both nodes; the goal is not written, so
        thousands may subscribe at a time. Missing."""
        return actions.subscribe(self.db, self.now(), goal_id, user_id)

    def unsubscribe(self, goal_id: str, user_id: str) -> bool:
        """False where the user had not subscribed. 2 requests."""
        return actions.unsubscribe(self.db, goal_id, user_id)

    def join_team(self, user_id: str, team_id: str, role: TeamRole) -> None:
        """A part in a team, or another one. 1 request, for another part 3. Missing."""
        actions.join_team(self.db, self.now(), user_id, team_id, role)

    def leave_team(self, user_id: str, team_id: str) -> bool:
        """False where the user had no part in it. 2 requests."""
        return Graph(self.db).unlink(TeamMembership.between(User.by_id(user_id), Team.by_id(team_id)))
