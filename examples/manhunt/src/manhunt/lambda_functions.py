"""Manhunt without a process of its own: three functions of AWS Lambda over one table and one queue.

    on_change   behind the table's stream: begins each search that was opened
    send_due    called every minute: sends the tasks to the queue that are due soon
    on_task     behind the queue: takes steps, sends messages, escalates incidents

The event source mappings of the first and the last say `FunctionResponseTypes: [ReportBatchItemFailures]`, and the
stream's begins at TRIM_HORIZON. Settings are environment variables: MANHUNT_DB (`aws`, if nothing is said),
MANHUNT_QUEUE_URL, and those of the options of `work`: MANHUNT_SECRETS, MANHUNT_BASE_URL, MANHUNT_SMTP and so on.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cache
from typing import Any

from manhunt.escalation import Escalation
from manhunt.links import Links
from manhunt.model import tasks
from manhunt.service import Service
from manhunt.settings import SECRETS, providers_from
from singletable import connect
from singletable.queues import Queue
from singletable.streams import ChangeWorker
from singletable.tasks import TaskWorker

Answer = dict[str, list[dict[str, str]]]


class Functions:
    """The three, over one database. Each call costs what its events cost, and a unit every three seconds: whether the
    table is held."""

    def __init__(self, escalation: Escalation, queue: Queue[Any]) -> None:
        self.db = escalation.db
        self._worker, self._queue = TaskWorker(escalation.db, tasks), queue
        self.on_change = ChangeWorker(escalation.db, escalation.changes).lambda_handler()
        self.on_task = self._worker.lambda_handler()

    def send_due(self) -> int:
        """How many tasks were sent. Eight queries of the index, and a write for each task."""
        return self._worker.send_due(self._queue)


def functions_of(environ: Mapping[str, str]) -> Functions:
    """As the environment says. KeyError, with the name, for a variable that has to be there."""
    links = Links(environ["MANHUNT_BASE_URL"], environ[SECRETS].split())
    db = connect(environ.get("MANHUNT_DB", "aws"))
    name = environ.get("AWS_LAMBDA_LOG_STREAM_NAME", "lambda")[:60]
    escalation = Escalation(Service(db), links, providers_from(environ).notifiers(), name)
    return Functions(escalation, Queue(environ["MANHUNT_QUEUE_URL"]))


@cache
def _functions() -> Functions:
    """Made at the first event of a machine, and kept."""
    return functions_of(os.environ)


def on_change(event: Mapping[str, Any], context: Any = None) -> Answer:
    return _functions().on_change(event, context)


def on_task(event: Mapping[str, Any], context: Any = None) -> Answer:
    return _functions().on_task(event, context)


def send_due(event: Mapping[str, Any], context: Any = None) -> int:
    return _functions().send_due()
