"""The alarms of a deployment, as values: each format spells them.

A table alarms on requests that were throttled and on errors of the service; a function on the age of what it reads and
on changes or messages that were set aside. Where nothing is measured, nothing is wrong.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from singletable.foundation import Table
from singletable.streams import Changes
from singletable_deploy.deployment import Deployment, Function

MOST_AGE_MILLISECONDS = 5 * 60 * 1000
"""A stream's records are lost after a day: five minutes behind leaves the time to act."""
_THROTTLES = ("ReadThrottleEvents", "WriteThrottleEvents")
_MEASURED = ("GetItem", "BatchGetItem", "Query", "PutItem", "UpdateItem", "DeleteItem", "TransactWriteItems")
"""DynamoDB counts its errors by operation."""


@dataclass(frozen=True)
class Metric:
    namespace: str
    name: str
    dimensions: Mapping[str, str]
    """The dimensions by name; the value of a queue's or a function's is a name of the deployment's own."""
    statistic: str = "Sum"


@dataclass(frozen=True)
class Alarm:
    """An alarm. It is raised while the sum of its metrics exceeds `threshold` in each of `periods` minutes."""

    name: str
    says: str
    metrics: tuple[Metric, ...]
    threshold: float = 0
    periods: int = 1


def alarms_of(deployment: Deployment) -> Iterator[Alarm]:
    """The alarms, in the order of what they watch."""
    if not deployment.alarms:
        return
    for table in deployment.tables:
        yield from _of_table(table, deployment.names[table.name])
    for function in deployment.functions:
        if isinstance(function.on, Changes):
            yield from _of_stream(function)
    for queue in deployment.all_queues:
        yield _of_failed(f"{queue.name}-dead-letters", queue.name, queue.dead_letters, "messages")


def _of_table(table: Table, name: str) -> Iterator[Alarm]:
    whole = {"TableName": name}
    places = [whole, *({**whole, "GlobalSecondaryIndexName": index} for index in table.definition.global_indexes)]
    # Ten metrics an alarm: of a table with many indexes, those of the indexes' writes, which hold up the table's.
    reads = [Metric("AWS/DynamoDB", _THROTTLES[0], place) for place in places]
    writes = [Metric("AWS/DynamoDB", _THROTTLES[1], place) for place in places]
    yield Alarm(f"{table.name}-throttled-reads", f"reads of {table.name} are throttled", tuple(reads[:10]), 0, 5)
    yield Alarm(f"{table.name}-throttled-writes", f"writes of {table.name} are throttled", tuple(writes[:10]), 0, 5)
    errors = tuple(Metric("AWS/DynamoDB", "SystemErrors", {**whole, "Operation": name}) for name in _MEASURED)
    yield Alarm(f"{table.name}-errors", f"DynamoDB answers requests of {table.name} with errors", errors, 0, 5)


def _of_stream(function: Function) -> Iterator[Alarm]:
    age = Metric("AWS/Lambda", "IteratorAge", {"FunctionName": function.name}, "Maximum")
    yield Alarm(f"{function.name}-late", f"{function.name} is behind its stream", (age,), MOST_AGE_MILLISECONDS, 3)
    yield _of_failed(function.aside, function.name, function.aside, "changes")


def _of_failed(alarm: str, watched: str, queue: str, what: str) -> Alarm:
    waiting = Metric("AWS/SQS", "ApproximateNumberOfMessagesVisible", {"QueueName": queue}, "Maximum")
    return Alarm(alarm, f"{watched}: {what} failed for the last time", (waiting,))
