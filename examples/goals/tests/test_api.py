"""The HTTP API: what it gives, who may change what, and what it refuses."""

from __future__ import annotations

from typing import Any

import pytest

from examples.goals.tests.http import SECRET, TOKENS, Client
from examples.goals.tests.support import Generated
from goals import Service
from goals.errors import Invalid
from goals.model import Goal, Organisation, Role, Team, TeamRole, User
from goals.principal import SessionTokens


@pytest.fixture
def goal(app: Service) -> Goal:
    """Led by ada, of the engine team."""
    return app.create_goal("Fly", lead=User.by_id("ada"), holder=Team.by_id("engine"))


@pytest.fixture
def ada(app: Service) -> Client:
    return Client(app, "ada")


async def ids(client: Client, path: str) -> list[str]:
    return [found["id"] for found in (await client.get(path)).json()["goals"]]


# --- reading ----------------------------------------------------------------------------------------------------------
async def test_everybody_reads(app: Service, goal: Goal) -> None:
    nobody = Client(app)
    found = (await nobody.get("/api/teams/engine")).json()
    assert found["cost"]["round_trips"] == 3  # no key results, so no fourth
    (only,) = found["goals"]
    assert only["id"] == goal.id
    assert only["leads"] == [{"kind": "user", "id": "ada", "name": "Ada"}]
    assert (only["role"], only["more"], found["after"]) == ("team", False, None)
    profile = (await nobody.get("/api/users/ada?role=lead")).json()
    assert (profile["user"]["name"], [g["id"] for g in profile["goals"]]) == ("Ada", [goal.id])
    assert (await nobody.get("/api/users/ada?role=contributor")).json()["goals"] == []
    page = (await nobody.get(f"/api/goals/{goal.id}")).json()
    assert (page["goal"]["title"], page["entries"], page["cost"]["round_trips"]) == ("Fly", [], 3)


async def test_pages_follow_each_other(generated: Generated) -> None:
    client = Client(generated.app)
    seen: list[str] = []
    after = ""
    while True:
        found = (await client.get(f"/api/teams/T0?limit=100{after}")).json()
        seen += [goal["id"] for goal in found["goals"]]
        # A list that ends with a full page has an empty one behind it: the index, and a look whether the team is there.
        assert found["cost"]["round_trips"] == (4 if found["goals"] else 2)
        if found["after"] is None:
            break
        after = f"&after={found['after']}"
    assert sorted(seen) == sorted(generated.leads)


async def test_ids_with_slashes_and_spaces(app: Service) -> None:
    app.create(Team(id="wg one/two?#%", name="Odd"))
    app.create(User(id="“x” - for/one", name="X"))
    made = app.create_goal("Odd", lead=User.by_id("“x” - for/one"), holder=Team.by_id("wg one/two?#%"), goal_id="a/b")
    assert await ids(Client(app), "/api/teams/wg%20one%2Ftwo%3F%23%25") == [made.id]
    assert await ids(Client(app), "/api/users/%E2%80%9Cx%E2%80%9D%20-%20for%2Fone") == [made.id]
    assert (await Client(app).get("/api/goals/a%2Fb")).json()["goal"]["id"] == "a/b"


async def test_organisations_people_and_orders(app: Service, goal: Goal) -> None:
    app.create(Organisation(id="all", name="All"))
    app.set_role(goal.id, Organisation.by_id("all"), Role.TEAM)
    app.set_team_role("engine", "grace", TeamRole.MANAGER)
    client = Client(app)
    assert await ids(client, "/api/organisations/all") == [goal.id]
    assert await ids(client, "/api/teams/engine?by=date") == [goal.id]
    people = (await client.get("/api/team-people/engine")).json()["parts"]
    assert [(p["who"]["id"], p["role"]) for p in people] == [("grace", "manager")]
    parts = (await client.get(f"/api/goal-people/{goal.id}")).json()["parts"]
    assert sorted((p["who"]["kind"], p["role"]) for p in parts) == [
        ("organisation", "team"),
        ("team", "team"),
        ("user", "lead"),
    ]


