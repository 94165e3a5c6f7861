"""The pages as HTML: what they show, what they cost, and that nothing in them runs."""

from __future__ import annotations

import re

import pytest

from examples.goals.tests.file import NEEDS_FILE
from examples.goals.tests.http import TOKENS, Client
from examples.goals.tests.support import Generated
from goals import Service
from goals.model import Goal, PartOf, Role, SubGoal, Subscriber, Team, TeamRole, User
from goals.rendering import initials
from goals.sample import load_sample
from singletable.graph import Graph

EVIL = "<script>alert('x')</script>\"&"


@pytest.fixture
def sample(app: Service) -> Service:
    load_sample(app)
    return app


async def shown(app: Service, path: str, status: int = 200) -> str:
    answer = await Client(app).get(path)
    assert answer.status_code == status
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    return answer.text


def round_trips(html: str) -> int:
    found = re.search(r'data-round-trips="(\d+)"', html)
    assert found is not None
    return int(found[1])


@pytest.mark.parametrize(
    ("path", "said", "trips"),
    [
        ("/", ["Dockyard", "Harbour", 'href="/teams/T1"'], 2),
        ("/teams/T1", ["Harbour", "Ships find the harbour", "Two lamps are lit", 'title="Barbara Liskov"', ">BL<"], 4),
        ("/teams/T1?by=date", ["Ships find the harbour"], 4),
        ("/teams/T1?show=people", ["Ada Lovelace", "manager", "observer"], 2),
        ("/organisations/everybody", ["Port Authority", "Ships find the harbour"], 4),
        ("/users/U1", ["Ada Lovelace", "Leads", "Ships find the harbour", 'href="/teams/T1"'], 3),
        ("/users/U2?role=contributor", ["Grace Hopper", "Contributes to"], 3),
        ("/goals/G1", ["Key results", "Sub-goals", "The quay is dry", "Subscribers"], 3),
        ("/goals/G1?show=subscribers", ["Frances Allen", "since"], 2),
        ("/goals/G3?show=tree", ["Ships find the harbour", "The quay is dry", "The wall is a foot higher"], 4),
        ("/goals/G1-K1", ["key result of", 'of <a href="/goals/G1">'], 3),
        ("/goals/G1?show=people", ["Ada Lovelace", "contributor"], 3),
    ],
)
async def test_every_page(sample: Service, path: str, said: list[str], trips: int) -> None:
    html = await shown(sample, path)
    for text in said:
        assert text in html
    assert round_trips(html) == trips


async def test_links_lead_to_pages(sample: Service) -> None:
    open_, seen = ["/"], set[str]()
    while open_:
        path = open_.pop()
        seen.add(path)
        html = await shown(sample, path)
        links = {link.replace("&amp;", "&").partition("#")[0] for link in re.findall(r'<a [^>]*href="([^"]+)"', html)}
        open_ += sorted(links - seen - set(open_))
    assert {"/users/U6", "/goals/G3-K1", "/teams/T3", "/organisations/everybody"} <= seen


async def test_the_list_goes_on(generated: Generated) -> None:
    first = await shown(generated.app, "/teams/T0?limit=100")
    (more,) = re.findall(r'rel="next" href="([^"]+)"', first)
    assert 'rel="first"' not in first
    second = await shown(generated.app, more.replace("&amp;", "&"))
    goals = re.compile(r'<h3><a href="/goals/(G\d+)"')
    assert len(goals.findall(first)) == 100
    assert goals.findall(second)
    assert not set(goals.findall(first)) & set(goals.findall(second))
    assert 'rel="first" href="/teams/T0"' in second
    assert round_trips(second) == 4


@NEEDS_FILE
@pytest.mark.parametrize(
    ("path", "trips"),
    [("/teams/sig-auth", 4), ("/users/liggitt", 3), ("/goals/1040-priority-and-fairness", 3), ("/", 2)],
)
async def test_the_file_on_pages(imported: Service, path: str, trips: int) -> None:
    assert round_trips(await shown(imported, path)) == trips


