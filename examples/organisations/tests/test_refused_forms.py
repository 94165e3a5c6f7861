"""A form that is refused comes back with what was typed, and says why beside the field."""

from __future__ import annotations

from urllib.parse import quote, urlencode

import httpx
import pytest

from examples.organisations.tests.http import TOKENS
from examples.organisations.tests.support import MEMBER, OWNER
from examples_shared.testing.page_forms import Ask, Page, refuse_each
from organisations.api import create_app
from organisations.groups import Group
from organisations.service import Service


def asking(app: Service, caller: str = OWNER) -> Ask:
    served = create_app(app, TOKENS)

    async def ask(method: str, path: str, body: str) -> httpx.Response:
        headers = {"Content-Type": "application/x-www-form-urlencoded"} if body else {}
        cookies = {"organisations": TOKENS.issue(caller)}
        transport = httpx.ASGITransport(served)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost", cookies=cookies) as client:
            return await client.request(method, path, content=body, headers=headers)

    return ask


async def test_each_form_of_all_pages_keeps_what_was_typed(app: Service, org: str) -> None:
    app.add_to_groups(org, MEMBER, [Group("pilots", "api"), Group("crew")])
    sent = await refuse_each(asking(app))
    assert {path.removeprefix(f"/o/{org}") for path in sent} == {
        *(
            "/o",
            "/me",
            "",
            "/may",
            "/rename",
            "/delete",
            "/invitations",
            "/services",
            "/services/rename",
            "/give",
            "/messages",
        ),
    }


@pytest.mark.parametrize(
    ("action", "page", "form", "field", "said"),
    [
        ("delete", "", {"name": "Acm"}, "name", "To delete the organisation type its name"),
        ("invitations", "", {"email": "a b", "group": "crew"}, "email", "An address has 1 to"),
        ("give", "", {"service": "", "group": ""}, "group", "Fill in group"),
        ("services", "", {"service": "", "name": "The <b>"}, "service", "Fill in service"),
        ("services", "", {"service": "a\tb", "name": "The"}, "service", "This is too long, holds control"),
    ],
)
async def test_the_error_stands_beside_its_field(
    app: Service, org: str, action: str, page: str, form: dict[str, str], field: str, said: str
) -> None:
    path = f"/o/{org}/{action}"
    answer = await asking(app)("POST", path, urlencode(form | ({"who": MEMBER} if action == "give" else {})))
    assert answer.status_code == 422
    (back,) = [each for each in Page(answer.text).forms if each.problem]
    assert (back.action, back.blamed) == (path, field)
    assert back.problem.startswith(said)
    held = {control.name: control.values for control in back.controls if control.name in form}
    assert held == {name: [value] for name, value in form.items()}


async def test_inviting_a_member_leads_to_their_page(app: Service, org: str) -> None:
    answer = await asking(app)("POST", f"/o/{org}/invitations", urlencode({"email": MEMBER, "group": "crew"}))
    assert (answer.status_code, answer.headers["location"]) == (303, f"/o/{org}/person?who={quote(MEMBER)}")
    assert "crew" in (await asking(app)("GET", answer.headers["location"], "")).text


async def test_the_last_owner_reads_why_above_the_button(app: Service, org: str) -> None:
    answer = await asking(app)("POST", f"/o/{org}/leave", "")
    assert answer.status_code == 409
    (back,) = [each for each in Page(answer.text).forms if each.problem]
    assert back.action == f"/o/{org}/leave"
    assert "is the last owner" in back.problem


async def test_what_is_not_for_a_member_is_told_with_what_they_typed(app: Service, org: str) -> None:
    """A page that shows no form to them shows what they sent."""
    answer = await asking(app, MEMBER)("POST", f"/o/{quote(org)}/rename", "name=Ours")
    assert answer.status_code == 403
    assert "<dd>Ours</dd>" in answer.text


@pytest.mark.parametrize("path", ["/nowhere", "/o/none/nowhere", "/users", "/organisations/none/nowhere", "/jobs/none"])
async def test_an_unknown_address_is_a_page_but_for_programs(app: Service, path: str) -> None:
    answer = await asking(app)("GET", path, "")
    is_api = path.startswith(("/users", "/organisations", "/jobs"))
    assert answer.headers["content-type"] == ("application/json" if is_api else "text/html; charset=utf-8")
    assert answer.status_code == (401 if path == "/jobs/none" else 404)
    assert is_api or "Not Found" in answer.text
