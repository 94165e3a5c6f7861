"""The pages that manage contacts, rotas, policies and incidents: what they do, who may, and what is escaped."""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone
from html import unescape
from itertools import pairwise
from urllib.parse import quote
from zoneinfo import ZoneInfo

import pytest

from examples.manhunt.tests.http import TOKENS, Client
from examples.manhunt.tests.oncall import alarm, at, hunted, incident_now, on, person, policy_of, rota_of
from examples.manhunt.tests.support import BASE, DOMAIN, OTHER, World
from manhunt.errors import Invalid
from manhunt.model import IncidentStatus, Kind, QuietHours

PAYLOADS = ("<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "{{ 777 * 777 }}", "</div></select>")


def signed_in(world: World, domain: str = DOMAIN) -> Client:
    return Client(world.app, cookies={"manhunt": TOKENS.issue(domain)})


async def post(world: World, path: str, **form: str) -> str:
    """Where the page leads then."""
    answer = await signed_in(world).ask("POST", path, form=form)
    assert answer.status_code == 303, answer.text
    return answer.headers["location"]


async def test_a_contact_is_managed_by_its_page(world: World) -> None:
    path = await post(world, "/contacts", name="Ada")
    await post(world, f"{path}/methods", kind="email", destination="ada@example.org", order="1", wait_seconds="")
    contact_id = path.removeprefix("/contacts/")
    (method,) = world.app.contact_with_methods(DOMAIN, contact_id).methods
    await post(world, f"{path}/methods/{method.method_id}", destination="ada@example.net", order="2", wait_seconds="9")
    (method,) = world.app.contact_with_methods(DOMAIN, contact_id).methods
    assert (method.destination, method.order, method.wait_seconds, method.enabled) == ("ada@example.net", 2, 9, False)
    await post(world, f"{path}/quiet-hours", starts="22:00", ends="07:00", zone="Europe/Berlin")
    assert world.app.contact_by_id(DOMAIN, contact_id).quiet == QuietHours("22:00", "07:00", "Europe/Berlin")
    assert "can wait for the end of their quiet hours" in (await signed_in(world).get(path)).text
    await post(world, f"{path}/quiet-hours", starts="", ends="")
    assert world.app.contact_by_id(DOMAIN, contact_id).quiet is None
    await post(world, f"{path}/name", name="Ada L.")
    await post(world, f"{path}/methods/{method.method_id}/delete")
    assert "Ada L." in (await signed_in(world).get(path)).text
    for wrong in (
        {"kind": "fax", "destination": "x"},
        {"kind": "sms", "destination": "x"},
        {"kind": "sms", "order": "a"},
    ):
        refused = await signed_in(world).ask("POST", f"{path}/methods", form=wrong)
        assert refused.status_code == 422
    assert await post(world, f"{path}/delete") == "/"
    assert world.app.contacts_of_domain(DOMAIN).items == []


@pytest.mark.parametrize("at", ["0001-01-01", "9999-12-31"])
async def test_a_rota_has_no_times_at_the_ends_of_the_calendar(world: World, at: str) -> None:
    """Another zone has none there: each page of the rotas would fail on one."""
    ada = person(world, "Ada").contact_id
    rota = rota_of(world, person(world, "Grace")).rota_id
    begun = datetime.fromisoformat(f"{at}T12:00:00+00:00")
    for zone in ("Pacific/Kiritimati", "Pacific/Pago_Pago"):
        for edit in (
            lambda: world.app.change_rota(DOMAIN, rota, starts_at=begun, zone=zone),  # noqa: B023 called here
            lambda: world.app.create_rota(DOMAIN, "n", [ada], starts_at=begun, turn_seconds=86400, zone=zone),  # noqa: B023
            lambda: world.app.add_override(DOMAIN, rota, ada, begun, begun + timedelta(hours=1)),
            lambda: world.app.calendar(DOMAIN, rota, begun, begun + timedelta(hours=1)),
        ):
            with pytest.raises(Invalid, match="of the years 1970 to 2199"):
                edit()
    refused = await signed_in(world).get(f"/rotas/{rota}?day={at}")
    assert (refused.status_code, "of the years 1970 to 2199" in refused.text) == (422, True)


async def test_a_rota_and_a_policy_are_managed_by_their_pages(world: World) -> None:
    ada, grace = person(world, "Ada"), person(world, "Grace")
    turns = {"add-1": "Ada"}
    path = await post(world, "/rotas", name="nights", turn_seconds="1d", zone="Europe/Berlin", starts_at="", **turns)
    times = {"starts_at": "2026-01-01T00:00Z", "ends_at": "2099-01-01T00:00Z"}
    await post(world, f"{path}/overrides", contact="Grace", **times)
    page = await signed_in(world).get(path)
    assert page.text.count('class="turn override"') == 28
    assert "Grace, who stands in" in (await signed_in(world).get("/rotas")).text
    rota = world.app.rota_by_id(DOMAIN, path.removeprefix("/rotas/"))
    await post(world, f"{path}/overrides/{rota.overrides[0].override_id}/delete")
    assert 'class="turn override"' not in (await signed_in(world).get(f"{path}?day=2027-02-01")).text
    await post(world, path, name="days", turn_seconds="8h", zone="UTC", **{f"turn-{ada.contact_id}": "1"})
    assert world.app.rota_by_id(DOMAIN, rota.rota_id).turn_seconds == 8 * 3600

    stages = {
        "add-0-1": "days",
        "wait-0": "90",
        "add-2-3": f"contact:{grace.contact_id}",
        "wait-2": "1h",
    }
    made = await post(world, "/policies", name="lights", repeats="1", links="Room=https://meet.example.org/", **stages)
    policy = world.app.policy_by_id(DOMAIN, made.removeprefix("/policies/"))
    assert [(stage.targets, stage.wait_seconds) for stage in policy.stages] == [([on(rota)], 90), ([at(grace)], 3600)]
    page = await signed_in(world).get(made)
    assert page.text.count(" checked") == 2
    assert 'value="90s"' in page.text
    await post(world, made, name="lamps", repeats="0", links="", **stages)
    assert world.app.policy_by_id(DOMAIN, policy.policy_id).name == "lamps"
    assert await post(world, f"{made}/delete") == "/policies"
    assert await post(world, f"{path}/delete") == "/rotas"


@pytest.mark.parametrize("day", ["2026-03-29", "2026-10-25", "2027-07-14"])
async def test_a_rota_shows_and_takes_the_times_of_its_zone(world: World, day: str) -> None:
    """Also on the days on which its clocks are set: all times of the page are theirs."""
    ada, grace = person(world, "Ada"), person(world, "Grace")
    zone, members = "Europe/Berlin", {"add-1": "Ada", "add-2": "Grace"}
    times = {"turn_seconds": "8h", "zone": zone, "starts_at": "2026-01-05T09:00"}
    path = await post(world, "/rotas", name="nights", **times, **members)
    await post(world, f"{path}/overrides", contact="Ada", starts_at=f"{day}T12:00", ends_at=f"{day}T13:30")
    rota = world.app.rota_by_id(DOMAIN, path.removeprefix("/rotas/"))
    assert rota.starts_at == datetime(2026, 1, 5, 8, tzinfo=timezone.utc)
    noon = datetime.fromisoformat(f"{day}T12:00").replace(tzinfo=ZoneInfo(zone))
    (override,) = rota.overrides
    assert (override.starts_at, override.ends_at) == (noon, noon + timedelta(minutes=90))
    page = (await signed_in(world).get(f"{path}?day={day}")).text
    of_day = page.partition(f'data-day="{day}"')[2].partition('role="listitem"')[0]
    shown = re.findall(r'title="(\d\d:\d\d):00 to (\d\d:\d\d):00"', of_day)
    edges = ["00:00", "01:00", "09:00", "12:00", "13:30", "17:00", "00:00"]
    assert shown == list(pairwise(edges))
    abbreviation = noon.tzname()
    assert f"{day} 12:00:00 {abbreviation} to {day} 13:30:00 {abbreviation}" in page
    assert "UTC" not in re.sub(r"<option.*?</option>", "", page)
    refused = await signed_in(world).ask(
        "POST",
        f"{path}/overrides",
        form={"contact": "Ada", "starts_at": "2026-03-29T02:30", "ends_at": f"{day}T13:30"},
    )
    assert (refused.status_code, "skip 2026-03-29T02:30" in refused.text) == (422, True)
    assert {ada.contact_id, grace.contact_id} == set(rota.members)


async def test_an_incident_is_managed_by_its_page(world: World) -> None:
    ada, _ = person(world, "Ada"), person(world, "Grace")
    policy_of(world, ([at(ada)], 300))
    path = await post(world, "/incidents", policy="harbour lights", summary="dark", alarm_key="lamp", urgent="on")
    assert await post(world, "/incidents", policy="harbour lights", summary="dark", alarm_key="lamp") == path
    incident = world.app.incidents_of_domain(DOMAIN).items[0]
    await post(world, f"{path}/reassign", by="Ada", **{"target-1": "Grace"})
    world.drain()
    assert hunted(world, incident) == ["Grace"]
    await post(world, f"{path}/snooze", by="Grace", seconds="1h")
    await post(world, f"{path}/acknowledge", by="Grace", said="mine")
    await post(world, f"{path}/resources", title="Room", url="https://meet.example.org/1")
    await post(world, f"{path}/resolve", by="Grace", said="a new lamp")
    page = (await signed_in(world).get(path)).text
    for shown in ("2 alarms", "Resolved by Grace", "a new lamp", "https://meet.example.org/1", "Reassigned"):
        assert shown in page
    assert "What do you do?" not in page
    assert incident_now(world, incident).status is IncidentStatus.RESOLVED
    listed = signed_in(world)
    assert "dark" in (await listed.get("/incidents?status=resolved&since=2026-01-01")).text
    assert "There is none." in (await listed.get("/incidents?status=hunting")).text
    assert "There is none." in (await listed.get("/incidents?until=2026-01-01")).text
    assert (await listed.get("/incidents?until=soon")).status_code == 422


async def test_searches_are_filtered_by_their_contacts_page(world: World) -> None:
    ada = person(world, "Ada")
    first = world.app.open_search(DOMAIN, ada.contact_id, {"summary": "the first"})
    world.clock.forward(60)
    world.app.open_search(DOMAIN, ada.contact_id, {"summary": "the second"})
    world.app.cancel(DOMAIN, first.search_id, by="Grace")
    path = f"/contacts/{ada.contact_id}"
    middle = quote((first.started_at + timedelta(seconds=30)).isoformat())
    for asked, shown in (
        ("status=cancelled", (True, False)),
        (f"since={middle}", (False, True)),
        (f"until={middle}", (True, False)),
        (f"status=active&since={middle}", (False, True)),
        (f"status=active&until={middle}", (False, False)),
    ):
        page = (await signed_in(world).get(f"{path}?{asked}")).text
        assert ("the first" in page, "the second" in page) == shown, asked


async def test_a_contact_alone_with_its_searches_by_pages(world: World) -> None:
    """The contact without its methods, and the searches from either end: 2 requests."""
    ada = person(world, "Ada")
    for number in range(5):
        world.app.open_search(DOMAIN, ada.contact_id, {"summary": f"number {number}"})
        world.clock.forward(60)
    first = world.app.searches_of_contact(DOMAIN, ada.contact_id).items[0]
    world.app.cancel(DOMAIN, first.search_id, by="Grace")
    path = f"/contacts/{ada.contact_id}/searches"
    reader = signed_in(world)

    async def numbers(asked: str) -> list[str]:
        page = (await reader.get(f"{path}?{asked}")).text
        assert 'data-requests="2"' in page
        assert "ada@example.org" not in page
        return re.findall(r"number (\d)", page)

    assert await numbers("") == ["4", "3", "2", "1", "0"]
    assert await numbers("first=oldest&status=active") == ["1", "2", "3", "4"]
    middle = quote((first.started_at + timedelta(seconds=90)).isoformat())
    assert await numbers(f"since={middle}") == ["4", "3", "2"]
    assert await numbers(f"until={middle}&first=oldest") == ["0", "1"]
    assert await numbers(f"until={middle}&status=cancelled") == ["0"]

    following, seen = f"{path}?limit=2&first=oldest&status=active", list[str]()
    while following:
        page = (await reader.get(following)).text
        seen += re.findall(r"number (\d)", page)
        links = re.findall(r'rel="next" href="([^"]+)"', page)
        following = f"{unescape(links[0])}&limit=2" if links else ""
    assert seen == ["1", "2", "3", "4"]


async def test_a_search_alone_shows_its_plan(world: World) -> None:
    search = world.open((Kind.EMAIL, 0), (Kind.VOICE, 600))
    world.drain()
    path = f"/searches/{search.search_id}/plan"
    page = (await signed_in(world).get(path)).text
    assert 'data-requests="1"' in page
    assert "<b>0.5</b> read units" in page
    for shown in ("ada@example.org", "+15551234567", "10 min"):
        assert shown in page
    assert f'href="{path}"' in (await signed_in(world).get(f"/searches/{search.search_id}")).text


async def test_every_page_asks_who_it_is_and_whose_it_is(world: World) -> None:
    ada = person(world, "Ada")
    (method,) = world.app.contact_with_methods(DOMAIN, ada.contact_id).methods
    rota = rota_of(world, ada)
    policy = policy_of(world, ([on(rota)], 300))
    incident = alarm(world, policy)
    search = world.app.open_search(DOMAIN, ada.contact_id, {"summary": "x"})
    c, r, p, i = (
        f"/contacts/{ada.contact_id}",
        f"/rotas/{rota.rota_id}",
        f"/policies/{policy.policy_id}",
        "/incidents",
    )
    i = f"{i}/{incident.incident_id}"
    for path in (r, p, i, f"{c}/searches", f"/searches/{search.search_id}/plan"):
        assert (await Client(world.app).get(path)).status_code == 401
        assert (await signed_in(world, OTHER).get(path)).status_code == 404
        assert (await signed_in(world).get(path)).status_code == 200
    for path in ("/incidents", "/policies", "/policies/new", "/rotas", "/table"):
        assert (await Client(world.app).get(path)).status_code == 401
        assert "Ada" not in (await signed_in(world, OTHER).get(path)).text
    stage = {"name": "x", "add-0-1": f"rota:{rota.rota_id}", "wait-0": "300"}
    times = {"starts_at": "2026-01-01", "ends_at": "2026-01-02"}
    member = {"name": "x", "add-1": f"contact:{ada.contact_id}", "turn_seconds": "1d"}
    posts: list[tuple[str, dict[str, str]]] = [
        (f"{c}/name", {"name": "Eve"}),
        (f"{c}/quiet-hours", {"starts": "22:00", "ends": "07:00"}),
        (f"{c}/methods", {"kind": "sms", "destination": "+15551234567"}),
        (f"{c}/methods/{method.method_id}", {"destination": "eve@example.org"}),
        (f"{c}/methods/{method.method_id}/delete", {}),
        ("/rotas", member),
        (r, member),
        (f"{r}/overrides", {"contact": f"contact:{ada.contact_id}", **times}),
        (f"{r}/overrides/x/delete", {}),
        ("/policies", stage),
        (p, stage),
        ("/incidents", {"policy": f"policy:{policy.policy_id}", "summary": "x"}),
        *((f"{i}/{verb}", {"by": "eve"}) for verb in ("acknowledge", "resolve")),
        (f"{i}/snooze", {"by": "eve", "seconds": "1h"}),
        (f"{i}/reassign", {"by": "eve", "target-1": f"contact:{ada.contact_id}"}),
        (f"{i}/resources", {"title": "x", "url": "https://example.org/"}),
        (f"{r}/delete", {}),
        (f"{p}/delete", {}),
        (f"{c}/delete", {}),
    ]
    for path, form in posts:
        assert (await Client(world.app).ask("POST", path, form=form)).status_code == 401, path
        assert (await signed_in(world, OTHER).ask("POST", path, form=form)).status_code == 404, path
        for evil in ({"Origin": "https://evil.example"}, {"Sec-Fetch-Site": "cross-site"}):
            assert (await signed_in(world).ask("POST", path, form=form, headers=evil)).status_code == 403, path
    assert incident_now(world, incident).reactions == 1
    assert (
        await signed_in(world).ask("POST", f"{i}/resolve", form={"by": "x"}, headers={"Origin": BASE})
    ).status_code == 303


@pytest.mark.parametrize("payload", PAYLOADS)
async def test_values_are_text(world: World, payload: str) -> None:
    ada = person(world, payload, (Kind.EMAIL, 0))
    rota = world.app.create_rota(DOMAIN, payload, [ada.contact_id], starts_at=world.app.now(), turn_seconds=3600)
    policy = policy_of(world, ([on(rota)], 300))
    policy = world.app.replace_policy(DOMAIN, policy.policy_id, payload, policy.stages)
    opened = world.app.open_incident(DOMAIN, policy.policy_id, payload, alarm_key=payload)
    world.app.acknowledge(DOMAIN, opened.incident.incident_id, by=payload, said=payload)
    world.app.add_resource(DOMAIN, opened.incident.incident_id, payload, "https://example.org/")
    client = signed_in(world)
    paths = ["/", "/incidents", "/rotas", "/policies", "/policies/new", "/table", f"/contacts/{ada.contact_id}"]
    paths += [f"/rotas/{rota.rota_id}", f"/policies/{policy.policy_id}", f"/incidents/{opened.incident.incident_id}"]
    paths += [f"/incidents?since={quote(payload)}"]
    for path in paths:
        page = await client.get(path)
        assert "<script>alert" not in page.text, path
        assert "<img src=x" not in page.text
        assert "603729" not in page.text
        assert "style=" not in page.text
        assert page.text.count("</div>") == page.text.count("<div")


async def test_a_form_is_bounded(world: World) -> None:
    many = {f"x{number}": "1" for number in range(3001)}
    assert (await signed_in(world).ask("POST", "/contacts", form=many)).status_code == 413
