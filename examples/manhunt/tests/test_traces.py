"""One search is one trace: from the HTTP request over the change of the table and the task to the mail."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest

from examples.manhunt.tests.http import SERVED, TELEPHONE, TOKENS
from examples.manhunt.tests.support import BASE, DOMAIN, LINKS, Clock, contact_with
from examples_shared.testing.databases import fresh
from examples_shared.testing.mailbox import Mailbox, mail_server
from examples_shared.testing.tracing import Traces, way_to
from manhunt import Service, manhunt
from manhunt.escalation import Escalation
from manhunt.model import Kind
from manhunt.notifiers import MailServer, SmtpNotifier
from manhunt.web import Web
from manhunt.worker import drain

SUMMARY = "the lighthouse is dark"


@pytest.fixture
def mailbox() -> Iterator[Mailbox]:
    with mail_server() as box:
        yield box


async def test_a_search_from_its_request_to_the_mail_is_one_trace(mailbox: Mailbox) -> None:
    traces = Traces()
    with fresh(clock=Clock(), listeners=[traces.listener()]) as db:
        db.create_table(manhunt)
        app = Service(db)
        smtp = SmtpNotifier(MailServer("127.0.0.1", mailbox.port, timeout_seconds=5), "Manhunt <manhunt@example.org>")
        escalation = Escalation(app, LINKS, {Kind.EMAIL: smtp}, "worker")
        contact = contact_with(app, (Kind.EMAIL, 0))
        path = f"/api/contacts/{contact.contact_id}/searches"
        with SERVED.by(Web(app, TOKENS, LINKS, TELEPHONE)) as served:
            transport = httpx.ASGITransport(traces.served(served))
            async with httpx.AsyncClient(transport=transport, base_url=BASE) as client:
                headers = {"Authorization": f"Bearer {TOKENS.issue(DOMAIN)}"}
                answer = await client.post(path, json={"metadata": {"summary": SUMMARY}}, headers=headers)
        assert answer.status_code == 201
        drain(db, escalation)
        assert len(mailbox.mails) == 1
    spans = traces.of(f"POST {path}")
    assert traces.of_messages() == {spans[0].get_span_context().trace_id}  # type: ignore[union-attr]  # all have one
    began = next(span for span in spans if dict(span.attributes or {}).get("singletable.change") == "search#INSERT")
    assert way_to(began, spans) == [f"POST {path}", "process manhunt"]
    (sent,) = [span for span in spans if span.name == "process send"]
    way = [f"POST {path}", "process manhunt", "create wake", "process wake", "create send", "process send"]
    assert way_to(sent, spans) == way
    said = "".join(str(span.to_json()) for span in spans if span.name != f"POST {path}")
    assert not [value for value in (SUMMARY, "ada@example.org", contact.contact_id) if value in said]
