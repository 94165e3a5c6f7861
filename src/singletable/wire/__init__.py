"""From a request to its definite answer: the two transports behind the port that flows await.

`blocking_port` and `asyncio_port` are the ports. `delivery` sends one request (sign, send, verify, retry) and is
written once, over the protocol `exchange`; `blocking_connections` and `asyncio_connections` have the sockets.
`error_answers` and `retry` are the policy: what an error answer means, and when a request may be sent again without
being applied twice.

    endpoint = endpoint_for("http://127.0.0.1:8000", environ=os.environ)
    with BlockingPort(endpoint, credentials_from(os.environ, local=endpoint.is_local)) as port, Meter() as meter:
        item = drive(port.send(operation))

Each name is imported when it is first used, so that a program without an event loop doesn't import asyncio (30 ms).
"""

from typing import TYPE_CHECKING

from singletable.late_names import late_names

if TYPE_CHECKING:
    from singletable.wire.asyncio_port import AwaitingPort as AwaitingPort
    from singletable.wire.blocking_port import BlockingPort as BlockingPort
    from singletable.wire.credentials import (
        Credentials as Credentials,
        CredentialSource as CredentialSource,
        FetchedCredentials as FetchedCredentials,
        StaticCredentials as StaticCredentials,
        credentials_from as credentials_from,
    )
    from singletable.wire.endpoints import (
        Endpoint as Endpoint,
        Locate as Locate,
        beside as beside,
        endpoint_at as endpoint_at,
        endpoint_for as endpoint_for,
        locator as locator,
        region_for as region_for,
        retry_policy_for as retry_policy_for,
    )
    from singletable.wire.error_answers import Fault as Fault, read_fault as read_fault
    from singletable.wire.exchange import Connections as Connections, Timeouts as Timeouts
    from singletable.wire.hosts import is_aws_host as is_aws_host
    from singletable.wire.port_options import PortOptions as PortOptions, elapsed as elapsed
    from singletable.wire.retry import RetryPolicy as RetryPolicy
    from singletable.wire.service_clock import CLOCK_SECONDS as CLOCK_SECONDS

# Declarations take what errors mean from here, and no sockets.
__getattr__ = late_names(
    __name__,
    asyncio_port="AwaitingPort",
    blocking_port="BlockingPort",
    credentials="CredentialSource Credentials FetchedCredentials StaticCredentials credentials_from",
    endpoints="Endpoint Locate beside endpoint_at endpoint_for locator region_for retry_policy_for",
    error_answers="Fault read_fault",
    exchange="Connections Timeouts",
    hosts="is_aws_host",
    port_options="PortOptions elapsed",
    retry="RetryPolicy",
    service_clock="CLOCK_SECONDS",
)
