"""Running a flow without an event loop: one `.send(None)`, as every await is answered on the spot."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any, TypeVar

from singletable.errors import Mistake

T = TypeVar("T")


class FlowSuspended(Mistake):
    """A flow awaited something that is not its port, such as an asyncio call, in the blocking shell."""

    code = "mistake.flow-suspended"


def drive(flow: Coroutine[Any, Any, T]) -> T:
    """Runs a flow over a `BlockingPort` to its end. Raises what it raises, and `FlowSuspended`."""
    try:
        flow.send(None)
    except StopIteration as done:
        value: T = done.value
        return value
    flow.close()
    raise FlowSuspended(
        "The flow awaited something that is not its port",
        hint="Await only port.send, port.send_all and port.sleep, or run the flow in the asyncio shell",
    )
