"""Messages of a queue carry the trace in the attributes that other programs use too."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from opentelemetry.trace import StatusCode

from singletable.events import TraceContext
from singletable.operations import MAX_BATCH_MESSAGE_BYTES, MessageAttribute, QueueEntry, Received, ReceiveMessage
from singletable.queues import Message, Queue, RetryLater, partial_failures
from singletable.queues.message_context import contexts_of, with_context
from tests.otel.traced import CANARY, Recorded, id_of, is_child, parent_of, text_of, trace_of
from tests.support.shells import Shell, opened

PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
queue: Queue[dict[str, str]] = Queue("https://sqs.eu-central-1.amazonaws.com/1/mails", dict)


def record(number: int, attributes: Any) -> dict[str, Any]:
    """A record of a Lambda event."""
    return {"messageId": f"m{number}", "body": f'{{"to": "{CANARY}"}}', "messageAttributes": attributes}


def said(parent: Any, state: Any = None) -> dict[str, Any]:
    texts = {"traceparent": parent, "tracestate": state}
    return {name: {"stringValue": text, "dataType": "String"} for name, text in texts.items() if text is not None}


async def test_an_entry_has_the_context_and_its_bytes_count(shell: Shell, recorded: Recorded) -> None:
    entry = QueueEntry("1", '"x"')
    assert with_context(shell.port, queue, entry) == entry  # no span is current
    with recorded.request() as request:
        carried = with_context(shell.port, queue, entry)
        full = QueueEntry("1", "x" * (MAX_BATCH_MESSAGE_BYTES - 10))
        assert with_context(shell.port, queue, full) == full
    made = next(span for span in recorded.spans if span.name == "create mails")
    assert is_child(made, request)
    (attribute,) = carried.message_attributes.items()
    assert attribute[0] == "traceparent"
    assert attribute[1].string_value.split("-")[2] == f"{id_of(made):016x}"
    assert carried.size - entry.size == len("traceparent") + 55 + len("String")


async def test_a_handler_goes_on_with_the_trace(shell: Shell, recorded: Recorded) -> None:
    def handle(message: Message[Any]) -> None:
        if message.id == "m2":
            raise ValueError(CANARY)
        if message.id == "m3":
            raise RetryLater(1)

    states: tuple[Any, ...] = ("a=1", "\n", None, None)
    event = {"Records": [record(number, said(PARENT, state)) for number, state in enumerate(states, 1)]}
    event["Records"] += [record(5, said("nonsense")), record(6, {}), record(7, None), record(8, {"traceparent": {}})]
    flow: Any = partial_failures(shell.port, queue, handle, event)
    answer = await shell.run(flow)
    assert {failed["itemIdentifier"] for failed in answer["batchItemFailures"]} == {"m2", "m3"}
    spans = [span for span in recorded.spans if span.name == "process mails"]
    followed = [span for span in spans if parent_of(span) == 0xB7AD6B7169203331]
    assert (len(spans), len(followed)) == (8, 4)
    assert {trace_of(span) for span in followed} == {0x0AF7651916CD43DD8448EB211C80319C}
    assert [span.status.status_code for span in spans].count(StatusCode.ERROR) == 1
    assert not [span for span in spans if CANARY in text_of(span)]


def test_a_received_message_says_its_context() -> None:
    attributes = {"traceparent": MessageAttribute(PARENT), "tracestate": MessageAttribute("a=1")}
    assert contexts_of(Received("m", "r", "{}", {}, attributes)) == (TraceContext(PARENT, "a=1"),)
    assert contexts_of(Received("m", "r", "{}")) == ()
    assert contexts_of(Received("m", "r", "{}", {}, {"traceparent": MessageAttribute("x")})) == ()


async def test_no_attribute_is_asked_for_where_nobody_carries(kind: str) -> None:
    asked = ReceiveMessage("https://sqs/q", 1, 1, 1).request().body
    assert b"MessageAttributeNames" not in asked
    names = ReceiveMessage("https://sqs/q", 1, 1, 1, ["traceparent"]).request().body
    assert b'"MessageAttributeNames":["traceparent"]' in names
    entry = QueueEntry("1", '"x"')
    async with opened(kind) as shell:
        assert with_context(shell.port, queue, entry) == entry


@pytest.mark.parametrize("parent", [None, PARENT])
def test_an_entry_without_a_context_has_no_attribute(parent: str | None) -> None:
    attributes = {} if parent is None else {"traceparent": MessageAttribute(parent)}
    body = msgspec.json.decode(msgspec.json.encode(QueueEntry("1", "x", message_attributes=attributes)))
    expected = {"traceparent": {"StringValue": PARENT, "DataType": "String"}}
    assert body.get("MessageAttributes") == (None if parent is None else expected)
