"""The pages: who gets in, what is escaped, and what protects them."""

from __future__ import annotations

from datetime import timedelta

import pytest

from examples.manhunt.tests.http import TOKENS, Client
from examples.manhunt.tests.support import BASE, DOMAIN, OTHER, USUAL, World, contact_with
from manhunt.model import Kind
from manhunt.views import due_times

PAYLOADS = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "{{ 777 * 777 }}",
    "javascript:alert(1)",
    "</div>",
)


def signed_in(world: World, domain: str = DOMAIN) -> Client:
    return Client(world.app, cookies={"manhunt": TOKENS.issue(domain)})


async def test_signing_in_and_out(world: World) -> None:
    out = Client(world.app)
    assert "Sign in" in (await out.get("/")).text
    wrong = await out.ask("POST", "/sign-in", form={"token": "x"})
    assert (wrong.status_code, "set-cookie" in wrong.headers) == (401, False)
    right = await out.ask("POST", "/sign-in", form={"token": TOKENS.issue(DOMAIN)})
    assert right.status_code == 303
    cookie = right.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    contact_with(world.app, *USUAL)
    assert "Ada" in (await signed_in(world).get("/")).text
    assert "Ada" not in (await signed_in(world, OTHER).get("/")).text
    gone = await signed_in(world).ask("POST", "/sign-out", form={})
    assert 'manhunt=""' in gone.headers["set-cookie"]


async def test_a_cookie_is_for_pages_alone(world: World) -> None:
    """Another site can make a browser send it; the API takes what only a program can send."""
    assert (await signed_in(world).get("/api/contacts")).status_code == 401


async def test_every_page_asks_who_it_is_and_whose_it_is(world: World) -> None:
    search = world.open(*USUAL)
    pages = f"/contacts/{search.contact_id}", f"/searches/{search.search_id}"
    posts = f"/contacts/{search.contact_id}/searches", f"/searches/{search.search_id}/cancel"
    for path in pages:
        assert (await Client(world.app).get(path)).status_code == 401
        assert (await signed_in(world, OTHER).get(path)).status_code == 404
        assert (await signed_in(world).get(path)).status_code == 200
    for path in posts:
        assert (await Client(world.app).ask("POST", path, form={})).status_code == 401
        assert (await signed_in(world, OTHER).ask("POST", path, form={})).status_code == 404
        evil = {"Origin": "https://evil.example"}
        assert (await signed_in(world).ask("POST", path, form={}, headers=evil)).status_code == 403
        assert (await signed_in(world).ask("POST", path, form={}, headers={"Origin": BASE})).status_code == 303
    assert world.now(search).status.value == "cancelled"
    again = await signed_in(world).ask("POST", posts[1], form={})
    assert again.status_code == 303


@pytest.mark.parametrize("payload", PAYLOADS)
async def test_values_are_text(world: World, payload: str) -> None:
    contact = world.app.create_contact(DOMAIN, payload)
    world.app.add_method(DOMAIN, contact.contact_id, Kind.EMAIL, "ada@example.org")
    search = world.app.open_search(DOMAIN, contact.contact_id, {"summary": payload})
    world.drain()
    link = world.outbox.sent[-1].answer_url.removeprefix(BASE)
    client = signed_in(world)
    pages = ["/", f"/contacts/{contact.contact_id}", f"/searches/{search.search_id}", link]
    found = [await client.get(path) for path in pages]
    world.app.answer(search.search_id, 0, how="link", by=payload, said=payload)
    found += [await client.get(path) for path in pages[2:]]
    found.append(await client.get(f"/contacts/{payload}"))
    for page in found:
        assert "<script>alert" not in page.text
        assert "<img src=x" not in page.text
        assert page.text.count("</div>") <= page.text.count("<div")
        assert "603729" not in page.text


async def test_what_protects_the_pages(world: World) -> None:
    for path in ("/", "/nowhere", "/static/live.js", "/answer/x"):
        headers = (await Client(world.app).get(path)).headers
        policy = headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Referrer-Policy"] == "same-origin"
    for page in ((await Client(world.app).get("/")).text, (await signed_in(world).get("/nowhere")).text):
        assert "<script>" not in page
        assert "style=" not in page


async def test_a_page_costs_a_request(world: World) -> None:
    search = world.open(*USUAL)
    world.drain()
    assert 'data-requests="1"' in (await signed_in(world).get(f"/searches/{search.search_id}")).text
    assert 'data-requests="1"' in (await signed_in(world).get("/")).text
    assert 'data-requests="2"' in (await signed_in(world).get(f"/contacts/{search.contact_id}")).text


def test_what_is_shown_as_due_is_what_comes(world: World) -> None:
    search = world.open((Kind.EMAIL, 5), (Kind.SMS, 0), (Kind.VOICE, 60), answer_seconds=30)
    assert list(due_times(search)) == [None] * 4
    world.drain()
    shown = list(due_times(world.now(search)))
    seconds = [(at - search.started_at).total_seconds() for at in shown if at is not None]
    assert seconds == [5, 5, 65, 95]
    for at in (5, 60, 30):
        world.later(at)
    attempts = world.attempts(search)
    assert [a.attempted_at for a in attempts] == shown[:3]
    assert world.now(search).ended_at == shown[3] == search.started_at + timedelta(seconds=95)
    assert list(due_times(world.now(search))) == [None] * 4
