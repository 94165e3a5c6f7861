"""A page of a team's goals with their leads, contributors and teams."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from benchmarks.applications.case import Ask
from benchmarks.applications.data import SIZES
from benchmarks.graph_pages import EdgeSets, QueryPerGoal
from examples.goals.generated import TEAM
from examples.goals.model import PEOPLE, GoalMembership, Team
from singletable import Database, Linked, Page
from singletable.graph import neighbours_of
from singletable.records import flows

LIMIT = 25
_PLACES = 8


class GoalsPage:
    """25 goals with ten edges each: the index, the goals, their people, as the goals' edge sets name them."""

    name = "goals page"
    data = "goals"
    sizes: Sequence[int] = SIZES

    def page(self, db: Database, items: int) -> Ask:
        way = EdgeSets(db, LIMIT)
        return lambda _: _checked(way())

    def operations(self, db: Database, items: int) -> Ask:
        """A page of the index, a batch of goals, a batch of people and teams."""
        query = GoalMembership.by_rank(Team.by_id(TEAM)).newest_first()
        known: list[tuple[str | None, list[Any], list[Any]]] = []
        after: str | None = None
        for _ in range(_PLACES):
            edges: Page[Any] = db.page(query, limit=LIMIT, after=after)
            keys = [edge.source for edge in edges]
            goals: list[Any] = db.get_many(keys)
            people: dict[str, Any] = {}
            for goal in goals:
                for linked in _people():
                    people |= {key.partition: key for key in neighbours_of(goal, linked)}
            known.append((after, keys, list(people.values())))
            after = edges.cursor

        def ask(number: int) -> None:
            start, goals, people = known[number % _PLACES]
            db.run(flows.page(db.port, query, LIMIT, start, db.target.seal))
            assert len(db.run(flows.get_many(db.port, goals))) == len(goals)
            assert len(db.run(flows.get_many(db.port, people))) == len(people)

        return ask

    def naive(self, db: Database, items: int) -> Ask:
        way = QueryPerGoal(db, LIMIT)
        return lambda _: _checked(way())


def _people() -> Sequence[Linked[Any]]:
    return PEOPLE


def _checked(page: list[tuple[str, set[str]]]) -> int:
    assert page
    assert all(len(people) == 10 and TEAM in people for _, people in page), page
    return len(page)
