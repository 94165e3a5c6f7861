"""Points at which a child process kills itself, by name, as a power cut would: no handler and no cleanup runs.

A child is started with `FAILPOINT=name:n`: it dies when it passes that point the n-th time. Without it, or past other
points, nothing happens.
"""

from __future__ import annotations

import os
import signal
from collections import Counter
from collections.abc import Callable
from typing import Any, TypeVar

from singletable.wire.exchange import Exchange, HttpResponse
from tests.support.ports import wrap_exchanges

T = TypeVar("T")

VARIABLE = "FAILPOINT"
BEFORE, AFTER = "request.before", "request.after"
"""Of every request but those of a table's first use: nothing was sent; the engine did it and nobody was told."""
_passed: Counter[str] = Counter()


def failpoint(name: str) -> None:
    """Die here, if this is the point and the time."""
    _passed[name] += 1
    wanted, _, number = os.environ.get(VARIABLE, "").partition(":")
    if wanted == name and _passed[name] == int(number):
        os.kill(os.getpid(), signal.SIGKILL)


class DyingExchange:
    """A transport with a point before and after each request."""

    def __init__(self, inner: Exchange) -> None:
        self._inner = inner

    async def exchange(self, message: bytes, timeout: float, max_idle_seconds: float, epoch: str = "") -> HttpResponse:
        failpoint(BEFORE)
        answer = await self._inner.exchange(message, timeout, max_idle_seconds, epoch)
        failpoint(AFTER)
        return answer

    async def sleep(self, seconds: float) -> None:
        await self._inner.sleep(seconds)

    async def run_blocking(self, work: Callable[[], T]) -> T:
        return await self._inner.run_blocking(work)


def make_mortal(port: Any) -> None:
    """Put the points into a port of either shell."""
    wrap_exchanges(port, DyingExchange)
