"""A message on its way by three operations, each once: what cassettes hold of it."""

from __future__ import annotations

from singletable.flow import SQS
from singletable.operations.queue import DeleteMessageBatch, QueueEntry, ReceiveMessage, SendMessageBatch
from tests.queues.conftest import MakeQueue
from tests.support.shells import Shell


async def test_a_message_is_sent_received_and_deleted(shell: Shell, make_queue: MakeQueue) -> None:
    queue = await make_queue(dict)
    port = shell.port.to(SQS)
    assert await port.send(SendMessageBatch(queue.url, [QueueEntry("0", '{"n": 1}')])) == []
    (message,) = await port.send(ReceiveMessage(queue.url, 10, 5, 30))
    assert message.body == '{"n": 1}'
    assert await port.send(DeleteMessageBatch(queue.url, [message.receipt_handle])) == []
