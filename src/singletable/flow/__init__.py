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
`calls` (an application's functions, run concurrently) and `stop` (when a worker ends). Kernels hold what many flows do:
`contention` (read, decide, write, and again where another writer was first), `leases` (one process at a time works on
something) and `worker` (slots and a heartbeat). `meter` counts what was sent, `rate` bounds it, `patience` waits while
a table is throttled; `request` and `services` are values; `wrapped_port`, `ready_tables` and `fork_safe_lock` serve the
ports. No module here knows a transport: those are in `wire`.
"""

from typing import TYPE_CHECKING

from singletable.flow.capabilities import CAPABILITIES, OPERATIONS, Capability, lacking
from singletable.flow.driver import FlowSuspended, drive
from singletable.flow.fork_safe_lock import ForkSafeLock
from singletable.flow.meter import (
    ACTIVE,
    Meter,
    OperationCount,
    RoundTrips,
    count_answer,
    count_throttle,
    count_try,
    count_units,
    note_estimate,
    unmetered,
)
from singletable.flow.port import FAN_OUT, Consumed, Operation, Port, Traits
from singletable.flow.rate import Rate, at_rate, unrated
from singletable.flow.ready_tables import ReadyTables, ThreadSafeReadyTables
from singletable.flow.request import Request, Response
from singletable.flow.services import DYNAMODB, DYNAMODB_STREAMS, SQS, Service
from singletable.flow.wrapped_port import WrappedPort
from singletable.late_names import late_names

if TYPE_CHECKING:
    from singletable.flow.calls import call_in_loop, call_in_threads, refuse_awaitable
    from singletable.flow.contention import Race
    from singletable.flow.durable_files import DurableDirectories, sync_directory
    from singletable.flow.instants import instant
    from singletable.flow.lambda_handler import AsyncLambdaHandler, LambdaAnswer, LambdaHandler
    from singletable.flow.leases import LEASE_TRANSITIONS, LeaseEvent, LeaseState, Observations, Tenure, acquire
    from singletable.flow.patience import patiently, send_patiently, until
    from singletable.flow.shells import Awaiting, Blocking, check_awaiting, check_blocking, is_of_shell, refuse_async
    from singletable.flow.stop import Stop, stopping
    from singletable.flow.transitions import Transitions
    from singletable.flow.worker import Heartbeat, Kernel

__all__ = [
    "ACTIVE",
    "CAPABILITIES",
    "DYNAMODB",
    "DYNAMODB_STREAMS",
    "FAN_OUT",
    "LEASE_TRANSITIONS",
    "OPERATIONS",
    "SQS",
    "AsyncLambdaHandler",
    "Awaiting",
    "Blocking",
    "Capability",
    "Consumed",
    "DurableDirectories",
    "FlowSuspended",
    "ForkSafeLock",
    "Heartbeat",
    "Kernel",
    "LambdaAnswer",
    "LambdaHandler",
    "LeaseEvent",
    "LeaseState",
    "Meter",
    "Observations",
    "Operation",
    "OperationCount",
    "Port",
    "Race",
    "Rate",
    "ReadyTables",
    "Request",
    "Response",
    "RoundTrips",
    "Service",
    "Stop",
    "Tenure",
    "ThreadSafeReadyTables",
    "Traits",
    "Transitions",
    "WrappedPort",
    "acquire",
    "at_rate",
    "call_in_loop",
    "call_in_threads",
    "check_awaiting",
    "check_blocking",
    "count_answer",
    "count_throttle",
    "count_try",
    "count_units",
    "drive",
    "instant",
    "is_of_shell",
    "lacking",
    "note_estimate",
    "patiently",
    "refuse_async",
    "refuse_awaitable",
    "send_patiently",
    "stopping",
    "sync_directory",
    "unmetered",
    "unrated",
    "until",
]

# For layers and workers; a program that only reads and writes doesn't need these.
__getattr__ = late_names(
    __name__,
    calls="call_in_loop call_in_threads refuse_awaitable",
    contention="Race",
    durable_files="DurableDirectories sync_directory",
    instants="instant",
    lambda_handler="AsyncLambdaHandler LambdaAnswer LambdaHandler",
    leases="LEASE_TRANSITIONS LeaseEvent LeaseState Observations Tenure acquire",
    patience="patiently send_patiently until",
    shells="Awaiting Blocking check_awaiting check_blocking is_of_shell refuse_async",
    stop="Stop stopping",
    transitions="Transitions",
    worker="Heartbeat Kernel",
)
