"""A poll waits for messages on the connection: the port has to have the patience for that."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from singletable import InvalidRequest, connect, connect_async
from singletable.queues import Queue, consume
from singletable.wire import Timeouts
from tests.faults.fixtures import kind
from tests.support.shells import disguised

__all__ = ["kind"]

NOWHERE = "http://127.0.0.1:1"
QUEUE: Queue[Any] = Queue(f"{NOWHERE}/1/jobs", dict)


@pytest.fixture
async def patient(kind: str, request: pytest.FixtureRequest) -> AsyncIterator[Any]:
    """A shell with a read timeout, over an address where nobody answers."""
    timeouts = Timeouts(read=request.param)
    made: Any = connect_async(NOWHERE, timeouts=timeouts) if kind == "awaiting" else None
    made = made or disguised(connect(NOWHERE, timeouts=timeouts))
    try:
        yield made
    finally:
        await made.close()


def polling(shell: Any, wait_seconds: int) -> Any:
    return consume(shell.port, QUEUE, print, stop=lambda: True, wait_seconds=wait_seconds)


@pytest.mark.parametrize(("patient", "wait_seconds"), [(10.0, 20), (10.0, 10), (3.0, 5)], indirect=["patient"])
async def test_a_wait_over_the_read_timeout_is_refused(patient: Any, wait_seconds: int) -> None:
    """Every poll that finds nothing would time out, be repeated and end in OutcomeUnknown."""
    with (
        patient.meter() as meter,
        pytest.raises(InvalidRequest, match=f"wait_seconds={wait_seconds} .* read") as refused,
    ):
        await patient.run(polling(patient, wait_seconds))
    assert "Timeouts(read=" in refused.value.hint
    assert meter.requests == 0


@pytest.mark.parametrize(("patient", "wait_seconds"), [(10.0, 9), (25.0, 20), (1.0, 0)], indirect=["patient"])
async def test_a_wait_below_it_is_not(patient: Any, wait_seconds: int) -> None:
    assert await patient.run(polling(patient, wait_seconds)) == 0
