"""Patience with a service that throttles: work that may be repeated is begun again after a wait."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

from singletable.errors import Throttled
from singletable.flow.port import Port

T = TypeVar("T")
_TRIES = 20
_LONGEST_WAIT_SECONDS = 30.0


async def patiently(port: Port, work: Callable[[], Awaitable[T]]) -> T:
    """The result of work that may be begun again. Raises `Throttled` where a table refuses for some minutes."""
    for tried in range(_TRIES - 1):
        try:
            return await work()
        except Throttled:
            await port.sleep(min(_LONGEST_WAIT_SECONDS, 2.0**tried) * port.random())
    return await work()
