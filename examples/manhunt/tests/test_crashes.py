"""A worker that is killed (`kill -9`) at any of its requests loses nothing: the next one goes on where it stopped."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from examples.manhunt.tests import processes
from examples.manhunt.tests.processes import Ahead, work_at
from examples.manhunt.tests.receivers import HttpBox, http_server
from examples.manhunt.tests.support import DOMAIN, LINKS
from manhunt import Service, manhunt
from manhunt.check import check
from manhunt.escalation import Escalation
from manhunt.model import Contact, Delivery, Kind, Search, Status, tasks
from manhunt.notifiers import WebhookNotifier
from manhunt.searches import NO_ANSWER
from singletable import connect
from singletable.streams import ChangeWorker
from singletable.tasks import TaskWorker
from tests.faults.failpoints import AFTER, BEFORE
from tests.support.children import KILLED, run_child

POINTS = 45
"""About how many requests the child makes; it lives where it makes fewer."""


@dataclass
class Ward:
    """The application here, with a worker that comes when the child is dead."""

    target: str
    app: Service
    escalation: Escalation
    clock: Ahead
    contact: Contact
    received: HttpBox

    def open(self) -> Search:
        self.clock.at = 0
        return self.app.open_search(DOMAIN, self.contact.contact_id, {"summary": "x"}, answer_seconds=100)

    def recover(self) -> None:
        """Hours after all that the child can have put off."""
        work_at(self.app.db, self.escalation, self.clock, 300, 400, 500, 600)


@pytest.fixture(scope="module")
def ward(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ward]:
    target, clock = f"local:{tmp_path_factory.mktemp('crashes')}/manhunt.db", Ahead(0)
    with connect(target, clock=clock) as db, http_server() as received:
        db.create_table(manhunt)
        app = Service(db)
        webhooks = dict.fromkeys(Kind, WebhookNotifier(private=True, timeout_seconds=5))
        contact = app.create_contact(DOMAIN, "Ada")
        for order, wait_seconds in enumerate((0, 100)):
            to = f"{received.url}/{order}"
            app.add_method(DOMAIN, contact.contact_id, Kind.WEBHOOK, to, order=order, wait_seconds=wait_seconds)
        yield Ward(target, app, Escalation(app, LINKS, webhooks, "here"), clock, contact, received)


def killed_and_recovered(ward: Ward, point: str) -> int:
    """What the child ended with, at that point; then everything is as it should be."""
    ward.received.posts.clear()
    search = ward.open()
    code = run_child(processes.work, ward.target, dies_at=point)
    ward.recover()
    found = ward.app.search_with_attempts(DOMAIN, search.search_id)
    assert found.search.status is Status.FAILED
    assert found.search.resolution is not None
    assert found.search.resolution.how == NO_ANSWER
    assert [(a.step, a.delivery) for a in found.attempts] == [(0, Delivery.SENT), (1, Delivery.SENT)]
    keys = Counter(posted.headers["Idempotency-Key"] for posted in ward.received.posts)
    assert set(keys) == {f"{search.search_id}-{step}" for step in (0, 1)}
    assert all(count <= 2 for count in keys.values()), "a message went out more often than its worker died"
    assert all(json.loads(posted.body)["search"] == search.search_id for posted in ward.received.posts)
    assert check(ward.app.db, drained=True) == []
    return code


def whole(ward: Ward) -> None:
    assert ward.app.db.check(manhunt) == []
    assert TaskWorker(ward.app.db, tasks).check() == []
    assert ChangeWorker(ward.app.db, ward.escalation.changes).check() == []


@pytest.mark.parametrize("point", [f"{AFTER}:{n}" for n in (9, 16, 21, 27)] + [f"{BEFORE}:{n}" for n in (12, 33)])
def test_killed_at_some_request(ward: Ward, point: str) -> None:
    assert killed_and_recovered(ward, point) == KILLED
    whole(ward)


def test_the_child_lives_without_a_point(ward: Ward, tmp_path: Path) -> None:
    assert killed_and_recovered(ward, f"{AFTER}:100000") == 0
    whole(ward)


@pytest.mark.soak
@pytest.mark.timeout(600)
@pytest.mark.parametrize("where", [BEFORE, AFTER])
def test_killed_at_every_request(ward: Ward, where: str) -> None:
    codes = [killed_and_recovered(ward, f"{where}:{n}") for n in range(1, POINTS)]
    assert codes.count(KILLED) > POINTS / 2
    whole(ward)
