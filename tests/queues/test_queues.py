"""Queues in both shells, over HTTP to a real endpoint."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given, strategies as st

from singletable import InvalidRequest, InvalidValue
from singletable.errors import Corrupt, NotConfigured, TooLarge
from singletable.flow import SQS
from singletable.operations.queue import ChangeMessageVisibility
from singletable.queues import Message, Outgoing, Queue, RetryLater, consume, legal_id, partial_failures, send
from tests.queues.conftest import MakeQueue
from tests.support.queue_operations import GetQueueAttributes
from tests.support.shells import Shell


@dataclass
class Order:
    id: str
    number: int


class Consumed:
    """Notes what was handled, fails what it is told to, and asks to stop when it has enough."""

    def __init__(self, wanted: int, fails: Callable[[Message[Any]], bool] = lambda message: False) -> None:
        self.wanted, self.fails = wanted, fails
        self.bodies: list[Any] = []
        self.until = time.monotonic() + 20

    def handle(self, message: Message[Any]) -> None:
        if self.fails(message):
            raise ValueError("told to")
        self.bodies.append(message.body)

    def stop(self) -> bool:
        return len(self.bodies) >= self.wanted or time.monotonic() > self.until


async def left_in(shell: Shell, queue: Queue[Any]) -> int:
    said = await shell.run(shell.port.to(SQS, queue.url).send(GetQueueAttributes(queue.url)))
    return sum(int(said[f"ApproximateNumberOfMessages{state}"]) for state in ("", "NotVisible", "Delayed"))


async def run(shell: Shell, queue: Queue[Any], consumed: Consumed, **options: Any) -> int:
    flow = consume(
        shell.port,
        queue,
        consumed.handle,
        stop=consumed.stop,
        **{"wait_seconds": 1, "visibility_seconds": 1, "at_once": 2, **options},
    )
    handled: int = await shell.run(flow)
    return handled


async def test_typed_messages_are_sent_and_handled_once(shell: Shell, make_queue: MakeQueue) -> None:
    queue = await make_queue(Order)
    orders = [Order(f"o{n}", n) for n in range(23)]
    with shell.meter() as meter:
        await shell.run(send(shell.port, queue, [Outgoing(order) for order in orders]))
    assert meter.requests == 3
    consumed = Consumed(23)
    assert await run(shell, queue, consumed) == 23
    assert sorted(consumed.bodies, key=lambda order: order.number) == orders
    assert await left_in(shell, queue) == 0


async def test_what_fails_comes_back(shell: Shell, make_queue: MakeQueue, caplog: pytest.LogCaptureFixture) -> None:
    queue = await make_queue(Order)
    await shell.run(send(shell.port, queue, [Outgoing(Order("a", 1)), Outgoing(Order("b", 2))]))
    consumed = Consumed(2, fails=lambda message: message.body.id == "a" and message.receives == 1)
    await run(shell, queue, consumed)
    assert [order.id for order in consumed.bodies] == ["b", "a"]
    (failed,) = [record for record in caplog.records if record.name == "singletable.queues"]
    assert f"of queue {queue.name}: try 1 failed with ValueError. It is received again" in failed.getMessage()
    assert failed.exc_info is not None, "no other record has it"
    assert str(failed.exc_info[1]) == "told to"


async def test_a_group_stays_in_order_and_stops_at_a_failure(shell: Shell, make_queue: MakeQueue) -> None:
    queue = await make_queue(Order, fifo=True)
    messages = [Outgoing(Order("abü"[n % 3], n), group="abü"[n % 3], deduplication=str(n)) for n in range(15)]
    await shell.run(send(shell.port, queue, messages))
    await shell.run(send(shell.port, queue, messages[:3]))  # again: dropped by their deduplication ids
    consumed = Consumed(15, fails=lambda message: message.body.number == 4 and message.receives < 3)
    await run(shell, queue, consumed)
    assert len(consumed.bodies) == 15
    for group in "abü":
        assert [o.number for o in consumed.bodies if o.id == group] == [n for n in range(15) if "abü"[n % 3] == group]
    assert await left_in(shell, queue) == 0


async def test_a_handler_may_put_a_message_off(shell: Shell, make_queue: MakeQueue) -> None:
    queue = await make_queue(str)
    await shell.run(send(shell.port, queue, [Outgoing("early")]))
    received: list[float] = []

    def handle(message: Message[str]) -> None:
        received.append(time.monotonic())
        if len(received) == 1:
            raise RetryLater(1.0)

    until = time.monotonic() + 20
    flow = consume(
        shell.port,
        queue,
        handle,
        stop=lambda: len(received) > 1 or time.monotonic() > until,
        at_once=1,
        wait_seconds=1,
        visibility_seconds=600,
    )
    await shell.run(flow)
    assert received[1] - received[0] >= 0.9
    assert await left_in(shell, queue) == 0


async def test_a_long_handler_keeps_its_message(shell: Shell, make_queue: MakeQueue) -> None:
    queue = await make_queue(str)
    await shell.run(send(shell.port, queue, [Outgoing("slow")]))
    begun: list[float] = []

    def handle(message: Message[str]) -> None:
        begun.append(time.monotonic())
        time.sleep(2.5)  # noqa: TID251 work that takes longer than the visibility

    until = time.monotonic() + 20
    flow = consume(
        shell.port,
        queue,
        handle,
        stop=lambda: time.monotonic() > until or (bool(begun) and time.monotonic() - begun[0] > 3.5),
        at_once=2,
        wait_seconds=1,
        visibility_seconds=1,
    )
    assert await shell.run(flow) == 1
    assert len(begun) == 1
    assert await left_in(shell, queue) == 0


async def test_what_is_not_of_the_type_stays_in_the_queue(shell: Shell, make_queue: MakeQueue) -> None:
    queue = await make_queue(Order)
    await shell.run(send(shell.port, Queue(queue.url), [Outgoing({"id": 5})]))
    consumed = Consumed(1)
    consumed.until = time.monotonic() + 1.5
    await run(shell, queue, consumed)
    assert consumed.bodies == []
    assert await left_in(shell, queue) == 1
    with pytest.raises(Corrupt) as told:
        queue.body_of('{"id": "a secret", "number": "x"}')
    assert "secret" not in str(told.value)


async def test_a_message_that_waits_is_not_received_before(shell: Shell, make_queue: MakeQueue) -> None:
    queue = await make_queue(str)
    sent = time.monotonic()
    await shell.run(send(shell.port, queue, [Outgoing("later", delay_seconds=1)]))
    consumed = Consumed(1)
    await run(shell, queue, consumed)
    assert time.monotonic() - sent >= 0.9
    assert consumed.bodies == ["later"]


async def test_messages_are_refused_before_anything_is_sent(shell: Shell, make_queue: MakeQueue) -> None:
    queue = await make_queue(str, fifo=True)
    wrong = (Outgoing("a"), Outgoing("a", group="g", delay_seconds=1))
    for message in wrong:
        with pytest.raises(InvalidRequest):
            await shell.run(send(shell.port, queue, [Outgoing("fine", group="g", deduplication="d"), message]))
    with pytest.raises(TooLarge):
        await shell.run(send(shell.port, queue, [Outgoing("x" * 1_048_576, group="g")]))
    with pytest.raises(InvalidValue, match="JSON"):
        await shell.run(send(shell.port, Queue(queue.url), [Outgoing(object(), group="g")]))
    with pytest.raises(InvalidRequest, match="delay_seconds=901"):
        Outgoing("a", delay_seconds=901)
    assert await left_in(shell, queue) == 0


async def test_what_is_wrong_with_a_queue_is_said(shell: Shell, make_queue: MakeQueue) -> None:
    there = shell.port.to(SQS)
    queue = await make_queue(str, fifo=True)
    with pytest.raises(NotConfigured, match="queue nobody does not exist"):
        await shell.run(send(shell.port, Queue(f"{queue.url.rpartition('/')[0]}/nobody"), [Outgoing("a")]))
    with pytest.raises(InvalidRequest):  # no deduplication, by id or by content
        await shell.run(send(shell.port, queue, [Outgoing("a", group="g")]))
    assert await shell.run(there.send(ChangeMessageVisibility(queue.url, "no receipt", 1))) is False
    with pytest.raises(InvalidRequest, match="at_once"):
        await run(shell, queue, Consumed(1), at_once=16)


def record(number: int, body: str, group: str = "") -> dict[str, Any]:
    """As Lambda's documentation of SQS events has it."""
    attributes = {
        "ApproximateReceiveCount": "1",
        "SentTimestamp": "1523232000000",
        "SenderId": "123456789012",
        "ApproximateFirstReceiveTimestamp": "1523232000001",
    }
    if group:
        attributes |= {"MessageGroupId": group, "MessageDeduplicationId": str(number), "SequenceNumber": str(number)}
    return {
        "messageId": f"id-{number}",
        "receiptHandle": "MessageReceiptHandle",
        "body": body,
        "attributes": attributes,
        "messageAttributes": {},
        "md5OfBody": "7b270e59b47ff90a553787216d55d91d",
        "eventSource": "aws:sqs",
        "eventSourceARN": "arn:aws:sqs:us-east-1:123456789012:MyQueue" + (".fifo" if group else ""),
        "awsRegion": "us-east-1",
    }


