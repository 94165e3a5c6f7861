"""Who may do what: every role against every action, through the API and the command line, beside the table of
capabilities as the README says it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from examples.goals.tests.http import Client
from examples.goals.tests.support import run
from examples_shared.testing.databases import fresh
from goals import Service, records
from goals.capabilities import OF_ROLE, OF_TEAM_ROLE, Capability
from goals.errors import NotAllowed
from goals.model import Goal, GoalMembership, Role, Team, TeamMembership, TeamRole, User
from singletable import Database, connect
from singletable.graph import Graph

Budget = Callable[..., Any]
EVERYTHING = {"manage-goal", "check-in", "comment"}
ALLOWED: dict[str, set[str]] = {
    "lead": EVERYTHING,
    "contributor": {"check-in", "comment"},
    "manager": EVERYTHING | {"create-goals", "manage-team"},
    "member": {"create-goals", "check-in", "comment"},
    "observer": set(),
    "stranger": set(),
}
"""What each may do on the goal and in its team: said again here, as the table could be wrong."""
PEOPLE = [*ALLOWED, "nobody"]
"""`nobody` has a token, and is not a user here."""

Ask = tuple[str, str, Any]
REQUESTS: dict[str, list[Ask]] = {
    "create-goals": [("POST", "/api/goals", {"title": "x", "team": "engine"})],
    "manage-team": [
        ("PATCH", "/api/teams/engine", {"name": "Engines"}),
        ("PUT", "/api/team-people/engine", {"user": "stranger", "role": "member"}),
        ("DELETE", "/api/team-people/engine?user=colleague", None),
    ],
    "check-in": [("POST", "/api/check-ins/g", {"progress": 50})],
    "comment": [("POST", "/api/comments/g", {"text": "Well"})],
    "manage-goal": [
        ("PATCH", "/api/goals/g", {"title": "x"}),
        ("POST", "/api/key-results/g", {"title": "x"}),
        ("POST", "/api/sub-goals/g", {"title": "x", "teams": ["engine"]}),
        ("PUT", "/api/goal-people/g", {"who": {"id": "stranger"}, "role": "lead"}),
        ("DELETE", "/api/goal-people/g?id=colleague", None),
        ("DELETE", "/api/goals/g", None),
    ],
}
"""The deletion comes last."""


@pytest.fixture
def db() -> Iterator[Database]:
    with fresh() as db:
        db.create_table(records)
        yield db
        assert db.check(records) == []


@pytest.fixture
def app(db: Database) -> Service:
    """Goal g of the team engine, and a user for each role."""
    app = Service(db)
    fill(app)
    return app


def fill(app: Service) -> None:
    for user in (*ALLOWED, "colleague"):
        app.create_user(user, user.title())
    app.create_team("engine", "Engine", manager_id="manager")
    app.set_team_role("engine", "member", TeamRole.MEMBER)
    app.set_team_role("engine", "observer", TeamRole.OBSERVER)
    app.create_goal("Fly", lead=User.by_id("lead"), holder=Team.by_id("engine"), goal_id="g")
    app.set_role("g", User.by_id("contributor"), Role.CONTRIBUTOR)
    app.set_role("g", User.by_id("colleague"), Role.CONTRIBUTOR)
    app.set_team_role("engine", "colleague", TeamRole.MEMBER)


def everything(db: Database) -> list[Any]:
    kinds: list[Any] = [Goal, Team, User, GoalMembership, TeamMembership]
    return [item for kind in kinds for item in db.scan(kind, consistent=True)]


@pytest.mark.parametrize("user", PEOPLE)
async def test_each_role_and_each_request(app: Service, db: Database, user: str) -> None:
    client = Client(app, user)
    for word, asks in REQUESTS.items():
        for ask in asks:
            before = everything(db)
            answer = await client.ask(*ask)
            if word in ALLOWED.get(user, set()):
                assert answer.status_code in (200, 201, 204), ask
            else:
                assert answer.status_code == 403, ask
                assert everything(db) == before
                assert f"'{user}' may not" in answer.json()["detail"]


@pytest.mark.parametrize("user", PEOPLE)
async def test_the_answer_to_may_i_is_what_happens(app: Service, user: str) -> None:
    client = Client(app, user)
    on_goal = set((await client.get("/api/goal-rights/g")).json()["capabilities"])
    in_team = set((await client.get("/api/team-rights/engine")).json()["capabilities"])
    allowed = ALLOWED.get(user, set())
    assert on_goal == allowed & EVERYTHING
    assert in_team & {"create-goals", "manage-team"} == allowed - EVERYTHING


def test_the_table_holds_every_role_and_gives_observers_nothing() -> None:
    assert (set(OF_ROLE), set(OF_TEAM_ROLE)) == (set(Role), set(TeamRole))
    assert OF_TEAM_ROLE[TeamRole.OBSERVER] == frozenset()
    assert OF_TEAM_ROLE[TeamRole.MANAGER] == frozenset(Capability)


# --- key results ------------------------------------------------------------------------------------------------------
def test_who_manages_an_objective_manages_its_key_results(app: Service, budget: Budget) -> None:
    app.create_team("docs", "Docs", manager_id="stranger")
    part = app.create_key_result("g", "Ten flights", lead=User.by_id("member"), teams=[Team.by_id("docs")])
    for user, requests in (("member", 1), ("stranger", 1), ("lead", 2), ("manager", 2)):
        with budget(requests=requests):
            app.check_goal(part.id, user, Capability.MANAGE_GOAL)
    for user in ("contributor", "observer", "nobody"):
        with pytest.raises(NotAllowed, match="it takes a lead of it or a manager of one of its teams"):
            app.check_goal(part.id, user, Capability.MANAGE_GOAL)
    app.check_goal(part.id, "contributor", Capability.COMMENT)
    below = app.create_sub_goal("g", "Land", lead=User.by_id("member"))
    with pytest.raises(NotAllowed):  # a sub-goal is an objective, with leads of its own
        app.check_goal(below.id, "lead", Capability.MANAGE_GOAL)


# --- costs, and sets that do not hold all -----------------------------------------------------------------------------
def test_a_right_is_one_request_of_two_items(app: Service, budget: Budget) -> None:
    for user in ALLOWED:
        with budget(requests=1, read_units=2) as meter:
            app.rights_on_goal("g", user)
        assert meter.read_units == 2
        with budget(requests=1, read_units=2):
            app.rights_on_team("engine", user)


def test_rights_in_a_crowd(app: Service, db: Database, budget: Budget) -> None:
    """A goal of over 100 people, and a user of over 100 teams: what the sets leave out is read."""
    Graph(db).load([User(id=f"u{n:03}", name="U") for n in range(110)])
    Graph(db).load([Team(id=f"t{n:03}", name="T") for n in range(110)])
    for n in range(110):
        app.set_role("g", User.by_id(f"u{n:03}"), Role.CONTRIBUTOR)
        app.set_team_role(f"t{n:03}", "stranger", TeamRole.MEMBER)
    app.set_role("g", User.by_id("u109"), Role.LEAD)
    app.set_role("g", Team.by_id("t109"), Role.TEAM)
    app.set_team_role("t109", "u005", TeamRole.MANAGER)
    app.set_team_role("t109", "stranger", TeamRole.MANAGER)
    for user in ("u109", "u005"):
        with budget(round_trips=3):
            app.check_goal("g", user, Capability.MANAGE_GOAL)
    app.check_team("t109", "stranger", Capability.MANAGE_TEAM)
    with pytest.raises(NotAllowed):
        app.check_goal("g", "u108", Capability.MANAGE_GOAL)


# --- users and oneself ------------------------------------------------------------------------------------------------
async def test_users_make_themselves_and_then_others(app: Service) -> None:
    new = Client(app, "nobody")
    assert (await new.ask("POST", "/api/users", {"id": "friend", "name": "F"})).status_code == 403
    assert (await new.ask("POST", "/api/teams", {"name": "Mine"})).status_code == 403
    assert (await new.ask("POST", "/api/users", {"id": "nobody", "name": "Nob Ody"})).status_code == 201
    assert (await new.ask("POST", "/api/users", {"id": "friend", "name": "F"})).status_code == 201
    assert (await new.ask("POST", "/api/users", {"id": "friend", "name": "F"})).status_code == 409
    assert (await new.ask("PATCH", "/api/users/friend", {"name": "Foe"})).status_code == 403
    assert (await new.ask("PATCH", "/api/users/nobody", {"name": "Nemo", "was": "Nob Ody"})).json()["name"] == "Nemo"
    stale = await new.ask("PATCH", "/api/users/nobody", {"name": "Odysseus", "was": "Nob Ody"})
    assert stale.status_code == 409
    assert stale.json()["differences"] == {"name": {"base": "Nob Ody", "stored": "Nemo", "yours": "Odysseus"}}
    for wrong in ({"id": "a\u0000b", "name": "x"}, {"id": "ok", "name": " "}, {"id": "e\u0301", "name": "x"}):
        assert (await new.ask("POST", "/api/users", wrong)).status_code == 422


async def test_who_makes_a_team_manages_it(app: Service) -> None:
    stranger = Client(app, "stranger")
    team = (await stranger.ask("POST", "/api/teams", {"name": "Harbour"})).json()["id"]
    part = {"user": "observer", "role": "observer"}
    assert (await stranger.ask("PUT", f"/api/team-people/{team}", part)).status_code == 204
    assert (await stranger.ask("PUT", f"/api/team-people/{team}", part | {"was": "member"})).status_code == 204
    stale = await stranger.ask(
        "PUT", f"/api/team-people/{team}", {"user": "observer", "role": "manager", "was": "member"}
    )
    assert (stale.status_code, stale.json()["differences"]["role"]["stored"]) == (409, "observer")
    assert (await stranger.ask("PATCH", f"/api/teams/{team}", {"name": "Haven"})).json()["name"] == "Haven"
    listed = (await stranger.get("/api/teams?limit=9")).json()
    assert ([t["name"] for t in listed["teams"]], listed["cost"]["round_trips"]) == (["Engine", "Haven"], 2)
    people = (await stranger.get(f"/api/team-people/{team}")).json()["parts"]
    assert [(p["who"]["id"], p["role"]) for p in people] == [("stranger", "manager"), ("observer", "observer")]
    missing = await stranger.ask("PUT", f"/api/team-people/{team}", {"user": "who", "role": "member"})
    assert (missing.status_code, missing.json()["detail"]) == (404, "there is no user 'who'")


async def test_everybody_leaves_by_themselves(app: Service) -> None:
    assert (await Client(app, "contributor").ask("DELETE", "/api/goal-people/g?id=contributor")).status_code == 204
    assert (await Client(app, "observer").ask("DELETE", "/api/team-people/engine?user=observer")).status_code == 204
    assert (await Client(app, "contributor").ask("DELETE", "/api/goal-people/g?id=lead")).status_code == 403


# --- the command line -------------------------------------------------------------------------------------------------
def test_the_command_line_has_the_same_rights(tmp_path: Path) -> None:
    target = f"local:{tmp_path}/goals.db"
    with connect(target) as db:
        db.create_table(records)
        fill(Service(db))
    refused = run(target, "--as", "observer", "create-goal", "x", "--team", "engine")
    assert (refused.exit_code, refused.stdout) == (1, "")
    said = "'observer' may not create goals in team 'engine': it takes a manager of the team or a member"
    assert said in refused.stderr
    made = run(target, "--as", "member", "create-goal", "Sail", "--team", "engine", "--due", "Q4").stdout.strip()
    assert json.loads(run(target, "goal", made, "--json").stdout)["leads"] == ["member"]
    assert run(target, "goal-rights", "g", "contributor").stdout == "check-in\ncomment\n"
    assert "create-goals" in run(target, "team-rights", "engine", "member").stdout
    assert run(target, "set-role", "g", "observer", "contributor").exit_code == 0  # the operator may do everything
    assert run(target, "--as", "observer", "comment", "g", "At last").exit_code == 0
    wrong = run(target, "set-role", "g", "observer", "LEAD")
    assert (wrong.exit_code, "'LEAD' is not one of 'lead', 'contributor', 'team'" in wrong.output) == (2, True)
