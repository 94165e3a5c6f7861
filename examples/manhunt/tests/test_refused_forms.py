"""A form that is refused comes back with what was typed, and says why beside the field."""

from __future__ import annotations

from urllib.parse import urlencode

import httpx
import pytest

from examples.manhunt.tests.http import TOKENS, Client
from examples.manhunt.tests.oncall import alarm, at, person, policy_of, rota_of
from examples.manhunt.tests.support import BASE, DOMAIN, LINKS, World
from examples_shared.testing.page_forms import Ask, Page, PageForm, refuse_each
from manhunt.model import Kind, QuietHours

NIGHT = QuietHours("22:00", "07:00", "UTC")


def asking(world: World) -> Ask:
    client = Client(world.app, cookies={"manhunt": TOKENS.issue(DOMAIN)})

    async def ask(method: str, path: str, body: str) -> httpx.Response:
        return await client.send(method, path, body)

    return ask


async def test_each_form_of_all_pages_keeps_what_was_typed(world: World) -> None:
    ada = person(world, "Ada")
    world.app.set_quiet_hours(DOMAIN, ada.contact_id, NIGHT)
    rota_of(world, ada)
    policy = policy_of(world, ([at(ada)], 300))
    alarm(world, policy)
    search = world.app.open_search(DOMAIN, ada.contact_id, {"summary": "dark"})
    world.drain()
    sent = await refuse_each(asking(world))
    sent |= await refuse_each(asking(world), f"/searches/{search.search_id}")
    sent |= await refuse_each(asking(world), LINKS.answer_page(search, 0).removeprefix(BASE))
    kinds = {path.strip("/").split("/")[-1] if path.count("/") > 2 else path.split("/")[1] for path in sent}
    assert kinds >= {"contacts", "searches", "methods", "quiet-hours", "name", "rotas", "overrides", "policies"}
    assert kinds >= {"incidents", "acknowledge", "resolve", "snooze", "reassign", "resources", "cancel", "answer"}


@pytest.mark.parametrize(
    ("action", "form", "field", "said"),
    [
        (
            "methods",
            {"kind": "sms", "destination": "555", "order": "2"},
            "destination",
            "A telephone number looks like",
        ),
        (
            "methods",
            {"kind": "sms", "destination": "+15551234567", "order": "two"},
            "order",
            "Order: 'two' is not a number",
        ),
        (
            "methods",
            {"kind": "email", "destination": "a@b.org", "wait_seconds": "-1"},
            "wait_seconds",
            "A wait is 0 to",
        ),
        ("quiet-hours", {"starts": "22:00", "ends": "7", "zone": "UTC"}, "ends", "'7' is not a time of the day"),
        ("quiet-hours", {"starts": "22:00", "ends": "07:00", "zone": "Mars"}, "zone", "There is no time zone 'Mars'"),
        ("name", {"name": "  "}, "name", "A name has 1 to 200"),
    ],
)
async def test_the_error_stands_beside_its_field(
    world: World, action: str, form: dict[str, str], field: str, said: str
) -> None:
    path = f"/contacts/{person(world, 'Ada').contact_id}/{action}"
    answer = await asking(world)("POST", path, urlencode(form))
    assert answer.status_code == 422
    (back,) = [each for each in Page(answer.text).forms if each.problem]
    assert (back.action, back.blamed) == (path, field)
    assert back.problem.startswith(said)
    assert {name: values_of(back, name) for name in form} == {name: [value] for name, value in form.items()}


def values_of(form: PageForm, name: str) -> list[str]:
    return [value for control in form.controls if control.name == name for value in control.values]


async def test_what_no_page_has_a_form_for_any_more_is_shown(world: World) -> None:
    incident = alarm(world, policy_of(world, ([at(person(world, "Ada"))], 300)))
    world.app.resolve(DOMAIN, incident.incident_id, by="Grace")
    body = urlencode({"by": "Ada", "said": "<b>mine</b>"})
    answer = await asking(world)("POST", f"/incidents/{incident.incident_id}/acknowledge", body)
    assert answer.status_code == 409
    assert "which was not stored" in answer.text
    assert "&lt;b&gt;mine&lt;/b&gt;" in answer.text


async def test_a_date_that_is_none_comes_back_in_its_filter(world: World) -> None:
    contact = world.open((Kind.EMAIL, 0)).contact_id
    for path in (f"/contacts/{contact}", "/incidents"):
        answer = await asking(world)("GET", f"{path}?status=&since=soon&until=2026-01-01", "")
        assert answer.status_code == 422
        (back,) = [each for each in Page(answer.text).forms if each.problem]
        assert (back.blamed, values_of(back, "since"), values_of(back, "until")) == ("since", ["soon"], ["2026-01-01"])


async def test_nobody_reads_a_page_by_sending_a_form_to_it(world: World) -> None:
    """Another domain's page is not there, whatever is sent to it."""
    path = f"/contacts/{person(world, 'Ada').contact_id}/name"
    other = Client(world.app, cookies={"manhunt": TOKENS.issue("elsewhere")})
    answer = await other.send("POST", path, "name=")
    assert "Ada" not in answer.text
    assert answer.status_code in (404, 422)
    assert (await Client(world.app).send("POST", path, "name=")).status_code == 401
