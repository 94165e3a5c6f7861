"""The options of a port, the same for both transports."""

from __future__ import annotations

import random as random_module
import time
from collections.abc import Callable

from msgspec import Struct

from singletable.flow import DYNAMODB, Service, Traits
from singletable.wire.endpoints import Locate
from singletable.wire.exchange import Timeouts
from singletable.wire.monotonic import elapsed
from singletable.wire.retry import RetryPolicy


class PortOptions(Struct, frozen=True):
    """The options of a port. The clocks and `random` are options for tests."""

    service: Service = DYNAMODB
    policy: RetryPolicy = RetryPolicy()
    timeouts: Timeouts = Timeouts()
    traits: Traits = Traits()
    checksum: bool = True
    """Whether the checksum of each answer is verified."""
    ca_file: str | None = None
    """The authorities that TLS trusts; None: those of the endpoint, else the system's."""
    locate: Locate | None = None
    """The addresses of the account's other services; None: next to the endpoint."""
    now: Callable[[], float] = time.time
    monotonic: Callable[[], float] = elapsed
    random: Callable[[], float] = random_module.random
