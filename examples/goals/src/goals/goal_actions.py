"""What is done to goals: made, changed, deleted. Costs are as `service` says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from goals.changes import change_node
from goals.context import Context
from goals.errors import Invalid, Missing
from goals.linking import AnyEdge, check_fits, create_linked
from goals.model import (
    Entry,
    Goal,
    GoalKind,
    GoalMembership,
    KeyResult,
    PartOf,
    Role,
    SubGoal,
    Team,
    User,
    membership_of,
)
from goals.queries import HolderKey
from singletable import KeyOf, key_of
from singletable.graph import Graph, members_of

_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


class GoalActions(Context):
    def create_goal(
        self, title: str, *, lead: KeyOf[User], holder: HolderKey, goal_id: str | None = None, due: str = ""
    ) -> Goal:
        """A new objective with its lead and its team, in one transaction: 1 request, some 20 W. Missing."""
        today = self.now().date()
        made = Goal(id=goal_id or self.new_id(), title=title, created=today, due=due)
        parts = ((lead, Role.LEAD), (holder, Role.TEAM))
        edges = [GoalMembership(source=made, target=who, role=role, since=today) for who, role in parts]
        return create_linked(self.db, made, edges)

    def create_key_result(
        self,
        objective: Goal | str,
        title: str,
        *,
        lead: KeyOf[User],
        teams: Sequence[KeyOf[Team]] = (),
        due: str = "",
        position: str = "",
    ) -> Goal:
        """A new key result of an objective, with its lead and teams, in one transaction; behind the others, unless a
        position is given. 1 request for an objective as it was read, 1 more for its id. Missing, Invalid."""
        return self._create_part(GoalKind.KEY_RESULT, objective, title, lead, teams, due, position)

    def create_sub_goal(
        self,
        objective: Goal | str,
        title: str,
        *,
        lead: KeyOf[User],
        teams: Sequence[KeyOf[Team]] = (),
        due: str = "",
        position: str = "",
    ) -> Goal:
        """A new objective that is part of another: it is in the lists of its own teams. As create_key_result."""
        return self._create_part(GoalKind.OBJECTIVE, objective, title, lead, teams, due, position)

    def change_goal(self, goal_id: str, changes: Mapping[str, Any], base: Mapping[str, Any] | None = None) -> Goal:
        """Change a goal's own data. 1 request, 1 W for each KB. With `base`, the values that the caller read, Changed
        where somebody else changed the same: 2 requests. Missing."""
        return change_node(self.db, Goal.by_id(goal_id), changes, base)

    def delete_goal(self, goal_id: str) -> bool:
        """A goal with its edges, its key results and what was said of it; sub-goals stay. False where there is none.
        It goes step by step; broken off, a second call finishes it."""
        key, graph = Goal.by_id(goal_id), Graph(self.db)
        parts = [edge.target for edge in self.db.all(KeyResult.of(key))]
        is_gone = False
        for each in (*parts, key):
            is_gone = graph.delete_node(each)
            self.db.write_many(deletes=[key_of(entry) for entry in self.db.iter(_said_of(each))])
        return is_gone

    def _create_part(
        self,
        kind: GoalKind,
        objective: Goal | str,
        title: str,
        lead: KeyOf[User],
        teams: Sequence[KeyOf[Team]],
        due: str,
        position: str,
    ) -> Goal:
        parent = objective if isinstance(objective, Goal) else read_goal(self, objective)
        if parent.kind is GoalKind.KEY_RESULT:
            raise Invalid(f"{parent.id!r} is a key result, which has no parts")
        today, joins = self.now().date(), KeyResult if kind is GoalKind.KEY_RESULT else SubGoal
        made = Goal(id=self.new_id(), title=title, kind=kind, created=today, due=due)
        edges: list[AnyEdge] = [
            joins(source=parent, target=made, position=position or _next_position(parent)),
            PartOf(source=made, target=parent, since=today),
            membership_of(made)(source=made, target=lead, role=Role.LEAD, since=today),
        ]
        for team in dict.fromkeys(teams):
            check_fits(team, Role.TEAM)
            edges.append(membership_of(made)(source=made, target=team, role=Role.TEAM, since=today))
        return create_linked(self.db, made, edges)


def read_goal(context: Context, goal_id: str) -> Goal:
    goal = context.db.get(Goal.by_id(goal_id).consistent())
    if goal is None:
        raise Missing("goal", goal_id)
    return goal


def _said_of(key: KeyOf[Any]) -> Any:
    return Entry.of_goal(key.partition.partition("-")[2])


def _next_position(objective: Goal) -> str:
    """A text behind the positions of all parts that the edge set names."""
    last = max((member.values["position"] for member in members_of(objective, [KeyResult, SubGoal])), default="")
    at = _DIGITS.find(last[-1:]) if last else -1
    if 0 <= at < len(_DIGITS) - 1:
        return f"{last[:-1]}{_DIGITS[at + 1]}"
    return f"{last}1"
