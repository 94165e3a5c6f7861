"""The process that does the work: the stream's worker and the tasks' worker, side by side."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from manhunt.escalation import Escalation
from manhunt.model import tasks
from singletable import Database
from singletable.streams import ChangeWorker
from singletable.tasks import Counts, TaskWorker

NEVER_ASIDE = 1_000_000
"""A search whose beginning fails is tried again until it begins: set aside, it would be a missed page."""


@dataclass(frozen=True)
class WorkerSettings:
    """How a worker works; seconds throughout."""

    lease_seconds: float = 30.0
    """How long a worker may show no life before others take over what it held."""
    poll_seconds: float = 0.5
    at_once: int = 8


def work(
    db: Database,
    escalation: Escalation,
    settings: WorkerSettings = WorkerSettings(),
    *,
    stop: Callable[[], bool] = lambda: False,
    signals: bool = True,
) -> Counts:
    """Until SIGTERM, SIGINT or `stop()`: what was begun is finished first. Where one of the two fails, both end."""
    ended: list[bool] = []
    with ThreadPoolExecutor(1, "changes") as beside:
        changes = beside.submit(
            ChangeWorker(db, escalation.changes).run,
            stop=lambda: bool(ended),
            signals=False,
            lease_seconds=settings.lease_seconds,
            poll_seconds=settings.poll_seconds / 2,
            tries=NEVER_ASIDE,
        )
        try:
            counts = TaskWorker(db, tasks).run(
                at_once=settings.at_once,
                poll_seconds=settings.poll_seconds,
                lease_seconds=settings.lease_seconds,
                stop=lambda: stop() or changes.done(),
                signals=signals,
            )
        finally:
            ended.append(True)
    changes.result()
    return counts


def drain(db: Database, escalation: Escalation) -> None:
    """Do what is there to do by the database's clock, and what follows from it, then return: for tests and scripts."""
    changes, worker = ChangeWorker(db, escalation.changes), TaskWorker(db, tasks)
    changes.drain()
    while worker.drain().done:
        changes.drain()
