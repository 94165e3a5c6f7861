"""The attributes of spans and metrics, by OpenTelemetry's semantic conventions 1.44: databases, DynamoDB, messaging.

An attribute that the conventions do not have begins with `singletable.`. None holds a value or a key of an item.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final
from urllib.parse import urlsplit

from singletable.events import BlobCalled, Handled, RequestEnded, RequestTried, Sent

SCHEMA: Final = "https://opentelemetry.io/schemas/1.44.0"
DYNAMODB: Final = "aws.dynamodb"
OPERATION_TYPES: Final = {"SendMessageBatch": "send", "ReceiveMessage": "receive", "DeleteMessageBatch": "settle"}
"""The actions of SQS that the conventions for messaging know."""
SYSTEMS: Final = {
    "message": "aws_sqs",
    "change": "aws_dynamodb_streams",
    "task": "singletable_tasks",
    "mutation": "singletable_mutations",
}
"""The messaging system of each kind. The conventions have a name for SQS only."""
_OF_SQS: Final = frozenset({*OPERATION_TYPES, "ChangeMessageVisibility", "GetQueueAttributes"})
_READS: Final = frozenset({"GetItem", "BatchGetItem", "TransactGetItems", "Query", "Scan", "ExecuteStatement"})
_BATCHES: Final = frozenset({"BatchGetItem", "BatchWriteItem", "TransactGetItems", "TransactWriteItems"})
_PORTS: Final = {"https": 443, "http": 80}
Attributes = dict[str, str | int | float | list[str]]


def tables_of(event: RequestEnded | RequestTried) -> list[str]:
    """The tables in the account. The name of a stream is its ARN, which has a time in it."""
    called = event.called
    if called.startswith("arn:"):
        called = called.partition(":table/")[2].partition("/")[0]
    return called.split(", ") if called else []


def is_of_queue(event: RequestEnded) -> bool:
    """Whether a call is one of SQS."""
    return event.operation in _OF_SQS


def returned_rows(event: RequestEnded) -> int | None:
    """The items that a read returned; None for another call, and for one that failed."""
    return event.items if event.operation in _READS and event.outcome == "ok" else None


def of_place(event: RequestEnded) -> Attributes:
    """The server, by its name or its socket, and the region."""
    place = urlsplit(event.endpoint)
    found: Attributes = {"server.address": place.hostname or place.path, "cloud.region": event.region}
    port = place.port or _PORTS.get(place.scheme)
    return found | ({"server.port": port} if port not in (None, _PORTS["https"]) else {})


def of_call(event: RequestEnded) -> Attributes:
    """The attributes of a call, for spans and metrics: each has few values."""
    if is_of_queue(event):
        found = of_queue_call(event)
    else:
        found = {"db.system.name": DYNAMODB, "db.operation.name": event.operation}
        tables = tables_of(event)
        if len(tables) == 1:
            found["db.collection.name"] = tables[0]
    return found | of_place(event) | ({} if event.outcome == "ok" else {"error.type": event.outcome})


def of_queue_call(event: RequestEnded) -> Attributes:
    """The attributes of a request to SQS."""
    kind = OPERATION_TYPES.get(event.operation)
    name = event.operation if kind is None else kind
    found: Attributes = {"messaging.system": SYSTEMS["message"], "messaging.operation.name": name}
    if kind is not None:
        found["messaging.operation.type"] = kind
    return found | {"messaging.destination.name": event.table}


def more_of_call(event: RequestEnded) -> Attributes:
    """The further attributes of its span."""
    found: Attributes = {"singletable.attempts": event.attempts}
    if event.request_id:
        found["aws.request_id"] = event.request_id
    if event.key_hash:
        found["singletable.key_hash"] = event.key_hash
    if event.waited:
        found["singletable.waited_seconds"] = event.waited
    if event.patterns:
        found["singletable.patterns"] = list(event.patterns)
    if is_of_queue(event):
        return found | {"messaging.batch.message_count": event.items}
    return found | _more_of_database(event)


def _more_of_database(event: RequestEnded) -> Attributes:
    found: Attributes = {}
    if tables := tables_of(event):
        found["aws.dynamodb.table_names"] = tables
    if event.index:
        found["aws.dynamodb.index_name"] = event.index
    if event.operation in _BATCHES and event.items > 1:
        found["db.operation.batch.size"] = event.items
    rows = returned_rows(event)
    if rows is not None:
        found["db.response.returned_rows"] = rows
        if event.operation in ("Query", "Scan"):
            found["aws.dynamodb.count"] = rows
    if event.read_units or event.write_units:
        found["aws.dynamodb.consumed_capacity"] = [_capacity(event)]
    return found


def _capacity(event: RequestEnded) -> str:
    """The units of a call, of its tables together, in the service's form."""
    units = {"CapacityUnits": event.read_units + event.write_units}
    parts = {"ReadCapacityUnits": event.read_units, "WriteCapacityUnits": event.write_units}
    return json.dumps({"TableName": event.called, **units, **{name: value for name, value in parts.items() if value}})


def of_blob(event: BlobCalled) -> Attributes:
    """The attributes of a call of a blob store, for spans and metrics. The path is not told: it holds keys."""
    found: Attributes = {"singletable.blob.verb": event.verb, "singletable.blob.store": event.store}
    return found | ({} if event.outcome == "ok" else {"error.type": event.outcome})


def of_sent(sent: Sent) -> Attributes:
    """The attributes of a producer span."""
    return _of_message(sent, "create")


def of_work(handled: Handled) -> Attributes:
    """The attributes of some work, for spans and metrics."""
    found = _of_message(handled, "process")
    if handled.consumer:
        found["messaging.consumer.group.name"] = handled.consumer
    if handled.kind == "change":
        found["singletable.change"] = handled.name
    return found


def more_of_work(handled: Handled) -> Attributes:
    """The further attributes of its span."""
    found: Attributes = {"singletable.attempt": handled.attempt, "singletable.table": handled.place}
    if handled.kind == "message":
        del found["singletable.table"]
        if handled.key_hash:
            found["messaging.message.id"] = handled.key_hash
    elif handled.key_hash:
        found["singletable.key_hash"] = handled.key_hash
    if handled.kind == "mutation":
        found["messaging.batch.message_count"] = handled.count
    return found


def destination_of(message: Sent | Handled) -> str:
    """The name of a task's function or a mutation, the queue of a message, the table of a change."""
    return message.place if message.kind == "change" else message.name


def _of_message(message: Sent | Handled, operation: str) -> Attributes:
    return {
        "messaging.system": SYSTEMS[message.kind],
        "messaging.operation.name": operation,
        "messaging.operation.type": operation,
        "messaging.destination.name": destination_of(message),
    }


def headers_of(parent: str, state: str) -> Mapping[str, str]:
    """The headers of W3C Trace Context."""
    return {"traceparent": parent, **({"tracestate": state} if state else {})}
