"""The options of a port, the same for both transports, and its clock of durations."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from os import urandom

from msgspec import Struct, field

from singletable.events import Listeners
from singletable.flow import DECLARED, DYNAMODB, Service, TableNames, Traits
from singletable.wire.endpoints import Locate
from singletable.wire.exchange import Connections, Timeouts
from singletable.wire.retry import RetryPolicy


def _counting_sleep() -> Callable[[], float]:
    """On Linux `time.monotonic` stands still while a machine is suspended, and so it does on macOS; these don't."""
    for name in ("CLOCK_BOOTTIME", "CLOCK_MONOTONIC"):
        clock = getattr(time, name, None)
        if clock is not None:
            return partial(time.clock_gettime, clock)
    return time.monotonic


def _jitter() -> float:
    """From 0 to 1. The module `random` would be imported where a try has failed, and may be for want of descriptors."""
    return int.from_bytes(urandom(4), "big") / (1 << 32)


elapsed: Callable[[], float] = _counting_sleep()
"""Seconds; only differences have a meaning, and only within one process."""


class PortOptions(Struct, frozen=True):
    """The options of a port. The clocks and `random` are options for tests."""

    service: Service = DYNAMODB
    policy: RetryPolicy = RetryPolicy()
    timeouts: Timeouts = Timeouts()
    connections: Connections = Connections()
    traits: Traits = Traits()
    checksum: bool = True
    """Whether the checksum of each answer is verified."""
    ca_file: str | None = None
    """The authorities that TLS trusts; None: those of the endpoint, else the system's."""
    locate: Locate | None = None
    """The addresses of the account's other services; None: next to the endpoint."""
    names: TableNames = DECLARED
    """The names of tables in the account."""
    events: Listeners = field(default_factory=Listeners)
    """Those who hear what the port does."""
    now: Callable[[], float] | None = None
    """A clock that decides alone. None: the service's time (`service_clock`)."""
    wall: Callable[[], float] = time.time
    """The machine's clock, which the service's time corrects."""
    monotonic: Callable[[], float] = elapsed
    random: Callable[[], float] = _jitter