async def test_nothing_that_people_write_is_markup(app: Service) -> None:
    app.create(User(id=EVIL, name=EVIL))
    app.create(Team(id=EVIL, name=EVIL))
    who, team = User.by_id(EVIL), Team.by_id(EVIL)
    goal = app.create_goal(EVIL, lead=who, holder=team, goal_id=EVIL, due=EVIL)
    app.create_key_result(goal.id, EVIL, lead=who, position="1")
    app.set_team_role(EVIL, EVIL, TeamRole.MEMBER)
    app.subscribe(EVIL, EVIL)
    quoted = "%3Cscript%3Ealert%28%27x%27%29%3C%2Fscript%3E%22%26"
    paths = [f"/{kind}/{quoted}{asked}" for kind in ("teams", "goals") for asked in ("", "?show=people")]
    for path in [*paths, f"/users/{quoted}"]:
        html = await shown(app, path)
        assert "<script" not in html
        assert "&lt;script&gt;" in html
    assert "<script" not in await shown(app, f"/teams/x{quoted}", 404)
    assert app.db.get(Subscriber.between(Goal.by_id(EVIL), who)) is not None


async def test_nothing_but_our_own_files_is_loaded(sample: Service) -> None:
    for path in ("/", "/teams/T1", "/nope", "/api/teams/T1"):
        headers = (await Client(sample).get(path)).headers
        assert headers["content-security-policy"].startswith("default-src 'none'; style-src 'self'; img-src 'self'")
        assert headers["x-content-type-options"] == "nosniff"
    html = await shown(sample, "/goals/G1")
    assert not re.search(r"<script|<style| style=| on\w+=|https?://", html)
    for path in set(re.findall(r'(?:src|href)="(/static/[^"]+)"', html)):
        assert (await Client(sample).get(path)).status_code == 200


@pytest.mark.parametrize(
    ("path", "status", "said"),
    [
        ("/teams/nope", 404, "There is no team"),
        ("/users/nope", 404, "There is no user"),
        ("/goals/nope", 404, "There is no goal"),
        ("/nope", 404, "There is no such page"),
        ("/teams/engine?after=forged", 422, "first page"),
    ],
)
async def test_what_is_not_there_has_a_page(app: Service, path: str, status: int, said: str) -> None:
    html = await shown(app, path, status)
    assert said in html
    assert 'href="/"' in html


async def test_finding(app: Service) -> None:
    answer = await Client(app).get("/find?kind=teams&id=%20a%2Fb%20")
    assert (answer.status_code, answer.headers["location"]) == (303, "/teams/a%2Fb")
    assert (await Client(app).get("/find?kind=//evil.example&id=x")).status_code == 422


async def test_a_page_says_what_it_leaves_out(app: Service) -> None:
    goal = app.create_goal("Crowded", lead=User.by_id("ada"), holder=Team.by_id("engine"))
    Graph(app.db).load([User(id=f"u{n:03}", name=f"U {n}") for n in range(100)])
    for n in range(100):
        app.set_role(goal.id, User.by_id(f"u{n:03}"), Role.CONTRIBUTOR)
    for path in ("/teams/engine", f"/goals/{goal.id}"):
        html = await shown(app, path)
        assert "There are more people" in html
        assert f'href="/goals/{goal.id}?show=people"' in html
    people = await shown(app, f"/goals/{goal.id}?show=people")
    assert 'rel="next"' in people


@pytest.mark.parametrize(
    ("name", "said"), [("Ada Lovelace", "AL"), ("grace", "GR"), ("“@quoted”", "QU"), ("a-b_c", "AC"), ("…", "?")]
)
def test_initials(name: str, said: str) -> None:
    assert initials(name) == said


# --- forms ------------------------------------------------------------------------------------------------------------
FORM = {"Content-Type": "application/x-www-form-urlencoded"}
FOREIGN = [
    {"Origin": "https://evil.example"},
    {"Sec-Fetch-Site": "cross-site"},
    {"Origin": "null"},
]


@pytest.mark.parametrize("headers", FOREIGN)
@pytest.mark.parametrize(("method", "path"), [("POST", "/delete-goal/g"), ("PUT", "/api/subscriptions/g")])
async def test_what_another_sites_page_sends_is_refused(
    app: Service, headers: dict[str, str], method: str, path: str
) -> None:
    app.create_goal("Fly", lead=User.by_id("ada"), holder=Team.by_id("engine"), goal_id="g")
    answer = await Client(app, "ada").ask(method, path, content="sure=yes", headers=FORM | headers)
    assert (answer.status_code, answer.json()["detail"]) == (403, "this request comes from another site's page")
    assert app.goal("g").goal.title == "Fly"
    assert app.subscribers_of("g", limit=1).subscribers == ()


