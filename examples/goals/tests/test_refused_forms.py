"""A form that is refused comes back with what was typed, and says why beside the field."""

from __future__ import annotations

from urllib.parse import urlencode

import httpx
import pytest

from examples.goals.tests.http import Client
from examples_shared.testing.page_forms import Ask, Page, refuse_each
from goals import Service
from goals.model import Team, TeamRole, User


def asking(app: Service, caller: str = "ada") -> Ask:
    async def ask(method: str, path: str, body: str) -> httpx.Response:
        headers = {"Content-Type": "application/x-www-form-urlencoded"}
        return await Client(app, caller).ask(method, path, headers=headers, content=body)

    return ask


@pytest.fixture
def team(app: Service) -> Service:
    """Ada manages the team T, which grace is in, and leads its goal g."""
    app.create_team("T", "Engines", manager_id="ada")
    app.set_team_role("T", "grace", TeamRole.MEMBER)
    app.create_goal("Fly", lead=User.by_id("ada"), holder=Team.by_id("T"), goal_id="g")
    app.comment("g", "ada", "high")
    return app


async def test_each_form_of_all_pages_keeps_what_was_typed(team: Service) -> None:
    sent = await refuse_each(asking(team))
    sent |= await refuse_each(asking(team, "mary"), most=1)
    assert {path.split("/")[1] for path in sent} == {
        *("find", "create-user", "rename-user", "create-team", "rename-team", "set-team-role"),
        *("create-goal", "create-key-result", "create-sub-goal", "change-goal", "set-role", "comment", "check-in"),
    }


@pytest.mark.parametrize(
    ("path", "form", "field", "said"),
    [
        ("/create-goal/T", {"title": "Fly", "lead": "nobody", "due": "soon"}, "lead", "There is no user 'nobody'"),
        (
            "/create-sub-goal/g",
            {"title": "x", "lead": "ada", "teams": "T, U", "due": ""},
            "teams",
            "There is no team 'U'",
        ),
        ("/create-team", {"name": "Engines", "id": "T"}, "id", "There is a team 'T' already"),
        ("/set-team-role/T", {"id": "", "name": "", "role": "member"}, "id", "There is no user ''"),
        ("/create-goal/T", {"title": "", "lead": "ada", "due": "2027"}, "title", "A goal has a title"),
        (
            "/change-goal/g",
            {"title": "Fly", "status": "", "progress": "101", "due": ""},
            "progress",
            "Progress is 0 to",
        ),
        ("/set-role/g", {"kind": "team", "id": "T", "role": "lead"}, "role", "A user is a lead or a contributor"),
        ("/delete-goal/g", {}, "sure", "Tick the box first"),
        ("/comment/g", {"text": " "}, "text", "A comment says something"),
    ],
)
async def test_the_error_stands_beside_its_field(
    team: Service, path: str, form: dict[str, str], field: str, said: str
) -> None:
    answer = await asking(team)("POST", path, urlencode(form) or "x=")
    assert 400 <= answer.status_code < 500
    (back,) = [each for each in Page(answer.text).forms if each.problem]
    assert (back.action, back.blamed, back.is_folded) == (path, field, False)
    assert back.problem.startswith(said)
    held = {control.name: control.values for control in back.controls if control.name in form}
    assert held == {name: [value] for name, value in form.items()}


async def test_the_form_of_the_one_who_was_meant_comes_back(team: Service) -> None:
    """Each person in a list has a form of their own, and they all go to one place. It is made of what is there now, and
    holds what was chosen: sent again, it is stored."""
    body = urlencode({"id": "grace", "was_role": "observer", "role": "manager"})
    answer = await asking(team)("POST", "/set-team-role/T", body)
    assert answer.status_code == 409
    (back,) = [each for each in Page(answer.text).forms if each.problem]
    assert {c.name: c.values for c in back.controls} == {
        "id": ["grace"],
        "was_role": ["member"],
        "role": ["manager"],
    }
