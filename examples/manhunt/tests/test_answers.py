"""Answers: a link in a mail, a reply to a text, a key on a call, a webhook; and who may not give them."""

from __future__ import annotations

import re
from xml.etree.ElementTree import fromstring

import pytest

from examples.manhunt.tests.http import Client
from examples.manhunt.tests.support import BASE, LINKS, SECRET, World
from examples_shared.guard import MOST_BODY_BYTES
from manhunt.errors import BadLink, Invalid
from manhunt.links import Links
from manhunt.model import Kind, Search, Status

NUMBER = "+15551234567"


@pytest.fixture
def search(world: World) -> Search:
    """Tried by mail, text, call and webhook."""
    search = world.open((Kind.EMAIL, 0), (Kind.SMS, 0), (Kind.VOICE, 0), (Kind.WEBHOOK, 0))
    world.drain()
    return search


def path_of(url: str) -> str:
    return url.removeprefix(BASE)


# --- links ------------------------------------------------------------------------------------------------------------
async def test_a_link_is_looked_at_by_scanners_and_answered_by_its_button(world: World, search: Search) -> None:
    link = path_of(world.outbox.sent[0].answer_url)
    for _ in range(3):
        page = await Client(world.app).get(link)
        assert (page.status_code, "I am on it" in page.text) == (200, True)
        assert (await Client(world.app).ask("HEAD", link)).status_code in (200, 405)
    assert world.now(search).status is Status.ACTIVE
    done = await Client(world.app).ask("POST", link, form={"said": "<b>on my way</b>"})
    assert "Thank you" in done.text
    ended = world.now(search)
    assert ended.resolution is not None
    assert (ended.status, ended.resolution.by, ended.resolution.how) == (Status.ANSWERED, "Ada", "link")
    again = await Client(world.app).ask("POST", link, form={})
    assert (again.status_code, "Thank you" in again.text) == (200, True)
    assert world.now(search) == ended


async def test_a_link_of_a_search_that_was_called_off_says_so(world: World, search: Search) -> None:
    world.app.cancel(search.domain_id, search.search_id, by="grace")
    link = path_of(world.outbox.sent[0].answer_url)
    for page in (await Client(world.app).get(link), await Client(world.app).ask("POST", link, form={})):
        assert "cancelled" in page.text
        assert "Nothing is left to do here" in page.text


async def test_a_link_that_was_changed_is_good_for_nothing(world: World, search: Search) -> None:
    token = world.outbox.sent[0].answer_url.rpartition("/")[2]
    call = LINKS.call(search, 0).rpartition("/")[2]
    another = Links(BASE, ["another secret, long enough to sign"]).answer_page(search, 0).rpartition("/")[2]
    old = Links(BASE, [SECRET], max_age_seconds=-1)
    for wrong in (token[:-1], f"x{token}", f"{token}x", "", "x", call, another):
        for client_path in (f"/answer/{wrong}", f"/api/answers/{wrong}"):
            for method in ("GET", "POST"):
                answer = await Client(world.app).ask(method, client_path)
                assert answer.status_code in (404, 405), (method, client_path)
    assert (await Client(world.app, links=old).get(f"/answer/{token}")).status_code == 404
    assert (await Client(world.app, links=old).ask("POST", f"/answer/{token}")).status_code == 404
    assert world.now(search).status is Status.ACTIVE


def test_secrets_are_exchanged_one_after_the_other(world: World, search: Search) -> None:
    new = "the next secret, long enough to sign with"
    token = LINKS.answer_page(search, 1).rpartition("/")[2]
    assert Links(BASE, [SECRET, new]).read("answer", token) == (search.search_id, 1)
    with pytest.raises(BadLink):
        Links(BASE, [new]).read("answer", token)
    for secrets in ([], ["short"]):
        with pytest.raises(Invalid):
            Links(BASE, secrets)


