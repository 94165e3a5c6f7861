"""A page of a team's goals with their people, on a small and a large graph, beside the two naive ways.

    python -m benchmarks.graph_pages                       1,000 and 10,000 goals with ten edges each
    python -m benchmarks.graph_pages --goals 100000        takes some minutes to load
    python -m benchmarks.graph_pages --json

Both graphs lie in engines of their own, in memory, at the same time, and each round asks both, so that a slow moment of
the machine meets both. Every round asks for the next page of the list. Times are medians.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from itertools import count
from statistics import median
from typing import Any

from goals.generated import FLAT, TEAM, generate
from goals.model import PEOPLE, GoalMembership, Team, User, records
from goals.service import Service
from singletable import Database, connect
from singletable.graph import Graph

SMALL = 1000
MOST_FETCHED = 5000
"""Goals that fetching all fetches in all rounds together: of a large graph it is timed once."""

Page = list[tuple[str, set[str]]]
"""What is shown: goals, and the ids of their people and teams."""


@dataclass(frozen=True)
class Result:
    goals: int
    way: str
    requests: int
    round_trips: int
    read_units: float
    milliseconds: float
    times: int


# --- three ways to one page -------------------------------------------------------------------------------------------
class EdgeSets:
    """The library's: the index, the goals, their people as the goals' edge sets name them."""

    name = "edge sets"

    def __init__(self, db: Database, limit: int) -> None:
        self._app, self._limit = Service(db), limit
        self._after: str | None = None

    def __call__(self) -> Page:
        found = self._app.goals_of(Team.by_id(TEAM), limit=self._limit, after=self._after)
        self._after = found.after
        return [(view.id, {node.id for node in (*view.leads, *view.contributors, *view.teams)}) for view in found.goals]


class QueryPerGoal:
    """The index, the goals, then a query of each goal's edges, then their people."""

    name = "a query per goal"

    def __init__(self, db: Database, limit: int) -> None:
        self._db, self._limit = db, limit
        self._after: str | None = None

    def __call__(self) -> Page:
        edges = self._db.page(
            GoalMembership.by_rank(Team.by_id(TEAM)).newest_first(), limit=self._limit, after=self._after
        )
        self._after = edges.cursor
        goals = self._db.get_many([edge.source for edge in edges])
        targets = [[edge.target for edge in self._db.all(GoalMembership.of(goal))] for goal in goals]
        people = {
            (type(node), node.id) for node in self._db.get_many([target for of_goal in targets for target in of_goal])
        }
        return [
            (goal.id, {id for kind, id in map(_named, of_goal) if (kind, id) in people})
            for goal, of_goal in zip(goals, targets, strict=True)
        ]


class FetchAll:
    """Every goal of the team with its people; the page is cut out of them."""

    name = "fetch all"

    def __init__(self, db: Database, limit: int) -> None:
        self._db, self._limit = db, limit
        self._pages = count()

    def __call__(self) -> Page:
        edges = list(self._db.iter(GoalMembership.by_rank(Team.by_id(TEAM)).newest_first()))
        goals = self._db.get_many([edge.source for edge in edges])
        rows = Graph(self._db).including(goals, *PEOPLE)
        shown = [(r.node.id, {n.id for n in (*r.linked(User), *r.linked(Team))}) for r in rows]
        start = next(self._pages) * self._limit % len(shown)
        return shown[start : start + self._limit]


Way = EdgeSets | QueryPerGoal | FetchAll


def _named(key: Any) -> tuple[type[Any], str]:
    return key.kinds[0], key.partition.partition("-")[2]


# --- measuring --------------------------------------------------------------------------------------------------------
def run(sizes: Sequence[int], limit: int, rounds: int, say: Callable[[str], None]) -> list[Result]:
    with ExitStack() as stack:
        graphs: dict[int, Database] = {}
        for size in sizes:
            say(f"loading {size} goals")
            graphs[size] = stack.enter_context(connect("local"))
            _load(graphs[size], size)
        found: list[Result] = []
        for kind in (EdgeSets, QueryPerGoal, FetchAll):
            say(f"{kind.name}, {rounds} rounds")
            found += list(_measured({size: kind(db, limit) for size, db in graphs.items()}, graphs, rounds))
        return found


def _load(db: Database, goals: int) -> None:
    db.create_table(records)
    for part in generate(goals, FLAT):
        Graph(db).load(part.nodes, part.edges)


def _measured(ways: dict[int, Way], graphs: dict[int, Database], rounds: int) -> Iterator[Result]:
    """Each way asked in turn, on all graphs in every round."""
    times: dict[int, list[float]] = {size: [] for size in ways}
    meters: dict[int, Any] = {}
    for size, way in ways.items():
        with graphs[size].meter() as meters[size]:
            _check(way())
    for number in range(rounds):
        for size, way in ways.items():
            if number and isinstance(way, FetchAll) and (number + 1) * size > MOST_FETCHED:
                continue
            began = time.perf_counter()
            way()
            times[size].append((time.perf_counter() - began) * 1000)
    for size, way in ways.items():
        meter, took = meters[size], times[size]
        yield Result(
            size, way.name, meter.requests, meter.round_trips, meter.read_units, round(median(took), 2), len(took)
        )


def _check(page: Page) -> None:
    """A way that reads something else isn't worth timing."""
    assert page, "the page is empty"
    assert all(len(people) == 10 and TEAM in people for _, people in page), page


# --- showing ----------------------------------------------------------------------------------------------------------
def table(found: Sequence[Result]) -> str:
    head = f"{'goals':>8}  {'way':<17} {'requests':>9} {'round trips':>12} {'read units':>11} {'ms':>10} {'times':>6}"
    lines = [
        f"{r.goals:>8}  {r.way:<17} {r.requests:>9} {r.round_trips:>12} {r.read_units:>11g} {r.milliseconds:>10.2f} "
        f"{r.times:>6}"
        for r in found
    ]
    return "\n".join([head, *lines, "", f"a page of the large graph takes {growth(found):.2f} times one of the small"])


def growth(found: Sequence[Result]) -> float:
    ours = [r for r in found if r.way == EdgeSets.name]
    return ours[-1].milliseconds / ours[0].milliseconds


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.graph_pages", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--goals", type=int, default=10_000, help="of the large graph")
    parser.add_argument("--limit", type=int, default=25, help="goals a page, up to 100")
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    found = run([SMALL, asked.goals], asked.limit, asked.rounds, lambda text: print(text, file=sys.stderr))
    if asked.json:
        print(
            json.dumps({"results": [asdict(result) for result in found], "growth": round(growth(found), 3)}, indent=2)
        )
    else:
        print(table(found))


if __name__ == "__main__":
    main()
