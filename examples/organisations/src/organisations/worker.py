"""The process that does what was put off: the tasks' worker and the stream's, side by side."""

from __future__ import annotations

from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import datetime

from organisations.base import utc_now
from organisations.changes import changes_of
from organisations.jobs import Later
from organisations.mail import Post
from organisations.model import tasks
from singletable import Database
from singletable.streams import ChangeWorker
from singletable.tasks import TaskWorker

POLL_SECONDS = 0.5


def work(
    db: Database,
    post: Post,
    now: Callable[[], datetime] = utc_now,
    *,
    stop: Callable[[], bool] = lambda: False,
    signals: bool = True,
) -> None:
    """Until SIGTERM, SIGINT or `stop()`: what was begun is finished first. Where one of the two fails, both end."""
    Later(db, post, now)
    ended: list[bool] = []
    with ThreadPoolExecutor(1, "changes") as beside:
        changes = beside.submit(
            ChangeWorker(db, changes_of(db)).run,
            stop=lambda: bool(ended),
            signals=False,
            poll_seconds=POLL_SECONDS / 2,
        )
        try:
            TaskWorker(db, tasks).run(poll_seconds=POLL_SECONDS, stop=lambda: stop() or changes.done(), signals=signals)
        finally:
            ended.append(True)
    changes.result()


@contextmanager
def working(db: Database, post: Post) -> Generator[None, None, None]:
    """`work` beside what the block does, until it ends."""
    ended: list[bool] = []
    with ThreadPoolExecutor(1, "work") as beside:
        worker = beside.submit(work, db, post, stop=lambda: bool(ended), signals=False)
        try:
            yield
        finally:
            ended.append(True)
    worker.result()


def drain(db: Database, post: Post, now: Callable[[], datetime] = utc_now) -> None:
    """Do what is there to do by the database's clock, then return: for tests and scripts. Dead letters stay."""
    Later(db, post, now)
    while TaskWorker(db, tasks).drain().done:
        pass
    ChangeWorker(db, changes_of(db)).drain()
