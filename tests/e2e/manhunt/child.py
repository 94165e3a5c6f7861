"""A worker in a process of its own, which may die at any request: `python -m tests.e2e.manhunt.child TARGET URL`.

It does all that is due now, then what is due a hundred seconds later, and so on; and prints how many requests it made.
"""

from __future__ import annotations

import sys
import time

from examples.manhunt import Service
from examples.manhunt.escalation import Escalation
from examples.manhunt.model import Kind, tasks
from examples.manhunt.notifiers import WebhookNotifier
from singletable import Database, connect
from tests.e2e.manhunt.support import LINKS, Clock
from tests.faults.failpoints import make_mortal

LEASE_SECONDS = 0.3
HOURS = (0, 100, 200)
"""When it works, in seconds from now."""


class Ahead(Clock):
    """The real time, and as many seconds more as are said."""

    def __call__(self) -> float:
        return time.time() + self.at


def work_at(db: Database, escalation: Escalation, clock: Ahead, *hours: int) -> None:
    for clock.at in hours:
        escalation.changes.drain(db, lease_seconds=LEASE_SECONDS)
        tasks.drain(db, lease_seconds=LEASE_SECONDS)


def main(target: str) -> None:
    clock = Ahead(0)
    with connect(target, clock=clock) as db:
        make_mortal(db.port)
        webhooks = dict.fromkeys(Kind, WebhookNotifier(private=True, timeout_seconds=5))
        with db.meter() as meter:
            work_at(db, Escalation(Service(db), LINKS, webhooks, "child"), clock, *HOURS)
        sys.stdout.write(f"{meter.requests}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