async def test_a_cookie_is_for_pages_alone(app: Service) -> None:
    cookie = {"Cookie": f"goals={TOKENS.issue('ada')}"}
    client = Client(app)
    made = await client.ask("POST", "/create-team", content="name=Docks", headers=FORM | cookie)
    assert (made.status_code, made.headers["location"]) == (303, "/teams/docks")
    assert (await client.ask("POST", "/api/teams", {"name": "Docks"}, headers=cookie)).status_code == 401
    signed = await client.ask("POST", "/sign-in", content=f"token={TOKENS.issue('ada')}", headers=FORM)
    assert "HttpOnly" in signed.headers["set-cookie"]
    assert "SameSite=strict" in signed.headers["set-cookie"]


@pytest.mark.parametrize(
    ("path", "form", "status", "said"),
    [
        ("/change-goal/g", "title=&progress=5", 422, "A goal has a title"),
        ("/change-goal/g", "title=x&progress=101", 422, "0 to 100 percent"),
        ("/change-goal/nope", "title=x&progress=1", 404, "There is no goal"),
        ("/set-role/g", "id=grace&role=LEAD", 422, "is not a role"),
        ("/set-role/g", "kind=robot&id=grace&role=lead", 422, "Say who"),
        ("/set-role/g", "id=grace&role=lead&was_role=contributor", 409, "nothing"),
        ("/delete-goal/g", "sure=no", 422, "Tick the box first"),
        ("/comment/g", "text=+", 422, "A comment says something"),
        ("/delete-entry/g", "entry=nope", 404, "There is no entry"),
        ("/create-team", "name=", 422, "is not a valid name"),
        ("/comment/g", "text=" + "x" * 270_000, 413, "The form is too large"),
    ],
)
async def test_wrong_forms_say_what_is_wrong(app: Service, path: str, form: str, status: int, said: str) -> None:
    app.create_goal("Fly", lead=User.by_id("ada"), holder=Team.by_id("engine"), goal_id="g")
    answer = await Client(app, "ada").ask("POST", path, content=form, headers=FORM)
    assert (answer.status_code, said in answer.text) == (status, True)


async def test_who_is_nobody_is_asked_to_sign_in(app: Service) -> None:
    answer = await Client(app).ask("POST", "/create-team", content="name=x", headers=FORM)
    assert (answer.status_code, "Sign in" in answer.text) == (401, True)


# --- the tree ---------------------------------------------------------------------------------------------------------
async def test_a_tree_of_many_levels_is_a_round_trip_each(app: Service) -> None:
    goal = app.create_goal("Level 0", lead=User.by_id("ada"), holder=Team.by_id("engine"))
    for level in range(1, 6):
        below = app.create_sub_goal(goal.id, f"Level {level}", lead=User.by_id("ada"))
        app.create_key_result(below.id, f"Measured {level}", lead=User.by_id("ada"))
        goal = below
    html = await shown(app, f"/goals/{goal.id}?show=tree")
    titles = re.findall(r'<a href="/goals/[^"]+">([^<]+)</a>', html)
    assert sorted(titles) == sorted(["Level 0", *(f"{w} {n}" for n in range(1, 6) for w in ("Level", "Measured"))])
    assert round_trips(html) == 1 + 5 + 6  # the goal, five above it, six levels below the topmost


async def test_a_goal_that_is_part_of_itself_is_shown_once(app: Service) -> None:
    lead = User.by_id("ada")
    top = app.create_goal("Top", lead=lead, holder=Team.by_id("engine"))
    below = app.create_sub_goal(top.id, "Below", lead=lead)
    Graph(app.db).link(SubGoal(source=below, target=top, position="1"))
    Graph(app.db).link(PartOf(source=top, target=below, since=app.now().date()))
    tree = (await Client(app).get(f"/api/tree/{top.id}")).json()
    assert (tree["title"], [one["title"] for one in tree["below"]], tree["below"][0]["below"]) == ("Below", ["Top"], [])
