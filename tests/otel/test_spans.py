"""The span and the metrics of each call: by the names of the semantic conventions, without a value or a key."""

from __future__ import annotations

import json
import pkgutil
from importlib import import_module
from typing import Any

import opentelemetry.semconv._incubating.attributes as semantic_attributes
import opentelemetry.semconv._incubating.metrics as semantic_metrics
import pytest
from opentelemetry.trace import SpanKind, StatusCode

from singletable import AlreadyExists, attr
from singletable.events import RequestEnded, RequestTried
from singletable.otel import Telemetry
from singletable.otel.attributes import SCHEMA
from tests.otel.traced import CANARY, Note, Order, Recorded, id_of, text_of
from tests.support.shells import Shell, opened


def names_of(package: Any) -> set[str]:
    """The names of the conventions that OpenTelemetry's own package has, without the deprecated ones."""
    modules = [import_module(f"{package.__name__}.{module.name}") for module in pkgutil.iter_modules(package.__path__)]
    return {value for module in modules for value in vars(module).values() if isinstance(value, str) and "." in value}


ATTRIBUTES = names_of(semantic_attributes) | {"error.type", "server.address", "server.port"}
DEPRECATED = {"db.system", "db.operation", "db.name", "db.statement", "messaging.operation", "net.peer.name"}


def ended(**fields: Any) -> RequestEnded:
    """The event of a call."""
    facts: dict[str, Any] = {
        "operation": "GetItem",
        "table": "orders",
        "called": "app-orders",
        "index": "",
        "patterns": (),
        "endpoint": "https://dynamodb.eu-central-1.amazonaws.com",
        "region": "eu-central-1",
        "request_id": "R1",
        "items": 1,
        "read_units": 0.5,
        "write_units": 0.0,
        "attempts": 1,
        "waited": 0.0,
        "milliseconds": 2.0,
        "bytes_out": 10,
        "bytes_in": 20,
        "outcome": "ok",
        "why": "",
    }
    return RequestEnded(**facts | fields)


async def use(shell: Shell) -> None:
    await shell.put(Order(customer=CANARY))
    await shell.get(Order.of_customer(CANARY, 1))
    await shell.update(Order.of_customer(CANARY, 1), attr(Order.note).set(CANARY + "2"))
    await shell.all(Order.by_note(CANARY))
    await shell.write_many(puts=[Note(id=f"{CANARY}{number}") for number in range(3)])
    await shell.get_many([Note.by_id(CANARY), Note.by_id(f"{CANARY}1")])
    async with shell.transaction() as tx:
        tx.put(Note(id=CANARY))
        tx.put(Order(customer=CANARY, number=2))
    with pytest.raises(AlreadyExists):
        await shell.create(Order(customer=CANARY, number=2))


async def test_a_span_for_each_call(shell: Shell, recorded: Recorded) -> None:
    with recorded.request() as request:
        await use(shell)
    spans = recorded.spans[:-1]
    assert [span.name for span in spans] == [
        *("PutItem shop", "GetItem shop", "UpdateItem shop", "Query shop", "BatchWriteItem plain"),
        *("BatchGetItem plain", "TransactWriteItems", "PutItem shop"),
    ]
    assert {span.kind for span in spans} == {SpanKind.CLIENT}
    assert {span.parent and span.parent.span_id for span in spans} == {id_of(request)}
    facts: list[dict[str, Any]] = [dict(span.attributes or {}) for span in spans]
    assert {fact["db.system.name"] for fact in facts} == {"aws.dynamodb"}
    assert [fact.get("db.collection.name") for fact in facts] == [*["shop"] * 4, "plain", "plain", None, "shop"]
    assert [fact["aws.dynamodb.table_names"] for fact in facts][6] == ("plain", "shop")
    assert [fact.get("db.operation.batch.size") for fact in facts] == [*[None] * 4, 3, None, 2, None]
    assert [fact.get("db.response.returned_rows") for fact in facts] == [None, 1, None, 0, None, 1, None, None]
    assert facts[3]["aws.dynamodb.index_name"] == "gsi1"
    assert facts[1]["singletable.patterns"] == ("Order.of_customer",)
    assert json.loads(facts[1]["aws.dynamodb.consumed_capacity"][0]) == {
        "TableName": "shop",
        "CapacityUnits": 0.5,
        "ReadCapacityUnits": 0.5,
    }
    assert [span.status.status_code for span in spans] == [StatusCode.UNSET] * 7 + [StatusCode.ERROR]
    assert facts[-1]["error.type"] == "conflict.condition"
    assert all(fact["server.address"] and fact["cloud.region"] for fact in facts)


async def test_every_name_is_of_the_conventions(shell: Shell, recorded: Recorded) -> None:
    await use(shell)
    used = {name for span in recorded.spans for name in span.attributes or ()}
    points = recorded.points()
    used |= {name for found in points.values() for point in found for name in point.attributes}
    own = {name for name in used if name.startswith("singletable.")}
    assert used - own <= ATTRIBUTES - DEPRECATED
    assert {name for name in points if not name.startswith("singletable.")} <= names_of(semantic_metrics)
    assert {span.instrumentation_scope.schema_url for span in recorded.spans if span.instrumentation_scope} == {SCHEMA}


