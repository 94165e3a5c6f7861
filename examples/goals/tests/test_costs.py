"""The round trips of every page: on the whole file, and on 1,000 goals with ten edges each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from examples.goals.tests.file import NEEDS_FILE, expected
from examples.goals.tests.support import Generated, all_pages, whole
from goals import Service
from goals.generated import LEAD, TEAM, Shape
from goals.model import Organisation, Role, Subscriber, Team, User
from goals.queries import Order
from singletable import Database
from singletable.graph import Graph

Budget = Callable[..., Any]


# --- 1,000 goals ------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("limit", [1, 25, 100])
def test_the_flat_list_is_three_round_trips(generated: Generated, budget: Budget, limit: int) -> None:
    app, leads = generated.app, generated.leads
    with budget(round_trips=3, read_units=16 * limit + 10):
        page = app.goals_of(Team.by_id(TEAM), limit=limit)
    assert len(page.goals) == limit
    for view in page.goals:
        assert sorted(user.id for user in view.leads) == leads[view.id]
        assert (len(view.contributors), len(view.teams)) == (3, 2)


@pytest.mark.parametrize("limit", [1, 25, 100])
def test_the_team_page_is_four(generated: Generated, budget: Budget, limit: int) -> None:
    app = generated.app
    with budget(round_trips=4):
        page = app.holder_page(Team.by_id(TEAM), limit=limit)
    assert page.holder.name == "Team 0"
    for view in page.goals.goals:
        assert len(view.key_results) == Shape().key_results
        assert all(len(part.leads) == 1 and len(part.teams) == 1 for part in view.key_results)


@pytest.mark.parametrize("role", [None, Role.LEAD])
def test_the_profile_is_three(generated: Generated, budget: Budget, role: Role | None) -> None:
    app = generated.app
    with budget(round_trips=3):
        page = app.profile(LEAD, role=role, limit=100)
    assert page.user.name == "User 0"
    assert len(page.goals.goals) == 100
    assert all(LEAD in {user.id for user in view.leads} for view in page.goals.goals)


def test_a_goals_page_is_three(generated: Generated, budget: Budget) -> None:
    app, leads = generated.app, generated.leads
    for goal_id in ("G000000", "G000500", "G000999"):
        with budget(round_trips=3, read_units=20):
            page = app.goal_page(goal_id, limit=25)
        assert sorted(user.id for user in page.view.leads) == leads[goal_id]
        assert [part.id for part in page.view.key_results] == [f"{goal_id}-{n}" for n in range(3)]


def test_the_later_pages_cost_the_same_and_hold_each_goal_once(generated: Generated, budget: Budget) -> None:
    app, leads = generated.app, generated.leads
    seen: list[str] = []
    after: str | None = None
    while True:
        with budget(round_trips=3):
            page = app.goals_of(Team.by_id(TEAM), limit=100, after=after)
        ids = [view.id for view in page.goals]
        assert ids == sorted(ids)
        seen += ids
        after = page.after
        if after is None:
            break
    assert sorted(seen) == sorted(leads)


def test_by_date_the_newest_come_first(generated: Generated) -> None:
    app, leads = generated.app, generated.leads
    pages = all_pages(lambda after: app.goals_of(Team.by_id(TEAM), limit=100, after=after, order=Order.DATE))
    assert [view.id for page in pages for view in page.goals] == sorted(leads, reverse=True)


# --- the file ---------------------------------------------------------------------------------------------------------
@NEEDS_FILE
def test_every_page_of_the_file(imported: Service, budget: Budget) -> None:
    said = expected()
    for team in said.of_team:
        with budget(round_trips=3):
            imported.goals_of(Team.by_id(team), limit=100)
        with budget(round_trips=4):
            imported.holder_page(Team.by_id(team), limit=100)
    for user in {*said.led_by, *said.contributed_by}:
        with budget(round_trips=3):
            imported.profile(user, limit=100)
    for goal_id in said.goals:
        with budget(round_trips=3):
            imported.goal_page(goal_id, limit=100)
    with budget(round_trips=2):
        assert {team.id for team in imported.teams_of(limit=100).teams} == set(said.of_team)


@NEEDS_FILE
def test_profiles_hold_both_roles(imported: Service) -> None:
    said = expected()
    found = whole(lambda after: imported.profile("liggitt", limit=20, after=after).goals)
    assert {v.id for v in found if v.role is Role.LEAD} == said.led_by["liggitt"]
    assert {v.id for v in found if v.role is Role.CONTRIBUTOR} == said.contributed_by["liggitt"]
    ranks = [view.role.rank for view in found if view.role]
    assert ranks == sorted(ranks, reverse=True)


# --- what is large or empty -------------------------------------------------------------------------------------------
def test_subscribers_by_pages_of_two_round_trips(app: Service, db: Database, budget: Budget) -> None:
    Graph(db).load([User(id=f"s{n:03}", name=f"S {n}") for n in range(60)])
    goal = app.create_goal("Loud", lead=User.by_id("ada"), holder=Team.by_id("engine"))
    for n in range(60):
        app.subscribe(goal.id, f"s{n:03}")
    seen: list[str] = []
    after: str | None = None
    while True:
        with budget(round_trips=2, requests=2):
            page = app.subscribers_of(goal.id, limit=25, after=after)
        seen += [one.user.id for one in page.subscribers]
        after = page.after
        if after is None:
            break
    assert seen == [f"s{n:03}" for n in range(60)]
    assert Graph(db).count_edges(goal, Subscriber) == 60


def test_an_empty_team_is_told_from_a_missing_one(app: Service, budget: Budget) -> None:
    with budget(round_trips=2):
        assert app.goals_of(Team.by_id("docs"), limit=10).goals == ()
    assert app.holder_page(Team.by_id("docs"), limit=10).holder.name == "Docs"
    app.create(Organisation(id="all", name="All"))
    assert app.holder_page(Organisation.by_id("all"), limit=10).goals.goals == ()
