"""The exchanges of a port, below its retries: what a test puts between the library and its sockets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from singletable.wire import BlockingPort
from singletable.wire.asyncio_port import AwaitingPort

_EXCHANGES: dict[type[Any], tuple[str, ...]] = {
    BlockingPort: ("_alone", "_interleaved"),
    AwaitingPort: ("_exchange",),
}


def wrap_exchanges(port: Any, wrap: Callable[[Any], Any]) -> None:
    """Send each request of a port, in either shell, through what `wrap` makes of its exchange."""
    for name in _EXCHANGES[type(port)]:
        setattr(port, name, wrap(getattr(port, name)))
