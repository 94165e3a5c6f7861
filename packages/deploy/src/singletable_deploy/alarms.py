"""The alarms of a deployment, as values: each format spells them.

A table alarms on requests that were throttled and on errors of the service, a function on its errors, on the age of
what it reads, and on what failed for the last time. What comes and goes counts: three minutes of fifteen raise an
alarm.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta

from singletable.flow import CHANGES_BEHIND, CHANGES_DEAD, NAMESPACE, TASKS_DEAD, TASKS_OVERDUE, dimensions_of
from singletable.foundation import Table
from singletable.streams import Changes
from singletable.streams.inspect import changes_of
from singletable.tasks import Tasks
from singletable.tasks.inspect import tasks_of
from singletable_deploy.deployment import ContainerService, Deployment, Function

MOST_AGE_MILLISECONDS = 5 * 60 * 1000
"""A stream's records are lost after a day: five minutes behind leaves the time to act."""
MOST_OVERDUE_SECONDS = 5 * 60
"""The most for tasks that wait for a worker, and for changes that workers have not handled."""
_MINUTES, _OF = 3, 15
"""The minutes, and of how many, in which something that comes and goes is wrong."""
_THROTTLES = ("ReadThrottleEvents", "WriteThrottleEvents")
_READS = ("GetItem", "BatchGetItem", "TransactGetItems", "Query", "Scan")
_WRITES = ("PutItem", "UpdateItem", "DeleteItem", "BatchWriteItem", "TransactWriteItems")
"""DynamoDB counts its errors by operation: these are all that read or write items, as many as an alarm can sum."""
_GONE = ("DroppedEventCount", "OnFailureDestinationDeliveredEventCount")
"""The changes that a mapping gave up, and those of them that it put into the bucket."""


@dataclass(frozen=True)
class Metric:
    namespace: str
    name: str
    dimensions: Mapping[str, str]
    """The dimensions by name; a function's or its mapping's value is the function's name in the deployment."""
    statistic: str = "Sum"


@dataclass(frozen=True)
class Alarm:
    """An alarm. It is raised while the sum of its metrics exceeded `threshold` in `minutes` of the last `periods`
    minutes, in all of them by default."""

    name: str
    says: str
    metrics: tuple[Metric, ...]
    threshold: float = 0
    periods: int = 1
    minutes: int = 0
    is_below: bool = False
    """Whether it is raised for less than the threshold."""
    is_for_silence: bool = False
    """Whether a minute without a measurement counts as one that exceeds the threshold."""


def unwatched(deployment: Deployment) -> Iterator[str]:
    """The work that no alarm of a deployment is about, for people: nothing in it measures that work."""
    if not deployment.alarms:
        return
    watched = [layer for function in deployment.functions for layer in (function.on, *function.measures)]
    consumers = {(one.table.name, one.name) for one in watched if isinstance(one, Changes)}
    for table in deployment.tables:
        tasks = tasks_of(table)
        if tasks is not None and tasks not in watched:
            yield f"no alarm tells of overdue or dead tasks of {table.name}: Function(..., measures=[tasks]) makes them"
        for changes in changes_of(table):
            if (table.name, changes.name) not in consumers:
                yield (
                    f"no alarm tells that workers of the consumer {changes.name} of {table.name} are behind, or of its "
                    "dead letters: Function(..., measures=[changes]) makes them"
                )


def alarms_of(deployment: Deployment) -> Iterator[Alarm]:
    """The alarms, in the order of what they watch."""
    if not deployment.alarms:
        return
    handled = [function.on for function in deployment.functions if isinstance(function.on, Changes)]
    for table in deployment.tables:
        yield from _of_table(table, deployment.names[table.name])
    for function in deployment.functions:
        yield from _of_function(function)
        for layer in function.measures:
            called = deployment.names[layer.table.name]
            if isinstance(layer, Tasks):
                yield from _of_tasks(layer, called)
            else:
                yield from _of_changes(layer, called, has_workers=layer not in handled)
    for queue in deployment.all_queues:
        yield _of_failed(f"{queue.name}-dead-letters", f"{queue.name}: messages", queue.dead_letters)
    for service in deployment.services:
        yield _of_service(service)