# --- changing ---------------------------------------------------------------------------------------------------------
async def test_a_goal_from_beginning_to_end(app: Service, ada: Client) -> None:
    app.set_team_role("docs", "ada", TeamRole.MEMBER)
    made = await ada.ask("POST", "/api/goals", {"title": "Sail", "team": "docs", "due": "2027"})
    assert made.status_code == 201
    path = f"/api/goals/{made.json()['id']}"
    part = await ada.ask(
        "POST",
        path.replace("goals", "key-results"),
        {"title": "A boat", "lead": "grace", "teams": ["engine"], "position": "1"},
    )
    assert (part.status_code, part.json()["kind"]) == (201, "key result")
    changed = await ada.ask("PATCH", path, {"progress": 40, "status": "under way"})
    assert (changed.json()["progress"], changed.json()["title"]) == (40, "Sail")
    found = (await ada.get("/api/teams/docs")).json()["goals"][0]
    assert found["key_results"][0]["leads"][0]["name"] == "Grace"
    assert [team["id"] for team in found["key_results"][0]["teams"]] == ["engine"]
    assert (await ada.ask("DELETE", path)).status_code == 204
    assert (await ada.get(path)).status_code == 404


async def test_two_who_change_the_same_get_both(app: Service, goal: Goal, ada: Client) -> None:
    path, was = f"/api/goals/{goal.id}", {"title": "Fly", "due": ""}
    assert (await ada.ask("PATCH", path, {"title": "Fly high", "was": was})).status_code == 200
    assert (await ada.ask("PATCH", path, {"title": "Fly", "due": "Q4", "was": was})).json()["title"] == "Fly high"
    stale = await ada.ask("PATCH", path, {"title": "Fly far", "due": "Q3", "was": was})
    assert (stale.status_code, stale.json()["differences"]) == (
        409,
        {
            "title": {"base": "Fly", "stored": "Fly high", "yours": "Fly far"},
            "due": {"base": "", "stored": "Q4", "yours": "Q3"},
        },
    )
    grace = {"who": {"id": "grace"}, "role": "lead", "was": "contributor"}
    gone = await ada.ask("PUT", f"/api/goal-people/{goal.id}", grace)
    assert (gone.status_code, gone.json()["differences"]["role"]["stored"]) == (409, "nothing")


async def test_a_profile_of_at_least_a_role(app: Service, goal: Goal) -> None:
    app.set_role(goal.id, User.by_id("grace"), Role.CONTRIBUTOR)
    led = app.create_goal("Sail", lead=User.by_id("grace"), holder=Team.by_id("docs"))
    client = Client(app)
    assert await ids(client, "/api/users/grace?at_least=contributor") == [led.id, goal.id]
    assert await ids(client, "/api/users/grace?at_least=lead") == [led.id]
    assert await ids(client, "/api/users/grace?role=contributor") == [goal.id]
    assert (await client.get("/api/users/grace?at_least=boss")).status_code == 422


async def test_users_and_teams_are_deleted(app: Service, goal: Goal, ada: Client) -> None:
    app.set_team_role("engine", "ada", TeamRole.MANAGER)
    assert (await Client(app, "grace").ask("DELETE", "/api/users/ada")).status_code == 403
    assert (await Client(app, "grace").ask("DELETE", "/api/teams/engine")).status_code == 403
    assert (await ada.ask("DELETE", "/api/teams/engine")).status_code == 204
    assert (await ada.get("/api/teams/engine")).status_code == 404
    assert app.goal(goal.id).teams == ()
    assert (await ada.ask("DELETE", "/api/users/ada")).status_code == 204
    assert app.goal(goal.id).leads == ()
    assert (await ada.ask("DELETE", "/api/users/ada")).status_code == 404


async def test_leads_give_change_and_take_parts(app: Service, goal: Goal, ada: Client) -> None:
    path = f"/api/goal-people/{goal.id}"
    grace: dict[str, Any] = {"who": {"kind": "user", "id": "grace"}, "role": "contributor"}
    assert (await ada.ask("PUT", path, grace)).status_code == 204
    assert (await ada.ask("PUT", path, {**grace, "role": "lead"})).status_code == 204
    assert [user.id for user in app.goal(goal.id).leads] == ["ada", "grace"]
    docs: dict[str, Any] = {"who": {"kind": "team", "id": "docs"}, "role": "team"}
    assert (await ada.ask("PUT", path, docs)).status_code == 204
    assert (await ada.ask("DELETE", f"{path}?kind=user&id=grace")).status_code == 204
    assert (await ada.ask("DELETE", f"{path}?kind=user&id=grace")).status_code == 404
    view = app.goal(goal.id)
    assert ([u.id for u in view.leads], [t.id for t in view.teams]) == (["ada"], ["docs", "engine"])


