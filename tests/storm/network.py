"""The graph in the storm: each client links users of its own to goals that all share, and deletes nodes meanwhile."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from singletable import Database, attr
from singletable.graph import Graph
from tests.graph.models import Goal, GoalMembership, Role, User, records
from tests.storm.journal import Call, Journal, told
from tests.storm.life import Life

LASTING = [f"g{n}" for n in range(8)]
PASSING = [f"d{n}" for n in range(4)]
"""Goals that anybody may delete and create again."""
USERS = 6
"""Of each client."""
_ANY_STATE = frozenset({True, False})


def prepare(db: Database) -> None:
    for id in (*LASTING, *PASSING):
        db.create(Goal(id=id))


class Network:
    """One writer of the graph."""

    def __init__(self, life: Life) -> None:
        self.life = life
        self.db = life.database(waits=False)
        self.users = [f"{life.client}-u{n}" for n in range(USERS)]

    def close(self) -> None:
        self.db.close()

    def step(self) -> None:
        verbs = {
            self.link: 40,
            self.relink: 20,
            self.unlink: 15,
            self.create_user: 12,
            self.delete_user: 4,
            self.delete_goal: 2,
            self.look: 6,
            self.sweep: 1,
        }
        self.life.chance.choices(list(verbs), list(verbs.values()))[0]()

    def link(self) -> None:
        goal, user = self._pair()
        role = self.life.chance.choice(list(Role))
        edge = GoalMembership(source=Goal.by_id(goal), target=User.by_id(user), role=role)
        self.life.attempt("link", lambda: Graph(self.db).link(edge), {"pair": [goal, user]})

    def relink(self) -> None:
        goal, user = self._pair()
        edge: Any = GoalMembership.between(Goal.by_id(goal), User.by_id(user))
        role = self.life.chance.choice(list(Role))
        self.life.attempt("relink", lambda: Graph(self.db).relink(edge, attr(GoalMembership.role).set(role)))

    def unlink(self) -> None:
        goal, user = self._pair()
        edge = GoalMembership.between(Goal.by_id(goal), User.by_id(user))
        self.life.attempt("unlink", lambda: Graph(self.db).unlink(edge), {"pair": [goal, user]})

    def create_user(self) -> None:
        user = self.life.chance.choice(self.users)
        self.life.attempt("create", lambda: self.db.create(User(id=user)))

    def delete_user(self) -> None:
        user = self.life.chance.choice(self.users)
        act = lambda: Graph(self.db).delete_node(User.by_id(user))  # noqa: E731
        self.life.attempt("delete", act, {"user": user}, is_one_write=False)

    def delete_goal(self) -> None:
        """And create it again, here or elsewhere."""
        goal = self.life.chance.choice(PASSING)

        def act() -> None:
            Graph(self.db).delete_node(Goal.by_id(goal))
            self.db.create(Goal(id=goal))

        self.life.attempt("replace", act, is_one_write=False)

    def sweep(self) -> None:
        """End what deletions left to a sweep, so that their nodes can be created again."""
        self.life.attempt("sweep", lambda: self.db.sweep_table(records), is_one_write=False)

    def look(self) -> None:
        """A page with neighbours: what it gives, was."""
        goal = self.life.chance.choice(LASTING)
        page = self.db.page(GoalMembership.of(Goal.by_id(goal)), limit=50)
        assert all(edge.source == Goal.by_id(goal) for edge in page)

    def _pair(self) -> tuple[str, str]:
        goals = LASTING if self.life.chance.random() < 0.8 else PASSING
        return self.life.chance.choice(goals), self.life.chance.choice(self.users)


# --- afterwards ---------------------------------------------------------------------------------------------------
def settle(db: Database) -> None:
    """End the deletions that killed processes and lagging indexes left open."""
    db.sweep_table(records)


def judge(db: Database, journal: Journal) -> Iterator[str]:
    """Edges to lasting goals are as their only writer left them; sets, indexes and nodes agree."""
    there = {
        (goal, edge.target.partition.partition("-")[2])
        for goal in LASTING
        for edge in db.iter(GoalMembership.of(Goal.by_id(goal)).consistent())
    }
    for pair, states in _expected(journal).items():
        if (pair in there) not in states:
            yield f"edge {pair} is {'there' if pair in there else 'lost'}, and can only be {sorted(states)}"
    yield from (told(finding) for finding in db.check(records))


def _expected(journal: Journal) -> dict[tuple[str, str], frozenset[bool]]:
    """Whether each edge to a lasting goal may be there, by its writer's calls in their order."""
    states: dict[tuple[str, str], frozenset[bool]] = defaultdict(lambda: frozenset({False}))
    for call in journal.of("link", "unlink", "delete"):
        for pair in _touched(call, list(states)):
            if pair[0] in LASTING:
                states[pair] = _after(call, states[pair])
    return dict(states)


def _touched(call: Call, known: list[tuple[str, str]]) -> list[tuple[str, str]]:
    if call.what == "delete":
        return [pair for pair in known if pair[1] == call.data["user"]]
    goal, user = call.data["pair"]
    return [(goal, user)]


def _after(call: Call, before: frozenset[bool]) -> frozenset[bool]:
    wanted = frozenset({call.what == "link"})
    match call.outcome:
        case "done":
            return wanted
        case "unknown":
            return before | wanted
        case _:
            return before
