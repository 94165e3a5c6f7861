"""Messages over real SMTP and real HTTP, and what each answer of a provider means."""

from __future__ import annotations

import hashlib
import hmac
import json
import socket
from base64 import b64encode
from collections.abc import Iterator
from urllib.parse import parse_qs

import pytest

from examples.manhunt.tests.receivers import HttpBox, http_server
from examples.manhunt.tests.support import DOMAIN, LINKS, World
from examples_shared.mail import subject_of
from examples_shared.testing.mailbox import Mailbox, mail_server
from manhunt.errors import Invalid, Rejected, Undeliverable
from manhunt.escalation import Escalation
from manhunt.messages import check_message, text_of
from manhunt.model import Delivery, Kind, Status
from manhunt.notifiers import (
    CallNotifier,
    MailServer,
    Message,
    Notifier,
    SmtpNotifier,
    Telephone,
    TextNotifier,
    WebhookNotifier,
)
from manhunt.providers import Providers

TEXT = "The lighthouse is dark: please look"


@pytest.fixture
def mailbox() -> Iterator[Mailbox]:
    with mail_server() as box:
        yield box


@pytest.fixture
def http() -> Iterator[HttpBox]:
    with http_server() as box:
        yield box


def message(destination: str, text: str = TEXT) -> Message:
    return Message("s1", 2, destination, "Ada", text, "http://x/answer/t", "http://x/api/answers/t", "http://x/call/t")


def smtp(box: Mailbox) -> SmtpNotifier:
    return SmtpNotifier(MailServer("127.0.0.1", box.port, timeout_seconds=5), "Manhunt <manhunt@example.org>")


def telephone(box: HttpBox) -> Telephone:
    return Telephone("AC1", "token", "+15550000000", box.url, timeout_seconds=5, private=True)


# --- mail -------------------------------------------------------------------------------------------------------------
def test_a_mail_has_the_text_the_link_and_one_id_for_every_try(mailbox: Mailbox) -> None:
    references = {smtp(mailbox)(message("ada@example.org")) for _ in range(2)}
    assert references == {"<s1-2@example.org>"}
    mail = mailbox.mails[0]
    assert (mail["To"], mail["Subject"]) == ("ada@example.org", TEXT)
    assert {found["Message-ID"] for found in mailbox.mails} == references
    assert mail["Auto-Submitted"] == "auto-generated"
    assert f"{TEXT}\n\nTo answer, open this page:\nhttp://x/answer/t\n" == mail.get_content().replace("\r\n", "\n")


@pytest.mark.parametrize(
    "text", ["one\nBcc: eve@example.org\n\ntwo", "one\r\nBcc: eve@example.org", "x" * 2000, "ü — 漢"]
)
def test_no_text_gets_into_the_headers(mailbox: Mailbox, text: str) -> None:
    smtp(mailbox)(message("ada@example.org", text))
    assert mailbox.mails[0]["Bcc"] is None
    assert mailbox.recipients == ["ada@example.org"]
    assert mailbox.mails[0]["Subject"] == subject_of(text)


@pytest.mark.parametrize(("answer", "error"), [("451 later", Undeliverable), ("550 never", Rejected)])
def test_a_mail_servers_refusal(mailbox: Mailbox, answer: str, error: type[Exception]) -> None:
    mailbox.answer = answer
    with pytest.raises(Undeliverable) as refused:
        smtp(mailbox)(message("ada@example.org"))
    assert refused.type is error
    mailbox.answer, mailbox.recipient_answer = "250 taken", answer
    with pytest.raises(Undeliverable) as refused:
        smtp(mailbox)(message("ada@example.org"))
    assert refused.type is error
    assert answer[4:] not in str(refused.value)


# --- HTTP -------------------------------------------------------------------------------------------------------------
def test_a_webhook_is_signed_and_carries_its_key(http: HttpBox) -> None:
    notify = WebhookNotifier("the secret", private=True)
    assert notify(message(f"{http.url}/page?team=a")) == "request-1"
    (posted,) = http.posts
    assert posted.path == "/page?team=a"
    assert posted.headers["Idempotency-Key"] == "s1-2"
    assert json.loads(posted.body) == {
        "search": "s1",
        "step": 2,
        "contact": "Ada",
        "text": TEXT,
        "answer_url": "http://x/api/answers/t",
    }
    wanted = hmac.new(b"the secret", posted.body, hashlib.sha256).hexdigest()
    assert posted.headers["X-Manhunt-Signature"] == f"sha256={wanted}"


def test_texts_and_calls_have_the_providers_shape(http: HttpBox) -> None:
    assert TextNotifier(telephone(http))(message("+15551234567")) == "SM1"
    assert CallNotifier(telephone(http))(message("+15551234567")) == "SM1"
    text, call = http.posts
    assert (text.path, call.path) == (
        "/2010-04-01/Accounts/AC1/Messages.json",
        "/2010-04-01/Accounts/AC1/Calls.json",
    )
    assert text.headers["Authorization"] == f"Basic {b64encode(b'AC1:token').decode()}"
    assert text.headers["Idempotency-Key"] == call.headers["Idempotency-Key"] == "s1-2"
    form = parse_qs(text.body.decode())
    assert (form["From"], form["To"]) == (["+15550000000"], ["+15551234567"])
    assert form["Body"][0].startswith(TEXT)
    assert parse_qs(call.body.decode())["Url"] == ["http://x/call/t"]
    assert "token" not in repr(telephone(http)).replace("token=", "")


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b'{"sid": 5}', b"\xff", b'{"sid": {"a": 1}}'])
def test_an_answer_that_says_nothing_was_still_a_yes(http: HttpBox, body: bytes) -> None:
    http.answer = lambda posted: (200, body)
    assert TextNotifier(telephone(http))(message("+15551234567")) == ""