async def test_who_signs_in_subscribes(app: Service, goal: Goal) -> None:
    linus, path = Client(app, "linus"), f"/api/subscriptions/{goal.id}"
    for _ in range(2):
        assert (await linus.ask("PUT", path)).status_code == 204
    subscribers = (await linus.get(f"/api/subscriptions/{goal.id}")).json()["subscribers"]
    assert [(s["user"]["id"], s["since"][:10]) for s in subscribers] == [("linus", "2026-01-01")]
    assert (await linus.ask("DELETE", path)).status_code == 204
    assert (await linus.get(f"/api/subscriptions/{goal.id}")).json()["subscribers"] == []
    assert (await Client(app, "stranger").ask("PUT", path)).status_code == 404


# --- what is refused --------------------------------------------------------------------------------------------------
CHANGES = [
    ("PATCH", "/api/goals/g1", {"title": "Mine"}),
    ("DELETE", "/api/goals/g1", None),
    ("POST", "/api/key-results/g1", {"title": "x", "lead": "grace"}),
    ("PUT", "/api/goal-people/g1", {"who": {"kind": "user", "id": "grace"}, "role": "lead"}),
    ("DELETE", "/api/goal-people/g1?kind=user&id=ada", None),
]


@pytest.mark.parametrize(("method", "path", "json"), CHANGES)
async def test_only_who_manages_a_goal_changes_it(app: Service, goal: Goal, method: str, path: str, json: Any) -> None:
    app.set_role(goal.id, User.by_id("grace"), Role.CONTRIBUTOR)
    before = app.goal(goal.id)
    for caller, status in ((None, 401), ("grace", 403), ("stranger", 403)):
        assert (await Client(app, caller).ask(method, path, json)).status_code == status
    assert app.goal(goal.id) == before


@pytest.mark.parametrize(
    ("method", "path", "json"), [("POST", "/api/goals", {}), ("PUT", "/api/subscriptions/g1", None)]
)
async def test_nobody_changes_anything(app: Service, goal: Goal, method: str, path: str, json: Any) -> None:
    assert (await Client(app).ask(method, path, json)).status_code == 401


async def test_forged_tokens_are_nobodys(app: Service, goal: Goal) -> None:
    for token in ("", "Basic x", "Bearer ", "Bearer forged", f"Bearer {TOKENS.issue('ada')}x"):
        answer = await Client(app).ask("DELETE", f"/api/goals/{goal.id}", headers={"Authorization": token})
        assert answer.status_code == 401


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/api/teams/nope", 404),
        ("/api/users/nope", 404),
        ("/api/goals/nope", 404),
        ("/api/nope", 404),
        ("/api/teams/engine?limit=0", 422),
        ("/api/teams/engine?limit=101", 422),
        ("/api/teams/engine?after=forged", 422),
        ("/api/users/ada?role=LEAD", 422),
    ],
)
async def test_wrong_requests(app: Service, path: str, status: int) -> None:
    answer = await Client(app).get(path)
    assert answer.status_code == status
    assert set(answer.json()) == {"detail"}


async def test_wrong_bodies(app: Service, goal: Goal, ada: Client) -> None:
    assert (await ada.ask("PATCH", f"/api/goals/{goal.id}", {})).status_code == 422
    assert (await ada.ask("PATCH", f"/api/goals/{goal.id}", {"progress": 101})).status_code == 422
    assert (await ada.ask("POST", "/api/goals", {"title": "x", "team": "nope"})).status_code == 404
    body = {"who": {"kind": "team", "id": "docs"}, "role": "lead"}
    assert (await ada.ask("PUT", f"/api/goal-people/{goal.id}", body)).status_code == 422


async def test_a_cursor_is_of_one_list(generated: Generated) -> None:
    client = Client(generated.app)
    cursor = (await client.get("/api/teams/T0?limit=1")).json()["after"]
    assert (await client.get(f"/api/teams/T1?limit=1&after={cursor}")).status_code == 422


async def test_other_hosts_are_refused(app: Service) -> None:
    answer = await Client(app).ask("GET", "/api/teams/engine", headers={"Host": "evil.example"})
    assert answer.status_code == 400


def test_secrets_are_long_and_tokens_end() -> None:
    with pytest.raises(Invalid):
        SessionTokens(["short"])
    ended = SessionTokens([SECRET], max_age_seconds=-1)
    headers = {"authorization": f"Bearer {TOKENS.issue('ada')}"}
    assert TOKENS(headers) == "ada"
    assert ended(headers) is None
