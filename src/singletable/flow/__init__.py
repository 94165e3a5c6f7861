"""Flows: coroutines that await only their port. What an author of one has to know, and nothing of any transport.

An operation is a frozen value with a pure `request()` and `answer()` (`port`). A flow is an `async def` that awaits
`port.send`, `port.send_all`, `port.call_all` or `port.sleep`. The blocking shell runs it with `drive` (`driver`), the
asyncio shell awaits it. What both shells offer to a layer is in `shells`; `meter` counts what was sent.
"""

from singletable.flow.driver import FlowSuspended, drive
from singletable.flow.meter import Meter, OperationCount, unmetered
from singletable.flow.port import FAN_OUT, Consumed, Operation, Port, Traits
from singletable.flow.ready import Ready
from singletable.flow.request import Request, Response
from singletable.flow.services import DYNAMODB, DYNAMODB_STREAMS, SQS, Service

__all__ = [
    "DYNAMODB",
    "DYNAMODB_STREAMS",
    "FAN_OUT",
    "SQS",
    "Consumed",
    "FlowSuspended",
    "Meter",
    "Operation",
    "OperationCount",
    "Port",
    "Ready",
    "Request",
    "Response",
    "Service",
    "Traits",
    "drive",
    "unmetered",
]