@pytest.mark.parametrize(
    ("status", "error"),
    [(302, Rejected), (400, Rejected), (404, Rejected), (408, Undeliverable), (429, Undeliverable)]
    + [(status, Undeliverable) for status in (500, 502, 503)],
)
def test_what_a_status_means(http: HttpBox, status: int, error: type[Exception]) -> None:
    http.answer = lambda posted: (status, b"")
    for notify, to in (
        (WebhookNotifier(private=True), f"{http.url}/x"),
        (TextNotifier(telephone(http)), "+15551234567"),
    ):
        with pytest.raises(Undeliverable) as refused:
            notify(message(to))
        assert refused.type is error
    assert len(http.posts) == 2, "a redirect was followed"


def test_nobody_there_and_nobody_answering(http: HttpBox) -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/x"
        with pytest.raises(Undeliverable, match="ConnectionRefusedError"):
            WebhookNotifier(private=True)(message(url))
        silent.listen()
        with pytest.raises(Undeliverable, match="Timeout"):
            WebhookNotifier(private=True, timeout_seconds=0.1)(message(url))
        mail = SmtpNotifier(MailServer("127.0.0.1", silent.getsockname()[1], timeout_seconds=0.1), "a@example.org")
        with pytest.raises(Undeliverable):
            mail(message("ada@example.org"))


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "localhost", "[::1]", "10.0.0.1", "169.254.169.254", "0.0.0.0", "[::ffff:127.0.0.1]"]
)
def test_a_webhook_leads_to_the_open_internet(http: HttpBox, host: str) -> None:
    with pytest.raises(Rejected, match="open internet"):
        WebhookNotifier()(message(f"http://{host}:{http.port}/x"))
    assert http.posts == []


def test_a_worker_without_a_provider_says_so() -> None:
    notifiers = Providers().notifiers()
    for kind in (Kind.EMAIL, Kind.SMS, Kind.VOICE):
        with pytest.raises(Rejected, match="this worker has no"):
            notifiers[kind](message("x"))


# --- messages ---------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("template", "metadata"),
    [
        ("", {}),
        ("$nobody", {}),
        ("$", {}),
        ("${a", {"a": "1"}),
        ("x" * 2001, {}),
        ("x", {"a": "x" * 2001}),
        ("x", {str(n): "" for n in range(51)}),
    ],
)
def test_a_message_that_can_not_be_filled_is_refused_before_anybody_waits_for_it(
    template: str, metadata: dict[str, str]
) -> None:
    with pytest.raises(Invalid):
        check_message(template, metadata)


def test_a_template_reads_metadata_and_nothing_else() -> None:
    said = {"a": "{a.__class__} $b %s", "b": "2"}
    check_message("$a costs $$5, ${b}", said)
    assert text_of("$a costs $$5, ${b}", said) == "{a.__class__} $b %s costs $5, 2"


# --- a whole search ---------------------------------------------------------------------------------------------------
def test_a_search_over_real_providers(world: World, mailbox: Mailbox, http: HttpBox) -> None:
    """Mail and text at once, a webhook out of order at first, a call; the answer stops what is left."""
    notifiers: dict[Kind, Notifier] = {
        Kind.EMAIL: smtp(mailbox),
        Kind.SMS: TextNotifier(telephone(http)),
        Kind.VOICE: CallNotifier(telephone(http)),
        Kind.WEBHOOK: WebhookNotifier(private=True),
    }
    world.escalation = Escalation(world.app, LINKS, notifiers, "worker")
    contact = world.app.create_contact(DOMAIN, "Ada")
    ways = (Kind.EMAIL, "ada@example.org", 0), (Kind.SMS, "+15551234567", 0), (Kind.WEBHOOK, f"{http.url}/hook", 60)
    for order, (kind, destination, wait) in enumerate((*ways, (Kind.VOICE, "+15551234567", 60))):
        world.app.add_method(DOMAIN, contact.contact_id, kind, destination, order=order, wait_seconds=wait)
    search = world.app.open_search(DOMAIN, contact.contact_id, {"summary": "the lighthouse is dark"})
    world.drain()
    assert len(mailbox.mails) == len(http.posts) == 1
    http.answer = lambda posted: (503, b"") if len(http.posts) == 2 else (200, b"")
    world.later(60)
    world.later(10)
    assert [posted.path for posted in http.posts[1:]] == ["/hook", "/hook"]
    assert len({posted.headers["Idempotency-Key"] for posted in http.posts[1:]}) == 1
    assert [a.delivery for a in world.attempts(search)] == [Delivery.SENT] * 3
    answer_url = json.loads(http.posts[-1].body)["answer_url"]
    assert answer_url.startswith("http://127.0.0.1:8080/api/answers/")
    world.app.answer(search.search_id, 2, how="webhook")
    world.later(600)
    assert len(http.posts) == 3
    assert world.now(search).status is Status.ANSWERED
