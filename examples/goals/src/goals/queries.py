"""The queries, each a known number of round trips: the database is asked once for each level of neighbours.

Round trips are those of a call whose page has at most 100 goals. R is half a read unit for each 4 KB: reads are
eventually consistent.
"""

from __future__ import annotations

from dataclasses import replace
from enum import Enum
from typing import Any, TypeGuard, TypeVar

from goals.context import Context
from goals.errors import Invalid, Missing
from goals.model import (
    EVERYBODY,
    KEY_PEOPLE,
    KEY_RESULTS_IN_FULL,
    ORGANISATIONS,
    PARENTS,
    PEOPLE,
    REPLACED,
    SEE_ALSO,
    SUB_GOALS_IN_FULL,
    TEAMS,
    USER_TEAMS,
    Goal,
    GoalKind,
    GoalMembership,
    Holder,
    Organisation,
    Role,
    Team,
    TeamMembership,
    TeamOrganisation,
    User,
    id_of,
    membership_of,
)
from goals.rights import rights_on
from goals.views import (
    GoalList,
    GoalView,
    HolderPage,
    Member,
    Part,
    Parts,
    Profile,
    TeamPeople,
    Teams,
    by_rank,
    view_of,
)
from singletable import Database, KeyOf, Page, at_least, key_of
from singletable.graph import Graph, Linked, NodeQuery, Row, neighbours_of

T = TypeVar("T")

HolderKey = KeyOf[Team] | KeyOf[Organisation]
PersonKey = KeyOf[User] | KeyOf[Team] | KeyOf[Organisation]


class Order(Enum):
    """How a list of goals goes on from page to page."""

    RANK = "rank"
    DATE = "date"
    """The newest first."""


# --- the queries ------------------------------------------------------------------------------------------------------
class Queries(Context):
    """The queries over a database."""

    def goals_of(
        self, holder: HolderKey, *, limit: int, after: str | None = None, order: Order = Order.RANK
    ) -> GoalList:
        """A page of a team's or organisation's objectives with leads, contributors and teams. 3 round trips: the
        index; the goals; their people and teams, each once. R: the edges, each goal, each neighbour. Missing (2 round
        trips) where there is neither the team nor a goal of it; InvalidCursor."""
        page = Graph(self.db).page(_objectives(holder, order).including(*PEOPLE), limit=limit, after=after)
        if not page:
            _there(self.db.get(holder), holder)
        return _list(page, order)

    def holder_page(
        self, holder: HolderKey, *, limit: int, after: str | None = None, order: Order = Order.RANK
    ) -> HolderPage:
        """The same with key results and sub-goals, and their own leads and teams. 4 round trips: theirs come last."""
        parts = KEY_RESULTS_IN_FULL, SUB_GOALS_IN_FULL
        page = Graph(self.db).page(_objectives(holder, order).including(*PEOPLE, *parts), limit=limit, after=after)
        node = _among(page, holder) or _holder(self.db, holder)
        if node is None:
            raise _missing(holder)
        return HolderPage(node, _list(page, order))

    def goals_of_user(
        self,
        user_id: str,
        role: Role | None = None,
        *,
        minimum: Role = Role.CONTRIBUTOR,
        limit: int,
        after: str | None = None,
    ) -> GoalList:
        """The objectives in which a user has exactly one role, or at least one. 3 round trips, as goals_of."""
        user = User.by_id(user_id)
        mine = GoalMembership.by_rank(user, role=at_least(minimum) if role is None else role)
        page = Graph(self.db).page(mine.sources().newest_first().including(*PEOPLE), limit=limit, after=after)
        if not page:
            _there(self.db.get(user), user)
        return _list(page, Order.RANK)

    def profile(
        self,
        user_id: str,
        *,
        role: Role | None = None,
        minimum: Role = Role.CONTRIBUTOR,
        limit: int,
        after: str | None = None,
    ) -> Profile:
        """A user, their teams, and their objectives, led ones first: those of one role, or of at least one. 3 round
        trips: the index; goals and user; people, teams, and the user's own teams."""
        user_key = User.by_id(user_id)
        mine = GoalMembership.by_rank(user_key, role=at_least(minimum) if role is None else role)
        edges = self.db.page(mine.newest_first(), limit=limit, after=after)
        nodes = self.db.get_many([user_key, *(edge.source for edge in edges)])
        user = next((node for node in nodes if isinstance(node, User)), None)
        if user is None:
            raise Missing("user", user_id)
        roles = {edge.source: edge.role for edge in edges}
        rows = Graph(self.db).including(nodes, *PEOPLE, USER_TEAMS)
        goals = by_rank(view_of(row, roles[key_of(row.node)]) for row in rows if _is_goal(row))
        teams = {team.id: team for row in rows for team in row.linked(USER_TEAMS)}
        return Profile(user, tuple(sorted(teams.values(), key=lambda team: team.name)), GoalList(goals, edges.cursor))

    def goal(self, goal_id: str) -> GoalView:
        """A goal with its people. 2 round trips; where its edge set is not complete, 4."""
        return self.goal_with_links(goal_id)[0]

    def goal_with_links(self, goal_id: str) -> tuple[GoalView, list[str]]:
        """The same, and the ids of the goals that it sees also or replaces, for nothing: they are in its edge set."""
        found = _there(self.db.get(Goal.by_id(goal_id)), Goal.by_id(goal_id))
        (row,) = Graph(self.db).including([found], *people_links(found), complete=True)
        links = {id_of(key) for linked in (SEE_ALSO, REPLACED) for key in neighbours_of(found, linked)}
        return replace(view_of(row), is_cut=False), sorted(links)

    def parts_of(self, goal_id: str, *, limit: int, after: str | None = None, viewer: str | None = None) -> Parts:
        """A page of all who have a part in a goal, however many, and what the viewer may do. 3 round trips: the goal
        and viewer; edges; nodes. For the viewer of a key result 1 more: its objective."""
        seen = [] if viewer is None else [User.by_id(viewer)]
        nodes = {key_of(node): node for node in self.db.get_many([Goal.by_id(goal_id), *seen])}
        found: Any = _there(nodes.get(Goal.by_id(goal_id)), Goal.by_id(goal_id))
        user: Any = nodes.get(seen[0]) if seen else None
        page = Graph(self.db).page(membership_of(found).of(found).targets(), limit=limit, after=after)
        above = neighbours_of(found, PARENTS) if user is not None and found.kind is GoalKind.KEY_RESULT else []
        rights = rights_on(self.db, found, user, self.db.get_many(above) if above else ())
        return Parts(found, tuple(Part(row.node, row.edge.role) for row in page), page.cursor, rights)

    def people_of(self, team_id: str, *, limit: int, after: str | None = None, viewer: str | None = None) -> TeamPeople:
        """A page of a team's people, managers first, and what the viewer may do. 2 round trips: the index; team, people
        and viewer."""
        key = Team.by_id(team_id)
        edges = self.db.page(TeamMembership.by_rank(key).newest_first(), limit=limit, after=after)
        seen = [] if viewer is None else [User.by_id(viewer)]
        nodes = self.db.get_many([key, *seen, *(edge.source for edge in edges)])
        team = next((node for node in nodes if isinstance(node, Team)), None)
        if team is None:
            raise Missing("team", team_id)
        users = {key_of(node): node for node in nodes if isinstance(node, User)}
        members = [Member(users[e.source], e.role) for e in edges if e.source in users]
        ordered = sorted(members, key=lambda member: (-member.role.rank, member.user.name))
        rights = rights_on(self.db, team, users.get(seen[0]) if seen else None)
        return TeamPeople(team, tuple(ordered), edges.cursor, rights)

    def teams_of(self, organisation_id: str = EVERYBODY, *, limit: int, after: str | None = None) -> Teams:
        """A page of an organisation's teams, by name. 2 round trips: the index; the teams."""
        page = Graph(self.db).page(
            TeamOrganisation.by_name(Organisation.by_id(organisation_id)).sources(), limit=limit, after=after
        )
        return Teams(tuple(row.node for row in page), page.cursor)


