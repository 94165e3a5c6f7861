"""Who applies what was pushed where the server does not: a worker behind a queue, or a function of AWS Lambda.

    serve --processor queue --queue-url URL     stores what is pushed, and sends a pointer to its board
    work --queue-url URL                        applies it, until SIGTERM
    projects.board.processors.handler  the same as a Lambda function

The queue is FIFO: the board is the message group, so one processor at a time works on a board. The function's event
source mapping says `FunctionResponseTypes: [ReportBatchItemFailures]`; its settings are environment variables:
PROJECTS_DB (`aws`, if nothing is said), PROJECTS_BLOBS and PROJECTS_QUEUE_URL.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cache
from typing import Any

import click

from examples_shared.opening import pass_opened
from projects.service import Service, blobs_at
from singletable import connect
from singletable.queues import Queue
from singletable.sync import Access, Pointer, Worker

Answer = dict[str, list[dict[str, str]]]


def worker_of(app: Service) -> Worker:
    """Changes are authorised by the documents themselves, for the user who pushed each: `rights.check_may_change`."""
    return Worker(app.boards, authorise=_allow)


def _allow(user: str, project: str, access: Access) -> bool:
    return True


def lambda_processor(app: Service, queue_url: str) -> Any:
    """The handler of a Lambda function behind the queue."""
    return worker_of(app).lambda_handler(Queue(queue_url, Pointer))


@cache
def _from_environment() -> Any:
    db = connect(os.environ.get("PROJECTS_DB", "aws"))
    return lambda_processor(Service(db, blobs_at(os.environ["PROJECTS_BLOBS"])), os.environ["PROJECTS_QUEUE_URL"])


def handler(event: Mapping[str, Any], context: Any) -> Answer:
    """The entry of the Lambda function. The database is opened at the first call, and kept while it is warm."""
    answer: Answer = _from_environment()(event, context)
    return answer


@click.command()
@click.option("--queue-url", required=True, envvar="PROJECTS_QUEUE_URL", help="An SQS queue; FIFO keeps boards apart.")
@pass_opened
def work(app: Service, queue_url: str) -> None:
    """Apply what is pushed to `serve --processor queue`, until SIGTERM. Any number may run."""
    click.echo(f"working for {queue_url}", err=True)
    handled = worker_of(app).run(Queue(queue_url, Pointer), wait_seconds=1)
    click.echo(f"followed {handled} pointers", err=True)
