"""Somebody sets a consumer's wall clock, on or back: what it handles stays invisible to others."""

from __future__ import annotations

import threading  # noqa: TID251
import time
from typing import Any

import pytest

from singletable.queues import Message, Outgoing, consume, send
from tests.queues.conftest import MakeQueue
from tests.support.shells import Shell


@pytest.mark.parametrize("step", [3600.0, -3600.0, -0.9])
async def test_a_message_is_kept_while_it_is_handled(shell: Shell, make_queue: MakeQueue, step: float) -> None:
    queue = await make_queue(str)
    port: Any = shell.port
    set_by, handled = [0.0], list[str]()
    port.now = lambda: time.time() + set_by[0]
    until = time.monotonic() + 20

    def handle(message: Message[str]) -> None:
        handled.append(message.body)
        for _ in range(10):
            set_by[0] += step
            threading.Event().wait(0.3)

    await shell.run(send(port, queue, [Outgoing("a")]))
    flow = consume(
        port,
        queue,
        handle,
        stop=lambda: bool(handled) or time.monotonic() > until,
        at_once=2,
        visibility_seconds=2,
        wait_seconds=1,
    )
    assert await shell.run(flow) == 1
    assert handled == ["a"]
