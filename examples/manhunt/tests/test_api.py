"""The HTTP API: a domain's own things, and nothing of another's."""

from __future__ import annotations

from typing import Any

import pytest

from examples.manhunt.tests.http import Client
from examples.manhunt.tests.support import DOMAIN, OTHER, USUAL, World, contact_with


async def test_from_a_contact_to_an_ended_search(world: World) -> None:
    ada = Client(world.app, DOMAIN)
    contact = (await ada.ask("POST", "/api/contacts", {"name": "Ada"})).json()
    path = f"/api/contacts/{contact['contact_id']}"
    mail = {"kind": "email", "destination": "ada@example.org", "order": 1}
    method = (await ada.ask("POST", f"{path}/methods", mail)).json()
    text = {"kind": "sms", "destination": "+15551234567", "order": 2, "wait_seconds": 60}
    assert (await ada.ask("POST", f"{path}/methods", text)).status_code == 201
    changed = await ada.ask("PATCH", f"{path}/methods/{method['method_id']}", {"enabled": False})
    assert changed.json() == {**method, "enabled": False}
    assert [m["kind"] for m in (await ada.get(path)).json()["methods"]] == ["email", "sms"]
    assert (await ada.ask("PUT", path, {"name": "Ada L."})).json()["name"] == "Ada L."

    opened = (await ada.ask("POST", f"{path}/searches", {"metadata": {"summary": "x"}})).json()
    assert (opened["status"], opened["resolution"]) == ("active", None)
    world.later(60)
    found = (await ada.get(f"/api/searches/{opened['search_id']}")).json()
    assert [a["method"]["kind"] for a in found["attempts"]] == ["sms"]
    cancelled = await ada.ask("POST", f"/api/searches/{opened['search_id']}/cancel", {"by": "grace", "reason": "x"})
    assert cancelled.json()["resolution"] == {"by": "grace", "how": "cancelled", "reason": "x"}
    again = await ada.ask("POST", f"/api/searches/{opened['search_id']}/cancel", {"by": "grace"})
    assert (again.status_code, "has ended" in again.json()["detail"]) == (409, True)

    listed = (await ada.get(f"{path}/searches?status=cancelled")).json()
    assert [s["search_id"] for s in listed["searches"]] == [opened["search_id"]]
    assert (await ada.get(f"{path}/searches?status=active")).json() == {"searches": [], "after": None}
    before = (await ada.get(f"{path}/searches?until=2020-01-01T00:00:00Z")).json()
    assert before["searches"] == []
    assert (await ada.ask("DELETE", f"{path}/methods/{method['method_id']}")).status_code == 204
    assert (await ada.ask("DELETE", path)).status_code == 204
    assert (await ada.get("/api/contacts")).json()["contacts"] == []
    assert (await ada.get(f"/api/searches/{opened['search_id']}")).status_code == 200


async def test_a_search_without_methods_says_why_it_failed(world: World) -> None:
    contact = world.app.create_contact(DOMAIN, "Nobody")
    path = f"/api/contacts/{contact.contact_id}/searches"
    opened = await Client(world.app, DOMAIN).ask("POST", path, {"metadata": {"summary": "x"}})
    assert opened.status_code == 201
    assert opened.json()["status"] == "failed"
    assert opened.json()["resolution"]["how"] == "no contact method is enabled"


