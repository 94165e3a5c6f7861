"""Flows: coroutines that await only their port. A guide for the author of a flow.

An *operation* is a frozen value with a pure `request()` and `answer()`: one request of the service. The package
`operations` has one class for each action.

A *flow* is an `async def` that takes a port and awaits only its verbs:

    async def rename(port: Port, name: str) -> Item | None:
        found = await port.send(GetItem(...))                     # one round trip
        copies = await port.send_all([PutItem(...), ...])         # 16 requests at a time, one round trip for each 16
        await port.sleep(1.0)                                     # waits as the shell waits
        return found

The rules:

1. Await nothing but the port: `send`, `send_all`, `call_all`, `sleep`, and other flows. The blocking shell runs a flow
   by one `.send(None)`, so any other await raises `FlowSuspended`.
2. Take time, chance and tokens from the port: `now()` for dates that are stored, `monotonic()` for durations,
   `random()` for jitter, `token()` for ids. Tests replace them.
3. Call an application's functions by `call_all`: it runs plain functions off the event loop, and awaits async ones.
4. Ask `port.traits` for what differs between engines, never the endpoint.

Read `port` (the verbs), `driver` (how the blocking shell runs a flow), `shells` (what a database offers to a layer),
`calls` (an application's functions, run concurrently) and `stop` (when a worker ends). `meter` counts what was sent,
`rate` bounds it, `patience` waits while a table is throttled; `request` and `services` are values; `wrapped_port`,
`ready_tables` and `fork_safe_lock` serve the ports. No module here knows a transport: those are in `wire`.
"""

from singletable.flow.capabilities import CAPABILITIES, Capability
from singletable.flow.driver import FlowSuspended, drive
from singletable.flow.meter import Meter, OperationCount, unmetered
from singletable.flow.port import Consumed, Port, Traits
from singletable.flow.rate import Rate, at_rate
from singletable.flow.ready_tables import ReadyTables
from singletable.flow.request import Request, Response
from singletable.flow.services import DYNAMODB, DYNAMODB_STREAMS, SQS, Service

__all__ = [
    "CAPABILITIES",
    "DYNAMODB",
    "DYNAMODB_STREAMS",
    "SQS",
    "Capability",
    "Consumed",
    "FlowSuspended",
    "Meter",
    "OperationCount",
    "Port",
    "Rate",
    "ReadyTables",
    "Request",
    "Response",
    "Service",
    "Traits",
    "at_rate",
    "drive",
    "unmetered",
]