# --- shared -----------------------------------------------------------------------------------------------------------
def person_key(kind: str, id: str) -> PersonKey:
    """By the word of the kind: user, team, organisation. Invalid."""
    kinds: dict[str, Any] = {"user": User.by_id, "team": Team.by_id, "organisation": Organisation.by_id}
    if kind not in kinds or not id:
        raise Invalid("say who: the id of a user, team or organisation", "id")
    key: PersonKey = kinds[kind](id)
    return key


def people_links(goal: Goal) -> tuple[Linked[Any], ...]:
    return KEY_PEOPLE if goal.kind is GoalKind.KEY_RESULT else PEOPLE


def _objectives(holder: HolderKey, order: Order) -> NodeQuery[Goal]:
    if order is Order.DATE:
        return GoalMembership.by_date(holder).sources().newest_first()
    return GoalMembership.by_rank(holder).sources().newest_first()


def _among(page: Page[Row[Goal]], holder: HolderKey) -> Holder | None:
    """A holder has a part in each of its goals: its node is among the neighbours that were read."""
    for row in page:
        for team in row.linked(TEAMS):
            if key_of(team) == holder:
                return team
        for organisation in row.linked(ORGANISATIONS):
            if key_of(organisation) == holder:
                return organisation
    return None


def _holder(db: Database, key: HolderKey) -> Holder | None:
    node: Any = db.get(key)
    return node if isinstance(node, Holder) else None


def _list(page: Page[Row[Goal]], order: Order) -> GoalList:
    views = [view_of(row, row.edge.role) for row in page]
    return GoalList(by_rank(views) if order is Order.RANK else tuple(views), page.cursor)


def _is_goal(row: Row[Any]) -> TypeGuard[Row[Goal]]:
    return isinstance(row.node, Goal)


def _there(node: T | None, key: KeyOf[Any]) -> T:
    """What was read; Missing where there was nothing."""
    if node is None:
        raise _missing(key)
    return node


def _missing(key: KeyOf[Any]) -> Missing:
    return Missing(key.kinds[0].__name__.lower(), id_of(key))