def _of_table(table: Table, name: str) -> Iterator[Alarm]:
    whole = {"TableName": name}
    places = [whole, *({**whole, "GlobalSecondaryIndexName": index} for index in table.definition.global_indexes)]
    # Ten metrics an alarm: of a table with many indexes, those of the indexes' writes, which hold up the table's.
    reads = [Metric("AWS/DynamoDB", _THROTTLES[0], place) for place in places]
    writes = [Metric("AWS/DynamoDB", _THROTTLES[1], place) for place in places]
    errors = tuple(Metric("AWS/DynamoDB", "SystemErrors", {**whole, "Operation": name}) for name in (*_READS, *_WRITES))
    yield _now_and_then(f"{table.name}-throttled-reads", f"reads of {table.name} are throttled", tuple(reads[:10]))
    yield _now_and_then(f"{table.name}-throttled-writes", f"writes of {table.name} are throttled", tuple(writes[:10]))
    yield _now_and_then(f"{table.name}-errors", f"DynamoDB answers requests of {table.name} with errors", errors)


def _of_function(function: Function) -> Iterator[Alarm]:
    failed = (_of_lambda("Errors", function), _of_lambda("Throttles", function))
    yield _now_and_then(f"{function.name}-errors", f"{function.name} ends in errors or is throttled", failed)
    if isinstance(function.on, Changes):
        yield from _of_stream(function)
    elif isinstance(function.on, timedelta):
        yield _of_failed(f"{function.name}-missed", f"{function.name}: calls", function.missed)


def _of_stream(function: Function) -> Iterator[Alarm]:
    age = _of_lambda("IteratorAge", function, "Maximum")
    yield Alarm(f"{function.name}-late", f"{function.name} is behind its stream", (age,), MOST_AGE_MILLISECONDS, 3)
    gone = [Metric("AWS/Lambda", name, {"EventSourceMappingUUID": function.name}) for name in _GONE]
    failed = (*gone, _of_lambda("DestinationDeliveryFailures", function))
    yield Alarm(f"{function.name}-aside", f"{function.name}: changes failed for the last time", failed)


def _of_tasks(tasks: Tasks, table: str) -> Iterator[Alarm]:
    """Where nothing prints the metrics, nobody knows whether tasks run: that counts as overdue."""
    overdue, dead = (Metric(NAMESPACE, name, dimensions_of(table), "Maximum") for name in (TASKS_OVERDUE, TASKS_DEAD))
    name = tasks.table.name
    late = f"tasks of {name} are overdue, or nothing measures them"
    yield Alarm(f"{name}-tasks-overdue", late, (overdue,), MOST_OVERDUE_SECONDS, 5, is_for_silence=True)
    yield Alarm(f"{name}-tasks-dead", f"tasks of {name} failed for the last time", (dead,))


def _of_changes(changes: Changes, table: str, *, has_workers: bool) -> Iterator[Alarm]:
    """A function behind the stream takes no lease, and its own alarm says how late it is: `_of_stream`."""
    place, name = dimensions_of(table, changes.name), f"{changes.table.name}-{changes.name}"
    dead, behind = (Metric(NAMESPACE, metric, place, "Maximum") for metric in (CHANGES_DEAD, CHANGES_BEHIND))
    yield Alarm(f"{name}-changes-dead", f"changes of {name} failed for the last time", (dead,))
    if has_workers:
        late = f"workers of {name} are behind the stream, have never run, or nothing measures them"
        yield Alarm(f"{name}-changes-behind", late, (behind,), MOST_OVERDUE_SECONDS, 5, is_for_silence=True)


def _of_service(service: ContainerService) -> Alarm:
    """ECS measures each task of a service once a minute, so the number of measurements is that of the tasks."""
    place = {"ClusterName": service.cluster, "ServiceName": service.name}
    running = Metric("AWS/ECS", "CPUUtilization", place, "SampleCount")
    says = f"fewer than {service.least} tasks of {service.name} run"
    return Alarm(f"{service.name}-down", says, (running,), service.least, 5, is_below=True, is_for_silence=True)


def _now_and_then(name: str, says: str, metrics: tuple[Metric, ...]) -> Alarm:
    return Alarm(name, says, metrics, periods=_OF, minutes=_MINUTES)


def _of_lambda(metric: str, function: Function, statistic: str = "Sum") -> Metric:
    return Metric("AWS/Lambda", metric, {"FunctionName": function.name}, statistic)


def _of_failed(alarm: str, what: str, queue: str) -> Alarm:
    waiting = Metric("AWS/SQS", "ApproximateNumberOfMessagesVisible", {"QueueName": queue}, "Maximum")
    return Alarm(alarm, f"{what} failed for the last time", (waiting,))
