"""Answers without a body: some calls of SQS have no output, and their success is an empty body."""

from __future__ import annotations

import asyncio  # noqa: TID251
import json
import threading  # noqa: TID251
import time
from typing import Any

import botocore.session
import pytest

from singletable import errors
from singletable.flow import SQS
from singletable.operations import queue as sqs
from singletable.queues import Message, Queue, RetryLater, consume
from singletable.wire import RetryPolicy
from tests.fakes.scripted_server import Action, ScriptedServer, answers, http, raw
from tests.unit.wire.conftest import Ask, Client

EMPTY = raw(b"HTTP/1.1 200 OK\r\nContent-Type: application/x-amz-json-1.0\r\nContent-Length: 0\r\n\r\n")
CHECKED_AND_EMPTY = raw(http(b""))
EMPTY_ERROR = b"HTTP/1.1 503 Slow\r\nContent-Length: 0\r\n\r\n"
URL = "http://127.0.0.1/1/jobs"
CALLS: list[Any] = [
    sqs.SendMessageBatch(URL, []),
    sqs.ReceiveMessage(URL, 1, 0, 30),
    sqs.DeleteMessageBatch(URL, ["r"]),
    sqs.ChangeMessageVisibility(URL, "r", 30),
    sqs.GetQueueAttributes(URL),
]


def test_every_call_says_whether_it_has_an_output_as_the_service_model_does() -> None:
    model = botocore.session.Session().get_service_model("sqs")
    defined = {name for name, made in vars(sqs).items() if isinstance(made, type) and hasattr(made, "request")}
    assert {type(call).__name__ for call in CALLS} == defined
    for call in CALLS:
        request = call.request()
        assert request.answers_nothing is (model.operation_model(request.operation).output_shape is None)


@pytest.mark.parametrize("action", [EMPTY, CHECKED_AND_EMPTY, answers(b"{}")], ids=["empty", "with-checksum", "json"])
async def test_an_empty_answer_of_a_call_without_output_is_success(
    client: Client, server: ScriptedServer, action: Action
) -> None:
    server.always(action)
    port = client.port(service=SQS)
    assert await client.run(port.send(sqs.ChangeMessageVisibility(URL, "r", 30))) is True
    assert server.operations == ["ChangeMessageVisibility"]


async def test_an_empty_answer_of_a_call_with_output_is_a_lost_one(client: Client, server: ScriptedServer) -> None:
    server.plan(EMPTY, answers(b'{"a":1}'))
    response = await client.run(client.port().send(Ask()))
    assert (response.body, response.unsettled) == (b'{"a":1}', True)
    server.plan(EMPTY)
    with pytest.raises(errors.OutcomeUnknown):
        await client.run(client.port().send(Ask("UpdateItem", repeatable=False)))


async def test_an_empty_error_is_never_success(client: Client, server: ScriptedServer) -> None:
    server.always(raw(EMPTY_ERROR))
    port = client.port(service=SQS, policy=RetryPolicy(attempts=2))
    with pytest.raises(errors.OutcomeUnknown):
        await client.run(port.send(sqs.ChangeMessageVisibility(URL, "r", 30)))


async def test_a_consumer_puts_off_and_keeps_messages_over_empty_answers(
    client: Client, server: ScriptedServer, caplog: pytest.LogCaptureFixture
) -> None:
    """A `RetryLater` handler, and one that outlasts a heartbeat, against a queue that answers as the service does."""
    waiting = [{"MessageId": f"m{n}", "ReceiptHandle": f"r{n}", "Body": "{}"} for n in (1, 2)]
    changed: list[Any] = []
    kept = threading.Event()

    def serve(asked: ScriptedServer, connection: Any) -> bool:
        request = asked.last_on(connection)
        if request.operation == "ChangeMessageVisibility":
            changed.append(json.loads(request.body))
            if changed[-1]["ReceiptHandle"] == "r2":
                kept.set()
            return EMPTY(asked, connection)
        if request.operation == "ReceiveMessage" and waiting:
            return answers(json.dumps({"Messages": [waiting.pop(0)]}).encode())(asked, connection)
        return answers(b'{"Failed":[]}')(asked, connection)

    server.always(serve)
    seen: list[str] = []

    def handle(message: Message[Any]) -> None:
        seen.append(message.id)
        if message.id == "m1":
            raise RetryLater(5)
        assert kept.wait(30)

    sleep: Any = time.sleep if client.kind == "blocking" else asyncio.sleep  # noqa: TID251  a heartbeat is a matter of real time
    port = client.port(now=time.time, monotonic=time.monotonic, sleep=sleep)
    queue: Queue[Any] = Queue(f"{server.url}/1/jobs", dict)
    flow = consume(port, queue, handle, stop=lambda: len(seen) == 2, at_once=1, wait_seconds=0, visibility_seconds=1)
    assert await client.run(flow) == 1
    assert changed[0] == {"QueueUrl": queue.url, "ReceiptHandle": "r1", "VisibilityTimeout": 5}
    assert server.operations.count("DeleteMessageBatch") == 1
    assert "not kept" not in caplog.text
