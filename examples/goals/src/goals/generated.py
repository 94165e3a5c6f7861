"""A graph of any size, for tests and measurements: goals with ten edges each, the same for the same seed."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import Any

from goals.model import Goal, GoalKind, GoalMembership, KeyResult, KeyResultMembership, Role, Team, User
from singletable.graph import Edge, Node

SINCE = date(2020, 1, 1)
TEAM = "T0"
"""It has a part in every goal."""
LEAD = "U0"
"""Leads every tenth goal."""


@dataclass(frozen=True)
class Shape:
    """What an objective is joined to: ten edges, in any shape. Key results have a lead and a team of their own."""

    leads: int = 2
    contributors: int = 3
    teams: int = 2
    key_results: int = 3

    @property
    def roles(self) -> list[Role]:
        people = [Role.LEAD] * self.leads + [Role.CONTRIBUTOR] * self.contributors
        return people + [Role.TEAM] * self.teams


FLAT = Shape(leads=2, contributors=5, teams=3, key_results=0)


@dataclass
class Generated:
    """Nodes, and the edges that go out of them."""

    nodes: list[Node] = field(default_factory=list[Node])
    edges: list[Edge[Any, Any]] = field(default_factory=list[Edge[Any, Any]])
    leads: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    """Of each objective, sorted."""


def generate(goals: int, shape: Shape = Shape(), *, seed: int = 1, a_part: int = 2000) -> Iterator[Generated]:
    """The graph in parts, to be loaded one after the other: first 200 users and 20 teams, then goals."""
    chance = random.Random(seed)
    users = [User(id=f"U{n}", name=f"User {n}") for n in range(200)]
    teams = [Team(id=f"T{n}", name=f"Team {n}") for n in range(20)]
    yield Generated(nodes=[*users, *teams])
    for start in range(0, goals, a_part):
        part = Generated()
        for number in range(start, min(goals, start + a_part)):
            first = users[0] if number % 10 == 0 else chance.choice(users[1:])
            others = chance.sample([u for u in users[1:] if u is not first], shape.leads + shape.contributors - 1)
            joined = [teams[0], *chance.sample(teams[1:], shape.teams - 1)]
            _add_goal(part, number, [first, *others], joined, shape, chance)
        yield part


def _add_goal(
    into: Generated, number: int, users: Sequence[User], teams: Sequence[Team], shape: Shape, chance: random.Random
) -> None:
    since = SINCE + timedelta(days=number % 2000)
    goal = Goal(id=f"G{number:06}", title=f"Goal number {number}", created=since, progress=number % 101)
    into.nodes.append(goal)
    into.leads[goal.id] = sorted(user.id for user in users[: shape.leads])
    holders: list[User | Team] = [*users, *teams]
    for who, role in zip(holders, shape.roles, strict=True):
        into.edges.append(GoalMembership(source=goal, target=who, role=role, since=since))
    for position in range(shape.key_results):
        part = Goal(id=f"{goal.id}-{position}", title=f"Key result {position}", kind=GoalKind.KEY_RESULT, created=since)
        into.nodes.append(part)
        into.edges += [
            KeyResult(source=goal, target=part, position=str(position)),
            KeyResultMembership(source=part, target=chance.choice(users), role=Role.LEAD, since=since),
            KeyResultMembership(source=part, target=teams[-1], role=Role.TEAM, since=since),
        ]
