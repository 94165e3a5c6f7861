"""A page of a team's goals with their leads, contributors and teams."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.applications.case import PAGES, Ask
from benchmarks.applications.data import SIZES
from benchmarks.graph_pages import EdgeSets, QueryPerGoal
from goals.generated import TEAM
from goals.model import PEOPLE, Goal, GoalMembership, Team, id_of
from goals.service import Service
from singletable import Database, Page, Query
from singletable.graph import Linked, Node, neighbours_of
from singletable.records import flows

LIMIT = 25


class GoalsPage:
    """25 goals with ten edges each: the index, the goals, their people, as the goals' edge sets name them."""

    name = "goals page"
    data = "goals"
    sizes: Sequence[int] = SIZES

    def page(self, db: Database, items: int) -> Ask:
        service, holder = Service(db), Team.by_id(TEAM)
        starts = [place.after for place in _places(db)]
        _checked(EdgeSets(db, LIMIT)())

        def ask(number: int) -> int:
            found = service.goals_of(holder, limit=LIMIT, after=starts[number])
            assert all(view.leads and view.contributors and view.teams for view in found.goals)
            return len(found.goals)

        return ask

    def operations(self, db: Database, items: int) -> Ask:
        """A page of the index, a batch of goals, a batch of people and teams, by their ids."""
        places = _places(db)

        def ask(number: int) -> None:
            place = places[number]
            db.run(flows.page(db.port, _goals(), LIMIT, place.after, db.target.seal))
            goals = [Goal.by_id(id) for id in place.goals]
            assert len(db.run(flows.get_many(db.port, goals))) == len(goals)
            people = [kind.by_id(id) for kind, id in place.people]
            assert len(db.run(flows.get_many(db.port, people))) == len(people)

        return ask

    def naive(self, db: Database, items: int) -> Ask:
        way = QueryPerGoal(db, LIMIT)
        return lambda _: _checked(way())


@dataclass(frozen=True)
class Place:
    """One page of the team's goals, and what it asks for."""

    after: str | None
    goals: Sequence[str]
    people: Sequence[tuple[type[Node], str]]


def _places(db: Database) -> list[Place]:
    found: list[Place] = []
    after: str | None = None
    for _ in range(PAGES):
        edges: Page[Any] = db.page(_goals(), limit=LIMIT, after=after)
        keys = [edge.source for edge in edges]
        goals: list[Any] = db.get_many(keys)
        linked: Sequence[Linked[Any]] = PEOPLE
        people = {key.partition: key for goal in goals for each in linked for key in neighbours_of(goal, each)}
        named = [(key.kinds[0], id_of(key)) for key in people.values()]
        found.append(Place(after, [goal.id for goal in goals], named))
        after = edges.cursor
    return found


def _goals() -> Query[Any]:
    return GoalMembership.by_rank(Team.by_id(TEAM)).newest_first()


def _checked(page: list[tuple[str, set[str]]]) -> int:
    assert page
    assert all(len(people) == 10 and TEAM in people for _, people in page), page
    return len(page)
