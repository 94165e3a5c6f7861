"""A worker as a child process, which may die at any request.

It does all that is due now, then what is due a hundred seconds later, and so on.
"""

from __future__ import annotations

import time

from examples.manhunt.tests.support import LINKS, Clock
from manhunt import Service
from manhunt.escalation import Escalation
from manhunt.model import Kind, tasks
from manhunt.notifiers import WebhookNotifier
from singletable import Database
from singletable.streams import ChangeWorker
from singletable.tasks import TaskWorker
from tests.support.children import mortal

LEASE_SECONDS = 0.3
HOURS = (0, 100, 200)
"""When it works, in seconds from now."""


class Ahead(Clock):
    """The real time, and as many seconds more as are said."""

    def __call__(self) -> float:
        return time.time() + self.at


def work_at(db: Database, escalation: Escalation, clock: Ahead, *hours: int) -> None:
    for clock.at in hours:
        ChangeWorker(db, escalation.changes).drain(lease_seconds=LEASE_SECONDS)
        TaskWorker(db, tasks).drain(lease_seconds=LEASE_SECONDS)


def work(target: str) -> None:
    clock = Ahead(0)
    with mortal(target, clock=clock) as db:
        webhooks = dict.fromkeys(Kind, WebhookNotifier(private=True, timeout_seconds=5))
        work_at(db, Escalation(Service(db), LINKS, webhooks, "child"), clock, *HOURS)
