"""The queries of one goal: its page, what was said of it, its subscribers, and the tree that it is part of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from goals.context import Context
from goals.errors import Missing
from goals.model import (
    AROUND,
    KEY_LEADS,
    KEY_RESULTS,
    LEADS,
    PARENTS,
    REPLACED,
    SEE_ALSO,
    SUB_GOALS,
    Entry,
    Goal,
    KeyResult,
    SubGoal,
    Subscriber,
    User,
    id_of,
)
from goals.queries import people_links
from goals.rights import rights_on
from goals.views import (
    ActivityPage,
    GoalPage,
    GoalView,
    Said,
    Subscribers,
    Subscription,
    Tree,
    placed,
    view_of,
)
from singletable import KeyOf, key_of
from singletable.graph import Graph, Linked, Row, neighbours_of

MOST_LEVELS = 12
MOST_IN_TREE = 1000


class GoalPages(Context):
    def goal_page(self, goal_id: str, *, limit: int, after: str | None = None, viewer: str | None = None) -> GoalPage:
        """A goal with all that is around it, a page of what was said of it, and what the viewer may do. 3 round trips:
        check-ins and comments; the goal, who wrote them, the viewer and their subscription; its people, teams, key
        results, sub-goals, links."""
        key = Goal.by_id(goal_id)
        entries = self.db.page(Entry.of_goal(goal_id).newest_first(), limit=limit, after=after)
        seen = [] if viewer is None else [User.by_id(viewer)]
        subscription = [Subscriber.between(key, user) for user in seen]
        found = self.db.get_many([key, *subscription, *seen, *(User.by_id(entry.by) for entry in entries)])
        goal, users = _goal_in(found, goal_id), _users_in(found)
        (row,) = Graph(self.db).including([goal], *people_links(goal), *AROUND)
        parents, see_also, replaced = (tuple(row.linked(linked)) for linked in (PARENTS, SEE_ALSO, REPLACED))
        return GoalPage(
            _with_parts(row, users),
            parents,
            see_also,
            replaced,
            _said(entries, users),
            entries.cursor,
            rights_on(self.db, goal, users.get(seen[0]) if seen else None, parents),
            any(isinstance(each, Subscriber) for each in found),
        )

    def activity_of(self, goal_id: str, *, limit: int, after: str | None = None) -> ActivityPage:
        """A page of what was said of a goal, newest first. 2 round trips: check-ins and comments; the goal, which
        counts them, and who wrote them."""
        entries = self.db.page(Entry.of_goal(goal_id).newest_first(), limit=limit, after=after)
        found = self.db.get_many([Goal.by_id(goal_id), *(User.by_id(entry.by) for entry in entries)])
        return ActivityPage(_goal_in(found, goal_id), _said(entries, _users_in(found)), entries.cursor)

    def subscribers_of(self, goal_id: str, *, limit: int, after: str | None = None) -> Subscribers:
        """A page of a goal's subscribers. 2 round trips: their edges; the goal and the users."""
        key = Goal.by_id(goal_id)
        edges = self.db.page(Subscriber.of(key), limit=limit, after=after)
        found = self.db.get_many([key, *(edge.target for edge in edges)])
        users = _users_in(found)
        subscriptions = tuple(Subscription(users[e.target], e) for e in edges if e.target in users)
        return Subscribers(_goal_in(found, goal_id), subscriptions, edges.cursor)

    def tree_of(self, goal_id: str) -> Tree:
        """The whole tree that a goal is in, from its topmost objective. A round trip for the goal, one for each level
        above it and one for each level below the top: 12 levels, 1,000 goals. Missing."""
        goal = _goal_in(self.db.get_many([Goal.by_id(goal_id)]), goal_id)
        return self._below(self._top(goal))

    def _top(self, goal: Goal) -> Goal:
        seen = {goal.id}
        for _ in range(MOST_LEVELS):
            parents = neighbours_of(goal, PARENTS)
            above = self.db.get(parents[0]) if parents else None
            if above is None or above.id in seen:
                break
            seen.add(above.id)
            goal = above
        return goal

    def _below(self, top: Goal) -> Tree:
        """Level by level. A goal that is part of itself, or of two, is shown once."""
        parts: dict[str, list[Goal]] = {}
        cut: set[str] = set()
        seen, level = {top.id}, [top]
        for _ in range(MOST_LEVELS):
            below: list[Goal] = []
            for row in Graph(self.db).including(level, KEY_RESULTS, SUB_GOALS):
                views = [*placed(row, KEY_RESULTS), *placed(row, SUB_GOALS)]
                new = [view.goal for view in views if view.id not in seen]
                parts[row.node.id] = new = new[: MOST_IN_TREE - len(seen)]
                seen |= {goal.id for goal in new}
                below += new
                if row.more(KeyResult, SubGoal) or len(seen) >= MOST_IN_TREE:
                    cut.add(row.node.id)
            level = below
            if not level:
                break
        cut |= {goal.id for goal in level}
        return _tree(top, parts, cut)


def _tree(goal: Goal, parts: Mapping[str, Sequence[Goal]], cut: set[str]) -> Tree:
    return Tree(goal, tuple(_tree(each, parts, cut) for each in parts.get(goal.id, ())), goal.id in cut)


def _goal_in(found: Iterable[Any], goal_id: str) -> Goal:
    goal = next((node for node in found if isinstance(node, Goal)), None)
    if goal is None:
        raise Missing("goal", goal_id)
    return goal


def _users_in(found: Iterable[Any]) -> dict[KeyOf[User], User]:
    return {key_of(node): node for node in found if isinstance(node, User)}


def _said(entries: Iterable[Entry], users: Mapping[KeyOf[User], User]) -> tuple[Said, ...]:
    """A user who is gone is shown by the id."""
    return tuple(Said(entry, _known(User.by_id(entry.by), users)) for entry in entries)


def _with_parts(row: Row[Goal], users: Mapping[KeyOf[User], User]) -> GoalView:
    """A goal with its key results and sub-goals, and their leads as their edge sets name them: for nothing. The goal's
    own people and those on the page were read; others go by their ids, as names would take a fourth round trip."""
    known = {**users, **{key_of(user): user for user in row.linked(User)}}
    key_results = [_with_leads(part, KEY_LEADS, known) for part in placed(row, KEY_RESULTS)]
    sub_goals = [_with_leads(part, LEADS, known) for part in placed(row, SUB_GOALS)]
    return replace(view_of(row), key_results=tuple(key_results), sub_goals=tuple(sub_goals))


def _with_leads(part: GoalView, linked: Linked[User], known: Mapping[KeyOf[User], User]) -> GoalView:
    return replace(part, leads=tuple(_known(key, known) for key in neighbours_of(part.goal, linked)))


def _known(key: KeyOf[User], users: Mapping[KeyOf[User], User]) -> User:
    return users.get(key) or User(id=id_of(key), name=id_of(key))