async def failures(
    shell: Shell, queue: Queue[Any], records: list[dict[str, Any]], handle: Any, **more: Any
) -> list[str]:
    answer = await shell.run(partial_failures(shell.port, queue, handle, {"Records": records}, **more))
    assert list(answer) == ["batchItemFailures"]
    assert all(list(item) == ["itemIdentifier"] for item in answer["batchItemFailures"])
    return [item["itemIdentifier"] for item in answer["batchItemFailures"]]


async def test_of_a_lambda_event_the_failed_ones_are_given_back(shell: Shell) -> None:
    def handle(message: Message[int]) -> None:
        if message.body in (2, 3):
            raise ValueError

    records = [record(n, str(n)) for n in range(5)] + [record(5, "not a number")]
    assert await failures(shell, Queue("q", int), records, handle) == ["id-2", "id-3", "id-5"]
    assert await failures(shell, Queue("q", int), records[:2], handle) == []


async def test_a_failure_in_lambda_is_told_with_its_message_and_its_line(
    shell: Shell, caplog: pytest.LogCaptureFixture
) -> None:
    def handle(message: Message[int]) -> None:
        raise ValueError

    records = [record(n, str(n)) for n in range(3)]
    records[0]["attributes"]["ApproximateReceiveCount"] = "4"
    await failures(shell, Queue("q", int), records, handle)
    (told,) = [record for record in caplog.records if record.name == "singletable.queues"]
    assert told.getMessage().startswith("message id-0 of queue q: try 4 failed with ValueError. ")
    assert told.exc_info is not None, "no other record has it"


