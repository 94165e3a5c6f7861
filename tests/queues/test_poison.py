"""Handlers of messages whose errors would end a program, or can hardly be told: the message comes back."""

from __future__ import annotations

import time

import pytest

from singletable.queues import Message, Outgoing, consume, partial_failures, send
from tests.queues.conftest import MakeQueue
from tests.streams.test_poison import POISON
from tests.support.shells import Shell


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("poison", POISON)
async def test_it_ends_no_consumer(kind: str, shell: Shell, make_queue: MakeQueue, poison: str, is_async: bool) -> None:
    if is_async and kind == "blocking":
        pytest.skip("the blocking shell runs no async handlers")
    queue, handled, until = await make_queue(str), list[str](), time.monotonic() + 20
    await shell.run(send(shell.port, queue, [Outgoing("bad"), Outgoing("good")]))

    def plain(message: Message[str]) -> None:
        if message.body == "bad" and message.receives == 1:
            raise POISON[poison][0]()
        handled.append(message.body)

    async def later(message: Message[str]) -> None:
        plain(message)

    flow = consume(
        shell.port,
        queue,
        later if is_async else plain,
        stop=lambda: len(handled) == 2 or time.monotonic() > until,
        at_once=1,
        visibility_seconds=1,
        wait_seconds=1,
    )
    assert await shell.run(flow) == 2
    assert handled == ["good", "bad"]


@pytest.mark.parametrize("poison", POISON)
async def test_lambda_reports_it_alone(shell: Shell, make_queue: MakeQueue, poison: str) -> None:
    queue, handled = await make_queue(str), list[str]()
    records = [{"messageId": id, "body": f'"{id}"'} for id in ("bad", "good")]

    def handle(message: Message[str]) -> None:
        if message.body == "bad":
            raise POISON[poison][0]()
        handled.append(message.body)

    answer = await shell.run(partial_failures(shell.port, queue, handle, {"Records": records}))
    assert answer == {"batchItemFailures": [{"itemIdentifier": "bad"}]}
    assert handled == ["good"]