async def test_wrong_types_and_other_domains_are_404_with_one_body(world: World) -> None:
    contact = contact_with(world.app, *USUAL)
    search = world.app.open_search(DOMAIN, contact.contact_id, {"summary": "x"})
    method = world.app.contact_with_methods(DOMAIN, contact.contact_id).methods[0]
    cid, sid, mid = contact.contact_id, search.search_id, method.method_id
    asked: list[tuple[str, str, Any]] = [
        ("GET", "/api/contacts/{c}", None),
        ("PUT", "/api/contacts/{c}", {"name": "Eve"}),
        ("DELETE", "/api/contacts/{c}", None),
        ("POST", "/api/contacts/{c}/methods", {"kind": "sms", "destination": "+15551234567"}),
        ("PATCH", f"/api/contacts/{{c}}/methods/{mid}", {"enabled": False}),
        ("DELETE", f"/api/contacts/{{c}}/methods/{mid}", None),
        ("POST", "/api/contacts/{c}/searches", {"metadata": {"summary": "x"}}),
        ("GET", "/api/contacts/{c}/searches", None),
        ("GET", "/api/contacts/{c}/searches?status=active", None),
        ("GET", "/api/searches/{s}", None),
        ("POST", "/api/searches/{s}/cancel", {"by": "eve"}),
    ]
    bodies = set[bytes]()
    for method_, path, body in asked:
        for domain, c, s in (
            (OTHER, cid, sid),
            (DOMAIN, sid, cid),
            (DOMAIN, "nobody", "nobody"),
            (DOMAIN, DOMAIN, mid),
        ):
            answer = await Client(world.app, domain).ask(method_, path.format(c=c, s=s), body)
            assert answer.status_code == 404, (method_, path, domain)
            bodies.add(answer.content)
    wrong_method = await Client(world.app, DOMAIN).ask("DELETE", f"/api/contacts/{cid}/methods/nobody")
    unknown = await Client(world.app, DOMAIN).get("/api/nowhere")
    assert bodies == {wrong_method.content} == {unknown.content} == {b'{"detail":"Not Found"}'}
    assert len(world.app.contact_with_methods(DOMAIN, cid).methods) == 3
    world.drain()
    assert world.now(search).status.value == "active"


@pytest.mark.parametrize(
    ("kind", "destination"),
    [
        ("email", "ada"),
        ("email", "ada@example.org\nBcc: eve@example.org"),
        ("email", "ada@example.org, eve@example.org"),
        ("sms", "5551234567"),
        ("voice", "+1555x"),
        ("webhook", "ftp://example.org/x"),
        ("webhook", "https://user:pw@example.org/x"),
        ("webhook", "https:///x"),
        ("webhook", "https://example.org:0/x"),
        ("webhook", "http://[::1/x"),
        ("fax", "+15551234567"),
    ],
)
async def test_a_destination_that_can_not_be_sent_to_is_refused(world: World, kind: str, destination: str) -> None:
    contact = world.app.create_contact(DOMAIN, "Ada")
    given = {"kind": kind, "destination": destination}
    path = f"/api/contacts/{contact.contact_id}/methods"
    assert (await Client(world.app, DOMAIN).ask("POST", path, given)).status_code == 422
    assert world.app.contact_with_methods(DOMAIN, contact.contact_id).methods == []


@pytest.mark.parametrize("name", ["entityType", "PK", "domain_id", "status", "edits", "step", "plan", "search_id"])
async def test_nothing_of_a_record_is_set_in_passing(world: World, name: str) -> None:
    contact = contact_with(world.app, *USUAL)
    ada = Client(world.app, DOMAIN)
    for path, given in (
        ("/api/contacts", {"name": "Ada"}),
        (f"/api/contacts/{contact.contact_id}/methods", {"kind": "sms", "destination": "+15551234567"}),
        (f"/api/contacts/{contact.contact_id}/searches", {"metadata": {"summary": "x"}}),
    ):
        assert (await ada.ask("POST", path, {**given, name: "x"})).status_code == 422


async def test_who_is_believed(world: World) -> None:
    for headers in ({}, {"Authorization": "Bearer x"}, {"Authorization": f"Basic {DOMAIN}"}):
        answer = await Client(world.app).ask("GET", "/api/contacts", headers=headers)
        assert (answer.status_code, answer.headers["WWW-Authenticate"]) == (401, "Bearer")
    other_site = await Client(world.app, DOMAIN).ask("GET", "/api/contacts", headers={"Host": "evil.example"})
    assert other_site.status_code == 400
    schema = (await Client(world.app).get("/api/openapi.json")).json()
    assert schema["components"]["schemas"]["MethodIn"]["additionalProperties"] is False


async def test_pages_of_contacts(world: World) -> None:
    for number in range(5):
        world.app.create_contact(DOMAIN, f"Somebody {number}")
    ada = Client(world.app, DOMAIN)
    first = (await ada.get("/api/contacts?limit=3")).json()
    second = (await ada.get(f"/api/contacts?limit=3&after={first['after']}")).json()
    assert [c["name"][-1] for c in [*first["contacts"], *second["contacts"]]] == list("01234")
    for domain, after in ((OTHER, first["after"]), (DOMAIN, f"{first['after']}x")):
        assert (await Client(world.app, domain).get(f"/api/contacts?after={after}")).status_code == 422