async def test_of_a_fifo_event_all_that_follows_in_the_group_is_given_back(shell: Shell) -> None:
    handled: list[int] = []

    def handle(message: Message[int]) -> None:
        if message.body == 3:
            raise ValueError
        handled.append(message.body)

    records = [record(n, str(n), group="abc"[n % 3]) for n in range(10)]
    assert await failures(shell, Queue("q.fifo", int), records, handle) == ["id-3", "id-6", "id-9"]
    assert sorted(handled) == [0, 1, 2, 4, 5, 7, 8]
    assert [n for n in handled if n % 3 == 1] == [1, 4, 7]


async def test_nothing_is_begun_when_time_is_running_out(shell: Shell) -> None:
    left = iter([True, True, False, False, False])
    records = [record(n, str(n), group="g") for n in range(4)]
    given_back = await failures(shell, Queue("q.fifo", int), records, lambda message: None, has_time=lambda: next(left))
    assert given_back == ["id-2", "id-3"]


texts = st.text(st.characters(codec="utf-8"), max_size=200) | st.text("ab!~ \n", max_size=140)


@given(texts, texts)
def test_ids_are_legal_and_no_two_the_same(one: str, other: str) -> None:
    for text in (one, other):
        assert 1 <= len(legal_id(text)) <= 128
        assert legal_id(text).isascii()
        assert all("!" <= character <= "~" for character in legal_id(text))
    assert (legal_id(one) == legal_id(other)) == (one == other)
    assert legal_id(legal_id(one)) != legal_id(one) or legal_id(one) == one