async def test_no_span_and_no_metric_holds_a_value_or_a_key(shell: Shell, recorded: Recorded) -> None:
    await use(shell)
    assert recorded.spans
    assert not [span.name for span in recorded.spans if CANARY in text_of(span)]
    assert CANARY not in str(recorded.points())


async def test_metrics_count_what_was_used(shell: Shell, recorded: Recorded) -> None:
    recorded.points()
    await use(shell)
    points = recorded.points()
    calls = points["db.client.operation.duration"]
    count = {
        point.attributes["db.operation.name"]: point.count for point in calls if point.attributes.get("error.type")
    }
    assert count == {"PutItem": 1}
    rows = {point.attributes["db.operation.name"]: point.sum for point in points["db.client.response.returned_rows"]}
    assert (rows["GetItem"], rows["Query"], rows["BatchGetItem"]) == (1, 0, 1)
    units = {
        (point.attributes["singletable.patterns"], point.attributes["singletable.unit"]): point.value
        for point in points["singletable.capacity.units"]
    }
    assert units["Order.of_customer", "read"] == 0.5
    assert units["Order.by_note", "read"] == 0.5


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({}, {"server.address": "dynamodb.eu-central-1.amazonaws.com", "aws.request_id": "R1"}),
        ({"endpoint": "http://127.0.0.1:8000"}, {"server.address": "127.0.0.1", "server.port": 8000}),
        ({"endpoint": "http://127.0.0.1"}, {"server.port": 80}),
        ({"endpoint": "unix:///run/engine.sock"}, {"server.address": "/run/engine.sock"}),
        ({"waited": 1.5, "attempts": 3}, {"singletable.attempts": 3, "singletable.waited_seconds": 1.5}),
        ({"operation": "GetRecords", "called": "arn:aws:dynamodb:x:1:table/orders/stream/7"}, {
            "db.collection.name": "orders"}),
        ({"operation": "SendMessageBatch", "table": "mails.fifo", "called": "mails.fifo", "items": 7}, {
            "messaging.system": "aws_sqs", "messaging.operation.type": "send", "messaging.batch.message_count": 7,
            "messaging.destination.name": "mails.fifo"}),
        ({"operation": "ListTables", "table": "", "called": "", "items": 0}, {"db.operation.name": "ListTables"}),
    ],
)  # fmt: skip
def test_facts_of_a_call(recorded: Recorded, fields: dict[str, Any], says: dict[str, Any]) -> None:
    recorded.listener()(ended(**fields))
    (span,) = recorded.spans
    assert says.items() <= dict(span.attributes or {}).items()
    assert "server.port" in says or "server.port" not in (span.attributes or {})


def test_the_time_of_a_span_is_that_of_its_call(recorded: Recorded) -> None:
    recorded.listener(now=lambda: 5_000_000_000)(ended(milliseconds=1500.0))
    (span,) = recorded.spans
    assert (span.start_time, span.end_time) == (3_500_000_000, 5_000_000_000)


def test_a_cancelled_call_is_no_failure(recorded: Recorded) -> None:
    recorded.listener()(ended(outcome="cancelled"))
    (span,) = recorded.spans
    assert span.status.status_code is StatusCode.UNSET
    assert (span.attributes or {})["error.type"] == "cancelled"


def test_a_retry_is_counted(recorded: Recorded) -> None:
    place: dict[str, Any] = {
        "operation": "GetItem",
        "table": "a",
        "called": "a",
        "endpoint": "https://x",
        "region": "x",
    }
    sizes: dict[str, Any] = {
        "attempt": 1,
        "waited": 0.0,
        "milliseconds": 1.0,
        "bytes_out": 1,
        "bytes_in": 1,
        "request_id": "",
    }
    for retry_in in (0.1, None):
        recorded.listener()(RequestTried(**place, **sizes, outcome="throttled", why="", retry_in=retry_in))
    (point,) = recorded.points()["singletable.retries"]
    assert (point.value, point.attributes["error.type"]) == (1, "throttled")


def test_calls_outside_of_a_span_have_metrics_only_if_asked(recorded: Recorded) -> None:
    listener = recorded.listener(roots=False)
    listener(ended())
    assert recorded.spans == []
    with recorded.request():
        listener(ended())
    assert [span.name for span in recorded.spans] == ["GetItem app-orders", "POST /orders"]
    (point,) = recorded.points()["db.client.operation.duration"]
    assert point.count == 2


async def test_without_an_sdk_nothing_is_made(kind: str) -> None:
    async with opened(kind, listeners=[Telemetry()]) as shell:
        await shell.put(Order(customer="ada"))
        assert await shell.get(Order.of_customer("ada", 1)) == Order(customer="ada")
