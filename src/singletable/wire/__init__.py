"""From a request to its definite answer: the two transports behind the port that flows await.

`blocking_port` and `asyncio_port` are the ports. `delivery` sends one request (sign, send, verify, retry) and is
written once, over the protocol `exchange`; `blocking_connections` and `asyncio_connections` have the sockets.
`error_answers` and `retry` are the policy: what an error answer means, and when a request may be sent again without
being applied twice.

    endpoint = endpoint_for("http://127.0.0.1:8000", environ=os.environ)
    with BlockingPort(endpoint, credentials_from(os.environ, local=endpoint.is_local)) as port, Meter() as meter:
        item = drive(port.send(operation))

`AwaitingPort` is imported from `singletable.wire.asyncio_port`, so that a program without an event loop doesn't pay for
importing asyncio (30 ms).
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from singletable.wire.blocking_port import BlockingPort
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
        endpoint_at,
        endpoint_for,
        locator,
        region_for,
        retry_policy_for,
    )
    from singletable.wire.error_answers import CancellationReason, Fault, read_fault
    from singletable.wire.exchange import Timeouts
    from singletable.wire.hosts import is_aws_host
    from singletable.wire.port_options import PortOptions
    from singletable.wire.retry import RetryPolicy

__all__ = [
    "BlockingPort",
    "CancellationReason",
    "CredentialSource",
    "Credentials",
    "Endpoint",
    "Fault",
    "FetchedCredentials",
    "Locate",
    "PortOptions",
    "RetryPolicy",
    "StaticCredentials",
    "Timeouts",
    "beside",
    "credentials_from",
    "endpoint_at",
    "endpoint_for",
    "is_aws_host",
    "locator",
    "read_fault",
    "region_for",
    "retry_policy_for",
]

_PLACES = {
    "BlockingPort": "blocking_port",
    "CancellationReason": "error_answers",
    "CredentialSource": "credentials",
    "Credentials": "credentials",
    "Endpoint": "endpoints",
    "Fault": "error_answers",
    "FetchedCredentials": "credentials",
    "Locate": "endpoints",
    "PortOptions": "port_options",
    "RetryPolicy": "retry",
    "StaticCredentials": "credentials",
    "Timeouts": "exchange",
    "beside": "endpoints",
    "credentials_from": "credentials",
    "endpoint_at": "endpoints",
    "endpoint_for": "endpoints",
    "is_aws_host": "hosts",
    "locator": "endpoints",
    "read_fault": "error_answers",
    "region_for": "endpoints",
    "retry_policy_for": "endpoints",
}


def __getattr__(name: str) -> Any:
    """Each is imported at its first use: declarations take what errors mean from here, and no sockets."""
    if name in _PLACES:
        return getattr(import_module(f"{__name__}.{_PLACES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
