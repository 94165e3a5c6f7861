"""The three most telling calls, for `make demo`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from examples_shared.tour import Call, Tour
from goals.model import Team, records
from goals.sample import load_sample
from goals.service import Service
from singletable import Database


def calls(db: Database, blobs: Path) -> Iterator[Call]:
    """A page of a team's graph, a person's page, and what people say."""
    db.create_table(records)
    app = Service(db)
    load_sample(app)
    yield Call("goals_of", "a team's goals with leads, contributors and teams", lambda: _team(app))
    yield Call("profile", "a person, their teams and goals", lambda: _person(app))
    yield Call("check_in", "counted on the goal in the same transaction", lambda: _check_in(app))


def _team(app: Service) -> str:
    return f"{len(app.goals_of(Team.by_id('T1'), limit=100).goals)} goals"


def _person(app: Service) -> str:
    found = app.profile("U1", limit=100)
    return f"{found.user.name}, {len(found.goals.goals)} goals"


def _check_in(app: Service) -> None:
    app.check_in("G1", "U1", progress=80, status="under way", text="Both lamps burn.")


TOUR = Tour(
    "goals",
    "objectives, key results, people and teams: a graph",
    calls,
    ("sample",),
    "serve --insecure-user U1",
)