async def test_no_other_sites_page_presses_the_button(world: World, search: Search) -> None:
    link = path_of(world.outbox.sent[0].answer_url)
    for headers in ({"Origin": "https://evil.example"}, {"Sec-Fetch-Site": "cross-site"}, {"Origin": "null"}):
        assert (await Client(world.app).ask("POST", link, form={}, headers=headers)).status_code == 403
    assert world.now(search).status is Status.ACTIVE
    ours = {"Origin": BASE, "Sec-Fetch-Site": "same-origin"}
    assert (await Client(world.app).ask("POST", link, form={}, headers=ours)).status_code == 200


# --- programs ---------------------------------------------------------------------------------------------------------
async def test_a_webhooks_program_answers(world: World, search: Search) -> None:
    link = path_of(world.outbox.sent[3].answer_api_url)
    answer = await Client(world.app).ask("POST", link, {"by": "pager", "said": "taken"})
    assert answer.json() == {"status": "answered", "by": "pager"}
    assert (await Client(world.app).ask("POST", link)).status_code == 409
    last = max(world.attempts(search), key=lambda a: a.answered_at is not None)
    assert last.answer == "webhook: taken"


# --- the telephone ----------------------------------------------------------------------------------------------------
async def test_a_reply_to_a_text_answers(world: World, search: Search) -> None:
    client, form = Client(world.app), {"From": NUMBER, "Body": "On my way & fine", "MessageSid": "SM2"}
    said = fromstring((await client.phone("/telephone/text", form)).text)
    assert "your answer is noted" in (said.findtext("Message") or "")
    ended = world.now(search)
    assert ended.resolution is not None
    assert (ended.resolution.how, ended.resolution.reason) == ("text", "On my way & fine")
    assert [a.step for a in world.attempts(search) if a.answered_at] == [1]
    assert "already" in (await client.phone("/telephone/text", form)).text
    assert "Nobody is looking" in (await client.phone("/telephone/text", form | {"From": "+15550000001"})).text


async def test_a_key_on_a_call_answers_and_a_voice_box_does_not(world: World, search: Search) -> None:
    client, call = Client(world.app), path_of(next(m.call_url for m in world.outbox.sent if m.step == 2))
    spoken = fromstring((await client.phone(call, {"CallSid": "CA1"})).text)
    gather = spoken.find("Gather")
    assert gather is not None
    assert "lighthouse" in (gather.findtext("Say") or "")
    key_path = path_of(gather.attrib["action"])
    assert "No key" in (await client.phone(key_path, {"CallSid": "CA1"})).text
    assert world.now(search).status is Status.ACTIVE
    assert "your answer is noted" in (await client.phone(key_path, {"CallSid": "CA1", "Digits": "1"})).text
    ended = world.now(search)
    assert ended.resolution is not None
    assert (ended.resolution.how, ended.resolution.reason) == ("call", "key 1")
    assert [a.step for a in world.attempts(search) if a.answered_at] == [2]
    assert "already" in (await client.phone(key_path, {"CallSid": "CA1", "Digits": "1"})).text
    assert "settled" in (await client.phone(call, {"CallSid": "CA1"})).text


async def test_only_the_providers_signature_is_believed(world: World, search: Search) -> None:
    form = {"From": NUMBER, "Body": "yes", "Digits": "1"}
    call = path_of(LINKS.call(search, 2))
    for path in ("/telephone/text", call, f"{call}/key"):
        wrong = await Client(world.app).phone(path, form, token="another token")
        assert wrong.status_code == 403
        unsigned = await Client(world.app).ask("POST", path, form=form)
        assert unsigned.status_code == 403
        not_text = await Client(world.app).ask("POST", path, form=form, headers={"X-Twilio-Signature": "x"})
        assert not_text.status_code == 403
        assert (await Client(world.app, telephone=None).phone(path, form, token="")).status_code == 404
    large = {"From": NUMBER, "Body": "x" * MOST_BODY_BYTES}
    assert (await Client(world.app).phone("/telephone/text", large)).status_code == 413
    assert world.now(search).status is Status.ACTIVE


def test_what_a_text_says_goes_to_the_provider_escaped(world: World) -> None:
    assert re.fullmatch(r"http://127\.0\.0\.1:8080/telephone/call/[\w.-]+", LINKS.call(world.open((Kind.SMS, 0)), 0))
