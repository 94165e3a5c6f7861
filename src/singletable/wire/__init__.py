"""From a request to its definite answer: the port that flows await, and the two transports behind it.

Begin with `port`, what a flow may await, and `request`, what passes it. `delivery` is the way of one request (sign,
send, believe or not, try again) and is written once; `blocking` and `awaiting` bring the sockets. `faults` and `retry`
hold the policy: what an error answer means, and when a request may be sent again without being applied twice.

    endpoint = endpoint_for("http://127.0.0.1:8000", environ=os.environ)
    with BlockingPort(endpoint, credentials_from(os.environ, local=endpoint.is_local)) as port, Meter() as meter:
        item = drive(port.send(operation))

`AwaitingPort` is imported from `singletable.wire.awaiting`, so that a program without an event loop doesn't pay for
importing asyncio (30 ms).
"""

from singletable.wire.blocking import BlockingPort, FlowSuspended, drive
from singletable.wire.credentials import (
    Credentials,
    CredentialSource,
    FetchedCredentials,
    StaticCredentials,
    credentials_from,
)
from singletable.wire.endpoints import (
    Endpoint,
    Locate,
    beside,
    endpoint_behind,
    endpoint_for,
    locator,
    region_for,
    retry_policy_for,
)
from singletable.wire.exchange import Timeouts
from singletable.wire.faults import CancellationReason, Fault, read_fault
from singletable.wire.meter import Meter, OperationCount, unmetered
from singletable.wire.once import Ready
from singletable.wire.port import FAN_OUT, Consumed, Operation, Port, Traits
from singletable.wire.request import Request, Response
from singletable.wire.retry import RetryPolicy
from singletable.wire.services import DYNAMODB, DYNAMODB_STREAMS, SQS, Service

__all__ = [
    "DYNAMODB",
    "DYNAMODB_STREAMS",
    "FAN_OUT",
    "SQS",
    "BlockingPort",
    "CancellationReason",
    "Consumed",
    "CredentialSource",
    "Credentials",
    "Endpoint",
    "Fault",
    "FetchedCredentials",
    "FlowSuspended",
    "Locate",
    "Meter",
    "Operation",
    "OperationCount",
    "Port",
    "Ready",
    "Request",
    "Response",
    "RetryPolicy",
    "Service",
    "StaticCredentials",
    "Timeouts",
    "Traits",
    "beside",
    "credentials_from",
    "drive",
    "endpoint_behind",
    "endpoint_for",
    "locator",
    "read_fault",
    "region_for",
    "retry_policy_for",
    "unmetered",
]
