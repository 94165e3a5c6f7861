"""Rotas, policies and incidents over HTTP: from nothing to a resolved incident, and nothing of another domain's."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from examples.manhunt.tests.http import Client
from examples.manhunt.tests.oncall import alarm, at, on, person, policy_of, rota_of
from examples.manhunt.tests.support import DOMAIN, OTHER, World


async def test_from_a_rota_to_a_resolved_incident(world: World) -> None:
    harbour = Client(world.app, DOMAIN)
    ada, grace = person(world, "Ada"), person(world, "Grace")
    began = world.app.now() - timedelta(hours=1)
    members = [ada.contact_id, grace.contact_id]
    given = {"name": "nights", "members": members, "starts_at": began.isoformat(), "turn_seconds": 7200}
    rota = (await harbour.ask("POST", "/api/rotas", given)).json()
    path = f"/api/rotas/{rota['rota_id']}"
    times = {"starts_at": world.app.now().isoformat(), "ends_at": (began + timedelta(hours=2)).isoformat()}
    override = (await harbour.ask("POST", f"{path}/overrides", {"contact_id": grace.contact_id, **times})).json()
    turns = (await harbour.get(f"{path}/calendar")).json()["on_call"]
    assert [turn["override_id"] for turn in turns[:2]] == [override["override_id"], None]
    assert {turn["contact_id"] for turn in turns[:2]} == {grace.contact_id}
    assert (await harbour.get("/api/rotas")).json()["rotas"][0]["overrides"] == [override]

    stages = [
        {"targets": [{"kind": "rota", "id": rota["rota_id"]}], "wait_seconds": 300},
        {"targets": [{"kind": "contact", "id": ada.contact_id}], "wait_seconds": 300},
    ]
    links = [{"title": "War room", "url": "https://meet.example.org/war"}]
    plan = {"name": "lights", "stages": stages, "links": links, "repeats": 1}
    policy = (await harbour.ask("POST", "/api/policies", plan)).json()
    assert (await harbour.get(f"/api/policies/{policy['policy_id']}")).json() == {
        **plan,
        "policy_id": policy["policy_id"],
    }

    said = {"policy_id": policy["policy_id"], "summary": "dark", "alarm_key": "lamp"}
    first, again = [await harbour.ask("POST", "/api/alarms", said) for _ in range(2)]
    assert (first.status_code, again.status_code) == (201, 200)
    incident = f"/api/incidents/{first.json()['incident_id']}"
    world.later(300)
    found = (await harbour.get(incident)).json()
    assert [(each["contact_name"], each["stage"], each["status"]) for each in found["searches"]] == [
        ("Grace", 0, "active"),
        ("Ada", 1, "active"),
    ]
    assert (found["alarms"], found["resources"][0]["title"]) == (2, "War room")
    assert [each["kind"] for each in found["reactions"]] == ["opened", "escalated"]

    for verb, body in (
        ("snooze", {"by": "Ada", "seconds": 60}),
        ("reassign", {"by": "Ada", "targets": [{"kind": "contact", "id": grace.contact_id}]}),
        ("acknowledge", {"by": "Grace", "said": "mine"}),
        ("resolve", {"by": "Grace"}),
    ):
        assert (await harbour.ask("POST", f"{incident}/{verb}", body)).status_code == 200, verb
    refused = await harbour.ask("POST", f"{incident}/acknowledge", {"by": "Eve"})
    assert (refused.status_code, "resolved by Grace" in refused.json()["detail"]) == (409, True)
    assert (await harbour.ask("POST", f"{incident}/resources", links[0])).status_code == 201

    since = (world.app.now() - timedelta(days=1)).isoformat().replace("+", "%2B")
    listed = (await harbour.get(f"/api/incidents?status=resolved&since={since}")).json()["incidents"]
    assert [each["held_by"] for each in listed] == ["Grace"]
    assert (await harbour.get(f"/api/incidents?until={since}")).json() == {"incidents": [], "after": None}
    for rest in (f"{path}/overrides/{override['override_id']}", path, f"/api/policies/{policy['policy_id']}"):
        assert (await harbour.ask("DELETE", rest)).status_code == 204
    assert (await harbour.get("/api/policies")).json()["policies"] == []


async def test_other_domains_and_wrong_types_are_404_with_one_body(world: World) -> None:
    ada = person(world, "Ada")
    rota = rota_of(world, ada)
    policy = policy_of(world, ([on(rota)], 300))
    incident = alarm(world, policy)
    r, p, i = rota.rota_id, policy.policy_id, incident.incident_id
    member = {"name": "x", "members": [ada.contact_id], "starts_at": "2026-01-01T00:00:00Z", "turn_seconds": 3600}
    stage = {"targets": [{"kind": "rota", "id": r}], "wait_seconds": 300}
    override = {"contact_id": ada.contact_id, "starts_at": "2026-01-01T00:00:00Z", "ends_at": "2026-01-02T00:00:00Z"}
    asked: list[tuple[str, str, Any]] = [
        ("GET", f"/api/rotas/{r}", None),
        ("POST", "/api/rotas", member),
        ("PATCH", f"/api/rotas/{r}", {"name": "Eve"}),
        ("DELETE", f"/api/rotas/{r}", None),
        ("GET", f"/api/rotas/{r}/calendar", None),
        ("POST", f"/api/rotas/{r}/overrides", override),
        ("DELETE", f"/api/rotas/{r}/overrides/x", None),
        ("GET", f"/api/policies/{p}", None),
        ("POST", "/api/policies", {"name": "x", "stages": [stage]}),
        ("PUT", f"/api/policies/{p}", {"name": "x", "stages": [stage]}),
        ("DELETE", f"/api/policies/{p}", None),
        ("POST", "/api/alarms", {"policy_id": p, "summary": "x"}),
        ("GET", f"/api/incidents/{i}", None),
        ("POST", f"/api/incidents/{i}/acknowledge", {"by": "eve"}),
        ("POST", f"/api/incidents/{i}/snooze", {"by": "eve", "seconds": 60}),
        ("POST", f"/api/incidents/{i}/reassign", {"by": "eve", "targets": stage["targets"]}),
        ("POST", f"/api/incidents/{i}/resolve", {"by": "eve"}),
        ("POST", f"/api/incidents/{i}/resources", {"title": "x", "url": "https://example.org/"}),
        ("PUT", f"/api/contacts/{ada.contact_id}/quiet-hours", {"starts": "22:00", "ends": "07:00"}),
    ]
    bodies = set[bytes]()
    for method, path, body in asked:
        answer = await Client(world.app, OTHER).ask(method, path, body)
        assert answer.status_code == 404, (method, path)
        bodies.add(answer.content)
    for path in (f"/api/incidents/{p}", f"/api/rotas/{i}", f"/api/policies/{ada.contact_id}"):
        bodies.add((await Client(world.app, DOMAIN).get(path)).content)
    assert bodies == {b'{"detail":"Not Found"}'}
    assert (await Client(world.app, OTHER).get("/api/incidents")).json()["incidents"] == []


@pytest.mark.parametrize(
    ("path", "given"),
    [
        ("/api/alarms", {"summary": ""}),
        ("/api/alarms", {"summary": "x", "alarm_key": "a\nb"}),
        ("/api/alarms", {"summary": "x", "status": "resolved"}),
        ("/api/policies", {"stages": []}),
        ("/api/policies", {"repeats": 10}),
        ("/api/policies", {"links": [{"title": "x", "url": "javascript:alert(1)"}]}),
        ("/api/rotas", {"members": []}),
        ("/api/rotas", {"turn_seconds": 59}),
        ("/api/rotas", {"zone": "Europe/Nowhere"}),
        ("/api/rotas", {"zone": "../../etc/passwd"}),
        ("/api/rotas", {"starts_at": "2026-01-01T00:00:00"}),
    ],
)
async def test_what_can_not_be_meant_is_refused(world: World, path: str, given: dict[str, Any]) -> None:
    ada = person(world, "Ada")
    policy = policy_of(world, ([at(ada)], 300))
    stage = {"targets": [{"kind": "contact", "id": ada.contact_id}], "wait_seconds": 300}
    right: dict[str, dict[str, Any]] = {
        "/api/alarms": {"policy_id": policy.policy_id, "summary": "x"},
        "/api/policies": {"name": "x", "stages": [stage]},
        "/api/rotas": {
            "name": "x",
            "members": [ada.contact_id],
            "starts_at": "2026-01-01T00:00:00Z",
            "turn_seconds": 3600,
        },
    }
    harbour = Client(world.app, DOMAIN)
    assert (await harbour.ask("POST", path, right[path])).status_code == 201
    assert (await harbour.ask("POST", path, {**right[path], **given})).status_code == 422


async def test_the_two_halves_of_a_partition(world: World) -> None:
    """The first and the third of the nine queries: the parent alone."""
    ada = person(world, "Ada")
    search = world.app.open_search(DOMAIN, ada.contact_id, {"summary": "x"})
    harbour = Client(world.app, DOMAIN)
    alone = (await harbour.get(f"/api/searches/{search.search_id}?attempts=false")).json()
    assert (alone["search_id"], "attempts" in alone) == (search.search_id, False)
    contact = (await harbour.get(f"/api/contacts/{ada.contact_id}?methods=false")).json()
    assert (contact["name"], "methods" in contact) == ("Ada", False)
