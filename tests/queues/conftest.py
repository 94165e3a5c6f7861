from __future__ import annotations

import secrets
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from singletable import connect, connect_async
from singletable.flow import SQS
from singletable.queues import Queue
from tests.faults.fixtures import kind
from tests.support.emulators import aws_emulator
from tests.support.queue_operations import CreateQueue
from tests.support.shells import Shell, disguised

__all__ = ["aws_emulator", "kind"]


@pytest.fixture
async def shell(kind: str, aws_emulator: str) -> AsyncIterator[Shell]:
    """A database in either shell, whose account's queues are the emulator's."""
    made: Any = connect_async(aws_emulator) if kind == "awaiting" else disguised(connect(aws_emulator))
    try:
        yield made
    finally:
        await made.close()


MakeQueue = Callable[..., Any]


@pytest.fixture
def make_queue(shell: Shell) -> MakeQueue:
    """A new queue of a type: `await make_queue(dict, fifo=True)`."""

    async def make(type: Any = dict, *, fifo: bool = False, **attributes: str) -> Queue[Any]:
        name = f"q-{secrets.token_hex(6)}" + (".fifo" if fifo else "")
        said = {"FifoQueue": "true"} | attributes if fifo else attributes
        return Queue(await shell.run(shell.port.to(SQS).send(CreateQueue(name, said))), type)

    return make
