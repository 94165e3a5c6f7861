"""A small company's goals, to look at: teams, people, objectives with key results and sub-objectives."""

from __future__ import annotations

from datetime import date
from typing import Any

from goals.model import (
    EVERYBODY,
    Goal,
    GoalKind,
    GoalMembership,
    KeyResult,
    KeyResultMembership,
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
)
from goals.service import Service
from singletable.graph import Edge, Graph, Node

AnyEdge = Edge[Any, Any]

SINCE = date(2026, 1, 5)
PEOPLE = ("Ada Lovelace", "Grace Hopper", "Edsger Dijkstra", "Barbara Liskov", "Donald Knuth", "Frances Allen")
TEAMS = ("Harbour", "Lighthouse", "Dockyard")
OBJECTIVES = {
    "Ships find the harbour by night": (
        "Two lamps are lit before the winter",
        "Every pilot has the new chart",
        "Nobody waits at sea for longer than an hour",
    ),
    "The dockyard repairs in half the time": ("A second crane", "Spare parts for the ten most frequent repairs"),
    "The quay is dry at spring tide": ("The wall is a foot higher",),
}


def load_sample(app: Service) -> None:
    """Write the sample in bulk: 1 W for each of its nodes and edges; then what people say of its first goal.
    AlreadyExists where it is there already."""
    graph = _Sample(app)
    for number, (title, results) in enumerate(OBJECTIVES.items(), start=1):
        graph.add_objective(number, title, results)
    Graph(app.db).load(graph.nodes, graph.edges)
    app.check_in(
        "G1", "U2", progress=45, status="under way", text="The first lamp burns. The second waits for its glass."
    )
    app.comment("G1", "U3", "The pilots ask for a chart that folds.")
    app.check_in("G1", "U1", progress=60, text="The glass is here.")


class _Sample:
    """The nodes and edges, as they come together."""

    def __init__(self, app: Service) -> None:
        self.now = app.now()
        self.users = [User(id=f"U{n}", name=name) for n, name in enumerate(PEOPLE, start=1)]
        self.teams = [Team(id=f"T{n}", name=name) for n, name in enumerate(TEAMS, start=1)]
        self.organisation = Organisation(id=EVERYBODY, name="Port Authority")
        self.nodes: list[Node] = [self.organisation, *self.users, *self.teams]
        self.edges: list[AnyEdge] = []
        for team in self.teams:
            self.edges.append(TeamOrganisation(source=team, target=self.organisation, name=team.name))
        for number, user in enumerate(self.users):
            role = (TeamRole.MANAGER, TeamRole.MEMBER, TeamRole.OBSERVER)[number // 2]
            self.edges.append(TeamMembership(source=user, target=self.teams[0], role=role, since=SINCE))

    def add_objective(self, number: int, title: str, results: tuple[str, ...]) -> None:
        progress = (30, 25, 100)[number - 1]
        goal = Goal(
            id=f"G{number}", title=title, status="under way", progress=progress, created=SINCE, due="2026-12-31"
        )
        self.nodes.append(goal)
        lead, other = self.users[number - 1], self.users[number]
        parts = (
            (lead, Role.LEAD),
            (other, Role.CONTRIBUTOR),
            (self.teams[0], Role.TEAM),
            (self.organisation, Role.TEAM),
        )
        for who, role in parts:
            self.edges.append(GoalMembership(source=goal, target=who, role=role, since=SINCE))
        for user in self.users:
            self.edges.append(Subscriber(source=goal, target=user, since=self.now))
        for position, result in enumerate(results):
            self._add_key_result(goal, position, result)
        if number == len(OBJECTIVES):
            parent = Goal.by_id("G1")
            self.edges.append(SubGoal(source=parent, target=goal, position="0"))
            self.edges.append(PartOf(source=goal, target=parent, since=SINCE))

    def _add_key_result(self, goal: Goal, position: int, title: str) -> None:
        made = Goal(
            id=f"{goal.id}-K{position + 1}",
            title=title,
            kind=GoalKind.KEY_RESULT,
            status="under way",
            progress=(100, 45, 0)[position],
            created=SINCE,
        )
        self.nodes.append(made)
        lead, team = self.users[(position + 3) % len(self.users)], self.teams[(position + 1) % len(self.teams)]
        self.edges += [
            KeyResult(source=goal, target=made, position=str(position)),
            PartOf(source=made, target=goal, since=SINCE),
            KeyResultMembership(source=made, target=lead, role=Role.LEAD, since=SINCE),
            KeyResultMembership(source=made, target=team, role=Role.TEAM, since=SINCE),
        ]
