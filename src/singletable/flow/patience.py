"""Patience with a service: work that it throttles is begun again, and what takes it long is asked for until it is done.

Waits grow. Work that is begun again must be work that may be repeated.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from singletable.errors import Throttled
from singletable.flow.port import Operation, Port
from singletable.flow.waits import pause

T = TypeVar("T")
_TRIES = 20
_LONGEST_WAIT_SECONDS = 30.0
_FIRST_PAUSE_SECONDS = 1.0
_LONGEST_PAUSE_SECONDS = 15.0


async def patiently(
    port: Port, work: Callable[[], Awaitable[T]], waits: Callable[[float], object] = lambda seconds: None
) -> T:
    """The result of work that may be begun again. `waits` gets the seconds of each wait, before it. Raises `Throttled`
    if a table refuses for some minutes."""
    for tried in range(_TRIES - 1):
        try:
            return await work()
        except Throttled:
            seconds = min(_LONGEST_WAIT_SECONDS, 2.0**tried) * port.random()
            waits(seconds)
            await pause(port, seconds, "the service throttles, and the work is begun again", is_refused=True)
    return await work()


async def send_patiently(port: Port, operations: Sequence[Operation[T]]) -> list[T]:
    """The values of operations each of which may be repeated."""
    return await patiently(port, lambda: port.send_all(operations))


async def until(port: Port, ask: Callable[[], Awaitable[T | None]]) -> T:
    """Ask until the answer is true, with pauses from one second to fifteen. No limit: a large table takes hours."""
    seconds = _FIRST_PAUSE_SECONDS
    while not (answer := await ask()):
        await pause(port, seconds, "the service has not ended what it was asked for")
        seconds = min(_LONGEST_PAUSE_SECONDS, seconds * 1.5)
    return answer
