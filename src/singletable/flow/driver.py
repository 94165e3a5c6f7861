"""Running a flow without an event loop: no await over a `BlockingPort` suspends, so one `.send(None)` suffices."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any, TypeVar

from singletable.errors import Mistake

T = TypeVar("T")


class FlowSuspended(Mistake):
    """A flow awaited something that is not its port, such as an asyncio call, in the blocking shell."""

    code = "mistake.flow-suspended"


def drive(flow: Coroutine[Any, Any, T]) -> T:
    """Run a flow over a `BlockingPort` to its end. Raises what the flow raises, and `FlowSuspended`."""
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
